"""Tests of k methods on N data sets by their ranks, and tests of two methods.

The first half takes the ranks R (N, k) of `rank_methods`, or N and k.
Letters and tests follow Demsar, "Statistical comparisons of classifiers over
multiple data sets", JMLR 7 (2006).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any, Literal, NamedTuple, TypeVar

import numpy as np
from scipy import stats

from committee._typing import FloatArray


class RankTest(NamedTuple):
    """A test statistic and its p-value.

    Examples
    --------
    >>> from committee.compare import friedman
    >>> friedman([[1, 2, 3], [1, 2, 3]]).statistic
    4.0
    """

    statistic: float
    p: float


def rank_methods(scores: Any, *, lower_is_better: bool = True) -> FloatArray:
    """Rank the methods on each data set: 1 is best, ties share their mean rank.

    Parameters
    ----------
    scores : array of shape (N, k)
        Data sets x methods.
    lower_is_better : bool, default=True
        Errors if True, accuracies if False.

    Returns
    -------
    array of shape (N, k)
        Each row sums to k (k + 1) / 2.

    Examples
    --------
    >>> from committee.compare import rank_methods
    >>> rank_methods([[0.1, 0.3, 0.1], [0.2, 0.1, 0.4]])
    array([[1.5, 3. , 1.5],
           [2. , 1. , 3. ]])
    """
    signed = np.asarray(scores, dtype=np.float64) * (1.0 if lower_is_better else -1.0)
    ranks: FloatArray = stats.rankdata(signed, axis=1)
    return ranks


def friedman(ranks: Any) -> RankTest:
    """Test whether all methods have the same mean rank (Friedman, 1937).

        chi2 = (k - 1) sum_j (S_j - N (k + 1) / 2)^2 / sum_ij (r_ij - (k + 1) / 2)^2

    with S_j the sum of ranks of method j. Without ties this is the textbook formula;
    with ties it is the corrected formula of `scipy.stats.friedmanchisquare`, which needs
    at least three methods; two are enough here. Methods that tie everywhere give p = 1.

    Parameters
    ----------
    ranks : array of shape (N, k)
        From `rank_methods`. Raises ValueError for other numbers.

    Returns
    -------
    RankTest
        chi2 and its p-value with k - 1 degrees of freedom.

    Examples
    --------
    >>> from committee.compare import friedman
    >>> friedman([[1, 2, 3], [1, 3, 2], [1, 2, 3]])
    RankTest(statistic=4.666..., p=0.0969...)
    """
    R = np.asarray(ranks, dtype=np.float64)
    if R.ndim != 2 or not np.array_equal(stats.rankdata(R, axis=1), R):
        raise ValueError(
            "friedman and iman_davenport need ranks from 1 (best) to k in each row, "
            "with mean ranks for ties. Compute them with rank_methods(scores)."
        )
    k = R.shape[1]
    centred = R - (k + 1) / 2
    spread = float((centred**2).sum())
    if spread == 0.0:
        return RankTest(0.0, 1.0)
    chi2 = (k - 1) * float((centred.sum(axis=0) ** 2).sum()) / spread
    return RankTest(chi2, float(stats.chi2.sf(chi2, k - 1)))


def iman_davenport(ranks: Any) -> RankTest:
    """Test the same hypothesis as `friedman` with more power (Iman, Davenport 1980).

        F = (N - 1) chi2 / (N (k - 1) - chi2)

    If all data sets give the same ranking, F is infinite and p is 0.

    Parameters
    ----------
    ranks : array of shape (N, k)

    Returns
    -------
    RankTest
        F and its p-value with k - 1 and (k - 1)(N - 1) degrees of freedom.

    Examples
    --------
    >>> from committee.compare import iman_davenport
    >>> iman_davenport([[1, 2, 3], [1, 3, 2], [1, 2, 3]])
    RankTest(statistic=7.0, p=0.0494...)
    """
    chi2 = friedman(ranks).statistic
    n, k = np.shape(ranks)
    limit = n * (k - 1)
    # Ranks are halves, so a chi2 this close to its limit can only be the limit.
    if chi2 > limit * (1 - 1e-12):
        return RankTest(float("inf"), 0.0)
    F = (n - 1) * chi2 / (limit - chi2)
    return RankTest(F, float(stats.f.sf(F, k - 1, (k - 1) * (n - 1))))


def standard_error(n_datasets: int, n_methods: int) -> float:
    """Return the standard error of a difference of mean ranks of equal methods."""
    return float(np.sqrt(n_methods * (n_methods + 1) / (6 * n_datasets)))


def bonferroni_dunn(n_datasets: int, n_methods: int, alpha: float = 0.10) -> float:
    """Return the critical difference of mean ranks to a control (Dunn, 1961).

        CD = z_{alpha / (2 (k - 1))} sqrt(k (k + 1) / (6 N))

    Parameters
    ----------
    n_datasets, n_methods : int
        N, and k with the control.
    alpha : float, default=0.10
        Probability that any of the k - 1 differences is significant by chance.

    Examples
    --------
    >>> from committee.compare import bonferroni_dunn
    >>> round(bonferroni_dunn(7, 4), 2), round(bonferroni_dunn(13, 4), 2)
    (1.47, 1.08)
    """
    z = float(stats.norm.isf(alpha / (2 * (n_methods - 1))))
    return z * standard_error(n_datasets, n_methods)


def nemenyi(n_datasets: int, n_methods: int, alpha: float = 0.10) -> float:
    """Return the critical difference of mean ranks of any two methods.

        CD = q_alpha sqrt(k (k + 1) / (6 N))

    with sqrt(2) q_alpha the studentized range of k methods (Nemenyi, 1963). It is larger
    than the difference of `bonferroni_dunn`, because it holds for all pairs.

    Parameters
    ----------
    n_datasets, n_methods : int
        N and k.
    alpha : float, default=0.10
        Probability that the difference of any pair is significant by chance.

    Examples
    --------
    >>> from committee.compare import nemenyi
    >>> round(nemenyi(13, 4), 2)
    1.16
    """
    # Demsar's tables have the studentized range of infinitely many rows over sqrt(2).
    q = float(stats.studentized_range.isf(alpha, n_methods, np.inf)) / np.sqrt(2)
    return float(q * standard_error(n_datasets, n_methods))


# --- two methods ----------------------------------------------------------------------

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
    p-values are at most m p, the p-values of Bonferroni, with the same guarantee.

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
