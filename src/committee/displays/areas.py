"""The area under a ROC curve, and how sure it is."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.stats import rankdata

from committee._typing import BoolArray, FloatArray


class Area(NamedTuple):
    """The area under a ROC curve.

    Attributes
    ----------
    auc : float
    se : float
        Its standard error; nan for fewer than two rows of a kind.
    """

    auc: float
    se: float


def delong(positive: BoolArray, score: FloatArray) -> Area:
    """Return the area under the ROC curve and DeLong's standard error.

        AUC = mean_i V_i = mean_j V_j,    se^2 = var_i(V_i) / n_1 + var_j(V_j) / n_0

    V_i is the share of negative rows below the positive row i, V_j the share of positive
    rows above the negative row j, ties as halves.

    Parameters
    ----------
    positive : bool array of shape (N,)
    score : array of shape (N,)

    Returns
    -------
    area : Area

    References
    ----------
    E. DeLong, D. DeLong, D. Clarke-Pearson. Comparing the areas under two or more
    correlated receiver operating characteristic curves. Biometrics 44(3), 1988.
    X. Sun, W. Xu. Fast implementation of DeLong's algorithm. IEEE Signal Processing
    Letters 21(11), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> area = delong(np.array([False, False, True, True]), np.array([1, 3, 2, 4]))
    >>> round(area.auc, 3), round(area.se, 3)
    (0.75, 0.354)
    """
    n1, n0 = int(positive.sum()), int((~positive).sum())
    rank = rankdata(score)
    # Sun and Xu: midranks among all, less those among one's own kind, count the
    # rows of the other kind that lie below, ties as halves.
    V1 = (rank[positive] - rankdata(score[positive])) / n0
    V0 = 1.0 - (rank[~positive] - rankdata(score[~positive])) / n1
    se = np.nan
    if min(n0, n1) > 1:
        se = float(np.sqrt(V1.var(ddof=1) / n1 + V0.var(ddof=1) / n0))
    return Area(float(V1.mean()), se)


def roc(positive: BoolArray, score: FloatArray) -> FloatArray:
    """Return the ROC curve, a point for each distinct score.

    One sort for each of hundreds of members: scikit-learn's `roc_curve` gives the same
    points, and takes several times as long for its checks.

    Parameters
    ----------
    positive : bool array of shape (N,)
    score : array of shape (N,)

    Returns
    -------
    curve : array of shape (n, 2)
        False and true positive rates, from (0, 0) to (1, 1).

    Examples
    --------
    >>> import numpy as np
    >>> roc(np.array([False, True, True]), np.array([0.1, 0.1, 0.3])).tolist()
    [[0.0, 0.0], [0.0, 0.5], [1.0, 1.0]]
    """
    falling = np.argsort(-score)
    last = np.flatnonzero(np.diff(score[falling], append=np.inf))
    true = np.cumsum(positive[falling])[last]
    false = last + 1 - true
    curve = np.column_stack([false / false[-1], true / true[-1]])
    return np.concatenate([np.zeros((1, 2)), curve])


def area_under(curve: FloatArray) -> float:
    """Return the area under a ROC curve of all its points, by the trapezoidal rule."""
    return float(np.trapezoid(curve[:, 1], curve[:, 0]))
