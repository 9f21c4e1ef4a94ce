"""Which trees of an ensemble are refined, in which order, and what is refused."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray, RandomState
from committee.diagnostics.correlation import moment_sums
from committee.distributed import refuse_dask
from committee.ensembles import Roster, roster_of
from committee.ensembles.forests import is_tree
from committee.ensembles.rounds import Round
from committee.pruning.oob_choice import Oob
from committee.pruning.pruning_data import Evaluation, PruningData
from committee.pruning.refined_sizes import SIZES, Limits, refined_within
from committee.pruning.refined_trees import Refiner


class Kept(NamedTuple):
    """Trees of an ensemble that may be kept.

    Attributes
    ----------
    whole : fitted ensemble
    roster : Roster
        Its members.
    members : int array of shape (k,)
    w : array of shape (k,)
        Their weights.
    template : committee or None
        What a pruned committee was made from; None for other ensembles.
    """

    whole: Any
    roster: Roster
    members: IntArray
    w: FloatArray
    template: Any = None


def kept_of(ensemble: Any) -> Kept:
    """Return the trees of an ensemble, or those that were just pruned of another."""
    roster = roster_of(ensemble)
    w = check_trees(ensemble, roster)
    path: Any = getattr(ensemble, "path_", None)
    before = None if path is None else path.assessment.before
    if before is None:
        return Kept(ensemble, roster, np.arange(len(w)), w)
    whole, roster = before  # just pruned: the whole is known, and its rows are
    check_trees(whole, roster)
    template = path.assessment.data.template
    return Kept(whole, roster, np.asarray(ensemble.support_), w, template)


def refine_kept(
    kept: Kept,
    template: Any,
    X: Any,
    y: Any,
    *,
    limits: Limits,
    oob: Oob,
    sample_weight: Any,
    random_state: RandomState,
) -> tuple[Any, str]:
    """Return the refined committee, and what the user should know."""
    data = PruningData(
        *(kept.whole, kept.roster, template, oob, False, X, y, sample_weight)
    )
    refiner = Refiner(data, random_state)
    order = _order(refiner, kept, limits)
    w = kept.w[order]
    if w.sum() != 0:
        w = w * (kept.w.sum() / w.sum())
    made = refined_within(refiner, kept.members[order], w, limits)
    return made, data.note


def _order(refiner: Refiner, kept: Kept, limits: Limits) -> IntArray:
    """Return positions in `kept.members`, those to keep first in front."""
    k = len(kept.members)
    if not limits.open_size and (limits.max_members or k) >= k:
        return np.arange(k)
    if np.ptp(np.abs(kept.w)) > 1e-12 * np.abs(kept.w).max():
        return np.argsort(-np.abs(kept.w), kind="stable")
    n = k if limits.max_members is None else min(limits.max_members, k)
    return greedy_order(refiner.evaluation, kept.members, n)


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


def check_refinable(ensemble: Any, roster: Roster, X: Any, y: Any) -> None:
    """Refuse, before any work, what `refine` would refuse after it."""
    refuse_chunks(X, y)
    check_trees(ensemble, roster)


def refuse_chunks(X: Any, y: Any) -> None:
    """Refuse Dask collections."""
    refuse_dask(
        "refine takes rows in memory. Give a sample of the collections, computed.", X, y
    )


def check_trees(ensemble: Any, roster: Roster) -> FloatArray:
    """Return the weights of the members, which must be trees that are averaged."""
    if any(isinstance(member, Round) for member in roster.members):
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined: rounds "
            "of a booster correct each other and have seen all rows, and refitted on "
            "fresh ones they were worse than a new booster of as many rounds. Train that "
            "one, with a larger learning rate, or use prune."
        )
    if not all(map(is_tree, roster.members)):
        others = sorted({type(m).__name__ for m in roster.members if not is_tree(m)})
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined: give a "
            "RandomForest*, ExtraTrees*, Bagging* of trees, or a committee of trees. Got "
            f"members of the kind {', '.join(others)}."
        )
    if getattr(ensemble, "gate_", None) is not None:
        raise ValueError(
            "Leaves are refitted for trees whose weights are the same everywhere. This "
            "committee has a gate; refine the ensemble first, then call with_gate."
        )
    if roster.weights is None or roster.output != "soft":
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined. Those of "
            f"a {type(ensemble).__name__} have one vote each; use prune."
        )
    return roster.weights


def checked_limits(limits: Limits, n_members: int) -> Limits:
    """Return the limits, once they make sense."""
    for name, value in limits._asdict().items():
        counts = name in ("max_members", "max_leaves")
        kind: Any = Integral if counts else Real
        least = 1 if counts else 0
        if value is not None and not (isinstance(value, kind) and value >= least):
            what = "whole number" if counts else "number"
            raise ValueError(
                f"{name} must be a {what}, {least} or more. Got {value!r}."
            )
    k = min(limits.max_members or n_members, n_members)
    k = min(k, SIZES[0]) if limits.open_size else k
    if limits.max_leaves is not None and limits.max_leaves < k:
        raise ValueError(
            f"{k} trees have at least {k} leaves. Got max_leaves={limits.max_leaves}; "
            "give max_members too, or more leaves."
        )
    return limits
