"""Reliability of predicted probabilities."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._validation import label_codes
from committee.diagnostics.curves import (
    Reliability,
    calibration_error,
    one_probability,
    reliability,
)
from committee.displays.style import BLUE, GREY, Display, legend_above


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
        ax: Any = None,
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
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.errorbar`, which draws the points.
        """
        classes = np.asarray(estimator.classes_)
        codes = label_codes(np.asarray(y), classes)
        p = estimator.predict_proba(X)
        name = f"class {classes[1]}" if len(classes) == 2 else None
        found = cls.compute(
            p, codes, n_bins=n_bins, sample_weight=sample_weight, what=name
        )
        return found.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        p: Any,
        y: Any,
        *,
        n_bins: int = 10,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of given probabilities.

        Parameters
        ----------
        p, y, n_bins, sample_weight
            Parameters of `compute`.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.errorbar`, which draws the points.
        """
        display = cls.compute(p, y, n_bins=n_bins, sample_weight=sample_weight)
        return display.plot(ax, **kwargs)

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
        ax.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            xlabel=f"predicted probability of {self.what}",
            ylabel="observed share",
        )
        legend_above(ax)
