"""Diversity of the members: the ambiguity decomposition, and agreement in pairs."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_predictions
from committee.combiners.ballots import Ballots
from committee.combiners.pairwise import kappa_and_error, lower_left_hull
from committee.diagnostics import error_correlation
from committee.displays.sources import (
    core_of,
    member_names,
    numbers_of,
    predictions_of,
    weights_of,
)
from committee.displays.style import (
    BLUE,
    GREEN,
    ORANGE,
    VERMILION,
    Display,
    check_names,
    legend_above,
    literal,
    show_faint,
)
from committee.ensembles import roster_of
from committee.votes import Votes

#: Lines with more points than this have no markers.
_MOST_MARKERS = 40


class AmbiguityDisplay(Display):
    """Member error, diversity and ensemble error of the first k members.

        ensemble error = member error - diversity,      u = w_k / sum w_k
        u'C_k u        = sum_m u_m C_mm - diversity,    C_k of the first k members

    w are the committee's weights; the last point is the committee itself with weights
    scaled to sum to one. Without weights, or with negative ones, members have equal votes.

    Parameters
    ----------
    member_error : array of shape (M,)
        Mean squared error of the first 1, 2, ... M members.
    ensemble_error : array of shape (M,)
        Mean squared error of their weighted mean.
    order : array of shape (M,), default=None
        Numbers of the members in the order in which they are added.

    Attributes
    ----------
    member_error, ensemble_error, order
        As given.
    diversity : array of shape (M,)
        member_error - ensemble_error.
    size : array of shape (M,)
        1, 2, ... M.

    Examples
    --------
    >>> from committee import AmbiguityDisplay
    >>> display = AmbiguityDisplay.from_predictions([[1.0, 3.0]], [1.0])
    >>> display.ensemble_error.tolist(), display.diversity.tolist()
    ([0.0, 1.0], [0.0, 1.0])
    """

    def __init__(
        self, member_error: Any, ensemble_error: Any, *, order: Any = None
    ) -> None:
        self.member_error: FloatArray = np.asarray(member_error, dtype=np.float64)
        self.ensemble_error: FloatArray = np.asarray(ensemble_error, dtype=np.float64)
        if self.member_error.shape != self.ensemble_error.shape:
            raise ValueError(
                "member_error and ensemble_error must have one number for each size. "
                f"Got shapes {self.member_error.shape} and {self.ensemble_error.shape}."
            )
        self.diversity: FloatArray = self.member_error - self.ensemble_error
        self.size: IntArray = np.arange(1, len(self.member_error) + 1)
        self.order: IntArray = self.size - 1 if order is None else np.asarray(order)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X: Any, y: Any, *, order: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the decomposition of a fitted committee or a list of estimators.

        Parameters
        ----------
        estimator : committee, or list of fitted estimators
        X : array-like of shape (N, n_features)
            Rows that the members were not trained on.
        y : array-like of shape (N,)
        order : array of member numbers, default=None
            By default the order of an ordering pruner, or largest weights first.
        **kwargs
            `ax`, and arguments of `Axes.plot` for the line of the ensemble error.
        """
        roster = roster_of(estimator)
        if roster.output == "scores":
            raise ValueError(
                "The decomposition is not defined for the rounds of a boosted "
                "classifier, which predict scores. Use PruningPathDisplay or "
                "KappaErrorDisplay instead."
            )
        if roster.floor is not None:
            raise ValueError(
                "The decomposition is defined for averages, and a log pool sums "
                "log-probabilities. Use WeightsDisplay or KappaErrorDisplay instead."
            )
        F, y = predictions_of(estimator, X, y)
        if order is None:
            order = _own_order(estimator, F.shape[1])
        w = shares_of(weights_of(estimator))
        return cls.from_predictions(F, y, w=w, order=order, **kwargs)

    @classmethod
    def from_predictions(
        cls, F: Any, y: Any, *, w: Any = None, order: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the decomposition of members with given predictions.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
            For classes, errors are squared distances of the probability vectors.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        w, order
            Parameters of `compute`.
        **kwargs
            `ax`, and arguments of `Axes.plot` for the line of the ensemble error.
        """
        return cls.compute(error_correlation(F, y), w=w, order=order).plot(**kwargs)

    @classmethod
    def compute(cls, C: FloatArray, *, w: Any = None, order: Any = None) -> Self:
        """Return the display without drawing it.

        Parameters
        ----------
        C : array of shape (M, M)
            Error correlation of the members, see `error_correlation`.
        w : array of shape (M,), default=None
            Weights >= 0. None means equal weights.
        order : array of member numbers, default=None
            0..M-1 by default. Members may be left out.
        """
        order = np.arange(len(C)) if order is None else _check_order(order, len(C))
        C = C[np.ix_(order, order)]
        u = np.ones(len(order)) if w is None else _check_shares(w, order)
        total = u.cumsum()
        # The k-th corner of the double cumulative sum is w_k'C_k w_k.
        member = (u * np.diag(C)).cumsum() / total
        ensemble = (
            np.diag((C * np.outer(u, u)).cumsum(axis=0).cumsum(axis=1)) / total**2
        )
        # Rounding may make a sum of squares negative.
        return cls(member, np.clip(ensemble, 0.0, member), order=order)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the three terms against the size."""
        from matplotlib.ticker import MaxNLocator

        few = len(self.size) <= _MOST_MARKERS
        for curve, label, color, line, marker, style in (
            (self.member_error, "member error", ORANGE, "--", "s", {}),
            (self.diversity, "diversity", GREEN, ":", "^", {}),
            (
                self.ensemble_error,
                "ensemble error",
                BLUE,
                "-",
                "o",
                {"lw": 2.2, **kwargs},
            ),
        ):
            shown = {"color": color, "ls": line, "marker": marker if few else None}
            ax.plot(self.size, curve, **{**shown, "ms": 4, "label": label, **style})
        ax.set(xlabel="number of members", ylabel="mean squared error")
        ax.set_ylim(bottom=0.0)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(ax)


def _own_order(estimator: Any, n_members: int) -> IntArray:
    """Return the order of an ordering pruner, or largest weights first."""
    core = core_of(estimator)
    order = getattr(getattr(core, "combiner_", None), "order_", None)
    if order is not None:
        numbers = numbers_of(core, n_members)
        kept = order[np.isin(order, numbers)]
        if np.array_equal(np.sort(kept), numbers):
            places: IntArray = np.searchsorted(numbers, kept)
            return places
    w = weights_of(estimator)
    if w is None:
        return np.arange(n_members)
    return np.argsort(-np.abs(w), kind="stable")


def shares_of(w: FloatArray | None) -> FloatArray | None:
    """Return the weights if none is negative, else None for equal votes.

    The sum of the first k weights could be near zero if weights had both signs.
    """
    return w if w is not None and w.min() >= 0 and w.any() else None


def _check_shares(w: Any, order: IntArray) -> FloatArray:
    """Return the weights of the members in this order; raise ValueError if negative."""
    weights = np.asarray(w, dtype=np.float64)
    if (
        weights.ndim != 1
        or len(weights) <= order.max()
        or not weights.min() >= 0
        or not weights[order[0]] > 0
    ):
        raise ValueError(
            "w must have a weight >= 0 for each member, and a weight > 0 for the first "
            "member of the order."
        )
    return np.asarray(weights[order] / weights.max())


def _check_order(order: Any, n_members: int) -> IntArray:
    """Return member numbers; raise ValueError if one is unknown or comes twice."""
    numbers: IntArray = np.asarray(order, dtype=np.intp)
    valid = numbers.ndim == 1 and 0 < len(numbers) == len(np.unique(numbers))
    if not valid or numbers.min() < 0 or numbers.max() >= n_members:
        raise ValueError(
            f"order must contain member numbers 0..{n_members - 1}, each at most once. "
            f"Got {np.asarray(order).tolist()[:10]}."
        )
    return numbers


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
    def from_estimator(cls, estimator: Any, X: Any, y: Any, **kwargs: Any) -> Self:
        """Draw the pairs of members of a fitted committee or a list of classifiers.

        Parameters
        ----------
        estimator : committee of classifiers, or list of fitted classifiers
        X : array-like of shape (N, n_features)
            Rows that the members were not trained on.
        y : array-like of shape (N,)
            Labels.
        **kwargs
            `ax`, and arguments of `Axes.scatter`, which draws the points.
        """
        F, codes = predictions_of(estimator, X, y)
        names = member_names(core_of(estimator), F.shape[1])
        return cls.from_predictions(F, codes, names=names, **kwargs)

    @classmethod
    def from_predictions(
        cls, F: Any, y: Any, *, held_out: Any = None, names: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the pairs of members with given votes.

        Parameters
        ----------
        F, y, held_out, names
            Parameters of `compute`.
        **kwargs
            `ax`, and arguments of `Axes.scatter`, which draws the points.
        """
        display = cls.compute(F, y, held_out=held_out, names=names)
        return display.plot(**kwargs)

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
