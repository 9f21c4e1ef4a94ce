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
from sklearn.base import clone

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
from committee.diagnostics.missing_votes import FilledVotes
from committee.ensembles import Roster, known_columns
from committee.held_out import CrossFit, HeldOutPredictions, as_shares, share_unit
from committee.losses import Measure, error_losses, measure_of, paired_difference
from committee.path import CLEARLY, Path
from committee.predictions import weighted_sum
from committee.probabilities import (
    as_probabilities,
    fit_slope,
    pooled_terms,
)
from committee.pruning.costs import (
    MemberBytes,
    compared_costs,
    member_seconds,
    seconds_per_row,
)
from committee.pruning.kept_path import KeptPath, at_weights
from committee.pruning.pruning_data import PruningData, kind_of_data
from committee.pruning.seen_rows import Oob
from committee.pruning.summary import Summary, compared_errors
from committee.targets import at_least_two
from committee.uncertainty.stored_rows import HeldOutResiduals, HeldOutScores

#: Rows on which the scale of a booster's scores is found.
_SLOPE_ROWS = 2000
#: Attributes that a copy, a pickle or a file keeps, as far as they were measured.
_KEPT = ("errors", "n_bytes", "seconds_per_row")


class Assessment:
    """Committees of the steps of a path, compared with the ensemble before pruning.

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
        """The combiner's own path, or its only point, with this assessment."""
        own: Path | None = getattr(self.combiner, "path_", None)
        if own is not None:
            # Without the covariances of EP at every step.
            return replace(own, steps=(), assessment=self)
        w = self.combiner.weights_
        unknown = np.full(1, np.nan)
        return Path(
            w[None],
            unknown,
            unknown,
            "error",
            assessment=self,
            floor=self.combiner.floor_,
            offsets=np.asarray(self.combiner.offset)[None],
        )

    # --- committees ------------------------------------------------------------------

    def committee(self, step: int) -> Any:
        """Return the committee of a step of the path."""
        self.check_rows()
        return self.assemble(self._path.weights[step], self._path.offset(step))

    def assemble(self, w: FloatArray, offset: FloatArray | float = 0.0) -> Any:
        """Return the committee of weights (M,), which adds an offset to their sums.

        The weights of a classifier are shares of a vote where none is negative. Those of
        a booster's rounds are scaled to the least log-loss, since its scores are not
        shares.
        """
        made, members = copy.copy(self.data.template), np.flatnonzero(w)
        made.combiner_ = at_weights(self.combiner, w, offset)
        if not len(members):  # no member has a weight: as after `fit`, all stay
            members = np.arange(len(w))
        kept = w[members]
        if made.roster_.link == "softmax" and self._of_classes:
            kept = kept * self._slope(members, kept)
        elif self._of_classes:
            kept, offset = as_shares(kept), offset / share_unit(kept)
        only = made.roster_.only(members, kept)
        made.roster_ = replace(only, floor=self.combiner.floor_, offset=offset)
        made.support_ = members
        made.path_ = self._path
        return made

    def _slope(self, members: IntArray, w: FloatArray) -> float:
        """Return t of least log-loss of softmax(t K S), S = sum_m w_m F_m."""
        votes = self.data.votes
        F, s = votes.F, votes.sample_weight
        few = np.arange(0, len(F), -(-len(F) // _SLOPE_ROWS))
        if s is not None and not s[few].any():
            few = np.flatnonzero(s)
        S = F.shape[2] * weighted_sum(F[np.ix_(few, members)], w)
        weight = None if s is None else s[few]
        return fit_slope(S, votes.y[few].astype(np.intp), weight)

    @property
    def _of_classes(self) -> bool:
        return self.data.roster.classes is not None

    # --- held-out predictions of committees and of the ensemble -----------------------

    @cached_property
    def crossfit(self) -> CrossFit:
        """The combiner, fitted again on folds."""
        return CrossFit(
            self.combiner,
            self.data.votes,
            getattr(self.data.template, "calibration", None),
            scores=self.data.roster.output == "scores" and self._of_classes,
        )

    @cached_property
    def _has_folds(self) -> bool:
        return self.crossfit.own is not None

    def _held_out(self, support: IntArray) -> HeldOutPredictions:
        """Return held-out predictions of committees like the one with these members."""
        own = self.crossfit.own
        found = own if self._is_own(support) else self.crossfit.of_size(len(support))
        assert found is not None
        return found

    def _is_own(self, support: IntArray) -> bool:
        """Return True if the combiner itself chose these members."""
        w = self.combiner.weights_
        # Where no member has a weight, all stay.
        return np.array_equal(
            support, np.flatnonzero(w) if w.any() else np.arange(len(w))
        )

    def _as_weighed(
        self, w: FloatArray, offset: FloatArray | float
    ) -> HeldOutPredictions:
        """Return the predictions of weights (M,) on the rows that chose them."""
        crossfit = self.crossfit
        filled = crossfit.filled.plus(offset)
        found = HeldOutPredictions.of_weights(self.data.votes, filled, w)
        if not self._of_classes:
            return found
        unit = share_unit(self.combiner.weights_) / share_unit(w)
        return replace(
            found,
            p=self.combiner.probabilities(unit * found.output),
            method=crossfit.method,
            log_pool=crossfit.log_pool,
            scores=crossfit.scores,
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
                return replace(own, p=self._as_calibrated(own), method=None)
        assert roster.weights is not None
        filled = self.crossfit.filled
        if roster.floor != self.combiner.floor_:
            terms = pooled_terms(votes.F, roster.floor)
            filled = FilledVotes.of(terms, votes.y, votes.held_out)
        filled = filled.plus(roster.offset)
        found = HeldOutPredictions.of_weights(votes, filled, roster.weights)
        if not self._of_classes:
            return found
        linked = roster.probabilities or as_probabilities
        return replace(found, p=linked(found.output))

    def _as_calibrated(self, own: HeldOutPredictions) -> FloatArray | None:
        """Return the probabilities of the ensemble, with its own calibration."""
        roster = self.data.roster
        if own.p is None or roster.calibrated is None:
            return own.p
        found = own.in_units(share_unit(roster.combiner.weights_))
        return roster.calibrated(own.p, found.output, found.variance)

    # --- errors and costs of the steps -------------------------------------------------

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray, str] | None:
        """Held-out errors at each step of the path; None without folds.

        Out of bag they are errors of members that all vote; see `FilledVotes`. All sizes
        are evaluated on the same rows, so that they can be compared.
        """
        if not self._has_rows or not self._has_folds:
            return None
        by_size = self.crossfit.by_size
        known = np.array(list(by_size))
        found = np.array([held.error(self.measure) for held in by_size.values()])
        at = np.maximum(np.searchsorted(known, self._path.size, side="right") - 1, 0)
        error, se = found[at].T
        return error, se, f"held-out {self.measure.name}"

    def clearly_better(self, steps: IntArray) -> BoolArray | None:
        """Return which steps have a clearly lower error than the last of them."""
        if not self._has_rows or self.errors is None:
            return None
        sizes = self._path.size[steps]
        held = [self.crossfit.of_size(int(size)) for size in sizes]
        losses = [one.row_losses(self.measure) for one in held if one is not None]
        s = self.crossfit.by_size[min(self.crossfit.by_size)].row_weights
        gaps = [paired_difference(loss, losses[-1], s) for loss in losses]
        gap, gap_se = np.array(gaps).T
        return np.asarray(gap < -CLEARLY * gap_se)

    @cached_property
    def n_bytes(self) -> FloatArray | None:
        """Bytes of the members at each step; None in a copy that was made before."""
        if not self._has_rows:
            return None
        sizes = MemberBytes.of(self.data.roster.members)
        return np.array([sizes.total(members) for members in self._path.members])

    @cached_property
    def seconds_per_row(self) -> FloatArray | None:
        """Seconds that the members of each step take for a row; None like `n_bytes`."""
        if not self._has_rows:
            return None
        roster, _ = self.data.roster, self.data.votes
        if roster.staged_predictions is None:
            seconds = member_seconds(roster, roster.prepared(self.data.timed_rows))
        else:
            seconds = np.full(len(roster), self._seconds_before / len(roster))
        return np.array([seconds[members].sum() for members in self._path.members])

    def by(self, scoring: str) -> Assessment:
        """Return this assessment with another measure, from the same folds."""
        self.check_rows()
        measure = measure_of(scoring, of_classes=self._of_classes)
        other = Assessment(self.data, self.combiner, measure)
        _ = self.crossfit, self._before  # which both then have
        shared = ("n_bytes", "seconds_per_row", "crossfit", "_before", "_has_folds")
        known = self.__dict__
        other.__dict__.update({name: known[name] for name in shared if name in known})
        return other

    @property
    def members_by_number(self) -> dict[int, Member]:
        """All members of the ensemble; none in a copy."""
        return dict(enumerate(self.data.roster.members)) if self._has_rows else {}

    @property
    def before(self) -> Any:
        """The ensemble before pruning and its roster; None in a copy."""
        return (self.data.ensemble, self.data.roster) if self._has_rows else None

    @property
    def available(self) -> BoolArray:
        """Steps whose committee can be made."""
        return np.full(len(self._path) if self._has_rows else 1, self._has_rows)

    def measured(self, name: str) -> Any:
        """Return an attribute that was measured before, None otherwise."""
        return self.__dict__.get(name)

    # --- what a committee delivers, and its summary ------------------------------------

    def calibration(self, support: IntArray) -> Calibration | None:
        """Return the calibration of the committee with these members.

        None for a booster, whose weights are scaled, and where there are no folds.
        """
        if not self._has_rows or self.data.roster.output == "scores":
            return None
        return self._held_out(support).calibration if self._has_folds else None

    def held_out_rows(self, committee: Any) -> HeldOutResiduals | HeldOutScores | None:
        """Return residuals or scores of committees like this one, on held-out rows.

        They are empty with too few rows for folds; None in a copy.
        """
        if not self._has_rows:
            return None
        if self._has_folds:
            return self._held_out(committee.support_).stored(committee.support_)
        filled = self.crossfit.filled
        if not self._of_classes:
            s = self.data.votes.sample_weight
            return HeldOutResiduals.of(filled, [], committee.support_, s)
        y = self.data.votes.y.astype(np.intp)
        return HeldOutScores.of(filled.F[:0, 0], y[:0], filled.counted[:0])

    def summary(self, committee: Any) -> Summary:
        """Measure a committee of the path beside the ensemble."""
        self.check_rows()
        _ = self.errors  # from the same folds: a file then has both
        support, data = committee.support_, self.data
        w = np.zeros(len(data.roster))
        w[support] = committee.weights_
        as_weighed = self._as_weighed(w, committee.roster_.offset)
        after = self._held_out(support) if self._has_folds else as_weighed
        return Summary(
            **compared_errors(self._before, after, as_weighed, self.measure),
            n_members_before=len(data.roster),
            n_members_after=committee.n_members_,
            cross_fitted=self._has_folds,
            **self._loo(support),
            **compared_costs(
                data.ensemble, self._seconds_before, committee, data.timed_rows
            ),
            names_after=committee.roster_.names,
        )

    def _loo(self, support: IntArray) -> dict[str, Any]:
        """Return the leave-one-out error of a committee, where the combiner has one."""
        if not hasattr(self.combiner, "loo_"):
            return {"loo": None, "loo_measure": ""}
        same = [np.array_equal(members, support) for members in self._path.members]
        own = self._is_own(support)
        loo = self.combiner.loo_ if own else self._path.own_error[same].min()
        measure = self.combiner.loo_measure_
        if measure == "mean squared error":
            loo, measure = np.sqrt(loo), "RMSE"
        return {"loo": float(loo), "loo_measure": measure}

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

    # --- copies ----------------------------------------------------------------------

    def kept(self, committee: Any, whole: bool) -> Any:
        """Return the path for a copy of a committee."""
        return KeptPath.of(self, committee, whole) if self._has_rows else self

    def bind(self, committee: Any) -> None:
        """Do nothing: the members are here."""

    @property
    def _has_rows(self) -> bool:
        """Whether rows and members are here: False in a copy."""
        return "data" in self.__dict__

    def check_rows(self) -> None:
        """Raise ValueError in a copy."""
        if not self._has_rows:
            raise ValueError(
                "Copies and files keep the numbers of the path only, and a summary that "
                "was made before, but neither the members that were left out nor the "
                "rows. Use the committee that prune() returned, or prune again."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Return the measured numbers, without rows and members."""
        return {name: self.__dict__[name] for name in _KEPT if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the numbers."""
        self.__dict__.update(state)


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
    fitted = data.fit(clone(combiner))
    if data.note:
        warnings.warn(data.note, UserWarning, stacklevel=3)
    if roster.names is not None:
        # The columns of F have names, also those of members that are left out.
        fitted.member_names_ = roster.names
    found = Assessment(data, fitted, measure)
    small = found.assemble(fitted.weights_, fitted.offset)
    if getattr(made, "calibration", None) == "vector":
        _ = small.calibration_  # it changes decisions, and `predict` must not fit it
    return small


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
