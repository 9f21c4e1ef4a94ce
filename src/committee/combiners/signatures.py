"""Orderings by signatures.

A member's signature is c_mn = 1 where it votes for the right class, -1 where it
votes for another and 0 where it abstains.
"""

from __future__ import annotations

from numbers import Real
from typing import Any, ClassVar

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.ballots import TIE, Ballots, grid, least
from committee.combiners.selection import OrderingPruner, VotePruner
from committee.votes import Sums


class OrientationPruner(VotePruner):
    """Order members by the angle between their signature and a reference.

        c_ref = o + lambda c_ens,   c_ref . c_ens = 0,   o = (1, ..., 1)
        cos(angle_m) = c_m . c_ref / (|c_m| |c_ref|)

    smallest angle first. c_ens is the mean signature, on each row over the
    members that vote there; its projection is taken out of the diagonal o, so
    that rows count for which the whole committee is of little help. Where c_ens
    lies on the diagonal nothing is left and the reference is o: the order is
    that of the members' errors. Row weights enter the scalar product. Defined
    on right and wrong votes, so for any number of classes.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.

    Attributes
    ----------
    cosine_ : array of shape (M,)
        cos(angle_m). The authors keep the members above zero.
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Martinez-Munoz and Suarez, Pruning in ordered bagging ensembles, ICML 2006.

    Examples
    --------
    Rows 0 and 1 are easy, row 2 is hard; only member 2 knows it.

    >>> import numpy as np
    >>> from committee import OrientationPruner
    >>> votes = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]])
    >>> OrientationPruner(1).fit(np.eye(2)[votes], [0, 0, 0]).support_.tolist()
    [2]
    """

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"cosine_": np.nan}
    cosine_: FloatArray

    def _order_votes(self, ballots: Ballots) -> IntArray:
        products, along = ballots.total(_signature_sums)
        (oo, oc), (_, cc) = products
        # c_ref = o - share c_ens; all of o where nothing would be left.
        share = oc / cc if cc > 0 else 0.0
        if (square := oo - share * oc) <= TIE * oo:
            share, square = 0.0, oo
        length = np.sqrt(ballots.counted * square)
        self.cosine_ = (along[0] - share * along[1]) / length
        return np.lexsort((ballots.rank, grid(-self.cosine_)))


class MarginDistancePruner(VotePruner):
    """Move the mean signature towards a point in the first quadrant.

        s_u = argmin_k || p o - (c_{s_1} + ... + c_{s_u-1} + c_k) / T ||

    with o = (1, ..., 1) and T the number of members: each step takes the member
    that brings the sum of signatures, as a part of the whole committee's mean,
    nearest to p on all rows. p is small, so that rows already won by p T votes
    stop to count in favour of a member. With abstentions T is, on each row, the
    number of members that vote there. Row weights enter the distance. Defined
    on right and wrong votes, so for any number of classes.

    Parameters
    ----------
    n_members : int, default=25
        How many to keep; all if there are fewer.
    p : float in (0, 1], default=0.075
        The margin to reach on every row.

    Attributes
    ----------
    distance_ : array of shape (M,)
        Distance after each step, a root mean square over rows.
    order_, weights_, path_, support_
        As in `BestPruner`.

    References
    ----------
    Martinez-Munoz and Suarez, Aggregation ordering in bagging, IASTED 2004.

    Examples
    --------
    The first two members agree; the third wins the row that they lose.

    >>> import numpy as np
    >>> from committee import MarginDistancePruner
    >>> votes = np.array([[0, 0, 0], [0, 0, 1], [0, 0, 1], [1, 1, 0]])
    >>> MarginDistancePruner().fit(np.eye(2)[votes], [0, 0, 0, 0]).order_.tolist()
    [0, 2, 1]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrderingPruner._parameter_constraints,
        "p": [Interval(Real, 0, 1, closed="right")],
    }

    takes_chunks: ClassVar[bool] = True
    _by_member: ClassVar[dict[str, float]] = {"distance_": np.nan}
    distance_: FloatArray

    def __init__(self, n_members: int = 25, *, p: float = 0.075) -> None:
        super().__init__(n_members)
        self.p = p

    def _order_votes(self, ballots: Ballots) -> IntArray:
        G, b, total = ballots.total(_share_sums)
        order, distance = _nearest(G / total, b / total, self.p, ballots.rank)
        self.distance_ = np.sqrt(np.maximum(distance, 0.0))
        return order


def _signature_sums(ballots: Ballots) -> Sums:
    """Return products of (o, c_ens) with themselves, (2, 2), and with c, (2, M)."""
    c = ballots.right - ballots.wrong
    voters = ballots.present.sum(axis=1)
    both = np.array([voters > 0, c.sum(axis=1) / np.maximum(voters, 1)])
    heavy = ballots.s * both
    return Sums((heavy @ both.T, heavy @ c))


def _share_sums(ballots: Ballots) -> Sums:
    """Return G and b, from signatures over the number of voters, and sum s."""
    voters = ballots.present.sum(axis=1)
    rows = voters > 0
    root = np.sqrt(ballots.s[rows])
    c = (ballots.right - ballots.wrong)[rows] / voters[rows, None]
    c *= root[:, None]
    return Sums((c.T @ c, root @ c, float(root @ root)))


def _nearest(
    G: FloatArray, b: FloatArray, p: float, rank: IntArray
) -> tuple[IntArray, FloatArray]:
    """Order members by | p o - sum c |^2 = p^2 - 2 p b'z + z'Gz, z the chosen."""
    M = len(G)
    free = np.ones(M, dtype=bool)
    order, distance = np.empty(M, dtype=np.intp), np.empty(M)
    now, score = p**2, np.diag(G) - 2 * p * b
    for u in range(M):
        k = least(score, rank, free, unit=1.0 / M)
        now += score[k]
        order[u], distance[u], free[k] = k, now, False
        # (z + e_m)'G(z + e_m) gains 2 G_mk for every later m.
        score = score + 2 * G[k]
    return order, distance
