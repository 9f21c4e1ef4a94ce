"""Errors and costs of the committees of a path, and the summary; measured on first use.

`prune` itself needs F and one fit of the combiner. Errors on held-out rows, bytes, seconds
and the summary are computed here on first access. Each row is predicted by
committees that were chosen without it; see `committee.held_out`.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from committee._format import HELD_OUT, error_name
from committee._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Link,
    Member,
    RandomState,
)
from committee.calibration import Calibration
from committee.combiner_names import as_combiner
from committee.combiners import Combiner, EPPruner
from committee.combiners.ep_pruner import EvidencePruner
from committee.diagnostics.missing_votes import FilledVotes
from committee.ensembles import Roster, known_columns
from committee.held_out import CrossFit, HeldOutPredictions, share_unit
from committee.losses import (
    LOG_LOSS,
    Measure,
    error_losses,
    measure_of,
    paired_difference,
)
from committee.path import CLEARLY, Path
from committee.probabilities import as_probabilities, pooled_terms
from committee.pruning.costs import (
    MemberBytes,
    compared_costs,
    member_seconds,
    seconds_per_row,
    served_seconds,
    stored_bytes,
)
from committee.pruning.first_rounds import FirstRounds
from committee.pruning.kept_path import KeptPath, at_weights
from committee.pruning.pruning_data import PruningData, kind_of_data
from committee.pruning.seen_rows import Oob
from committee.pruning.summary import Rival, Summary, compared_errors
from committee.targets import at_least_two
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores
from committee.weighing import copy_for_members

#: Standard errors by which a choice of rounds must be better than the first rounds. By this
#: rule 64 choices of at most 10 to 50 rounds of generated problems were taken, of 180; all
#: had less log-loss on fresh rows.
_BEATS = 2.0


class Assessment:
    """Committees of the steps of a path, compared with the ensemble before pruning.

    It has the rows and all members, and measures on first use. Copies and files of a
    committee have a `KeptPath` in its place.

    Parameters
    ----------
    data : PruningData
        The ensemble, its members and the rows.
    combiner : Combiner
        Fitted on these rows.
    measure : Measure
        Kind of the errors.
    """

    def __init__(self, data: PruningData, combiner: Combiner, measure: Measure) -> None:
        self.data, self.combiner, self.measure = data, combiner, measure

    @cached_property
    def _path(self) -> Path:
        """The combiner's own path, and the first rounds of a booster, with this assessment."""
        path = replace(self._own_path, assessment=self)
        return (
            path if self.first is None else path.with_first(self.first.combiner.path_)
        )

    @property
    def _own_path(self) -> Path:
        """The combiner's own path, or its only point."""
        own: Path | None = getattr(self.combiner, "path_", None)
        if own is not None:
            return replace(own, steps=())  # without the covariances of EP at every step
        unknown = np.full(1, np.nan)
        return Path(
            self.combiner.weights_[None],
            unknown,
            unknown,
            "error",
            floor=self.combiner.floor_,
            offsets=np.asarray(self.combiner.offset)[None],
        )

    # --- committees ------------------------------------------------------------------

    def committee(self, step: int) -> Any:
        """Return the committee of a step of the path."""
        return self.assemble(self._path.weights[step], self._path.offset(step))

    def assemble(self, w: FloatArray, offset: FloatArray | float = 0.0) -> Any:
        """Return the committee of weights (M,), which adds an offset to their sums.

        The weights of a classifier are shares of a vote where none is negative. The sums
        of a booster's rounds, which are not shares, have the root mean square one.
        """
        made, members = copy.copy(self.data.template), np.flatnonzero(w)
        made.combiner_ = at_weights(self.combiner, w, offset)
        if not len(members):  # no member has a weight: as after `fit`, all stay
            members = np.arange(len(w))
        unit = self.crossfit.unit(w, offset) if self._of_classes else 1.0
        made.roster_ = replace(
            made.roster_.only(members, w[members] / unit),
            floor=self.combiner.floor_,
            offset=offset / unit,
        )
        made.support_ = members
        made.path_ = self._path
        return made

    @property
    def _of_classes(self) -> bool:
        return self.data.roster.classes is not None

    def chosen(self) -> Any:
        """Return the combiner's own choice.

        Of a booster the first rounds, unless the choice is clearly better.
        """
        best = self.combiner
        if self.first is not None:
            wins = self._beats(self.crossfit.own, self.first.own)
            best = best if wins else self.first.combiner
        made = self.assemble(best.weights_, best.offset)
        made.path_ = made.path_.at(best.weights_)
        return made

    # --- held-out predictions of committees and of the ensemble -----------------------

    @cached_property
    def crossfit(self) -> CrossFit:
        """The combiner, fitted again on folds."""
        return self._crossfit(self.combiner)

    @cached_property
    def first(self) -> CrossFit | None:
        """The first rounds of a booster, on the same folds; None for other members."""
        combiner, start = self.combiner, self.data.roster.start
        if start is None or not combiner.needs_rows or not self._has_folds:
            return None
        votes = self.data.votes
        first = FirstRounds(start, getattr(combiner, "n_members", None))
        return self._crossfit(votes.fit(first))

    def _crossfit(self, combiner: Combiner) -> CrossFit:
        scores = self.data.roster.output == "scores"
        # Sums of scores have no probabilities without a slope.
        asked = getattr(self.data.template, "calibration", None)
        method = "slope" if scores else asked
        return CrossFit(combiner, self.data.votes, method, scores=scores)

    @cached_property
    def _has_folds(self) -> bool:
        return self.crossfit.own is not None

    def _crossfit_of(self, w: FloatArray) -> CrossFit:
        """Return what committees with weights w (M,) on the path were compared by."""
        first = self.first
        if first is not None and (first.combiner.path_.weights == w).all(axis=1).any():
            return first
        return self.crossfit

    def _held_out(self, w: FloatArray) -> HeldOutPredictions:
        """Return held-out predictions of committees like the one with weights w (M,)."""
        crossfit = self._crossfit_of(w)
        own = _is_own(crossfit.combiner, w)
        found = crossfit.own if own else crossfit.of_size(int(np.count_nonzero(w)))
        assert found is not None
        return found

    def _as_weighed(self, committee: Any) -> HeldOutPredictions:
        """Return the predictions of a committee on the rows that chose it."""
        w = np.zeros(len(self.data.roster))
        w[committee.support_] = committee.weights_
        filled = self.crossfit.filled.plus(committee.roster_.offset)
        found = HeldOutPredictions.of_weights(self.data.votes, filled, w)
        if not self._of_classes:
            return found
        p = committee._own_probabilities(found.output)
        return replace(
            found,
            p=committee._calibrated(p, found.output, found.variance),
            link=committee._probabilities,
        )

    @cached_property
    def _before(self) -> HeldOutPredictions:
        """Held-out predictions of the whole ensemble.

        If a combiner learned the weights of the ensemble on these rows, it is fitted
        again on the same folds, as the pruning combiner is.
        """
        data, votes = self.data, self.data.votes
        if data.predicted is not None:
            losses = error_losses(data.predicted, votes.y)
            every = np.ones(len(losses), dtype=bool)
            return HeldOutPredictions(
                votes, losses, losses, every, data.predicted, p=data.probabilities
            )
        roster, weigher = data.roster, data.roster.combiner
        if votes.masked and weigher is not None and weigher.needs_rows:
            own = CrossFit(weigher, votes).own
            if own is not None:
                return self._as_calibrated(own)
        assert roster.weights is not None
        filled = self.crossfit.filled
        if roster.floor != self.combiner.floor_:
            terms = pooled_terms(votes.F, roster.floor)
            filled = FilledVotes.of(terms, votes.y, votes.held_out)
        filled = filled.plus(roster.offset)
        found = HeldOutPredictions.of_weights(votes, filled, roster.weights)
        if not self._of_classes:
            return found
        link = roster.probabilities or as_probabilities
        return replace(found, p=link(found.output), link=link)

    def _as_calibrated(self, own: HeldOutPredictions) -> HeldOutPredictions:
        """Return predictions with the ensemble's own calibration."""
        roster, own = self.data.roster, replace(own, method=None)
        if own.p is None or roster.calibrated is None:
            return own
        own = own.in_units(share_unit(roster.combiner.weights_))
        p = roster.calibrated(own.p, own.output, own.variance)
        return replace(own, p=p, link=roster.probabilities)

    # --- errors and costs of the steps -------------------------------------------------

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray, str] | None:
        """Held-out errors at each step of the path; None without folds.

        Out of bag they are errors of members that all vote; see `FilledVotes`. All sizes
        are evaluated on the same rows, so that they can be compared.
        """
        if not self._has_folds:
            return None
        size, n_own = self._path.size, len(self._own_path)
        found = [self._errors_by_size(self.crossfit, size[:n_own])]
        if self.first is not None:
            found.append(self._errors_by_size(self.first, size[n_own:]))
        error, se = np.hstack(found)
        return error, se, error_name(HELD_OUT, self.measure.name)

    def _errors_by_size(self, crossfit: CrossFit, size: IntArray) -> FloatArray:
        """Return errors and standard errors of committees of some sizes, (2, S)."""
        by_size = crossfit.by_size.values()
        found = np.array([held.error(self.measure) for held in by_size])
        return np.asarray(found[crossfit.at_sizes(size)].T)

    def clearly_better(self, steps: IntArray) -> BoolArray | None:
        """Return which steps have a clearly lower error than the last of them."""
        if not self._has_folds:
            return None
        level = self.level[steps]
        return self.better_than(level[-1])[level]

    @property
    def level(self) -> IntArray:
        """Position in `crossfit.by_size` of each step but the first rounds."""
        return self.crossfit.at_sizes(self._own_path.size)

    def better_than(self, level: int) -> BoolArray:
        """Return which sizes of the crossfit have a clearly lower error than one of them."""
        losses, s = self._losses_by_size
        gap, se = np.array(
            [paired_difference(one, losses[level], s) for one in losses]
        ).T
        return np.asarray(gap < -CLEARLY * se)

    @cached_property
    def _losses_by_size(self) -> tuple[list[FloatArray], FloatArray | None]:
        """Losses by row of each size of the crossfit, and the weights of the rows."""
        held = list(self.crossfit.by_size.values())
        return [one.row_losses(self.measure) for one in held], held[0].row_weights

    @cached_property
    def wins(self) -> BoolArray:
        """Which choices of rounds are clearly better than which first rounds, (S, n_first).

        By log-loss, where the errors are error rates.
        """
        own = self._own_path
        if self.first is None:
            return np.zeros((len(own), 0), dtype=bool)
        found = [
            [self._beats(choice, first) for first in self.first.by_size.values()]
            for choice in self.crossfit.by_size.values()
        ]
        return np.array(found)[self.crossfit.at_sizes(own.size)]

    @property
    def _finer(self) -> Measure:
        """The measure, or for error rates the log-loss, which tells more apart."""
        rates = self._of_classes and self.measure.losses is None
        return LOG_LOSS if rates else self.measure

    def _beats(self, choice: Any, first: Any) -> bool:
        """Whether a choice of rounds is clearly better than first rounds."""
        after, before = (held.row_losses(self._finer) for held in (choice, first))
        gap, se = paired_difference(after, before, choice.row_weights)
        return gap < -_BEATS * se

    @cached_property
    def n_bytes(self) -> FloatArray:
        """Bytes of the pickled committee at each step.

        The smallest and the largest one are pickled. What they have beside members and
        combiner, such as residuals and a bit for each row and member, is interpolated.
        """
        path, sizes = self._path, MemberBytes.of(self.data.roster.members)
        known = np.array(
            [
                sizes.total(path.members[step])
                + stored_bytes(at_weights(self.combiner, w, path.offset(step)))
                for step, w in enumerate(path.weights)
            ]
        )
        ends = [int(np.argmin(path.size)), int(np.argmax(path.size))]
        rest = [stored_bytes(self.committee(step)) - known[step] for step in ends]
        n_bytes: FloatArray = known + np.interp(path.size, path.size[ends], rest)
        return n_bytes

    @cached_property
    def seconds_per_row(self) -> FloatArray:
        """Seconds that the members of each step take for a row."""
        roster, _ = self.data.roster, self.data.votes
        if roster.staged_predictions is None:
            seconds = member_seconds(roster, roster.prepared(self.data.timed_rows))
        else:
            seconds = np.full(len(roster), self._seconds_before / len(roster))
        return np.array([seconds[members].sum() for members in self._path.members])

    def served_seconds(self, step: int, rows: int, runtime: str) -> float:
        """Return the seconds for a row of a step's committee, in calls of some rows."""
        X = self.data.timed_rows
        return served_seconds(self.committee(step), X, rows, runtime)

    def by(self, scoring: str) -> Assessment:
        """Return this assessment with another measure, from the same folds."""
        measure = measure_of(scoring, of_classes=self._of_classes)
        other = Assessment(self.data, self.combiner, measure)
        _ = self.crossfit, self.first, self._before  # which both then have
        shared = ("n_bytes", "seconds_per_row", "crossfit", "first", "_before")
        known = self.__dict__
        other.__dict__.update({name: known[name] for name in shared if name in known})
        return other

    @property
    def members_by_number(self) -> dict[int, Member]:
        """All members of the ensemble."""
        return dict(enumerate(self.data.roster.members))

    @property
    def before(self) -> Any:
        """The ensemble before pruning and its roster."""
        return self.data.ensemble, self.data.roster

    @property
    def available(self) -> BoolArray:
        """True for all steps: every committee can be made."""
        return np.ones(len(self._path), dtype=bool)

    def measured(self, name: str) -> Any:
        """Return an attribute that was measured before, None otherwise."""
        return self.__dict__.get(name)

    # --- what a committee delivers, and its summary ------------------------------------

    def calibration(self, w: FloatArray) -> Calibration | None:
        """Return the calibration of the committee with weights w (M,) on the path.

        None without folds.
        """
        return self._held_out(w).calibration if self._has_folds else None

    def held_out_rows(self, committee: Any) -> HeldOutResiduals | HeldOutScores:
        """Return residuals or scores of committees like this one, on held-out rows.

        They are empty with too few rows for folds.
        """
        if self._has_folds:
            held = self._held_out(committee.combiner_.weights_)
            return held.stored(committee.support_)
        filled = self.crossfit.filled
        if not self._of_classes:
            s = self.data.votes.sample_weight
            return HeldOutResiduals.of(filled, [], committee.support_, s)
        y = self.data.votes.y.astype(np.intp)
        return HeldOutScores.of(filled.F[:0, 0], y[:0], filled.counted[:0])

    def summary(self, committee: Any) -> Summary:
        """Measure a committee of the path beside the ensemble."""
        _ = self.errors  # from the same folds: a file then has both
        w, data = committee.combiner_.weights_, self.data
        as_weighed = self._as_weighed(committee)
        after = self._held_out(w) if self._has_folds else as_weighed
        return Summary(
            **compared_errors(self._before, after, as_weighed, self.measure),
            n_members_before=len(data.roster),
            n_members_after=committee.n_members_,
            cross_fitted=self._has_folds,
            **self._loo(w),
            rival=self._rival(w),
            **compared_costs(
                data.ensemble, self._seconds_before, committee, data.timed_rows
            ),
            names_after=committee.roster_.names,
        )

    def _loo(self, w: FloatArray) -> dict[str, Any]:
        """Return the leave-one-out error of a committee, where the combiner has one."""
        if not hasattr(self.combiner, "loo_") or self._crossfit_of(w) is self.first:
            return {"loo": None, "loo_measure": ""}
        path = self._own_path
        same = ((path.weights != 0) == (w != 0)).all(axis=1)
        own = _is_own(self.combiner, w)
        loo = self.combiner.loo_ if own else path.own_error[same].min()
        measure = self.combiner.loo_measure_
        if measure == "mean squared error":
            loo, measure = np.sqrt(loo), "RMSE"
        return {"loo": float(loo), "loo_measure": measure}

    def _rival(self, w: FloatArray) -> Rival | None:
        """Return what the first rounds of a booster, or a choice of others, would be."""
        if self.first is None:
            return None
        mine = self._crossfit_of(w)
        other = self.crossfit if mine is self.first else self.first
        size, found = np.count_nonzero(other.combiner.weights_), other.own
        if not _is_own(mine.combiner, w):
            # Of a limit is known only that this committee is within it.
            path = self._own_path if other is self.crossfit else other.combiner.path_
            size = path.size[path.step_within(int(np.count_nonzero(w)))]
            found = other.of_size(int(size))
        assert found is not None
        return Rival(int(size), other is self.first, found.error(self.measure)[0])

    @cached_property
    def _seconds_before(self) -> float:
        whole = self.data.ensemble
        if not hasattr(whole, "get_params"):  # a list of members
            whole = self.assemble(
                np.full(len(self.data.roster), 1.0 / len(self.data.roster))
            )
        elif "n_jobs" in whole.get_params(deep=False):
            whole = copy.copy(whole)
            whole.n_jobs = self.data.template.n_jobs
        return seconds_per_row(whole.predict, self.data.timed_rows)

    def kept(self, committee: Any, whole: bool) -> KeptPath:
        """Return the path for a copy of a committee."""
        return KeptPath.of(self, committee, whole)

    def __reduce__(self) -> Any:
        """Return the numbers: a path that is pickled alone has no rows and members."""
        return KeptPath, tuple(vars(KeptPath.alone(self)).values())


