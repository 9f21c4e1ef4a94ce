"""Held-out residuals and scores that a committee stores for intervals and sets.

Weights that were learned on a row make its residual too small. So each row is predicted
by weights of a fold without it, and by members that were not trained on it. No row of X
is stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy.special import softmax

from committee._typing import BoolArray, FloatArray, IntArray
from committee.diagnostics.missing_votes import FilledVotes, with_weight
from committee.uncertainty.intervals import member_spread
from committee.uncertainty.sets import SCORES, scores_of
from committee.votes import packed, unpacked

#: Grid of t in `as_of_all_members`.
_SHARES = (np.arange(1000) + 0.5) / 1000
#: Rows that are stored. With 5,000 the coverage of one committee at 0.9 has a standard
#: deviation of 0.4 points, and each number by row takes 40 kB in a file.
MOST_ROWS = 5000


@dataclass(frozen=True, eq=False)
class HeldOutResiduals:
    """Residuals of n rows, at most 5,000.

    Attributes
    ----------
    residual : array of shape (n,)
        |y - f|, with f the prediction of all members of the fold's committee. Missing
        votes are drawn from the present ones, `FilledVotes.drawn`. Where f varies more
        than with all votes, residuals are scaled; see `as_of_all_members`.
    spread : array of shape (n,)
        Spread of the same votes.
    left_out : array of shape (n,) or None
        |y - f|, with f the prediction of the members not trained on the row; NaN if there
        is no such member. None if all members vote on all rows, and behind a gate.
    mask : dict or None
        Mask (n, k) of the rows that the members of the committee were not trained on, as
        bits.
    """

    residual: FloatArray
    spread: FloatArray
    left_out: FloatArray | None = None
    mask: dict[str, Any] | None = None

    @classmethod
    def of(
        cls,
        votes: FilledVotes,
        folds: Sequence[tuple[IntArray, FloatArray]],
        support: IntArray,
        sample_weight: FloatArray | None = None,
    ) -> Self:
        """Return the residuals of rows, by weights that were fitted without them.

        Parameters
        ----------
        votes : FilledVotes
            F (N, M) of all members, targets and the mask.
        folds : sequence of (rows, array of shape (M,) or (n, M))
            Weights that were fitted without these rows; of a gate, for each of them.
        support : array of shape (k,)
            Indices of the kept members.
        sample_weight : array-like of shape (N,), default=None
            Rows of weight zero are left out; all others count once.
        """
        rng = np.random.default_rng(0)
        N = len(votes.F)
        f, spread, left_out, v, squares = np.full((5, N), np.nan)
        for rows, w in folds:
            part, members = votes.take(rows), _members(w)
            f[rows], drawn = part.drawn(w, members, rng)
            spread[rows] = member_spread(drawn, w[..., members])
            v[rows], squares[rows] = part.open_share(w), (w**2).sum(axis=-1)
            if part.held_out is not None and w.ndim == 1:
                left_out[rows] = part.offset + _mean_of_unseen(
                    part.F[:, members], w[members], part.held_out[:, members]
                )
        rows = _some(np.isfinite(f) & votes.counted, sample_weight, rng)
        y = np.asarray(votes.y, dtype=np.float64)
        residual, gated = np.abs(y - f)[rows], any(w.ndim == 2 for _, w in folds)
        if votes.held_out is not None:
            residual = as_of_all_members(
                *(residual, votes.variance[rows], v[rows], squares[rows]),
                several=votes.n_votes[rows] > 1,
            )
        if votes.held_out is None or gated:
            return cls(residual, spread[rows])
        mask = packed(votes.held_out[np.ix_(rows, support)])
        return cls(residual, spread[rows], np.abs(y - left_out)[rows], mask)

    @classmethod
    def some(cls, residual: FloatArray, spread: FloatArray, counted: BoolArray) -> Self:
        """Return at most 5,000 of the given residuals, of counted rows."""
        rows = _some(counted, None, np.random.default_rng(0))
        return cls(residual[rows], spread[rows])

    def unseen(self, w: FloatArray) -> tuple[FloatArray, BoolArray | None]:
        """Return R and the mask of rows that some member with a weight in w leaves out."""
        if self.left_out is None or self.mask is None:
            return self.residual, None
        mask = unpacked(**self.mask)
        rows = np.isfinite(self.left_out) & mask[:, w != 0].any(axis=1)
        return self.left_out[rows], mask[rows]


@dataclass(frozen=True, eq=False)
class HeldOutScores:
    """Scores of the classes of n rows, at most 5,000.

    Attributes
    ----------
    lac, aps : arrays of shape (n,)
        See `committee.uncertainty.sets`. In single precision, rounded upwards.
    y : array of shape (n,)
        Class codes of the rows.
    """

    lac: FloatArray
    aps: FloatArray
    y: IntArray

    @classmethod
    def of(
        cls,
        p: FloatArray,
        y: IntArray,
        counted: BoolArray,
        sample_weight: FloatArray | None = None,
    ) -> Self:
        """Return the scores of class codes (N,) in held-out probabilities (N, K)."""
        rows = _some(counted, sample_weight, np.random.default_rng(0))
        y, p = y[rows], p[rows]
        scores = {
            name: _half_size(scores_of(score(p), y)) for name, score in SCORES.items()
        }
        return cls(**scores, y=y.astype(np.min_scalar_type(p.shape[1])))


def _half_size(scores: FloatArray) -> Any:
    """Return scores between 0 and 1 in single precision, none of them smaller."""
    single = scores.astype(np.float32)
    above = np.nextafter(single, np.float32(np.inf))
    return np.where(single < scores, above, single)


def _members(w: FloatArray) -> IntArray:
    """Return the members with a weight, or all if none has one."""
    members = with_weight(w)
    return members if len(members) else np.arange(w.shape[-1])


def _mean_of_unseen(F: FloatArray, w: FloatArray, held_out: BoolArray) -> FloatArray:
    """Return sum_m h_m w_m f_m (sum w / sum_m h_m w_m), NaN if the sum is zero."""
    A = held_out * w
    total = A.sum(axis=1)
    usable = held_out.any(axis=1) & (total > 0)
    scale = np.divide(w.sum(), total, out=np.full(len(F), np.nan), where=usable)
    return np.asarray(np.einsum("nm,nm->n", A, F) * scale)


def _some(counted: BoolArray, s: Any, rng: np.random.Generator) -> IntArray:
    """Return the numbers of the rows to store, a random draw if there are too many."""
    rows = np.flatnonzero(counted if s is None else counted & (s > 0))
    if len(rows) > MOST_ROWS:
        rows = np.sort(rng.choice(rows, MOST_ROWS, replace=False))
    return rows


def as_of_all_members(
    R: FloatArray,
    s2: FloatArray,
    v: FloatArray,
    squares: FloatArray,
    several: BoolArray,
) -> FloatArray:
    """Return residuals, scaled to residuals of all members where v_n is negative.

        k_n = |w|^2 - v_n                  f_n has the variance s_n^2 k_n
        E R_n^2 = B + s_n^2 k_n,           that of all members B + s_n^2 |w|^2
        t = B / (B + k s^2),   k = max k_n
        R_n sqrt((t k + (1 - t) |w|^2) / (t k + (1 - t) k_n))

    B remains with any number of members; with equal weights and rows of one vote, t is
    the correlation of two members' errors. It is estimated on rows with several votes,
    because only these separate s_n^2 from B:

        t^ = sum c_n / sum d_n,   c_n = R_n^2 - s_n^2 k_n,   d_n = c_n + k s_n^2
        se^2 = sum (c_n - t^ d_n)^2 / (sum d_n)^2

    t is the mean of Normal(t^, se^2) restricted to 0..1. With few such rows t^ may be
    negative; used directly it would give intervals of width zero.

    Parameters
    ----------
    R, s2, v, squares : arrays of shape (n,)
        |y_n - f_n|, s_n^2 and v_n of `FilledVotes`, and |w|^2 of the row's weights.
    several : bool array of shape (n,)
        Whether more than one member votes. Without any such row nothing is scaled.
    """
    over = v < 0
    used = over & several
    if not used.any():
        return R
    k_n = squares - v
    k = k_n[over].max()
    t = _share(R[used] ** 2 - s2[used] * k_n[used], k * s2[used])
    scale = (t * k + (1 - t) * squares) / (t * k + (1 - t) * k_n)
    return np.where(over, R * np.sqrt(np.where(over, scale, 1.0)), R)


def _share(c: FloatArray, of_members: FloatArray) -> float:
    """Return t of c_n and k s_n^2."""
    d = c + of_members
    total = float(d.sum())
    if total <= 0:
        return 1.0
    t = float(c.sum()) / total
    se = float(np.sqrt(((c - t * d) ** 2).sum())) / total
    if se == 0:
        return min(max(t, 0.0), 1.0)
    return float(softmax(-0.5 * ((_SHARES - t) / se) ** 2) @ _SHARES)
