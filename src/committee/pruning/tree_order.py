"""Which trees to refine, where nobody has weighed them."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.diagnostics.correlation import moment_sums
from committee.pruning.pruning_data import Evaluation


def greedy_order(evaluation: Evaluation, members: IntArray, n: int) -> IntArray:
    """Return n positions in members, each that which lowers the error of the mean most.

        C_ij = mean of E_i'E_j over rows that neither i nor j has seen,
        m = argmin_j C_jj + 2 sum_{i chosen} C_ij

    On sets other than those of `benchmarks refine` these trees, refined, were better than
    the first ones, those nearest to the mean of the forest, and EP's.
    """
    _, F, rows, _ = evaluation
    held_out = rows.held_out
    if len(members) < F.shape[1]:
        F = F[:, members]
        held_out = None if held_out is None else held_out[:, members]
    weight = None if rows.weight is None else rows.weight / rows.weight.mean()
    largest = max(float(np.abs(F).max()), 1.0) if F.ndim == 2 else 1.0
    sums = moment_sums(F, rows.y, held_out, weight, largest)
    C = np.asarray(sums.products / np.maximum(sums.counts, 1e-300))
    C = np.where(np.broadcast_to(sums.counts > 0, C.shape), C, C.max())
    order: list[int] = []
    cost: FloatArray = np.diag(C).copy()
    for _ in range(n):
        order.append(int(cost.argmin()))
        cost += 2 * C[order[-1]]
        cost[order[-1]] = np.inf
    return np.array(order)
