"""Ranks of k methods on N data sets, and tests of their differences.

The functions take the ranks R (N, k) of `rank_methods`, or N and k.
Letters and tests are those of Demsar, "Statistical comparisons of classifiers over
multiple data sets", JMLR 7 (2006).
"""

from __future__ import annotations

from typing import Any, NamedTuple

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
    n, k = np.shape(ranks)
    chi2, limit = friedman(ranks).statistic, n * (k - 1)
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
