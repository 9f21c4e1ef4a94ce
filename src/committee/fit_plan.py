"""How `fit` of a committee weighs and measures its members, and what it refuses."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.base import is_classifier, is_regressor

from committee.combiner_names import as_combiner
from committee.combiners import EPPruner, LogPool, RidgeWeights
from committee.members import Pool
from committee.members.dask_training import check_generator


@dataclass(frozen=True)
class FitPlan:
    """Options of `fit` with "auto" resolved.

    Attributes
    ----------
    combiner : combiner, str or None
    calibration : {"slope", "vector"} or None
    asked : str or None
        The argument that needs held-out rows, such as "uncertainty=True".
    measures : bool
        Whether held-out rows are predicted, for calibration, errors and uncertainty.
    needs_F : bool
        Whether predictions are needed even if the combiner learns nothing.
    needs_rows : bool
        Whether members are weighed, gated or measured by their predictions.
    """

    combiner: Any
    calibration: str | None
    asked: str | None
    measures: bool
    needs_F: bool
    needs_rows: bool


def plan_of(committee: Any, *, in_memory: bool = True) -> FitPlan:
    """Return the plan of a committee with these parameters."""
    calibration, gated = committee.calibration, committee.gate is not None
    asked = "uncertainty=True" if committee.uncertainty else None
    if calibration not in (None, "auto"):
        asked = f"calibration={calibration!r}"
    combiner = as_combiner(_chosen(committee))
    learns = combiner is not None and combiner.needs_rows
    cheap = in_memory and not gated and _is_cheap(committee, combiner, learns)
    if calibration == "auto":
        calibration = "slope" if cheap else None
    measures = asked is not None or calibration is not None or (cheap and learns)
    return FitPlan(
        _chosen(committee),
        calibration,
        asked,
        measures,
        needs_F=gated or measures,
        needs_rows=learns or gated or measures,
    )


def _chosen(committee: Any) -> Any:
    """Return the combiner; "auto" depends on how the members are made."""
    if not isinstance(committee.combiner, str) or committee.combiner != "auto":
        return committee.combiner
    if committee.stop is not None:
        return EPPruner()
    pool, gated = isinstance(committee.generator, Pool), committee.gate is not None
    if gated or not pool or committee.weigh_on == "train":
        return None
    return LogPool() if is_classifier(committee) else RidgeWeights()


def _is_cheap(committee: Any, combiner: Any, learns: bool) -> bool:
    """Return True if held-out predictions cost at most a fifth of the fit, or little.

    Averages need one prediction of rows that no member was trained on. Weights that were
    learned are learned again on folds. The notes of `docs/guide/uncertainty.md` have the
    measurements, with members whose training takes milliseconds.
    """
    generator, weigh_on = committee._generator(), committee.weigh_on
    if committee.stop is not None or weigh_on == "train":
        return False
    if weigh_on == "held-out":
        if not learns:
            return bool(generator.has_unseen_rows(committee.estimator))
        if not generator.leaves_rows_out:
            return False
    return not learns or isinstance(generator, Pool) or combiner.refits_fast


def check_kind(committee: Any) -> None:
    """Raise ValueError for regressors in a classifier, or classifiers in a regressor."""
    wrong = is_regressor if is_classifier(committee) else is_classifier
    for estimator in committee._estimators():
        if wrong(estimator):
            raise ValueError(
                f"The members of a {type(committee).__name__} must be "
                f"{'classifiers' if is_classifier(committee) else 'regressors'}. "
                f"Got {type(estimator).__name__}."
            )


def check_rows_are_held_out(committee: Any, asked: str) -> None:
    """Raise ValueError without held-out rows to measure errors on.

    `asked` is the argument that needs them, or "a gate".
    """
    generator = committee._generator()
    if committee.weigh_on == "train":
        raise ValueError(
            f'{asked} needs held-out rows, and weigh_on="train" '
            'has none: use weigh_on="held-out", or a fraction such as weigh_on=0.25.'
        )
    if isinstance(committee.weigh_on, str) and not generator.leaves_rows_out:
        raise ValueError(
            f"{asked} needs held-out rows, and {type(generator).__name__} leaves none "
            "out: pass a fraction of the rows, such as weigh_on=0.25."
        )


def check_chunks(committee: Any, fit_params: dict[str, Any]) -> None:
    """Raise for options that need all rows in memory."""
    check_generator(committee._generator())
    if fit_params:
        raise TypeError(
            f"fit() got {sorted(fit_params)} and Dask collections: members that are "
            "trained on chunks get no further arguments."
        )
    if committee.gate is not None:
        raise TypeError(
            f"{type(committee.gate).__name__} needs all rows in memory and does not "
            "support Dask collections: set gate=None, or compute() the collections."
        )
    if not isinstance(committee.weigh_on, str):
        raise TypeError(
            f"weigh_on={committee.weigh_on:g} splits off rows in memory and does not "
            'support Dask collections: set weigh_on="held-out", as the members of '
            "Bagging and MiniBatches leave rows out."
        )
    plan = plan_of(committee, in_memory=False)
    if plan.asked is not None:
        raise ValueError(
            f"{plan.asked} measures rows in memory and does not support Dask "
            "collections: leave it out, and prune() the committee on other rows, "
            "which may be Dask collections, for intervals, sets and calibrated "
            "probabilities."
        )
    if committee.stop is not None:
        raise ValueError(
            f"stop={committee.stop!r} trains members in turn and does not support Dask "
            "collections: set stop=None, or compute() as many rows as fit into memory."
        )
    combiner = as_combiner(plan.combiner)
    if combiner is not None and not combiner.takes_chunks:
        combiner.check_chunks(None)
