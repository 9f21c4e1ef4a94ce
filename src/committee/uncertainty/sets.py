"""Sets of classes from held-out probabilities. Functions of arrays.

Each class k of a row has a score e_k(x), small if it is likely. With n held-out
rows and q the k-th smallest of e_{y_i}(x_i), k = ceil(c (n + 1)), the set

    C(x) = { k : e_k(x) <= q }

contains the class of a new row with probability at least c. It is never empty: the most
likely class is always in it.
"""

from __future__ import annotations

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.uncertainty.intervals import conformal_quantile


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


def class_sets(
    e: FloatArray, p: FloatArray, known: FloatArray, coverage: float
) -> BoolArray:
    """Return C, (N, K): True where a class belongs to the set of a row.

    Parameters
    ----------
    e, p : arrays of shape (N, K)
        Scores and probabilities of new rows.
    known : array of shape (n,)
        Scores of the classes of held-out rows.
    coverage : float

    Examples
    --------
    >>> import numpy as np
    >>> from committee.uncertainty import class_sets, lac_scores
    >>> p = np.array([[0.5, 0.375, 0.125]])
    >>> class_sets(lac_scores(p), p, np.full(9, 0.625), 0.9).tolist()
    [[True, True, False]]
    """
    sets = e <= conformal_quantile(known, coverage)
    sets[np.arange(len(p)), p.argmax(axis=1)] = True
    return np.asarray(sets)
