"""Limits of `refine`: the trees to keep, their number, and unsuitable ensembles."""

from __future__ import annotations

from dataclasses import replace
from numbers import Integral, Real
from typing import Any, NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray, RandomState
from committee.distributed.collections import refuse_dask
from committee.ensembles import Roster, roster_of
from committee.ensembles.forests import is_tree
from committee.ensembles.member_features import bare_tree
from committee.ensembles.rounds import Round
from committee.pruning.pair_errors import PairErrors
from committee.pruning.pruning_data import PruningData
from committee.pruning.refiner import (
    Refined,
    RefinedAssessment,
    Refiner,
    complete,
    size_of,
)
from committee.pruning.seen_rows import Oob
from committee.pruning.summary import RefinedSize

#: Sizes that are tried for `max_bytes` and `tolerance`.
SIZES = (5, 10, 20, 40, 80)
#: Shares of the leaves that are tried for `tolerance`.
_SHARES = (0.5, 0.25, 0.125)
#: Bytes of a node: its split, and one number for each output.
_SPLIT, _NUMBER = 64, 8
#: Largest number of cuts to reach `max_bytes`.
_ATTEMPTS = 4


class Limits(NamedTuple):
    """Limits of the costs and of the error of a refined committee."""

    max_members: int | None = None
    max_leaves: int | None = None
    max_bytes: float | None = None
    tolerance: float | None = None

    @property
    def open_size(self) -> bool:
        """True if several sizes are tried."""
        return self.max_bytes is not None or self.tolerance is not None


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
        Unfitted recipe of a pruned committee; None for other ensembles.
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
    verbose: bool = False,
) -> tuple[Any, str]:
    """Return the refined committee, and a note for the user."""
    data = PruningData(
        *(kept.whole, kept.roster, template, oob, verbose, X, y, sample_weight)
    )
    refiner = Refiner(data, random_state)
    order = _order(refiner, kept, limits)
    w = kept.w[order]
    if w.sum() != 0:
        w = w * (kept.w.sum() / w.sum())
    made = refined_within(refiner, kept.members[order], w, limits)
    return made, data.note


def _order(refiner: Refiner, kept: Kept, limits: Limits) -> IntArray:
    """Return positions in `kept.members`, in the order of keeping."""
    k = len(kept.members)
    if not limits.open_size and (limits.max_members or k) >= k:
        return np.arange(k)
    if np.ptp(np.abs(kept.w)) > 1e-12 * np.abs(kept.w).max():
        return np.argsort(-np.abs(kept.w), kind="stable")
    n = k if limits.max_members is None else min(limits.max_members, k)
    every = k == len(refiner.roster)
    votes = refiner.votes if every else refiner.votes.of_members(kept.members)
    pairs = PairErrors(votes, refiner.folds)
    if every:
        refiner.pairs = pairs  # the choice of trees is assessed too
    return pairs.greedy_order(np.arange(k), n)


def check_refinable(ensemble: Any, roster: Roster, X: Any, y: Any) -> None:
    """Raise for rows or ensembles that `refine` does not take, before any work."""
    refuse_chunks(X, y)
    check_trees(ensemble, roster)


def refuse_chunks(X: Any, y: Any) -> None:
    """Raise TypeError for Dask collections."""
    refuse_dask(
        "refine takes rows in memory. Give a sample of the collections, computed.", X, y
    )


def check_trees(ensemble: Any, roster: Roster) -> FloatArray:
    """Return the weights of the members; raise ValueError unless they are averaged trees."""
    if any(isinstance(member, Round) for member in roster.members):
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined: "
            "rounds of a booster correct each other and were trained on all rows. "
            "Refitted on fresh rows, they were worse than a new booster with the same "
            "number of rounds. Train a new booster with fewer rounds and a larger "
            "learning rate, or use prune."
        )
    if not all(map(is_tree, roster.members)):
        others = sorted({type(m).__name__ for m in roster.members if not is_tree(m)})
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined: pass "
            "a RandomForest*, ExtraTrees*, Bagging* of trees, or a committee of "
            f"trees. Got members of the kind {', '.join(others)}."
        )
    if getattr(ensemble, "gate_", None) is not None:
        raise ValueError(
            "Leaves are refitted for trees whose weights are the same everywhere. This "
            "committee has a gate; refine the ensemble first, then call with_gate."
        )
    constrained = any(
        getattr(bare_tree(member), "monotonic_cst", None) is not None
        for member in roster.members
    )
    if constrained and roster.classes is not None and len(roster.classes) > 2:
        raise ValueError(
            "monotonic_cst is kept for numbers and for two classes. Got trees with "
            f"monotonic_cst and {len(roster.classes)} classes; train them without it."
        )
    if roster.weights is None or roster.output != "soft":
        raise ValueError(
            "Only the leaves of decision trees that are averaged can be refined. Those of "
            f"a {type(ensemble).__name__} have one vote each; use prune."
        )
    return roster.weights


def checked_limits(limits: Limits, n_members: int) -> Limits:
    """Check the limits and return them. Raises ValueError."""
    for name, value in limits._asdict().items():
        counts = name in ("max_members", "max_leaves")
        kind: Any = Integral if counts else Real
        least = 1 if counts else 0
        valid = isinstance(value, kind) and not isinstance(value, bool)
        if value is not None and not (valid and value >= least):
            what = "whole number" if counts else "number"
            raise ValueError(
                f"{name} must be a {what}, {least} or more. Got {value!r}."
            )
    k = min(limits.max_members or n_members, n_members)
    k = min(k, SIZES[0]) if limits.open_size else k
    if limits.max_leaves is not None and limits.max_leaves < k:
        raise ValueError(
            f"{k} trees have at least {k} leaves. Got max_leaves={limits.max_leaves}; "
            "pass max_members too, or more leaves."
        )
    return limits