def _is_own(combiner: Combiner, w: FloatArray) -> bool:
    """Return True if weights (M,) are on the members that the combiner chose."""
    return np.array_equal(w != 0, combiner.weights_ != 0)


def keep_few(
    made: Any,
    ensemble: Any,
    roster: Roster,
    X: Any,
    y: Any,
    *,
    oob: Oob,
    sample_weight: Any,
    scoring: str | None,
    random_state: RandomState,
    verbose: bool,
) -> Any:
    """Return a copy of an unfitted committee, with the members that have a weight.

        F = member predictions on X,   w = combiner(F, y),   keep {m : w_m != 0}

    `made` has the combiner, `EPPruner()` where that is None, and `n_jobs`; it learns
    labels and columns. See `prune` for the rest.
    """
    measure = measure_of(scoring, of_classes=roster.classes is not None)
    _check_calibration(made, roster)
    if roster.classes is not None:
        at_least_two(np.asarray(roster.classes))
    combiner: Any = EPPruner()
    if made.combiner is not None:
        combiner = as_combiner(made.combiner, random_state)
    learn(made, ensemble, roster, X, combiner)
    data = kind_of_data(X, y)(ensemble, roster, made, oob, verbose, X, y, sample_weight)
    combiner = copy_for_members(combiner, roster.members, roster.output)
    combiner, most = _without_limit(combiner)
    fitted = data.fit(combiner)
    if data.note:
        warnings.warn(data.note, UserWarning, stacklevel=3)
    if roster.names is not None:
        # The columns of F have names, also those of members that are left out.
        fitted.member_names_ = roster.names
    found = Assessment(data, fitted, measure)
    small = found.chosen()
    if most is not None:
        small = small.path_.choose(max_members=most)
    if getattr(made, "calibration", None) == "vector":
        _ = small.calibration_  # it changes decisions, and `predict` must not fit it
    return small


