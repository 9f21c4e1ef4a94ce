"""How often what had a probability came true."""

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
    """Predicted probabilities against shares that came true, in bins of equal counts.

    Points on the diagonal are probabilities that hold. Bars are Wilson's 95 % intervals of
    the shares.

    Parameters
    ----------
    curve : Reliability
        See `committee.diagnostics.curves.reliability`.
    ece, ece_se : float
        The expected calibration error, and its standard error.
    what : str, default="class 1"
        What the probability is of.

    Attributes
    ----------
    curve, ece, ece_se, what
        As given.

    See Also
    --------
    expected_calibration_error : The number alone.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import ReliabilityDisplay
    >>> p = np.repeat([0.25, 0.75], 4)
    >>> y = np.array([1, 0, 0, 0, 1, 1, 1, 0])
    >>> display = ReliabilityDisplay.from_predictions(y, p)
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
            Any with `predict_proba`.
        X : array-like of shape (N, n_features)
            Rows that it was not trained on.
        y : array-like of shape (N,)
            Their labels.
        n_bins : int, default=10
        sample_weight : array-like of shape (N,), optional
        ax : matplotlib Axes, optional
        **kwargs
            For the points, an `errorbar`.
        """
        classes = np.asarray(estimator.classes_)
        codes = label_codes(np.asarray(y), classes)
        p = estimator.predict_proba(X)
        name = f"class {classes[1]}" if len(classes) == 2 else None
        found = cls._compute(codes, p, n_bins, sample_weight, name)
        return found.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y: Any,
        p: Any,
        *,
        n_bins: int = 10,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the curve of probabilities that are given.

        Parameters
        ----------
        y : array-like of shape (N,)
            Class codes 0..K-1.
        p : array-like of shape (N, K) or (N,)
            Of two classes, or of one number a row, the probability is that of class 1;
            of more classes that of the most likely one.
        n_bins : int, default=10
        sample_weight : array-like of shape (N,), optional
        ax : matplotlib Axes, optional
        **kwargs
            For the points, an `errorbar`.
        """
        return cls._compute(y, p, n_bins, sample_weight, None).plot(ax, **kwargs)

    @classmethod
    def _compute(cls, y: Any, p: Any, n_bins: int, s: Any, name: str | None) -> Self:
        """Return the display, not drawn yet."""
        positive, q, s = one_probability(y, p, s)
        if name is None:
            many = np.ndim(p) == 2 and np.shape(p)[1] > 2
            name = "the most likely class" if many else "class 1"
        error = calibration_error(positive, q, s, n_bins=n_bins)
        return cls(
            reliability(positive, q, s, n_bins=n_bins), error.value, error.se, name
        )

    def _figsize(self) -> tuple[float, float]:
        return 4.6, 4.8

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the points with their intervals beside the diagonal."""
        curve = self.curve
        ax.plot([0, 1], [0, 1], ":", color=GREY, label="as often as predicted")
        style = {"color": BLUE, "marker": "o", "ms": 4, "capsize": 2, **kwargs}
        style.setdefault("label", f"ECE {self.ece:.3f} ± {self.ece_se:.3f}")
        above, below = curve.high - curve.observed, curve.observed - curve.low
        ends = np.maximum([below, above], 0.0)
        ax.errorbar(curve.predicted, curve.observed, yerr=ends, **style)
        ax.set(
            xlim=(-0.02, 1.02),
            ylim=(-0.02, 1.02),
            xlabel=f"predicted probability of {self.what}",
            ylabel="share that came true",
        )
        legend_above(ax)
