"""Refiner: some trees of an ensemble, with leaves refitted on rows; errors of the result.

A row is predicted by trees that were not trained on it, with leaf values that were fitted
without it.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from sklearn.utils import check_array, check_random_state

from committee._parallel import track
from committee._typing import BoolArray, FloatArray, IntArray, Member, RandomState
from committee.ensembles import Roster
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.roster import equal_weights
from committee.ensembles.training_rows import digest
from committee.ensembles.trees import class_values, with_values
from committee.held_out import HeldOutPredictions, compared
from committee.losses import Measure, decided, error_losses, measure_of
from committee.probabilities import as_probabilities
from committee.pruning.costs import compared_costs, seconds_per_row, stored_bytes
from committee.pruning.pair_errors import PairErrors
from committee.pruning.pruning_data import PruningData
from committee.pruning.summary import (
    RefinedSize,
    Refinement,
    Summary,
    compared_errors,
)
from committee.refining import Nodes, made_up_rows
from committee.refining.choice import Candidate, chosen, refitted
from committee.refining.problem import Cut, Problem, Settings, folds_of
from committee.refining.teacher import TeacherTargets, TreeOnRows, teacher_targets
from committee.targets import at_least_two
from committee.uncertainty.stored_rows import HeldOutResiduals

#: Least number of rows: one to fit on, one to judge by.
_LEAST_ROWS = 2
#: Made-up rows for each row, and at most: to judge by held-out rows, and to fit finally.
#: Three times as many lower the part of chance in the error from 0.18 to 0.12 points.
_JUDGING, _FINALLY = (4, 20_000), (12, 60_000)
#: Weight of the made-up rows of each row.
_WEIGHT = 4


class Refined(NamedTuple):
    """A refined committee, its settings and its held-out predictions.

    Attributes
    ----------
    committee : committee
    settings : Settings
    n_leaves : int
    before, plain, refined, after : HeldOutPredictions
        Predictions of the whole ensemble, of as many trees unrefined and refined, and of
        the one of these that was taken.
    as_fitted : HeldOutPredictions
        Predictions on the rows that the leaves were fitted to.
    spread : array of shape (N,)
        Standard deviation of the votes of the refined trees.
    """

    committee: Any
    settings: Settings
    n_leaves: int
    before: HeldOutPredictions
    plain: HeldOutPredictions
    refined: HeldOutPredictions
    after: HeldOutPredictions
    as_fitted: HeldOutPredictions
    spread: FloatArray


class _Taught(NamedTuple):
    """Made-up rows, the teacher's targets, and mu, the weight of each row."""

    X: Any
    targets: list[TeacherTargets]
    weight: float