def _without_limit(combiner: Combiner) -> tuple[Combiner, int | None]:
    """Remove the largest number of members from an unfitted combiner; return both."""
    if not isinstance(combiner, EvidencePruner):
        return combiner, None
    most = combiner.max_members
    return combiner.set_params(max_members=None), most


def _check_calibration(made: Any, roster: Roster) -> None:
    """Raise ValueError for a vector with rounds of a booster, which have only a scale."""
    if roster.output == "scores" and getattr(made, "calibration", None) == "vector":
        raise ValueError(
            'calibration="vector" needs members with probabilities. Rounds of a booster '
            'have scores: use calibration="slope".'
        )


def learn(made: Any, ensemble: Any, roster: Roster, X: Any, combiner: Combiner) -> None:
    """Set labels, columns and roster of a committee."""
    if roster.classes is not None:
        made.classes_ = np.asarray(roster.classes)
    for name, value in known_columns(ensemble).items():
        setattr(made, name, value)
    columns = [str(column) for column in getattr(X, "columns", [])]
    # LightGBM knows "a b" as "a_b".
    if columns and [c.replace(" ", "_") for c in columns] == list(
        getattr(made, "feature_names_in_", [])
    ):
        made.feature_names_in_ = np.array(columns, dtype=object)
    link: Link = "softmax" if roster.output == "scores" else "slope"
    if link == "slope" and not combiner.needs_rows:
        link = "mean"  # nothing is chosen: it is the ensemble
    made.roster_ = replace(roster, link=link, floor=None, offset=0.0)
    made.held_out_ = None
    if hasattr(ensemble, "_digest"):
        made._digest = ensemble._digest
