"""Intervals of predictions, sorted, with the targets that they cover and miss."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray
from committee.displays.style import BLUE, GREY, VERMILION, Display, legend_above, thin

#: Rows that are drawn, at most.
_ROWS = 300


class IntervalDisplay(Display):
    """Intervals in the order of their centres, and the targets that they miss.

    Parameters
    ----------
    interval : array of shape (N, 2)
        As `predict_interval` returns them.
    y : array of shape (N,), optional
        Targets. Those outside of their interval stand out.
    coverage : float, optional
        What was asked for.

    Attributes
    ----------
    interval, y, asked
        As given.
    coverage : float or None
        The share of targets within their interval; None without targets.
    width : float
        Mean width of the intervals.

    Examples
    --------
    >>> from committee import IntervalDisplay
    >>> display = IntervalDisplay([[0.0, 2.0], [1.0, 2.0]], [1.0, 3.0])
    >>> display.coverage, display.width
    (0.5, 1.5)
    """

    def __init__(self, interval: Any, y: Any = None, coverage: Any = None) -> None:
        self.interval: FloatArray = np.asarray(interval, dtype=np.float64)
        if self.interval.ndim != 2 or self.interval.shape[1] != 2:
            raise ValueError(
                "interval must have shape (N, 2), lower and upper ends. Got shape "
                f"{self.interval.shape}."
            )
        self.y = None if y is None else np.asarray(y, dtype=np.float64)
        if self.y is not None and self.y.shape != self.interval.shape[:1]:
            raise ValueError(
                f"y must have one entry for each of the {len(self.interval)} intervals. "
                f"Got shape {self.y.shape}."
            )
        self.asked = coverage
        lower, upper = self.interval.T
        self.width = float(np.mean(upper - lower))
        self.coverage: float | None = None
        if self.y is not None:
            self.coverage = float(np.mean((lower <= self.y) & (self.y <= upper)))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        coverage: float = 0.9,
        method: str = "scaled",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the intervals of a committee.

        Parameters
        ----------
        estimator : CommitteeRegressor
            One with `predict_interval`.
        X : array-like of shape (N, n_features)
            Rows that it was not trained on.
        y : array-like of shape (N,), optional
        coverage, method
            As of `predict_interval`.
        ax : matplotlib Axes, optional
        **kwargs
            For the intervals, a `vlines`.
        """
        interval = estimator.predict_interval(X, coverage, method=method)
        return cls(interval, y, coverage).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw up to 300 rows from all over."""
        order = np.argsort(self.interval.mean(axis=1), kind="stable")
        rows = order[thin(len(order), _ROWS)]
        lower, upper = self.interval[rows].T
        places = np.arange(len(rows))
        style = {"color": BLUE, "alpha": 0.45, "linewidth": 1.5, **kwargs}
        asked = "interval" if self.asked is None else f"interval, {self.asked:.0%}"
        ax.vlines(places, lower, upper, label=asked, **style)
        if self.y is not None:
            y = self.y[rows]
            inside = (lower <= y) & (y <= upper)
            share = f"within, {self.coverage:.1%} of all rows"
            for where, colour, name in (
                (inside, GREY, share),
                (~inside, VERMILION, "outside"),
            ):
                ax.plot(places[where], y[where], ".", ms=4, color=colour, label=name)
        ax.set(
            xlabel="rows, by the centre of the interval",
            ylabel=f"target (mean width {self.width:.3g})",
        )
        legend_above(ax)
