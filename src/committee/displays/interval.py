"""Prediction intervals, and the targets inside and outside of them."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray
from committee.displays.style import BLUE, GREY, VERMILION, Display, legend_above, thin
from committee.losses import mean_of

#: Largest number of rows that are drawn.
_ROWS = 300


class IntervalDisplay(Display):
    """Prediction intervals sorted by centre, with the targets they cover and miss.

    Parameters
    ----------
    interval : array of shape (N, 2)
        Result of `predict_interval`.
    y : array of shape (N,), default=None
        Targets. Targets outside of their interval are drawn in red.
    coverage : float, default=None
        The coverage that was requested.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.

    Attributes
    ----------
    interval, y
        As given.
    requested : float or None
        The coverage that was requested.
    coverage, coverage_se : float or None
        Share of the targets within their interval, and its standard error; None without
        targets.
    width, width_se : float
        Mean width of the intervals, and its standard error.

    Examples
    --------
    >>> from committee import IntervalDisplay
    >>> display = IntervalDisplay([[0.0, 2.0], [1.0, 2.0]], [1.0, 3.0])
    >>> display.coverage, display.width
    (0.5, 1.5)
    """

    def __init__(
        self,
        interval: Any,
        y: Any = None,
        coverage: Any = None,
        sample_weight: Any = None,
    ) -> None:
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
        self.requested = coverage
        lower, upper = self.interval.T
        s = None if sample_weight is None else np.asarray(sample_weight)
        width = mean_of(upper - lower, s)
        self.width, self.width_se = width.value, width.se
        self.coverage = self.coverage_se = None
        if self.y is not None:
            within = (lower <= self.y) & (self.y <= upper)
            share = mean_of(within.astype(np.float64), s)
            self.coverage, self.coverage_se = share.value, share.se

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
            Any estimator with `predict_interval`.
        X : array-like of shape (N, n_features)
            Rows that it was not trained on.
        y : array-like of shape (N,), default=None
        coverage, method
            Parameters of `predict_interval`.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.vlines`, which draws the intervals.
        """
        interval = estimator.predict_interval(X, coverage, method=method)
        return cls(interval, y, coverage).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw up to 300 rows, evenly spaced in the order of the centres."""
        order = np.argsort(self.interval.mean(axis=1), kind="stable")
        rows = order[thin(len(order), _ROWS)]
        lower, upper = self.interval[rows].T
        places = np.arange(len(rows))
        style = {"color": BLUE, "alpha": 0.45, "linewidth": 1.5, **kwargs}
        share = "" if self.requested is None else f", {self.requested:.0%}"
        ax.vlines(places, lower, upper, label=f"interval{share}", **style)
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
