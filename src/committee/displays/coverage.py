"""Whether intervals and probabilities hold on other rows."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray
from committee._validation import label_codes
from committee.diagnostics.curves import (
    Reliability,
    calibration_error,
    one_probability,
    reliability,
)
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
        **kwargs
            `ax`, and arguments of `Axes.vlines`, which draws the intervals.
        """
        interval = estimator.predict_interval(X, coverage, method=method)
        return cls(interval, y, coverage).plot(**kwargs)

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
        ax.set_xlabel("rows, by the centre of the interval")
        ax.set_ylabel(f"target (mean width {self.width:.3g})")
        legend_above(ax)


class ReliabilityDisplay(Display):
    """Predicted probabilities against observed shares, in bins of equal counts.

    Points on the diagonal are calibrated probabilities. Bars are Wilson's 95 % intervals
    of the shares. Unlike `sklearn.calibration.CalibrationDisplay` it has these intervals,
    the expected calibration error with its standard error, row weights, and more than two
    classes.

    Parameters
    ----------
    curve : Reliability
        See `committee.diagnostics.curves.reliability`.
    ece, ece_se : float
        Expected calibration error and its standard error.
    what : str, default="class 1"
        The event that the probability refers to, for the label of the axis.

    Attributes
    ----------
    curve, ece, ece_se, what
        As given.

    See Also
    --------
    expected_calibration_error : Returns the error alone.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import ReliabilityDisplay
    >>> p = np.repeat([0.25, 0.75], 4)
    >>> y = np.array([1, 0, 0, 0, 1, 1, 1, 0])
    >>> display = ReliabilityDisplay.from_predictions(p, y)
    >>> display.ece, display.curve.observed.tolist()
    (0.0, [0.25, 0.75])
    """

    def __init__(
        self, curve: Reliability, ece: float, ece_se: float, what: str = "class 1"
    ) -> None:
        self.curve, self.ece, self.ece_se, self.what = curve, ece, ece_se, what

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        n_bins: int = 10,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of a fitted classifier.

        Parameters
        ----------
        estimator : classifier
            Any classifier with `predict_proba`.
        X : array-like of shape (N, n_features)
            Rows that it was not trained on.
        y : array-like of shape (N,)
            Labels.
        n_bins : int, default=10
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        **kwargs
            `ax`, and arguments of `Axes.errorbar`, which draws the points.
        """
        classes = np.asarray(estimator.classes_)
        codes = label_codes(np.asarray(y), classes)
        p = estimator.predict_proba(X)
        name = f"class {classes[1]}" if len(classes) == 2 else None
        how = {"n_bins": n_bins, "sample_weight": sample_weight}
        return cls.compute(p, codes, what=name, **how).plot(**kwargs)

    @classmethod
    def from_predictions(
        cls,
        p: Any,
        y: Any,
        *,
        n_bins: int = 10,
        sample_weight: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of given probabilities.

        Parameters
        ----------
        p, y, n_bins, sample_weight
            Parameters of `compute`.
        **kwargs
            `ax`, and arguments of `Axes.errorbar`, which draws the points.
        """
        display = cls.compute(p, y, n_bins=n_bins, sample_weight=sample_weight)
        return display.plot(**kwargs)

    @classmethod
    def compute(
        cls,
        p: Any,
        y: Any,
        *,
        n_bins: int = 10,
        sample_weight: Any = None,
        what: str | None = None,
    ) -> Self:
        """Return the display without drawing it.

        Parameters
        ----------
        p : array-like of shape (N, K) or (N,)
            Class probabilities, or the probabilities of class 1. The curve is
            drawn for class 1 of two classes, and for the most likely class of more.
        y : array-like of shape (N,)
            Class codes 0..K-1.
        n_bins : int, default=10
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        what : str, default=None
            The event that the probability refers to.
        """
        positive, q, s = one_probability(p, y, sample_weight)
        if what is None:
            many = np.ndim(p) == 2 and np.shape(p)[1] > 2
            what = "the most likely class" if many else "class 1"
        error = calibration_error(positive, q, s, n_bins=n_bins)
        curve = reliability(positive, q, s, n_bins=n_bins)
        return cls(curve, error.value, error.se, what)

    def _figsize(self) -> tuple[float, float]:
        return 4.6, 4.8

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the diagonal, and the points with their intervals."""
        curve = self.curve
        ax.plot([0, 1], [0, 1], ":", color=GREY, label="calibrated")
        style = {"color": BLUE, "marker": "o", "ms": 4, "capsize": 2, **kwargs}
        style.setdefault("label", f"ECE {self.ece:.3f} ± {self.ece_se:.3f}")
        above, below = curve.high - curve.observed, curve.observed - curve.low
        ends = np.maximum([below, above], 0.0)
        ax.errorbar(curve.predicted, curve.observed, yerr=ends, **style)
        ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), ylabel="observed share")
        ax.set_xlabel(f"predicted probability of {self.what}")
        legend_above(ax)