class Refiner:
    """An ensemble of trees and the rows to refine any of them on.

    Parameters
    ----------
    data : PruningData
    random_state : int, RandomState instance or None, default=None
        Controls the generated rows. Pass an int for reproducible results.

    Attributes
    ----------
    pairs : PairErrors or None
        Errors that choose the trees; None where they are given.
    """

    def __init__(self, data: PruningData, random_state: RandomState) -> None:
        self.data, self.roster = data, data.roster
        X = data.given[0]
        self.votes = votes = data.votes  # checks the rows, and gives up X
        prepared = data.roster.prepared(data.template._check_X(X, reset=False))
        self.X, self.digest = as_tree_input(prepared), digest(prepared)
        self.rng = check_random_state(random_state)
        self.pairs: PairErrors | None = None
        self.y = np.asarray(votes.y, dtype=np.float64)[:, None]
        if self.of_classes:
            self.y = np.eye(self.roster.output_shape[0])[votes.y.astype(np.intp)]
        self.weight = votes.row_weights / votes.row_weights.mean()
        _check_number(self.weight > 0)
        if self.of_classes:
            at_least_two(np.asarray(self.roster.classes))

    @property
    def measure(self) -> Measure:
        """Error rate, or RMSE."""
        return measure_of(None, of_classes=self.of_classes)

    @property
    def of_classes(self) -> bool:
        """True if the ensemble predicts classes."""
        return self.roster.classes is not None

    @cached_property
    def folds(self) -> list[IntArray]:
        """Held-out rows of each fold."""
        return [rows for _, rows in folds_of(len(self.y))]

    @cached_property
    def _judging(self) -> _Taught | None:
        return self._taught(_JUDGING, self.folds)

    @cached_property
    def _finally(self) -> _Taught | None:
        return self._taught(_FINALLY, [])

    def _taught(
        self, made_up: tuple[int, int], folds: list[IntArray]
    ) -> _Taught | None:
        """Return made-up rows and their targets; None for numbers and sparse X.

        For numbers a teacher was measured to be worse than none: near its training rows
        the ensemble repeats their noise.
        """
        if not self.of_classes or not isinstance(self.X, np.ndarray):
            return None
        n = min(made_up[0] * len(self.X), made_up[1])
        made = made_up_rows(self.X, n, self.rng)
        w = self.roster.weights
        assert w is not None
        trees = trees_on_rows(self.roster, self.X, made.X)
        found = teacher_targets(
            track(trees, len(self.roster), "labelling made-up rows", self.data.verbose),
            w / w.sum(),
            *(self.y, self.weight, self.votes.held_out),
            (made.base, made.other),
            folds,
        )
        return _Taught(made.X, found, _WEIGHT * len(self.X) / n)

    def problem(
        self,
        members: IntArray,
        w: FloatArray,
        taught: _Taught | None,
        fold: int | None = None,
    ) -> Problem:
        """Return some trees and the rows; `fold` is the only one that they predict."""
        nodes = nodes_of(self.roster, [self.roster.members[m] for m in members])
        held_out, first = self.votes.held_out, nodes.start[:-1]
        found = Problem(
            *(nodes, w, self._leaves(members, self.X) + first, self.y, self.weight),
            None if held_out is None else held_out[:, members],
            fold=fold,
        )
        if taught is None:
            return found
        return replace(
            found,
            made_up=self._leaves(members, taught.X) + first,
            teacher_targets=taught.targets,
            teacher=taught.weight,
        )

    def _leaves(self, members: IntArray, X: Any) -> IntArray:
        """Return the leaf number of each row in some trees, (N, k)."""
        known = self._known_leaves.setdefault(id(X), {})
        new = [m for m in members if m not in known]
        leaves = leaves_of([self.roster.members[m] for m in new], X)
        known.update(zip(new, leaves, strict=True))
        return np.stack([known[m] for m in members], axis=1)

    @cached_property
    def _known_leaves(self) -> dict[int, dict[int, IntArray]]:
        """Leaf numbers (N,) by rows and members; the refiner keeps both alive."""
        return {}

    def forget(self) -> None:
        """Drop made-up rows and leaf numbers: a summary needs neither."""
        for name in ("_judging", "_finally", "_known_leaves"):
            self.__dict__.pop(name, None)

    def refined(
        self, members: IntArray, w: FloatArray, max_leaves: int | None = None
    ) -> Refined:
        """Return the committee of some trees, with weights, refined."""
        problems = self._groups(members, w)
        counted = np.any([problem.n_votes > 0 for problem in problems], axis=0)
        _check_number(counted & (self.weight > 0))
        choice = chosen(problems, max_leaves, verbose=self.data.verbose)
        kept = self.problem(members, w, self._finally)
        found = refitted(kept, choice.settings, max_leaves)
        made = assembled(
            *(self.data.template, kept.nodes, members, w),
            found.values / kept.w_of_nodes[:, None],
            *(found.cut, self.X.shape[1]),
        )
        Z = Cut(kept, found.cut).every
        leaves = kept.nodes.columns(found.cut)[0]
        return Refined(
            *(made, choice.settings, found.n_leaves),
            replace(self._before, counted=counted),
            self._assessed(choice.plain, counted),
            self._assessed(choice.refined, counted),
            self._assessed(choice.after, counted),
            self._predictions(Z @ found.values[leaves], counted),
            choice.after.spread,
        )

    def _groups(self, members: IntArray, w: FloatArray) -> list[Problem]:
        """Return groups of k trees of which about k vote on a row.

        Trees that `pairs` chooses are chosen again for each fold, on the rows of the
        others, one group from each part of the ensemble. Where trees are given, other
        trees come first, because rows that chose them give them too small an error.
        """
        M, k, held_out = len(self.roster), len(members), self.votes.held_out
        n, equal = 1, equal_weights(k) * w.sum()
        if held_out is not None:
            n = min(M // k, max(1, round(1 / held_out[:, members].mean())))
        if self.pairs is not None:
            return [
                self.problem(np.sort(own), equal, self._judging, fold)
                for g in range(n)
                for fold in range(len(self.folds))
                for own in [self.pairs.greedy_order(np.arange(g, M, n), k, fold)]
            ]
        if held_out is None:
            return [self.problem(members, w, self._judging)]
        order = np.concatenate([np.setdiff1d(np.arange(M), members), members])
        if n == 1 and np.array_equal(order[:k], members):
            equal = w
        groups = [order[g * k : (g + 1) * k] for g in range(n)]
        return [self.problem(group, equal, self._judging) for group in groups]

    @cached_property
    def _before(self) -> HeldOutPredictions:
        """Held-out predictions of the whole ensemble; missing votes are filled."""
        w = self.roster.weights
        assert w is not None
        return self._with_probabilities(
            HeldOutPredictions.of_weights(self.votes, self.votes.filled, w / w.sum())
        )

    def _assessed(self, one: Candidate, counted: BoolArray) -> HeldOutPredictions:
        """Return the held-out predictions of a candidate."""
        return self._predictions(one.output, counted, one.losses)

    def _predictions(
        self, output: FloatArray, counted: BoolArray, losses: FloatArray | None = None
    ) -> HeldOutPredictions:
        """Return outputs (N, T) with their losses; classes are calibrated."""
        output = output if self.of_classes else output[:, 0]
        values = decided(output)
        if losses is None:
            losses = error_losses(values, self.votes.y)
        found = HeldOutPredictions(self.votes, output, losses, counted, values)
        method = getattr(self.data.template, "calibration", None)
        return replace(self._with_probabilities(found), method=method)

    def _with_probabilities(self, found: HeldOutPredictions) -> HeldOutPredictions:
        p = as_probabilities(found.output) if self.of_classes else None
        return replace(found, p=p)


def _check_number(rows: BoolArray) -> None:
    """Raise ValueError if too few rows are True."""
    n = int(rows.sum())
    if n < _LEAST_ROWS:
        raise ValueError(
            f"refine needs at least {_LEAST_ROWS} rows of positive weight that some "
            f"tree was not trained on. Got {n:,}: pass more rows, or more trees."
        )


def _shrinkage(losses: FloatArray, residual: FloatArray) -> float:
    """Return the ratio of the errors of trees that all vote and of those that do."""
    squares = float(residual @ residual)
    return float(np.sqrt(max(losses.sum(), 0.0) / squares)) if squares > 0 else 1.0


class RefinedAssessment:
    """Summary of a refined committee, computed on first use.

    Parameters
    ----------
    refiner : Refiner
    refined : Refined
    tried : list of Refined
        Committees of all sizes that were tried, this one among them.
    """

    def __init__(self, refiner: Refiner, refined: Refined, tried: list[Refined]):
        self.refiner, self.refined, self.tried = refiner, refined, tried

    def summary(self, committee: Any) -> Summary:
        """Return errors, bytes, seconds, leaves and depth before and after."""
        refined, data, measure = self.refined, self.refiner.data, self.refiner.measure
        before = [bare_tree(member).tree_ for member in data.roster.members]
        after = [tree.tree_ for tree in committee.members_]
        settings, X = refined.settings, data.timed_rows
        return Summary(
            **compared_errors(
                refined.before, refined.after, refined.as_fitted, measure
            ),
            n_members_before=len(before),
            n_members_after=len(after),
            cross_fitted=True,
            loo=None,
            loo_measure="",
            **compared_costs(
                data.ensemble, seconds_per_row(data.template.predict, X), committee, X
            ),
            names_after=committee.roster_.names,
            refinement=Refinement(
                leaves_before=sum(int(tree.n_leaves) for tree in before),
                leaves_after=sum(int(tree.n_leaves) for tree in after),
                depth_before=max(int(tree.max_depth) for tree in before),
                depth_after=max(int(tree.max_depth) for tree in after),
                error_plain=refined.plain.error(measure)[0],
                error_refined=refined.refined.error(measure)[0],
                least_rows=settings.least,
                ridge=float(settings.ridge * len(after)),
                labels=settings.labels,
                path=tuple(size_of(one, measure) for one in self.tried),
            ),
        )


def size_of(refined: Refined, measure: Measure) -> RefinedSize:
    """Return the size, the bytes and the error of a refined committee."""
    error = compared(refined.before, refined.after, measure)
    return RefinedSize(
        len(refined.committee.support_),
        refined.n_leaves,
        stored_bytes(refined.committee),
        error.after,
        error.difference,
        error.difference_se,
    )


def complete(refiner: Refiner, refined: Refined) -> Any:
    """Store calibration and held-out rows in the refined committee, and return it."""
    made, after, s = refined.committee, refined.after, refiner.votes.sample_weight
    if refiner.of_classes:
        if after.calibration is not None:
            made._calibration = after.calibration
        made._held_out_rows = after.stored(made.support_)
    else:
        counted = after.counted if s is None else after.counted & (s > 0)
        residual = np.abs(after.output - refiner.votes.y)
        residual *= _shrinkage(after.losses[counted], residual[counted])
        made._held_out_rows = HeldOutResiduals.some(residual, refined.spread, counted)
    made.refined_ = True
    made._digest = (
        refiner.digest
    )  # leaves no longer tell which rows they were fitted to
    return made


def assembled(
    template: Any,
    nodes: Nodes,
    members: IntArray,
    w: FloatArray,
    values: FloatArray,
    cut: BoolArray,
    n_features: int,
) -> Any:
    """Return the committee of trees with other values and fewer nodes.

    They take all n_features columns of the ensemble.
    """
    made = copy.copy(template)
    roster = made.roster_.only(members, w)
    trees = []
    for m, member in enumerate(roster.members):
        own = slice(nodes.start[m], nodes.start[m + 1])
        tree = with_values(member, values[own, None, :], n_features, cut[own])
        if roster.classes is not None:
            tree.classes_ = np.asarray(roster.member_classes)
            tree.n_classes_ = len(tree.classes_)
        trees.append(tree)
    made.roster_ = replace(roster, members=trees, floor=None, offset=0.0)
    made.support_, made.combiner_ = members, None
    return made


def as_tree_input(X: Any) -> Any:
    """Return X in single precision, the precision of tree thresholds."""
    return check_array(
        X, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False
    )


def values_of(roster: Roster, member: Member) -> FloatArray:
    """Return the values of the nodes of a tree, (n_nodes, T), for all classes."""
    if roster.classes is None:
        return np.asarray(bare_tree(member).tree_.value[:, 0, :])
    return class_values(member, roster.member_classes, "soft")[:, 0, :]


def nodes_of(roster: Roster, members: list[Member]) -> Nodes:
    """Return the nodes of some members, with the values of all classes."""
    return Nodes(
        [bare_tree(member).tree_ for member in members],
        [values_of(roster, member) for member in members],
        [_signs(bare_tree(member)) for member in members],
    )


def _signs(tree: Any) -> IntArray:
    """Return the monotonic constraint of the column of each split, (n_nodes,)."""
    constraints = getattr(tree, "monotonic_cst", None)
    if constraints is None:
        constraints = np.zeros(tree.n_features_in_)
    signs: IntArray = np.asarray(constraints, dtype=np.intp)[tree.tree_.feature]
    return signs


def leaves_of(members: list[Member], X: Any) -> Iterator[IntArray]:
    """Yield the leaf number of each row, (N,), for one tree after the other."""
    for member in members:
        seen = X
        if isinstance(member, OnColumns):
            seen = as_tree_input(X[:, np.asarray(member.columns)])
        yield bare_tree(member).tree_.apply(seen)


def trees_on_rows(roster: Roster, X: Any, made_up: Any) -> Iterator[TreeOnRows]:
    """Yield each tree of the ensemble with the leaves of rows and of made-up rows."""
    for member, rows, others in zip(
        roster.members,
        leaves_of(roster.members, X),
        leaves_of(roster.members, made_up),
        strict=True,
    ):
        yield TreeOnRows(values_of(roster, member), rows, others)
