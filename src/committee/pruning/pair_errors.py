"""Errors of pairs of trees, and the trees whose mean has the smallest error."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.diagnostics.correlation import moment_sums
from committee.votes import Votes


class PairErrors:
    """Sums of E_i'E_j over rows that neither i nor j was trained on, for each fold.

    Parameters
    ----------
    votes : Votes
    folds : sequence of int arrays
        Rows of each; together all rows.
    """

    def __init__(self, votes: Votes, folds: Sequence[IntArray]) -> None:
        F, held_out, s = votes.F, votes.held_out, votes.sample_weight
        weight = None if s is None else s / s.mean()
        largest = max(float(np.abs(F).max()), 1.0) if F.ndim == 2 else 1.0
        sums = [
            moment_sums(
                *(F[rows], votes.y[rows]),
                None if held_out is None else held_out[rows],
                None if weight is None else weight[rows],
                largest,
            )
            for rows in folds
        ]
        self.products = np.array([one.products for one in sums])
        self.counts = np.array([one.counts for one in sums])

    def greedy_order(
        self, members: IntArray, n: int, without: int | None = None
    ) -> IntArray:
        """Return n of the members; each lowers the error of the mean most.

            C_ij = mean of E_i'E_j,   m = argmin_j C_jj + 2 sum_{i chosen} C_ij

        `without` is a fold whose rows are left out. On data sets that are not in
        `benchmarks refine`, these trees were better after refining than the first n, than
        those nearest to the mean of the forest, and than those of EP.
        """
        rows = np.arange(len(self.products)) != without
        counts = self.counts[rows].sum(axis=0)
        C: FloatArray = self.products[rows].sum(axis=0) / np.maximum(counts, 1e-300)
        C = np.where(np.broadcast_to(counts > 0, C.shape), C, C.max())
        C = C[np.ix_(members, members)]
        order: list[int] = []
        cost: FloatArray = np.diag(C).copy()
        for _ in range(n):
            order.append(int(cost.argmin()))
            cost += 2 * C[order[-1]]
            cost[order[-1]] = np.inf
        return np.asarray(members[order])