def refined_within(
    refiner: Refiner, order: IntArray, w: FloatArray, limits: Limits
) -> Any:
    """Return the refined committee within the limits.

    Parameters
    ----------
    refiner : Refiner
    order : int array of shape (k,)
        Members, in the order of keeping.
    w : array of shape (k,)
        Their weights.
    limits : Limits
        With `max_bytes` the committee with the smallest error is returned; with `tolerance` the
        smallest whose error is at most 1 + tolerance times the error of the whole.
    """
    search = _Search(refiner, order, w, limits)
    most = len(order) if limits.max_members is None else limits.max_members
    most = min(most, len(order))
    sizes = [most]
    if limits.open_size:
        sizes = [k for k in SIZES if k < most]
        sizes += [most] if limits.max_members is not None or most < SIZES[-1] else []
    for k in sizes:
        search.try_size(k)
        if limits.tolerance is not None and search.within():
            search.try_fewer_leaves(k)
            break
    made = search.result()
    refiner.forget()
    return made


class _Search:
    """Refined committees of several sizes, smallest first."""

    def __init__(
        self, refiner: Refiner, order: IntArray, w: FloatArray, limits: Limits
    ) -> None:
        self.refiner, self.order, self.w, self.limits = refiner, order, w, limits
        self.found: list[Refined] = []
        self.sizes: list[RefinedSize] = []

    def try_size(self, k: int, max_leaves: int | None = None) -> None:
        """Refine k members, and cut leaves until they are within `max_bytes`."""
        kept = np.argsort(self.order[:k], kind="stable")
        members, w = self.order[:k][kept], self.w[:k][kept]
        if w.sum() != 0:
            w = w * (self.w.sum() / w.sum())
        if max_leaves is None:
            max_leaves = self.limits.max_leaves
        if max_leaves is not None and max_leaves < k:
            return
        for _ in range(_ATTEMPTS):
            refined = self.refiner.refined(members, w, max_leaves)
            complete(self.refiner, refined)
            if not self.limits.open_size:  # no error is compared
                self.found.append(refined)
                return
            size, most = size_of(refined, self.refiner.measure), self.limits.max_bytes
            if most is None or size.n_bytes <= most:
                self.found.append(refined)
                self.sizes.append(size)
                return
            node = _SPLIT + _NUMBER * self.refiner.y.shape[1]
            excess = (size.n_bytes - 0.99 * most) / (2 * node)
            max_leaves = int(size.n_leaves - excess)
            if max_leaves < k:
                return

    def try_fewer_leaves(self, k: int) -> None:
        """Cut leaves while the error stays within the tolerance."""
        n_leaves = self.sizes[-1].n_leaves
        for share in _SHARES:
            if share * n_leaves < k:
                return
            self.try_size(k, int(share * n_leaves))
            if not self.within():
                return

    def within(self) -> bool:
        """Return True if the last size is within the tolerance."""
        return bool(self.found) and self._is_within(self.found[-1])

    def _is_within(self, refined: Refined, rows: BoolArray | None = None) -> bool:
        assert self.limits.tolerance is not None
        after, whole = (
            one.error(self.refiner.measure, rows)[0]
            for one in (refined.after, refined.before)
        )
        return after <= (1 + self.limits.tolerance) * whole

    def _best(self, rows: BoolArray | None = None) -> Refined | None:
        """Return the best size by the errors on some rows."""
        if self.limits.tolerance is not None:
            within = [
                n for n, one in enumerate(self.found) if self._is_within(one, rows)
            ]
            n = min(within, key=lambda n: self.sizes[n].n_bytes, default=None)
            return None if n is None else self.found[n]
        measure = self.refiner.measure
        return min(self.found, key=lambda one: one.after.error(measure, rows)[0])

    def result(self) -> Any:
        """Return the best committee, with its assessment.

        The losses of a fold's rows are those of the size that the other folds choose, so
        that the printed error includes the choice.
        """
        if not self.found:
            raise ValueError(
                f"No refined committee fits into max_bytes={self.limits.max_bytes:,}: "
                "a tree with a single leaf takes about 3,000 bytes. Increase "
                "max_bytes."
            )
        best = self._best()
        if best is None:
            raise ValueError(self._too_far())
        made, refined = best.committee, best
        if len(self.found) > 1:
            losses = best.after.losses.copy()
            for rows in self.refiner.folds:
                others = np.ones(len(losses), dtype=bool)
                others[rows] = False
                losses[rows] = (self._best(others) or best).after.losses[rows]
            refined = best._replace(after=replace(best.after, losses=losses))
        made._refined = RefinedAssessment(self.refiner, refined, self.found)
        return made

    def _too_far(self) -> str:
        best = min(self.sizes, key=lambda size: size.error)
        whole = best.error - best.difference
        most = max(size.n_members for size in self.sizes)
        return (
            f"No refined committee of at most {most:,} trees has an error within "
            f"tolerance={self.limits.tolerance:g} of the whole ensemble. The smallest is "
            f"{best.error:.4g} ({best.n_members:,} trees); the whole ensemble has "
            f"{whole:.4g}. Give a larger tolerance, or max_members for more trees."
        )
