"""Sets of classes from held-out probabilities. Functions of arrays.

Each class k of a row has a score e_k(x), small if it is likely. With n held-out
rows and q the k-th smallest of e_{y_i}(x_i), k = ceil(c (n + 1)), the set

    C(x) = { k : e_k(x) <= q }

contains the class of a new row with probability at least c, in the mean over all classes:
a rare class may be missing most of the time. With a quantile for each class (Vovk 2012),

    C(x) = { k : e_k(x) <= q_k },    q_k of the n_k held-out rows of class k,

that probability is at least c for the rows of every class. With fewer than c / (1 - c)
rows of a class q_k is infinite, and the class is in all sets. No set is empty: the most
likely class is always in it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.uncertainty.intervals import conformal_quantile, order


def lac_scores(p: FloatArray) -> FloatArray:
    """Return 1 - p_k: the least ambiguous sets (Sadinle, Lei and Wasserman 2019).

    They are the smallest sets, on average, with this coverage.

    Parameters
    ----------
    p : array of shape (N, K)

    Returns
    -------
    e : array of shape (N, K)
    """
    return 1.0 - p


def aps_scores(p: FloatArray) -> FloatArray:
    """Return the probability of likelier classes: adaptive sets (Romano et al. 2020).

        e_k = sum_{j : p_j > p_k} p_j + p_k / 2

    Half of p_k replaces the random share in the paper, so that equal rows have equal
    sets. Of equal probabilities the first class counts as likelier. Ambiguous rows get
    larger sets than with LAC, easy rows smaller ones.

    Parameters
    ----------
    p : array of shape (N, K)

    Returns
    -------
    e : array of shape (N, K)

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import aps_scores
    >>> aps_scores(np.array([[0.25, 0.5, 0.25]])).tolist()
    [[0.625, 0.25, 0.875]]
    """
    order = np.argsort(-p, axis=1, kind="stable")
    sorted_p = np.take_along_axis(p, order, axis=1)
    e = np.empty_like(p)
    np.put_along_axis(e, order, sorted_p.cumsum(axis=1) - sorted_p / 2, axis=1)
    return e


#: How classes are scored, by the name of the method.
SCORES = {"lac": lac_scores, "aps": aps_scores}


def scores_of(e: FloatArray, y: IntArray) -> FloatArray:
    """Return e_{y_i}(x_i), (n,), of scores (n, K) and class codes (n,)."""
    return np.asarray(np.take_along_axis(e, y[:, None], axis=1)[:, 0])


def class_quantiles(
    known: FloatArray, y: IntArray, n_classes: int, coverage: float
) -> FloatArray:
    """Return q_k of the scores of the rows of each class, (K,).

    Infinite for a class with too few rows for this coverage.

    Parameters
    ----------
    known : array of shape (n,)
        Scores of the classes of held-out rows.
    y : array of shape (n,)
        Class codes of these rows.
    n_classes : int
    coverage : float

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import class_quantiles
    >>> scores, y = np.arange(12) / 10, np.repeat([0, 1], [9, 3])
    >>> class_quantiles(scores, y, 2, 0.9).tolist()
    [0.8, inf]
    """
    q = np.full(n_classes, np.inf)
    for k in range(n_classes):
        own = known[y == k]
        if order(len(own), coverage) <= len(own):
            q[k] = conformal_quantile(own, coverage)
    return q


def class_sets(
    e: FloatArray,
    p: FloatArray,
    known: FloatArray,
    coverage: float,
    y: Any = None,
) -> BoolArray:
    """Return C, (N, K): True where a class belongs to the set of a row.

    Parameters
    ----------
    e, p : arrays of shape (N, K)
        Scores and probabilities of new rows.
    known : array of shape (n,)
        Scores of the classes of held-out rows.
    coverage : float
    y : array of shape (n,), default=None
        Class codes of the held-out rows, for coverage of every class. None means
        coverage over all rows.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import class_sets, lac_scores
    >>> p = np.array([[0.5, 0.375, 0.125]])
    >>> class_sets(lac_scores(p), p, np.full(9, 0.625), 0.9).tolist()
    [[True, True, False]]
    """
    if y is None:
        sets = e <= conformal_quantile(known, coverage)
    else:
        sets = e <= class_quantiles(known, y, e.shape[1], coverage)
    sets[np.arange(len(p)), p.argmax(axis=1)] = True
    return np.asarray(sets)
