"""Areas under ROC curves, of all candidates for a committee: by sorting, and by a race.

The area is the share of pairs, one row of the class and one of another, that p puts in
their order; ties count one half. It takes a sort of N numbers for each candidate and each
class at each step. On many rows the candidates are therefore compared on a sample of them
first, and only those that lead there on all.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.votes import Votes

#: Rows of the sample, and how many candidates are compared on all rows after it.
_SAMPLE, _LEFT = 10_000, 4
#: Least share of a class: areas of rarer ones differ by chance on a sample.
_RARE = 0.02


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
        self._areas = [_area(y == k, s) for k in codes]
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


def _area(is_class: BoolArray, s: FloatArray | None) -> Callable[[FloatArray], float]:
    """Return the function from p to the area under its curve, rows of weight s."""
    inside, outside = np.flatnonzero(is_class), np.flatnonzero(~is_class)
    if s is None:
        n_pairs = 2 * len(inside) * len(outside)

        def plain(p: FloatArray) -> float:
            # The others below each row, in order: sorted keys are found fast.
            x, q = np.sort(p[inside]), np.sort(p[outside])
            beaten = q.searchsorted(x).sum() + q.searchsorted(x, side="right").sum()
            return float(beaten / n_pairs)

        return plain
    a, b = s[inside] / s[inside].sum(), s[outside] / s[outside].sum()

    def weighted(p: FloatArray) -> float:
        up, across = np.argsort(p[inside]), np.argsort(p[outside])
        x, q = p[inside][up], p[outside][across]
        share = np.append(0.0, np.cumsum(b[across]))
        beaten = share[q.searchsorted(x)] + share[q.searchsorted(x, side="right")]
        return float(0.5 * (a[up] @ beaten))

    return weighted


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
    """Finds the candidates with the largest areas, on a sample of the rows.

    All candidates are compared on 10,000 rows, and only the best four of them on all rows.

    Parameters
    ----------
    slabs : array of shape (M, c + 1, n)
        What members add to T on the rows of the sample.
    rows : array of shape (n,)
    areas : Areas
        Of these rows.
    """

    def __init__(self, slabs: FloatArray, rows: IntArray, areas: Areas) -> None:
        self.slabs, self.rows, self.areas = slabs, rows, areas

    @classmethod
    def on(cls, slabs: FloatArray, areas: Areas, s: FloatArray | None) -> Race | None:
        """Return the race of slabs (M, c + 1, N); None of few rows, in all or of a class.

        The rows of each class are evenly spaced, so that each class has its share.
        """
        N, counts = len(areas.y), np.unique(areas.y, return_counts=True)[1]
        if N <= _SAMPLE or counts.min() < _RARE * N:
            return None
        by_class = np.argsort(areas.y, kind="stable")
        rows = by_class[np.linspace(0, N - 1, _SAMPLE).round().astype(np.intp)]
        weights = None if s is None else s[rows]
        return cls(slabs[..., rows], rows, Areas(areas.y[rows], areas.codes, weights))

    def only(self, members: IntArray) -> Race:
        """Return the race of some members."""
        return Race(self.slabs[members], self.rows, self.areas)

    def near(self, T: FloatArray) -> IntArray:
        """Return the candidates that lead, for sums T (c + 1, N)."""
        T = T[:, self.rows]
        areas = np.array([self.areas(slab + T) for slab in self.slabs])
        return np.argsort(-areas, kind="stable")[:_LEFT]
