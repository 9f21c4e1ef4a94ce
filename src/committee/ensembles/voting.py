"""Voting, stacking and lists of fitted estimators; weighted members as a vote."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import (
    StackingClassifier,
    StackingRegressor,
    VotingClassifier,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import FeatureUnion, Pipeline
from sklearn.preprocessing import FunctionTransformer, LabelEncoder, StandardScaler
from sklearn.utils import Bunch
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, Member
from committee.ensembles.forests import coded_classes
from committee.ensembles.member_features import OnColumns
from committee.ensembles.roster import Roster, equal_weights

_ALL_ROWS = (
    "Its members were trained on all rows. Pass rows that it was not trained on, "
    "without oob, or make a committee with Pool, which is weighed on cross-fitted "
    "predictions."
)


def voting_roster(voting: Any) -> Roster:
    """Return the members, which predict probabilities of class codes, or codes."""
    members = list(voting.estimators_)
    weights = equal_weights(len(members))
    if voting.weights is not None:
        pairs = zip(voting.estimators, voting.weights, strict=True)
        kept = [w for (_, estimator), w in pairs if not isinstance(estimator, str)]
        weights = np.asarray(kept, dtype=np.float64) / np.sum(kept)
    return Roster(
        members,
        weights,
        **coded_classes(voting),
        output="soft" if getattr(voting, "voting", "soft") == "soft" else "hard",
        no_oob_reason=_ALL_ROWS,
        names=_names_within(voting),
    )


def stacking_roster(stacking: Any) -> Roster:
    """Return the first layer; estimators that were fitted before may predict labels."""
    members = list(stacking.estimators_)
    how = coded_classes(stacking)
    if stacking.cv == "prefit" and how:
        how["member_classes"] = _all_classes(members)
    names = _names_within(stacking)
    return Roster(members, None, **how, no_oob_reason=_ALL_ROWS, names=names)


def _names_within(ensemble: Any) -> list[str]:
    """Return the names of the estimators that were not dropped."""
    return [name for name, e in ensemble.estimators if not isinstance(e, str)]


def list_roster(members: list[Any], names: list[str] | None = None) -> Roster:
    """Return fitted estimators of one task, which predict labels, with equal weights."""
    for member in members:
        if not hasattr(member, "__sklearn_tags__"):
            raise TypeError(
                "A list must contain fitted scikit-learn estimators. Got "
                f"{type(member).__module__}.{type(member).__name__}."
            )
    classify = is_classifier(members[0])
    if any(is_classifier(member) != classify for member in members):
        raise ValueError(
            "A list must contain classifiers only or regressors only. Got both."
        )
    for member in members:
        check_is_fitted(member, "classes_" if classify else None)
    classes = _all_classes(members) if classify else None
    return Roster(
        members,
        equal_weights(len(members)),
        classes,
        classes,
        no_oob_reason=(
            "A list does not record which rows each member was trained on. Pass rows "
            "that none of them was trained on, without oob."
        ),
        names=names,
    )


def _all_classes(members: Sequence[Member]) -> Any:
    return np.unique(np.concatenate([member.classes_ for member in members]))


def voting_regressor(
    members: Sequence[Member],
    weights: FloatArray,
    names: list[str] | None = None,
    intercept: float = 0.0,
) -> Any:
    """Return scikit-learn's regressor with b + sum_m w_m f_m.

    If the weights sum to one it is a VotingRegressor; otherwise, or with an intercept b,
    a StackingRegressor whose second layer is linear, with the weights as coefficients.
    """
    w = np.asarray(weights, dtype=np.float64)
    # np.average divides by the sum of the weights, so this sum must be one.
    if abs(w.sum() - 1) < 1e-14 * len(w) and intercept == 0:
        return _holding(VotingRegressor(_named(members, names), weights=w))
    layer = LinearRegression(fit_intercept=False)
    layer.coef_, layer.intercept_, layer.n_features_in_ = w, intercept, len(w)
    model = StackingRegressor(_named(members, names), layer, cv="prefit")
    model.final_estimator_ = layer
    model.stack_method_ = ["predict"] * len(w)
    return _holding(model)


def voting_classifier(
    members: Sequence[Member],
    weights: FloatArray,
    *,
    classes: Any,
    member_classes: Any,
    output: str,
    names: list[str] | None = None,
) -> VotingClassifier:
    """Return scikit-learn's classifier with sum_m w_m p_m / sum w.

    If no member has probabilities, members vote, and scikit-learn's model has the
    committee's labels but no `predict_proba`. The weights (k,) are not negative.
    """
    probable = any(hasattr(member, "predict_proba") for member in members)
    if output == "hard" or not probable:
        if not np.array_equal(member_classes, np.arange(len(member_classes))):
            raise ValueError(
                "scikit-learn's VotingClassifier counts the votes of members that were "
                f"trained on class codes 0..{len(member_classes) - 1}. Got members that vote "
                f"for {np.asarray(member_classes)[:3].tolist()}; use committee.save instead."
            )
        voting = "hard"
    else:
        check_probabilities(
            members, member_classes, "A vote by probabilities in scikit-learn"
        )
        voting = "soft"
    model = VotingClassifier(
        _named(members, names),
        voting=voting,
        weights=np.asarray(weights, dtype=np.float64),
    )
    model.classes_ = np.asarray(classes)
    model.le_ = LabelEncoder().fit(model.classes_)
    return _holding(model)


def log_pool_classifier(
    members: Sequence[Member],
    weights: FloatArray,
    offsets: FloatArray,
    floor: float,
    *,
    classes: Any,
    member_classes: Any,
    names: list[str] | None = None,
) -> StackingClassifier:
    """Return scikit-learn's classifier with softmax_k( sum_m w_m log clip(p_mk) + b_k ).

    The second layer takes log clip(p, floor, 1) and is a logistic regression, whose
    coefficients are weights w (M,) and offsets b (K,). For two classes scikit-learn hands
    over p_m2 only, and log-odds need log clip(1 - p_m2, floor, 1) beside its logarithm.
    """
    check_probabilities(members, member_classes, "A stack of log-probabilities")
    K, M = len(classes), len(members)
    clip = FunctionTransformer(np.clip, kw_args={"a_min": floor, "a_max": 1.0})
    steps = [("clip", clip), ("log", FunctionTransformer(np.log))]
    if K == 2:
        other = StandardScaler().fit([[0.0] * M, [2.0] * M])  # p - 1
        other.scale_ = -other.scale_  # 1 - p
        both = FeatureUnion([("second", "passthrough"), ("first", other)])
        steps.insert(0, ("both", both))
        coef, intercept = np.r_[weights, -weights][None], offsets[1:] - offsets[:1]
    else:
        coef, intercept = np.kron(weights, np.eye(K)), offsets
    layer = LogisticRegression()
    layer.classes_, layer.coef_, layer.intercept_ = np.arange(K), coef, intercept
    layer.n_features_in_ = coef.shape[1]
    final = Pipeline([*steps, ("pool", layer)])
    model = StackingClassifier(_named(members, names), final, cv="prefit")
    model.final_estimator_ = final
    model.stack_method_ = ["predict_proba"] * M
    model.classes_ = np.asarray(classes)
    model._label_encoder = LabelEncoder().fit(model.classes_)
    return _holding(model)


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


def check_probabilities(
    members: Sequence[Member], member_classes: Any, what: str
) -> None:
    """Raise ValueError unless all members return probabilities of all classes.

    `what` begins the message: it names the model that needs them.
    """
    for member in members:
        kind = type(member).__name__
        if not hasattr(member, "predict_proba"):
            raise ValueError(
                f"{what} needs members with predict_proba. Got a {kind} without it; use "
                "committee.save instead."
            )
        if not np.array_equal(member.classes_, member_classes):
            raise ValueError(
                f"{what} needs members that were trained on all of the "
                f"{len(member_classes)} classes. Got a {kind} with "
                f"{len(member.classes_)}; use committee.save instead."
            )


#: Parameters of voting and stacking: members cannot have these names.
_TAKEN = frozenset(
    name
    for kind in (
        *(VotingClassifier, VotingRegressor),
        *(StackingClassifier, StackingRegressor),
    )
    for name in kind([]).get_params(deep=False)
)


def _named(
    members: Sequence[Member], names: list[str] | None
) -> list[tuple[str, Member]]:
    """Return members with their names, or numbered if scikit-learn forbids a name."""
    if names is None or any(name in _TAKEN or "__" in name for name in names):
        names = [f"member{m}" for m in range(len(members))]
    return list(zip(names, members, strict=True))


def _holding(model: Any) -> Any:
    """Return the model with the attributes of one that has fitted its members."""
    model.estimators_ = [member for _, member in model.estimators]
    model.named_estimators_ = Bunch(**dict(model.estimators))
    return model
