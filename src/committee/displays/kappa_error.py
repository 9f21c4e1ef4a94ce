"""The kappa-error diagram: agreement and error of every pair of members."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_predictions
from committee.combiners.ballots import Ballots
from committee.combiners.pairwise import kappa_and_error, lower_left_hull
from committee.displays.sources import core_of, member_names, predictions_of
from committee.displays.style import (
    BLUE,
    VERMILION,
    Display,
    check_names,
    literal,
    show_faint,
)
from committee.votes import Votes

#: Largest number of pairs with names: six members have 15 pairs.
MOST_NAMED = 15


class KappaErrorDisplay(Display):
    """Kappa-error diagram: a point for every pair of members, and the lower left hull.

        x_ij = kappa_ij,   y_ij = (e_i + e_j) / 2

    Pairs to the left agree less, pairs further down have smaller errors. No pair is
    better than the hull in both.

    Parameters
    ----------
    kappa : array of shape (n,)
        Cohen's kappa of each pair.
    error : array of shape (n,)
        Mean error of its two members.
    pairs : array of shape (n, 2), default=None
        Numbers of the two members.
    names : sequence of names, default=None
        Names of all members, by default their numbers. They are drawn beside the points
        if there are at most 15 pairs.

    Attributes
    ----------
    kappa, error, pairs
        As given.
    labels : list of str or None
        Names of each pair; None for more than 15 pairs and without `pairs`.
    hull : array
        Numbers of the pairs on the hull, from the most diverse to the most accurate.
        `KappaErrorHullPruner` keeps these pairs.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    >>> from committee import KappaErrorDisplay
    >>> display = KappaErrorDisplay([0.1, 0.5, 0.6], [0.4, 0.2, 0.4])
    >>> display.hull.tolist()
    [0, 1]
    >>> display.plot().ax_.get_ylabel()
    'mean error of the pair'
    """

    def __init__(
        self, kappa: Any, error: Any, *, pairs: Any = None, names: Any = None
    ) -> None:
        self.kappa: FloatArray = np.asarray(kappa, dtype=np.float64)
        self.error: FloatArray = np.asarray(error, dtype=np.float64)
        if self.kappa.shape != self.error.shape or self.kappa.ndim != 1:
            raise ValueError(
                "kappa and error must have one number for each pair. Got shapes "
                f"{self.kappa.shape} and {self.error.shape}."
            )
        if len(self.kappa) == 0:
            raise ValueError(
                "A kappa-error diagram needs two members that vote on the same row. "
                "No pair does."
            )
        self.pairs: IntArray | None = None if pairs is None else np.asarray(pairs)
        self.hull: IntArray = lower_left_hull(self.kappa, self.error)
        self.labels: list[str] | None = None
        if self.pairs is not None and len(self.pairs) <= MOST_NAMED:
            self.labels = [
                " + ".join(str(m if names is None else names[m]) for m in pair)
                for pair in self.pairs.tolist()
            ]

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the pairs of members of a fitted committee or a list of classifiers.

        Parameters
        ----------
        estimator : committee of classifiers, or list of fitted classifiers
        X : array-like of shape (N, n_features)
            Rows that the members were not trained on.
        y : array-like of shape (N,)
            Labels.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.scatter`, which draws the points.
        """
        F, codes = predictions_of(estimator, X, y)
        names = member_names(core_of(estimator), F.shape[1])
        return cls.from_predictions(F, codes, names=names, ax=ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        F: Any,
        y: Any,
        *,
        held_out: Any = None,
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the pairs of members with given votes.

        Parameters
        ----------
        F, y, held_out, names
            Parameters of `compute`.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.scatter`, which draws the points.
        """
        display = cls.compute(F, y, held_out=held_out, names=names)
        return display.plot(ax, **kwargs)

    @classmethod
    def compute(
        cls,
        F: Any,
        y: Any,
        *,
        held_out: Any = None,
        sample_weight: Any = None,
        names: Any = None,
    ) -> Self:
        """Return the display without drawing it.

        Parameters
        ----------
        F : array of shape (N, M, K)
        y : array of shape (N,)
            Class codes 0..K-1.
        held_out : bool array of shape (N, M), default=None
            True where a member votes. Pairs without a common row are left out.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        names : sequence of M names, default=None
        """
        F = check_predictions(F)
        if F.ndim != 3:
            raise ValueError(
                "A kappa-error diagram needs votes: F of shape (N, M, K). Got shape "
                f"{F.shape}."
            )
        if F.shape[1] < 2:
            raise ValueError("A kappa-error diagram needs at least two members. Got 1.")
        if names is not None:
            names = check_names(names, F.shape[1], "members")
        votes = Votes.checked(F, y, held_out, sample_weight)
        pairs, kappa, error = kappa_and_error(Ballots(votes))
        return cls(kappa, error, pairs=pairs, names=names)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw a point for each pair; thousands of points are faint."""
        n = len(self.kappa)
        style: dict[str, Any] = {"s": 30 if n < 100 else 9, "color": BLUE}
        style |= {"linewidths": 0, "rasterized": n > 1000, "label": f"{n:,} pairs"}
        style["alpha"] = 0.8 if n <= 1000 else max(0.05, 350 / n)
        ax.scatter(self.kappa, self.error, **{**style, **kwargs})
        for label, x, e in zip(self.labels or [], self.kappa, self.error, strict=False):
            style = {"xytext": (5, 4), "textcoords": "offset points"}
            ax.annotate(literal(label), (x, e), fontsize="x-small", **style)
        line = {"color": VERMILION, "ms": 5, "lw": 1.8, "mec": "white", "mew": 0.6}
        label = f"hull, {len(self.hull)} pairs"
        ax.plot(self.kappa[self.hull], self.error[self.hull], "D-", label=label, **line)
        ax.set(xlabel="kappa: agreement beyond chance", ylabel="mean error of the pair")
        show_faint(ax.legend(loc="upper right", fontsize="small"))
