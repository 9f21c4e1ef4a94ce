"""What the committees of a path are worth and cost, measured on first use.

`prune` itself needs F and one fit of the combiner. Errors on rows that did not choose,
bytes, seconds and the summary are made here when somebody asks for them.
"""

from __future__ import annotations

import copy
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.calibration import Calibration
from committee.combiners import Combiner
from committee.crossfit import Predicted, as_shares
from committee.losses import Measure, measure_of
from committee.path import CLEARLY, Path
from committee.predictions import weighted_sum
from committee.probabilities import fit_slope
from committee.pruning.costs import (
    MemberBytes,
    member_seconds,
    seconds_per_row,
    stored_bytes,
)
from committee.pruning.kept_path import KeptPath, at_weights
from committee.pruning.path_errors import Compared, PathErrors
from committee.pruning.pruning_data import PruningData
from committee.pruning.summary import Summary, disagreement
from committee.uncertainty.held_out_rows import (
    FoldWeights,
    HeldOutResiduals,
    HeldOutScores,
)

#: Rows on which the scale of a booster's scores is found.
_SLOPE_ROWS = 2000
#: What is kept in a copy, a pickle or a file, as far as it was measured.
_KEPT = ("errors", "n_bytes", "seconds_per_row")


class Assessment:
    """Makes committees of the steps of a path, and compares them with the ensemble.

    Parameters
    ----------
    data : PruningData
        The ensemble, its members and the rows.
    combiner : Combiner
        Fitted on these rows.
    measure : Measure
        What errors are.
    """

    def __init__(self, data: PruningData, combiner: Combiner, measure: Measure) -> None:
        self.data, self.combiner, self.measure = data, combiner, measure

    @cached_property
    def _path(self) -> Path:
        """The combiner's own path, or its only point, with this assessment."""
        own = getattr(self.combiner, "path_", None)
        if own is not None:
            return own.without_steps(assessment=self)  # type: ignore[no-any-return]
        w = self.combiner.weights_
        unknown = np.full(1, np.nan)
        return Path(
            w[None],
            unknown,
            unknown,
            "error",
            assessment=self,
            floor=self.combiner.floor_,
        )

    @cached_property
    def _found(self) -> PathErrors:
        return PathErrors(
            self.data.evaluation,
            self.data.roster,
            self.combiner,
            self.measure,
            getattr(self.data.template, "calibration", None),
        )

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray, str] | None:
        """Cross-fitted errors at each step of the path; None without folds.

        Out of bag they are those of members that all vote; see `FilledVotes`. All
        sizes are evaluated on the same rows, so that they can be compared.
        """
        if not self._has_rows or not self._found.has_folds:
            return None
        error, se = self._found.of_sizes(self._path.size)
        return error, se, f"cross-fitted {self.measure.name}"

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
        M = len(self.data.roster)
        if self.data.roster.staged_predictions is None:
            seconds = member_seconds(
                self.data.roster, self.data.roster.prepared(self.data.evaluation.X)
            )
        else:
            seconds = np.full(M, self._seconds_before / M)
        return np.array([seconds[members].sum() for members in self._path.members])

    def by(self, scoring: str) -> Assessment:
        """Return the same with errors of another kind, from the same folds."""
        self.check_rows()
        classes = self.data.roster.classes
        measure = measure_of(scoring, of_classes=classes is not None)
        other = Assessment(self.data, self.combiner, measure)
        other.__dict__.update(self._costs, _found=self._found.by(measure))
        return other

    @property
    def _costs(self) -> dict[str, Any]:
        """Bytes and seconds, as far as they were asked for."""
        known = self.__dict__
        return {k: known[k] for k in ("n_bytes", "seconds_per_row") if k in known}

    @property
    def members_by_number(self) -> dict[int, Member]:
        """All members of the ensemble; none in a copy."""
        return dict(enumerate(self.data.roster.members)) if self._has_rows else {}

    @property
    def before(self) -> Any:
        """The ensemble before pruning and its roster; None in a copy."""
        return (self.data.ensemble, self.data.roster) if self._has_rows else None

    def differences(self, steps: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return error(step) - error(last step) on the same rows, and its spread."""
        if not self._has_rows or self.errors is None:
            return None
        return self._found.differences(self._path.size[steps])

    def clearly_better(self, steps: IntArray) -> BoolArray | None:
        """Return which steps have a clearly lower error than the last of them."""
        found = self.differences(steps)
        return None if found is None else found[0] < -CLEARLY * found[1]

    @property
    def available(self) -> BoolArray:
        """The steps of which there is a committee."""
        return np.full(len(self._path) if self._has_rows else 1, self._has_rows)

    def measured(self, name: str) -> Any:
        """Return what somebody has asked for before, and no more."""
        return self.__dict__.get(name)

    def kept(self, committee: Any, whole: bool) -> Any:
        """Return what a copy of a committee of the path keeps of it."""
        return KeptPath.of(self, committee, whole) if self._has_rows else self

    def bind(self, committee: Any) -> None:
        """Do nothing: this has its members."""

    def committee(self, step: int) -> Any:
        """Return the committee of a step of the path."""
        self.check_rows()
        return self.assemble(self._path.weights[step])

    def assemble(self, w: FloatArray) -> Any:
        """Return the committee of weights (M,).

        A classifier's weights are shares of a vote where none is negative. Those of a
        booster's rounds are scaled to the least log loss, since its scores are not
        shares.
        """
        made, members = copy.copy(self.data.template), np.flatnonzero(w)
        if not len(members):  # nothing is worth a weight: as after `fit`, all stay
            members = np.arange(len(w))
        kept = w[members]
        if made.roster_.link == "softmax" and self.data.roster.classes is not None:
            kept = kept * self._slope(members, kept)
        elif self.data.roster.classes is not None:
            kept = as_shares(kept)
        only = made.roster_.only(members, kept)
        made.roster_ = replace(only, floor=self.combiner.floor_)
        made.support_ = members
        made.combiner_ = at_weights(self.combiner, w)
        made.path_ = self._path
        return made

    def _slope(self, members: IntArray, w: FloatArray) -> float:
        """Return t of least log loss of softmax(t K S), S = sum_m w_m F_m."""
        _, F, rows, _ = self.data.evaluation
        few = np.arange(0, len(F), -(-len(F) // _SLOPE_ROWS))
        if rows.weight is not None and not rows.weight[few].any():
            few = np.flatnonzero(rows.weight)
        S = F.shape[2] * weighted_sum(F[np.ix_(few, members)], w)
        weight = None if rows.weight is None else rows.weight[few]
        return fit_slope(S, rows.y[few].astype(np.intp), weight)

    @cached_property
    def calibrations(self) -> dict[int, Calibration | None]:
        """Those that were asked for, by size; 0 for the combiner's own choice."""
        return {}

    def calibration(self, support: IntArray) -> Calibration | None:
        """Return what calibrates the committee of these members.

        None for a booster, whose weights are scaled, and where there are no folds.
        """
        if not self._has_rows or self.data.roster.output == "scores":
            return None
        if not self._found.has_folds:
            return None
        key = 0 if self._is_own(support) else len(support)
        if key not in self.calibrations:
            fair = self._fair(support)
            self.calibrations[key] = self._found.calibration(fair)
        return self.calibrations[key]

    def held_out_rows(self, committee: Any) -> HeldOutResiduals | HeldOutScores | None:
        """Return errors of committees like this one on rows that chose them not.

        Of no row, where there were too few for folds; None in a copy.
        """
        if not self._has_rows:
            return None
        rows, votes = self.data.evaluation.rows, self._found.crossfit.votes
        if self.data.roster.classes is None:
            size = None if self._is_own(committee.support_) else len(committee.support_)
            folds = [FoldWeights(*f) for f in self._found.crossfit.weights(size)]
            return HeldOutResiduals.of(votes, folds, committee.support_, rows.weight)
        y = rows.y.astype(np.intp)
        if not self._found.has_folds:
            return HeldOutScores.of(votes.F[:0, 0], y[:0], votes.counted[:0])
        fair = self._fair(committee.support_)
        p = self._found.probabilities(fair)
        return HeldOutScores.of(p, y, fair.counted, rows.weight)

    def _is_own(self, support: IntArray) -> bool:
        """Whether these members are the combiner's own choice."""
        w = self.combiner.weights_
        # Where nothing is worth a weight, all stay.
        return np.array_equal(
            support, np.flatnonzero(w) if w.any() else np.arange(len(w))
        )

    def _fair(self, support: IntArray) -> Predicted:
        """Return what committees like this one predict on rows that chose them not."""
        return self._found.like(len(support), own=self._is_own(support))

    def summary(self, committee: Any) -> Summary:
        """Measure a committee of the path beside the ensemble."""
        self.check_rows()
        _ = self.errors  # from the same folds: a file then has both
        w = np.zeros(len(self.data.roster))
        w[committee.support_] = committee.weights_
        as_weighed = self._found.as_weighed(w)
        after = self._fair(committee.support_) if self._found.has_folds else as_weighed
        before, both = self._found.before, after.counted & self._found.before.counted
        error = self._found.compare(after)
        log_loss = self._found.compare_log_loss(after)
        share, upper = disagreement(self._differs(before, after)[both])
        return Summary(
            measure=self.measure.name,
            n_rows=int(both.sum()),
            n_members_before=len(self.data.roster),
            n_members_after=committee.n_members_,
            error_before=error.before,
            error_after=error.after,
            difference=error.difference,
            difference_se=error.difference_se,
            cross_fitted=self._found.has_folds,
            error_as_weighed=self._found.compare(as_weighed).after,
            **self._loo(committee.support_),
            bytes_before=stored_bytes(self.data.ensemble),
            bytes_after=stored_bytes(committee),
            seconds_before=self._seconds_before,
            seconds_after=seconds_per_row(committee.predict, self.data.evaluation.X),
            disagreement=share,
            disagreement_upper=upper,
            oob=self.data.evaluation.rows.held_out is not None,
            is_classifier=self.data.roster.classes is not None,
            names_after=committee.roster_.names,
            **({} if log_loss is None else _named("log_loss", log_loss)),
        )

    def _differs(self, before: Predicted, after: Predicted) -> BoolArray:
        """Whether the two predict other classes, or numbers that are far apart."""
        if self.data.roster.classes is not None:
            return np.asarray(before.values != after.values)
        rows = self.data.evaluation.rows
        far = np.sqrt(rows.mean(before.losses, before.counted)[0])
        return np.asarray(np.abs(before.values - after.values) > far)

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
        return seconds_per_row(whole.predict, self.data.evaluation.X)

    @property
    def _has_rows(self) -> bool:
        """Whether this is what `prune` made, and not a copy of its numbers."""
        return "data" in self.__dict__

    def check_rows(self) -> None:
        """Say what a copy cannot do."""
        if not self._has_rows:
            raise ValueError(
                "Copies and files keep the numbers of the path only, and a summary that "
                "was made before, but neither the members that were left out nor the "
                "rows. Use the committee that prune() returned, or prune again."
            )

    def __getstate__(self) -> dict[str, Any]:
        """Keep what was measured: neither rows nor members belong into a file."""
        return {name: self.__dict__[name] for name in _KEPT if name in self.__dict__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the numbers."""
        self.__dict__.update(state)


def _named(name: str, found: Compared) -> dict[str, Any]:
    """Return the four numbers as a summary names them."""
    return {f"{name}_{field}": value for field, value in found._asdict().items()}
