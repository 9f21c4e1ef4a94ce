"""A committee of members of any kind as scikit-learn's own ensemble."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import StackingRegressor, VotingClassifier, VotingRegressor
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import LabelEncoder
from sklearn.utils import Bunch

from committee._typing import FloatArray, IntArray, Member
from committee.ensembles.columns import OnColumns


def voting_regressor(members: Sequence[Member], weights: FloatArray) -> Any:
    """Return scikit-learn's regressor with sum_m w_m f_m.

    Where the weights sum to one this is their mean; otherwise a linear second layer
    on top of the members, with the weights for coefficients.

    Parameters
    ----------
    members : list of k fitted regressors
    weights : array of shape (k,)

    Returns
    -------
    model : VotingRegressor or StackingRegressor

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from committee.export.voting import voting_regressor
    >>> members = [Ridge(alpha=a).fit([[0.0], [1.0]], [0.0, 1.0]) for a in (0.0, 1.0)]
    >>> voting_regressor(members, [0.5, 0.5])
    VotingRegressor(...)
    >>> voting_regressor(members, [1.0, 1.5]).predict([[1.0]]).round(3).tolist()
    [2.0]
    """
    w = np.asarray(weights, dtype=np.float64)
    # np.average divides by the sum of the weights: harmless only if it is one.
    if abs(w.sum() - 1) < 1e-14 * len(w):
        return _holding(members, VotingRegressor(_named(members), weights=w))
    layer = LinearRegression(fit_intercept=False)
    layer.coef_, layer.intercept_, layer.n_features_in_ = w, 0.0, len(w)
    model = StackingRegressor(_named(members), layer, cv="prefit")
    model.final_estimator_ = layer
    model.stack_method_ = ["predict"] * len(w)
    return _holding(members, model)


def voting_classifier(
    members: Sequence[Member],
    weights: FloatArray,
    *,
    classes: Any,
    spoken: Any,
    votes: str,
) -> VotingClassifier:
    """Return scikit-learn's classifier with sum_m w_m p_m / sum w.

    Members without probabilities vote: then scikit-learn's model has no
    `predict_proba` either, and gives the committee's labels only.

    Parameters
    ----------
    members : list of k fitted classifiers
    weights : array of shape (k,)
        Not negative.
    classes, spoken : array of shape (K,)
        The labels, and what the members call them.
    votes : {"soft", "hard"}

    Returns
    -------
    model : VotingClassifier

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from committee.export.voting import voting_classifier
    >>> member = LogisticRegression().fit([[0.0], [1.0]], [0, 1])
    >>> how = {"classes": ["no", "yes"], "spoken": [0, 1], "votes": "soft"}
    >>> voting_classifier([member], [1.0], **how).predict([[0.9]]).tolist()
    ['yes']
    """
    silent = [not hasattr(member, "predict_proba") for member in members]
    if votes == "hard" or all(silent):
        if not np.array_equal(spoken, np.arange(len(spoken))):
            raise ValueError(
                "scikit-learn's VotingClassifier counts the votes of members that were "
                f"trained on class codes 0..{len(spoken) - 1}. Got members that vote "
                f"for {np.asarray(spoken)[:3].tolist()}; use committee.save instead."
            )
        voting = "hard"
    else:
        _check_probabilities(members, silent, spoken)
        voting = "soft"
    model = VotingClassifier(
        _named(members), voting=voting, weights=np.asarray(weights, dtype=np.float64)
    )
    model.classes_ = np.asarray(classes)
    model.le_ = LabelEncoder().fit(model.classes_)
    return _holding(members, model)


def on_all_columns(member: Member, n_features: int) -> Any:
    """Return the member itself, or a pipeline that picks its columns for it."""
    if not isinstance(member, OnColumns):
        return member
    picked = picked_columns(np.asarray(member.columns), n_features)
    return Pipeline([("columns", picked), ("member", member.estimator)])


def picked_columns(columns: IntArray, n_features: int) -> ColumnTransformer:
    """Return a fitted transformer from X, array or frame, to some of its columns."""
    picked = ColumnTransformer([("columns", "passthrough", columns.tolist())])
    return picked.fit(np.zeros((1, n_features)))


def _check_probabilities(
    members: Sequence[Member], silent: list[bool], spoken: Any
) -> None:
    """Refuse what scikit-learn cannot average: no probabilities, other classes."""
    for member, is_silent in zip(members, silent, strict=True):
        kind = type(member).__name__
        if is_silent:
            raise ValueError(
                "scikit-learn's VotingClassifier needs predict_proba of all members or "
                f"of none. Got a {kind} without it among others; use committee.save "
                "instead."
            )
        if not np.array_equal(member.classes_, spoken):
            raise ValueError(
                "scikit-learn's VotingClassifier needs members that know all of the "
                f"{len(spoken)} classes. Got a {kind} that knows "
                f"{len(member.classes_)}; use committee.save instead."
            )


def _named(members: Sequence[Member]) -> list[tuple[str, Member]]:
    """Return the members with the names that scikit-learn wants them to have."""
    return [(f"member{m}", member) for m, member in enumerate(members)]


def _holding(members: Sequence[Member], model: Any) -> Any:
    """Return the model as if it had fitted the members itself."""
    model.estimators_ = list(members)
    model.named_estimators_ = Bunch(**dict(_named(members)))
    return model
