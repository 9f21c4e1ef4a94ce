"""What the committees of a path are worth and cost, measured on first use.

`prune` itself needs F and one fit of the combiner. Errors on rows that did not choose,
bytes, seconds and the summary are made here when somebody asks for them.
"""

from __future__ import annotations

import copy
from functools import cached_property
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.combiners import Combiner
from committee.path import Path
from committee.predictions import weighted_sum
from committee.probabilities import fit_slope
from committee.pruning.costs import (
    MemberBytes,
    member_seconds,
    seconds_per_row,
    stored_bytes,
)
from committee.pruning.crossfit import CrossFit, Predicted
from committee.pruning.pruning_data import PruningData
from committee.pruning.summary import Summary, disagreement, paired_difference
from committee.pruning.weighing_rows import decided

#: Rows on which the scale of a booster's scores is found.
_SLOPE_ROWS = 2000
#: What a combiner knows of the point that it has chosen itself, and of no other.
_OF_ONE_POINT = ("posterior_", "loo_", "log_evidence_", "inclusion_")
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
    """

    def __init__(self, data: PruningData, combiner: Combiner) -> None:
        self.data, self.combiner = data, combiner

    @cached_property
    def _path(self) -> Path:
        """The combiner's own path, or its only point, with this assessment."""
        own = getattr(self.combiner, "path_", None)
        if own is not None:
            return own.without_steps(assessment=self)  # type: ignore[no-any-return]
        w = self.combiner.weights_
        unknown = np.full(1, np.nan)
        return Path(w[None], unknown, unknown, "error", assessment=self)

    @cached_property
    def _crossfit(self) -> CrossFit:
        return CrossFit(
            self.combiner, self.data.evaluation.F, self.data.evaluation.rows
        )

    @cached_property
    def errors(self) -> tuple[FloatArray, FloatArray, str] | None:
        """Cross-fitted errors at each step of the path; None without folds.

        All sizes are evaluated on all rows, so that they can be compared.
        """
        if not self._has_rows or self._crossfit.own is None:
            return None
        rows = self.data.evaluation.rows
        every = np.ones(len(rows.y), dtype=bool)
        found = {
            size: rows.mean(rows.losses(predicted.values), every)
            for size, predicted in self._crossfit.by_size.items()
        }
        known = np.array(list(found))
        at = np.searchsorted(known, self._path.size, side="right") - 1
        error, se = np.array(list(found.values()))[at].T
        return error, se, f"cross-fitted {rows.measure}"

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

    def differences(self, steps: IntArray) -> tuple[FloatArray, FloatArray] | None:
        """Return error(step) - error(last step) on the same rows, and its spread."""
        if not self._has_rows or self.errors is None:
            return None
        rows = self.data.evaluation.rows
        losses = []
        for size in self._path.size[steps]:
            predicted = self._crossfit.of_size(int(size))
            assert predicted is not None
            losses.append(rows.losses(predicted.values))
        gaps = [paired_difference(loss, losses[-1], rows.weight) for loss in losses]
        gap, gap_se = np.array(gaps).T
        return gap, gap_se

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
        elif self.data.roster.classes is not None and np.all(kept > 0):
            kept = kept / kept.sum()
        made.roster_ = made.roster_.only(members, kept)
        made.support_ = members
        made.combiner_ = copy.copy(self.combiner)
        # The committee has the path, without a covariance at every step.
        made.combiner_.__dict__.pop("path_", None)
        if not np.array_equal(w, self.combiner.weights_):
            made.combiner_.weights_ = w.copy()
            for name in _OF_ONE_POINT:
                made.combiner_.__dict__.pop(name, None)
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

    def summary(self, committee: Any) -> Summary:
        """Measure a committee of the path beside the ensemble."""
        self.check_rows()
        _, F, rows, _ = self.data.evaluation
        _ = self.errors  # from the same folds: a file then has both
        own = np.array_equal(committee.support_, np.flatnonzero(self.combiner.weights_))
        crossfit, before = self._crossfit, self._before
        output, counted = rows.output(
            F[:, committee.support_], committee.weights_, committee.support_
        )
        as_weighed = Predicted(decided(output), counted)
        fair = crossfit.own if own else crossfit.of_size(len(committee.support_))
        after = as_weighed if fair is None else fair
        both = after.counted & before.counted
        loss_before, loss_after = (rows.losses(p.values) for p in (before, after))
        weight = both if rows.weight is None else both * rows.weight
        gap, gap_se = paired_difference(loss_after, loss_before, weight.astype(float))
        error_before = rows.mean(loss_before, both)[0]
        differs = before.values != after.values
        if F.ndim == 2:
            differs = np.abs(before.values - after.values) > np.sqrt(error_before)
        share, upper = disagreement(differs[both])
        return Summary(
            measure=rows.measure,
            n_rows=int(both.sum()),
            n_members_before=len(self.data.roster),
            n_members_after=len(committee.support_),
            error_before=error_before,
            error_after=rows.mean(loss_after, both)[0],
            difference=gap,
            difference_se=gap_se,
            cross_fitted=fair is not None,
            error_as_weighed=rows.mean(
                rows.losses(as_weighed.values), as_weighed.counted & both
            )[0],
            loo=self._loo(committee.support_, own),
            loo_measure=getattr(self.combiner, "loo_measure_", ""),
            bytes_before=stored_bytes(self.data.ensemble),
            bytes_after=stored_bytes(committee),
            seconds_before=self._seconds_before,
            seconds_after=seconds_per_row(committee.predict, self.data.evaluation.X),
            disagreement=share,
            disagreement_upper=upper,
            oob=rows.held_out is not None,
        )

    def _loo(self, support: IntArray, own: bool) -> float | None:
        """Return the leave-one-out error of a committee, where the combiner has one."""
        if not hasattr(self.combiner, "loo_"):
            return None
        if own:
            return float(self.combiner.loo_)
        same = [np.array_equal(members, support) for members in self._path.members]
        return float(self._path.own_error[same].min())

    @cached_property
    def _before(self) -> Predicted:
        """What the whole ensemble predicts on the rows, and where it has votes."""
        _, F, rows, predicted = self.data.evaluation
        if predicted is not None:
            return Predicted(predicted, np.ones(len(F), dtype=bool))
        weights = self.data.roster.weights
        assert weights is not None
        output, counted = rows.output(F, weights, np.arange(len(weights)))
        return Predicted(decided(output), counted)

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
