"""Standard deviations of members: F and S together, where members give both."""

from __future__ import annotations

from inspect import signature
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.parallel import delayed

from committee._parallel import results_of
from committee._typing import FloatArray, Member
from committee.ensembles import Roster
from committee.ensembles.member_features import OnFeatures


def gives_std(member: Member) -> bool:
    """Whether `predict` takes `return_std`, as that of a Gaussian process does."""
    if isinstance(member, Pipeline):
        return gives_std(member.steps[-1][1])
    if isinstance(member, OnFeatures):
        return gives_std(member.estimator)
    return "return_std" in signature(member.predict).parameters


def check_std(members: Any, asking: str) -> None:
    """Refuse members that give no standard deviation; `asking` is who needs it."""
    for member in members:
        if is_classifier(member):
            raise ValueError(
                f"{asking} weighs members by their standard deviations, and is for "
                "regression: take SoftmaxGate or NeighbourGate for classes."
            )
        if not gives_std(member):
            raise ValueError(
                f"{asking} weighs members by their standard deviations, "
                f"predict(X, return_std=True), which {type(member).__name__} does not "
                "give: take members that do, such as GaussianProcessRegressor or "
                "BayesianRidge, or another gate."
            )


def predict_with_std(
    roster: Roster, X: Any, *, n_jobs: int | None = None
) -> tuple[FloatArray, FloatArray]:
    """Return F and the standard deviations S, (N, M) both, of X as members take it."""
    calls = (delayed(_predict_one)(member, X) for member in roster.members)
    found = list(results_of(calls, n_jobs, prefer="threads"))
    F, S = (np.stack(part, axis=1) for part in zip(*found, strict=True))
    return F, S


def _predict_one(member: Member, X: Any) -> tuple[FloatArray, FloatArray]:
    mean, std = member.predict(X, return_std=True)
    return (
        np.asarray(mean, dtype=np.float64).reshape(-1),
        np.asarray(std, dtype=np.float64).reshape(-1),
    )
