"""Areas under ROC curves, of all candidates for a committee: by sorting, and by a race.

The area is the share of pairs, one row of the class and one of another, that p puts in
their order; ties count one half. It takes a sort of N numbers for each candidate and each
class at each step. On many rows the candidates therefore compete on batches of them
first, and only those that lead there are looked at on all.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import stdtrit

from committee._typing import BoolArray, FloatArray, IntArray
from committee.votes import Votes

#: Least rows for a race, rows of a batch, least rows of a class in a batch.
_MANY, _BATCH, _OF_A_CLASS = 20_000, 500, 10
#: Batches after which candidates are left out, and how many at most are left in the end.
_ROUNDS, _LEFT = (10, 20, 40), 4
#: Chance that a candidate as good as the best is left out.
_BY_CHANCE = 1e-4


class Areas:
    """The mean of the areas of several classes, each against the rest.

    Parameters
    ----------
    y : array of shape (N,)
        Class codes.
    codes : array of shape (c,)
        The classes.
    s : array of shape (N,), optional
        Weights of the rows.
    """

    def __init__(self, y: IntArray, codes: IntArray, s: FloatArray | None) -> None:
        self.y, self.codes = y, codes
        of_class = [y == k for k in codes]
        self._areas: list[Callable[[FloatArray], float]] = (
            [_Sorted(inside) for inside in of_class]
            if s is None
            else [_weighted_area(inside, s) for inside in of_class]
        )
        self._p = np.empty(len(y))

    def __call__(self, T: FloatArray) -> float:
        """Return the mean area of p = T[:-1] / T[-1], T of shape (c + 1, N)."""
        # Without a vote all classes are alike.
        total = np.where(T[-1] > 0, T[-1], 1.0)
        areas = [
            area(np.divide(t, total, out=self._p))
            for area, t in zip(self._areas, T, strict=False)
        ]
        return float(np.mean(areas))


class _Sorted:
    """The area of one class, all rows alike: by the ranks of its rows.

    A sort of numbers is far faster than one of their places, so whether a row is of the
    class goes into the last bit of its p, which is not negative: then the bits of a
    number are in the order of the numbers, and p that differ by rounding tie.
    """

    def __init__(self, inside: BoolArray) -> None:
        self._last_bit = inside.astype(np.uint64)
        self._n, self._rest = int(inside.sum()), int((~inside).sum())
        self._keys = np.empty(len(inside), dtype=np.uint64)

    def __call__(self, p: FloatArray) -> float:
        keys = self._keys
        # Minus zero would be the largest.
        np.bitwise_and(np.abs(p).view(np.uint64), ~np.uint64(1), out=keys)
        keys |= self._last_bit
        keys.sort()
        inside = (keys & np.uint64(1)).astype(bool)
        # Rows of the class come last of those that tie.
        won = np.flatnonzero(inside).sum() - self._n * (self._n - 1) / 2
        same = (keys[1:] ^ keys[:-1]) <= 1
        if np.any(same):
            won -= _tied_pairs(inside, same) / 2
        return float(won / self._n / self._rest)


def _tied_pairs(inside: BoolArray, same: BoolArray) -> float:
    """Return the pairs of rows, one inside, whose keys are equal but for the last bit."""
    starts = np.flatnonzero(np.append(True, ~same))
    n = np.add.reduceat(inside.astype(np.float64), starts)
    sizes = np.diff(np.append(starts, len(inside)))
    return float(n @ (sizes - n))


def _weighted_area(is_class: BoolArray, s: FloatArray) -> Callable[[FloatArray], float]:
    """Return the function from p to the area under its curve, rows of weight s."""
    inside, outside = np.flatnonzero(is_class), np.flatnonzero(~is_class)
    a, b = s[inside] / s[inside].sum(), s[outside] / s[outside].sum()

    def area(p: FloatArray) -> float:
        # The share of the others below each row, in order: sorted keys are found fast.
        up, across = np.argsort(p[inside]), np.argsort(p[outside])
        x, q = p[inside][up], p[outside][across]
        share = np.append(0.0, np.cumsum(b[across]))
        beaten = share[q.searchsorted(x)] + share[q.searchsorted(x, side="right")]
        return float(0.5 * (a[up] @ beaten))

    return area


def area_slabs(votes: Votes, codes: IntArray) -> FloatArray:
    """Return what members add to T: p of the classes, and of all, (M, c + 1, N)."""
    N, M, K = votes.F.shape
    slabs, one = np.empty((M, len(codes) + 1, N)), np.empty((K, N))
    for m in range(M):
        one[:] = votes.F[:, m].T
        slabs[m, :-1] = one[codes]
        one.sum(axis=0, out=slabs[m, -1])
    return slabs


class Race:
    """Tells which candidates have the largest areas, by batches of the rows.

        d_m = mean_b (A_b(best) - A_b(m)),   s_m its standard error over the batches

    Those whose d_m / s_m is beyond a quantile of Student's distribution are clearly
    behind; the others go on to further batches, 20,000 rows in all. Of more than four that
    are left then, and so differ by less than such a sample shows, the best four stay.
    Every batch has all classes in their shares, and the same rows for all candidates.

    Parameters
    ----------
    slabs : array of shape (B, M, c + 1, n)
        Of the rows of each batch.
    rows : array of shape (B, n)
    areas : Areas
    """

    def __init__(self, slabs: FloatArray, rows: IntArray, areas: Areas) -> None:
        self.slabs, self.rows, self.areas = slabs, rows, areas
        is_class = areas.y[rows][:, None] == areas.codes[:, None]
        self._last_bit = is_class.astype(np.uint32)

    @classmethod
    def on(cls, slabs: FloatArray, areas: Areas, s: FloatArray | None) -> Race | None:
        """Return the race of slabs (M, c + 1, N); None of too few rows, in all or of a class.

        Rows come as often as they weigh, and then count alike.
        """
        y, N = areas.y, len(areas.y)
        s = np.ones(N) if s is None else s
        rarest = np.bincount(y, s)[np.unique(y)].min() / s.sum()
        if N < _MANY or rarest * _BATCH < _OF_A_CLASS:
            return None
        by_class = np.argsort(y, kind="stable")
        B = min(_ROUNDS[-1], N // _BATCH)
        # Evenly spaced in a batch, which has all classes in their shares.
        shift = (np.random.default_rng(0).permutation(B)[:, None] + 0.5) / B
        at = (np.arange(_BATCH) + shift) / _BATCH
        until = np.cumsum(s[by_class]) / s.sum()
        rows = by_class[np.minimum(np.searchsorted(until, at), N - 1)]
        some = np.empty((B, *slabs.shape[:2], _BATCH), dtype=np.float32)
        for m, slab in enumerate(slabs):
            some[:, m] = slab[:, rows].transpose(1, 0, 2)
        return cls(some, rows, areas)

    def only(self, members: IntArray) -> Race:
        """Return the race of some members."""
        return Race(self.slabs[:, members], self.rows, self.areas)

    def near(self, T: FloatArray) -> IntArray:
        """Return the candidates that lead, for sums T (c + 1, N)."""
        left, A = np.arange(self.slabs.shape[1]), np.zeros((0, self.slabs.shape[1]))
        for until in _ROUNDS:
            batches = range(len(A), min(until, len(self.rows)))
            if len(left) == 1 or not batches:
                break
            more = [self._areas(b, left, T[:, self.rows[b]]) for b in batches]
            A = np.vstack([A, *more])
            behind = A[:, [A.mean(axis=0).argmax()]] - A
            se = behind.std(axis=0, ddof=1) / np.sqrt(len(A))
            near = behind.mean(axis=0) <= stdtrit(len(A) - 1, 1 - _BY_CHANCE) * se
            left, A = left[near], A[:, near]
        return left[np.argsort(-A.mean(axis=0), kind="stable")[:_LEFT]]

    def _areas(self, b: int, members: IntArray, T: FloatArray) -> FloatArray:
        """Return the mean area of each candidate in a batch."""
        sums = self.slabs[b, members] + T.astype(np.float32)
        p = np.abs(sums[:, :-1] / np.maximum(sums[:, -1:], np.float32(1e-30)))
        keys = (p.view(np.uint32) & ~np.uint32(1)) | self._last_bit[b]
        keys.sort(axis=2)
        ranks = _ranks(keys & np.uint32(1))
        tied = np.any((keys[:, :, 1:] ^ keys[:, :, :-1]) <= 1, axis=2)
        if np.any(tied):
            # Rows of the class are the last of those that tie, and now the first.
            others = np.sort(keys[tied] ^ np.uint32(1), axis=1) & np.uint32(1)
            ranks[tied] = (ranks[tied] + _ranks(others ^ np.uint32(1))) / 2
        n = self._last_bit[b].sum(axis=1, dtype=np.float64)
        areas = (ranks - n * (n - 1) / 2) / n / (keys.shape[2] - n)
        return np.asarray(areas.mean(axis=1))


def _ranks(inside: Any) -> FloatArray:
    """Return the sum of the places of the ones, on the last axis; exact up to 2^24."""
    places = np.arange(inside.shape[-1], dtype=np.float32)
    return np.asarray(inside.astype(np.float32) @ places, dtype=np.float64)
