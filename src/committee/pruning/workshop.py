"""Where committees are put together, scaled and measured."""

from __future__ import annotations

import copy
from dataclasses import replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax

from committee._typing import FloatArray, IntArray, Member
from committee.combiners import Combiner
from committee.ensembles import Roster, known_columns
from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.members import Pool
from committee.pruning.costs import few_rows, seconds_per_row, stored_bytes
from committee.pruning.crossfit import CrossFit, Judged
from committee.pruning.path import CommitteePath, Step, step_of
from committee.pruning.rows import Rows, decided
from committee.pruning.summary import Summary, disagreement, paired_difference

#: Rows on which the scale of a booster's scores is found.
_SCALE_ROWS = 2000


class Workshop:
    """Makes committees from steps of a path, and compares them with the ensemble.

    It holds what all of them share: the rows, and the ensemble's own output there.
    """

    def __init__(
        self,
        ensemble: Any,
        roster: Roster,
        empty: Any,
        fitted: Combiner,
        X: Any,
        rows: Rows,
        F: FloatArray,
    ) -> None:
        self.n_members = len(roster)
        self.empty = empty
        # The committee has a path of its own, without a covariance at every step.
        self.combiner = copy.copy(fitted)
        self.combiner.__dict__.pop("path_", None)
        generator = getattr(ensemble, "generator", None)
        if isinstance(generator, Pool):
            # Its columns of F have names, the left out ones too.
            self.combiner.feature_names_in_ = np.array(generator.names, dtype=object)
        self.X, self.rows = X, rows
        self.before = _own_output(ensemble, roster, X, rows, F)
        self.crossfit = CrossFit(fitted, F, rows)
        self.bytes_before = stored_bytes(ensemble)
        whole = self._whole(ensemble, roster)
        self.seconds_before = seconds_per_row(whole.predict, few_rows(X))

    def _whole(self, ensemble: Any, roster: Roster) -> Any:
        """Return the ensemble as a model that predicts with the committee's jobs."""
        if not hasattr(ensemble, "get_params"):
            equal = np.full(len(roster), 1.0 / len(roster))
            return self._assembled(roster.members, step_of(equal))
        if "n_jobs" not in ensemble.get_params(deep=False):
            return ensemble
        whole = copy.copy(ensemble)
        whole.n_jobs = self.empty.n_jobs
        return whole

    def take(self, sizes: IntArray, within_se: float) -> int:
        """Return the size to take, of those given in rising order."""
        return self.crossfit.take(sizes, within_se)

    def finished(self, step: Step, F: FloatArray) -> Step:
        """Return the step with the weights that its committee will have.

        Classifiers' weights are shares of a vote where none is negative. Those of
        a booster's rounds are scaled to the least log loss,
        min_t -mean_n log softmax(t K S_n)[y_n], since its scores are not shares.
        """
        w, rows = step.weights, self.rows
        if F.ndim == 2:
            return step
        if self.empty._link == "mean":
            return replace(step, weights=w / w.sum()) if np.all(w > 0) else step
        few = np.arange(0, len(F), -(-len(F) // _SCALE_ROWS))
        if rows.weight is not None:
            few = few[rows.weight[few] > 0] if rows.weight[few].any() else rows.heavy()
        S = F.shape[2] * np.tensordot(F[np.ix_(few, step.members)], w, axes=(1, 0))
        y, s = rows.y[few].astype(np.intp), rows.weight
        s = None if s is None else s[few]

        def loss(log_t: float) -> float:
            p = log_softmax(np.exp(log_t) * S, axis=1)
            return -float(np.average(p[np.arange(len(y)), y], weights=s))

        t = np.exp(minimize_scalar(loss, bounds=(-7, 7), method="bounded").x)
        return replace(step, weights=t * w)

    def committee(
        self,
        members: list[Member],
        step: Step,
        path: CommitteePath,
        F: FloatArray | None = None,
    ) -> Any:
        """Return the committee of a step, with its path and its summary.

        F, the members' predictions, is given for the combiner's own choice only.
        """
        made = self._assembled(members, step)
        made.path_ = path
        first = F is not None
        if F is None:
            F = made.member_predictions(self.X)
        judged = self.crossfit.own if first else self.crossfit.of_size(len(members))
        made._summary = self._summary(made, step, F, judged)
        return made

    def _assembled(self, members: list[Member], step: Step) -> Any:
        """Return a fitted committee of the given members."""
        made = copy.copy(self.empty)
        made.combiner_ = copy.copy(self.combiner)
        made.combiner_.weights_ = np.zeros(self.n_members)
        made.combiner_.weights_[step.members] = step.weights
        made.members_, made.weights_ = list(members), step.weights.copy()
        made.support_ = step.members.copy()
        return made

    def _summary(
        self, made: Any, step: Step, F: FloatArray, judged: Judged | None
    ) -> Summary:
        """Measure the committee beside the ensemble."""
        rows, before = self.rows, self.before
        output, speaks = rows.output(F, step.weights, step.members)
        as_weighed = Judged(decided(output), speaks)
        fair = as_weighed if judged is None else judged
        both = fair.speaks & before.speaks
        loss_before, loss_after = rows.losses(before.said), rows.losses(fair.said)
        s = 1.0 if rows.weight is None else rows.weight
        counted = np.asarray(both * s, dtype=np.float64)
        gap, gap_se = paired_difference(loss_after, loss_before, counted)
        error_before = rows.mean(loss_before, both)[0]
        differs = before.said != fair.said
        if F.ndim == 2:
            differs = np.abs(before.said - fair.said) > np.sqrt(error_before)
        share, upper = disagreement(differs[both])
        return Summary(
            measure="error rate" if F.ndim == 3 else "mean squared error",
            n_rows=int(both.sum()),
            n_members_before=self.n_members,
            n_members_after=len(step.members),
            error_before=error_before,
            error_after=rows.mean(loss_after, both)[0],
            difference=gap,
            difference_se=gap_se,
            cross_fitted=judged is not None,
            error_as_weighed=rows.mean(
                rows.losses(as_weighed.said), as_weighed.speaks & before.speaks
            )[0],
            loo=step.error if step.measure.startswith("leave") else None,
            loo_measure=step.measure.removeprefix("leave-one-out "),
            bytes_before=self.bytes_before,
            bytes_after=stored_bytes(made),
            seconds_before=self.seconds_before,
            seconds_after=seconds_per_row(made.predict, few_rows(self.X)),
            disagreement=share,
            disagreement_upper=upper,
            oob=rows.held_out is not None,
        )


def empty_committee(
    ensemble: Any, roster: Roster, X: Any, *, combiner: Combiner, n_jobs: int | None
) -> Any:
    """Return a committee that knows its kind, labels and columns, but no members."""
    kind = CommitteeRegressor if roster.classes is None else CommitteeClassifier
    empty = kind(combiner=combiner, n_jobs=n_jobs)
    if roster.classes is not None:
        empty.classes_ = np.asarray(roster.classes)
    for name, value in known_columns(ensemble).items():
        setattr(empty, name, value)
    columns = [str(column) for column in getattr(X, "columns", [])]
    # LightGBM knows "a b" as "a_b".
    if columns and [c.replace(" ", "_") for c in columns] == list(
        getattr(empty, "feature_names_in_", [])
    ):
        empty.feature_names_in_ = np.array(columns, dtype=object)
    empty.transformer_, empty._arrays = roster.transformer, roster.arrays
    empty._votes, empty._spoken = roster.votes, roster.member_classes
    empty._link = "softmax" if roster.votes == "scores" else "mean"
    empty.held_out_ = None
    return empty


def _own_output(
    ensemble: Any, roster: Roster, X: Any, rows: Rows, F: FloatArray
) -> Judged:
    """Return what the whole ensemble says on the rows, and where it is heard."""
    if roster.weights is not None:
        output, speaks = rows.output(F, roster.weights, np.arange(len(roster)))
        return Judged(decided(output), speaks)
    said = np.asarray(ensemble.predict(X))
    if roster.classes is not None:
        said = np.searchsorted(np.asarray(roster.classes), said)
    return Judged(said, np.ones(len(F), dtype=bool))
