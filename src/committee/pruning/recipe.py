"""What a clone of a pruned committee is."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from committee.ensembles import Roster
from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.members import Pool
from committee.pruning.pruned import PrunedClassifier, PrunedRegressor


def recipe_of(
    ensemble: Any,
    roster: Roster,
    *,
    combiner: Any,
    scoring: str | None,
    n_jobs: int | None,
    calibration: str | None = None,
) -> CommitteeClassifier | CommitteeRegressor:
    """Return what a clone of the pruned committee is: how it came about, unfitted.

    A search stands for what it chose. A bare booster cannot be trained again.
    """
    regression = roster.classes is None
    how: dict[str, Any] = {"combiner": combiner, "n_jobs": n_jobs}
    if not regression:
        how["calibration"] = calibration
    if isinstance(ensemble, (list, tuple, dict)):
        members = [clone(member) for member in roster.members]
        named = (
            None if roster.names is None else zip(roster.names, members, strict=True)
        )
        pool = Pool(members if named is None else list(named))
        of_models = CommitteeRegressor if regression else CommitteeClassifier
        return of_models(generator=pool, **how)
    model = getattr(ensemble, "best_estimator_", ensemble)
    trained = clone(model) if hasattr(model, "get_params") else None
    kind = PrunedRegressor if regression else PrunedClassifier
    return kind(trained, scoring=scoring, **how)
