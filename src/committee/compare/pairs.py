"""Tests of two methods: wins and losses, signed ranks, and adjusted p-values."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import stats

from committee._typing import FloatArray

Key = TypeVar("Key")


class WinLossTie(NamedTuple):
    """Numbers of data sets on which a method wins, loses and ties with another.

    Examples
    --------
    >>> from committee.compare import WinLossTie
    >>> str(WinLossTie(wins=0, losses=7, ties=0))
    '0-7-0'
    """

    wins: int
    losses: int
    ties: int

    def __str__(self) -> str:
        """Return the three counts as text."""
        return f"{self.wins}-{self.losses}-{self.ties}"


def win_loss_tie(
    a: Sequence[Any],
    b: Sequence[Any],
    *,
    by: Literal["mean", "t-test", "rank-sum"] = "mean",
    alpha: float = 0.05,
    lower_is_better: bool = True,
) -> WinLossTie:
    """Count the data sets on which method a wins, loses and ties with method b.

    By mean, only equal means tie. By a test, data sets tie unless the two-sided p-value is
    below alpha: Welch's t-test, or the rank-sum test of Wilcoxon, Mann and Whitney. Both
    tests assume that all runs are independent.

    Parameters
    ----------
    a, b : sequences of length N
        For each data set a score, or an array of the scores of the runs.
    by : {"mean", "t-test", "rank-sum"}, default="mean"
    alpha : float, default=0.05
        Level of the test on each data set.
    lower_is_better : bool, default=True

    Examples
    --------
    >>> from committee.compare import win_loss_tie
    >>> win_loss_tie([0.1, 0.2, 0.3], [0.2, 0.2, 0.2])
    WinLossTie(wins=1, losses=1, ties=1)
    >>> runs_a, runs_b = [[0.1, 0.2, 0.3]], [[0.2, 0.3, 0.4]]
    >>> str(win_loss_tie(runs_a, runs_b, by="t-test"))
    '0-0-1'
    """
    for scores in (*a, *b):
        _finite(scores)
    sign = -1 if lower_is_better else 1
    outcome = {"mean": _by_mean, "t-test": _by_ttest, "rank-sum": _by_rank_sum}[by]
    outcomes = [
        sign * outcome(np.atleast_1d(x), np.atleast_1d(y), alpha)
        for x, y in zip(a, b, strict=True)
    ]
    return WinLossTie(outcomes.count(1), outcomes.count(-1), outcomes.count(0))


def _by_mean(x: FloatArray, y: FloatArray, alpha: float) -> int:
    """Return the sign of the difference in means; alpha plays no part."""
    return int(np.sign(math.fsum(x) / len(x) - math.fsum(y) / len(y)))


def _by_ttest(x: FloatArray, y: FloatArray, alpha: float) -> int:
    """Return the sign of a significant difference in means, else 0."""
    difference = x.mean() - y.mean()
    # From moments: runs that are all equal then give p = 0 or NaN without a warning.
    with np.errstate(divide="ignore", invalid="ignore"):
        p = stats.ttest_ind_from_stats(
            x.mean(), x.std(ddof=1), len(x), y.mean(), y.std(ddof=1), len(y), False
        ).pvalue
    return int(np.sign(difference)) if p < alpha else 0


def _by_rank_sum(x: FloatArray, y: FloatArray, alpha: float) -> int:
    """Return the sign of a significant shift in ranks, else 0."""
    if np.ptp(np.r_[x, y]) == 0:
        return 0
    U, p = stats.mannwhitneyu(x, y)
    return int(np.sign(U - len(x) * len(y) / 2)) if p < alpha else 0


def _finite(scores: Any) -> FloatArray:
    """Return scores as floats; raise ValueError if they are not finite."""
    numbers = np.asarray(scores, dtype=np.float64)
    if not np.isfinite(numbers).all():
        raise ValueError(
            f"Scores must be finite to be compared. Got {numbers.tolist()}: leave out "
            "the data set, or fill in a score for failures."
        )
    return numbers


def signed_rank(a: Any, b: Any) -> float:
    """Return the p-value of Wilcoxon's signed-rank test over data sets.

    Unlike a difference of mean ranks, the result does not depend on other methods in the
    table. Equal scores are left out; if all are equal, p = 1. The p-value is exact up to
    50 data sets, also with ties, and SciPy's normal approximation above.

    Parameters
    ----------
    a, b : arrays of shape (N,)
        One score for each data set.

    Examples
    --------
    >>> from committee.compare import signed_rank
    >>> signed_rank([1.0, 2.0, 3.0, 4.0, 5.0], [1.1, 2.2, 3.3, 4.4, 5.5])
    0.0625
    """
    a, b = _finite(a), _finite(b)
    if a.shape != b.shape or a.ndim != 1:
        raise ValueError(
            "signed_rank takes one score of each method for every data set. Got arrays "
            f"of shape {a.shape} and {b.shape}."
        )
    difference = a - b
    difference = difference[difference != 0]
    if len(difference) > 50:
        return float(stats.wilcoxon(difference).pvalue)
    # With ties SciPy enumerates all signs: seconds for 13 data sets. Twice the ranks are
    # integers, so sums of ranks can be counted instead.
    twice = (2 * stats.rankdata(np.abs(difference))).astype(np.intp)
    counts = np.zeros(twice.sum() + 1)
    counts[0] = 1.0
    for rank in twice:
        counts[rank:] += counts[:-rank].copy()
    seen = twice[difference > 0].sum()
    tail = min(counts[: seen + 1].sum(), counts[seen:].sum())
    return float(min(1.0, 2 * tail / counts.sum()))


def holm(p: Mapping[Key, float]) -> dict[Key, float]:
    """Adjust p-values for multiple tests, by Holm's step-down method.

        adjusted p_(i) = max_{h <= i} min(1, (m - h + 1) p_(h)),  p_(1) <= ... <= p_(m)

    A hypothesis is rejected at alpha if its adjusted p-value is at most alpha. Adjusted
    p-values are at most m p, those of Bonferroni, with the same guarantee.

    Parameters
    ----------
    p : mapping
        A p-value for each hypothesis.

    Returns
    -------
    dict
        The adjusted p-values, with the same keys.

    Examples
    --------
    >>> from committee.compare import holm
    >>> holm({"ard": 0.01, "em": 0.04, "unpruned": 0.03})
    {'ard': 0.03, 'em': 0.06, 'unpruned': 0.06}
    """
    adjusted, largest = {}, 0.0
    for step, key in enumerate(sorted(p, key=p.__getitem__)):
        largest = max(largest, min(1.0, (len(p) - step) * p[key]))
        adjusted[key] = largest
    return {key: adjusted[key] for key in p}
