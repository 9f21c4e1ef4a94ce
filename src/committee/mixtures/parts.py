"""Experts on disjoint parts of the rows, assignment="hard": rows are handed on in rounds.

    1. train every expert on its part
    2. fit the gate on all rows: min mean_n |y_n - sum_m g_m(x_n) f_m(x_n)|^2
    3. give every row to the expert of largest weight there that has room; return to 1

(Collobert, Bengio and Bengio 2002.) On the rows of its own part an expert is represented by
clones that were trained on two thirds of the part. Otherwise an expert that memorises its
rows would seem right wherever they are. The penalty of the gate, and the error of a round,
are measured on rows that the gate was not fitted on either.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from committee._typing import FloatArray, IntArray, Member
from committee._validation import safe_indexing
from committee.gates.base import combined, errors_of
from committee.gates.softmax import PENALTIES
from committee.members.base import Sample, TrainingData
from committee.members.training import fit_member, run_parallel
from committee.mixtures.gate_tree import GateTree
from committee.predictions import predict_one
from committee.votes import Votes

_N_FOLDS = 3
#: Largest and smallest size of a part, in units of N / M, and in rows: experts of the
#: smallest part are cross-fitted on two rows in each fold.
_MOST, _LEAST = 1.25, 0.25
_LEAST_ROWS = 2 * _N_FOLDS
#: With fewer rows for each expert there are fewer experts.
ROWS_FOR_EACH = 2 * _LEAST_ROWS
#: Rows on which penalties are compared.
_MOST_ROWS = 5000


@dataclass(frozen=True)
class Round:
    """Result of one round."""

    experts: list[Member]
    gate: GateTree
    #: The rows that each expert was trained on.
    parts: list[IntArray]
    #: Mean squared error of the gated sum, with cross-fitted experts and gates.
    error: float
    #: Share of the rows that go to another expert after the round.
    moved: float


def rounds(
    data: TrainingData,
    Z: FloatArray,
    parts: list[IntArray],
    expert: Member,
    gate: GateTree,
    *,
    max_iter: int,
    tol: float,
    seeds: IntArray,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> Iterator[Round]:
    """Yield one round after the other, until at most a share `tol` of the rows moves.

    Z (N, 1 + d) holds the columns that the gate uses, after a column of ones. If the
    penalty of `gate` is None, every round takes the best of four.
    """
    M = len(parts)
    for number in range(max_iter):
        label = f"round {number + 1} of {max_iter}"
        jobs = (
            (_fit_part, expert, data, part, int(seed))
            for part, seed in zip(parts, seeds, strict=True)
        )
        found = list(run_parallel(jobs, M, label=label, n_jobs=n_jobs, verbose=verbose))
        F = np.stack([P for _, P in found], axis=1)
        votes = Votes(F, data.y, None, data.sample_weight)
        gate, error = _fitted_gate(gate, Z, errors_of(votes), votes.row_weights)
        after = assign_rows(np.exp(gate.log_weights(Z)))
        stayed = sum(
            len(np.intersect1d(old, new, assume_unique=True))
            for old, new in zip(parts, after, strict=True)
        )
        moved = 1.0 - stayed / len(Z)
        yield Round([member for member, _ in found], gate, parts, error, moved)
        if moved <= tol:
            return
        parts = after


def assign_rows(G: FloatArray) -> list[IntArray]:
    """Return the rows of every expert, each row with the best expert that has room.

    Rows are assigned in the order of their largest weight, and no expert gets more than
    1.25 N / M. Then an expert with fewer than N / (4 M) rows, or fewer than six, takes
    the rows of its largest weights from experts that have more.
    """
    N, M = G.shape
    room = np.full(M, int(np.ceil(_MOST * N / M)))
    owner = np.empty(N, dtype=np.intp)
    preferred = np.argsort(-G, axis=1, kind="stable")
    for n in np.argsort(-G.max(axis=1), kind="stable"):
        for m in preferred[n]:
            if room[m]:
                room[m] -= 1
                owner[n] = m
                break
    least = min(N // M, max(_LEAST_ROWS, int(_LEAST * N / M)))
    sizes = np.bincount(owner, minlength=M)
    for m in np.flatnonzero(sizes < least):
        for n in np.argsort(-G[:, m], kind="stable"):
            if sizes[m] == least:
                break
            if sizes[owner[n]] > least:
                sizes[owner[n]] -= 1
                sizes[m] += 1
                owner[n] = m
    return [np.flatnonzero(owner == m) for m in range(M)]


def _fitted_gate(
    gate: GateTree, Z: FloatArray, E: FloatArray, s: FloatArray
) -> tuple[GateTree, float]:
    """Return the gate of errors E (N, M, K), and its squared error on folds.

    The gate of the round before is where the search for coefficients starts.
    """
    tried = [gate]
    if gate.classifier is None and gate.penalty is None:
        tried = [replace(gate, penalty=penalty) for penalty in PENALTIES]
    used = np.random.RandomState(0).permutation(len(Z))[:_MOST_ROWS]
    folds = np.arange(len(used)) % _N_FOLDS
    losses = np.zeros(len(tried))
    for fold in range(_N_FOLDS):
        train, test = used[folds != fold], used[folds == fold]
        last = gate
        for i, candidate in enumerate(tried):
            last = replace(candidate, nodes=last.nodes)
            last = last.fitted_to_errors(Z[train], E[train], s[train])
            e = combined(E[test], np.exp(last.log_weights(Z[test])))
            losses[i] += s[test] @ np.einsum("nk,nk->n", e, e)
    best = int(np.argmin(losses))
    fitted = tried[best].fitted_to_errors(Z, E, s)
    return replace(fitted, penalty=gate.penalty), float(losses[best] / s[used].sum())


def _fit_part(
    expert: Member, data: TrainingData, part: IntArray, seed: int
) -> tuple[Member, FloatArray]:
    """Return the expert of a part, and predictions for all rows.

    Rows of the part are predicted by clones that were trained without them.
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
