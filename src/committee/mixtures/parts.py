"""Experts on disjoint parts of the rows, and a gate that hands rows on.

    1. every expert is trained on its part
    2. the gate is fitted on all rows: min mean_n |y_n - sum_m g_m(x_n) f_m(x_n)|^2
    3. every row goes to the expert of largest weight there that has room; then 1

(Collobert, Bengio and Bengio 2002.) Of its own part an expert gives predictions of clones
that were trained on two thirds of it: a kernel machine that has learned its rows by heart
would else look right wherever they are. The penalty of the gate, and the error of the
round, are those of gates that were fitted on two thirds of the rows.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from committee._typing import FloatArray, IntArray, Member
from committee._validation import safe_indexing
from committee.gates.softmax import PENALTIES, Rows
from committee.members.base import Sample, TrainingData
from committee.members.training import fit_member, run_parallel
from committee.mixtures.soft_gates import log_gates
from committee.predictions import predict_one
from committee.votes import Votes

#: By how much a part may be larger than N / M.
_SLACK = 0.25
_N_FOLDS = 3
#: Rows that the penalty of the gate is chosen on.
_MOST_ROWS = 5000


@dataclass(frozen=True)
class Round:
    """What one round came to."""

    experts: list[Member]
    #: Coefficients of the gate, (M, 1 + d).
    B: FloatArray
    #: The rows that each expert was trained on.
    parts: list[IntArray]
    #: Mean squared error of the gated sum, of cross-fitted experts and gates.
    error: float


def rounds(
    data: TrainingData,
    Z: FloatArray,
    parts: list[IntArray],
    expert: Member,
    *,
    n_rounds: int,
    penalty: float | None,
    seeds: IntArray,
    n_jobs: int | None,
    verbose: bool,
) -> Iterator[Round]:
    """Yield one round after the other, until no row moves.

    Z (N, 1 + d) are the columns that the gate looks at, after a column of ones. Without a
    penalty the best of four is taken in each round.
    """
    M = len(parts)
    B = np.zeros((M, Z.shape[1]))
    for number in range(n_rounds):
        label = f"round {number + 1} of {n_rounds}"
        jobs = (
            (_fit_part, expert, data, part, int(seed))
            for part, seed in zip(parts, seeds, strict=True)
        )
        found = list(run_parallel(jobs, M, label=label, n_jobs=n_jobs, verbose=verbose))
        rows = _gate_rows(data, Z, np.stack([P for _, P in found], axis=1))
        chosen, error = _gate_penalty(rows, penalty, B)
        B = rows.fit(chosen, B)
        yield Round([member for member, _ in found], B, parts, error)
        moved = assign_rows(np.exp(log_gates(Z, [B])))
        if all(np.array_equal(a, b) for a, b in zip(moved, parts, strict=True)):
            return
        parts = moved


def assign_rows(G: FloatArray) -> list[IntArray]:
    """Return the rows of every expert: to each the best of those that have room.

    Rows are handed out in the order of their largest weight, and no expert has more
    than a quarter above N / M of them, nor none.
    """
    N, M = G.shape
    room = np.full(M, int(np.ceil((1.0 + _SLACK) * N / M)))
    owner = np.empty(N, dtype=np.intp)
    preferred = np.argsort(-G, axis=1, kind="stable")
    for n in np.argsort(-G.max(axis=1), kind="stable"):
        for m in preferred[n]:
            if room[m]:
                room[m] -= 1
                owner[n] = m
                break
    for m in range(M):  # who has no row gets the one it has most weight on
        if not np.any(owner == m):
            several = np.bincount(owner, minlength=M)[owner] > 1
            owner[np.argmax(np.where(several, G[:, m], -1.0))] = m
    return [np.flatnonzero(owner == m) for m in range(M)]


def _gate_rows(data: TrainingData, Z: FloatArray, F: FloatArray) -> Rows:
    """Return the rows of the gate's fit, which begins at equal weights."""
    problem = Votes(F, data.y, None, data.sample_weight)
    M = F.shape[1]
    return Rows.of(Z[:, 1:], problem, np.full(M, 1.0 / M))


def _gate_penalty(
    rows: Rows, penalty: float | None, B: FloatArray
) -> tuple[float, float]:
    """Return the penalty of least error on folds of some rows, and that error."""
    N = len(rows.Z)
    used = np.random.RandomState(0).permutation(N)[:_MOST_ROWS]
    penalties = PENALTIES if penalty is None else (penalty,)
    if len(used) < 2 * _N_FOLDS:
        return penalties[0], _mean_square(rows, B)
    losses = np.zeros(len(penalties))
    for fold in range(_N_FOLDS):
        test = np.arange(len(used)) % _N_FOLDS == fold
        some, others = _at(rows, used[~test]), _at(rows, used[test])
        C = B
        for i, candidate in enumerate(penalties):
            C = some.fit(candidate, C)
            losses[i] += rows.s[used[test]].sum() * _mean_square(others, C)
    best = int(np.argmin(losses))
    return penalties[best], float(losses[best] / rows.s[used].sum())


def _mean_square(rows: Rows, B: FloatArray) -> float:
    e = rows.errors(B)
    return float(rows.s @ np.einsum("nk,nk->n", e, e))


def _at(rows: Rows, some: IntArray) -> Rows:
    """Return some of the rows, whose members are all present."""
    s = rows.s[some]
    return replace(rows, Z=rows.Z[some], E=rows.E[some], s=s / s.sum())


def _fit_part(
    expert: Member, data: TrainingData, part: IntArray, seed: int
) -> tuple[Member, FloatArray]:
    """Return the expert of a part, and what it predicts for all rows.

    For rows of its part clones predict that have not seen them, if there are enough.
    """

    def fit(rows: IntArray) -> Member:
        return fit_member(expert, data, Sample.of(rows, data), seed)

    member = fit(part)
    P = predict_one(member, data.X, classes=data.classes)
    if len(part) >= 2 * _N_FOLDS:
        fold = np.random.RandomState(seed).permutation(len(part)) % _N_FOLDS
        for k in range(_N_FOLDS):
            test = part[fold == k]
            clone = fit(part[fold != k])
            P[test] = predict_one(
                clone, safe_indexing(data.X, test), classes=data.classes
            )
    return member, P
