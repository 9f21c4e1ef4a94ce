"""Committees as models of scikit-learn or of the booster's own library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, Member
from committee._validation import calibrated_classifier, sigmoid_curve
from committee.calibration import Calibration
from committee.ensembles import Round, rebuild
from committee.ensembles.forests import (
    classification_forest,
    is_tree,
    regression_forest,
)
from committee.ensembles.member_features import OnColumns
from committee.ensembles.tree_sum import Link
from committee.ensembles.voting import (
    log_pool_classifier,
    on_all_columns,
    picked_columns,
    voting_classifier,
    voting_regressor,
)
from committee.probabilities import as_probabilities


def to_sklearn(committee: Any, *, calibration: str | None = "keep") -> Any:
    """Return a committee as a native model with the same predictions.

        native(x) = sum_m w_m f_m(x),   p(k | x) = link(native(x))

    Trees become a forest, with the weights folded into its leaves, so that tools
    for forests (SHAP, treelite, skl2onnx) can be used. Rounds of a booster become
    a booster of the same class, other members a voting ensemble. A transformer of X
    becomes a pipeline around the model.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted, usually made by `prune`. Or a single `NetworkRegressor` or
        `NetworkClassifier`, which becomes scikit-learn's own.
    calibration : {"keep"} or None, default="keep"
        None returns the model without the calibration of the committee: the plain forest
        or vote, whose probabilities are weighted means.

    Returns
    -------
    model : fitted estimator
        - Trees: `RandomForest*` or `ExtraTrees*`.
        - Rounds: `GradientBoosting*`, `HistGradientBoosting*`, or the booster of LightGBM,
          XGBoost or CatBoost.
        - Other members: `VotingClassifier`, `VotingRegressor` or `StackingRegressor`. If
          the members are classifiers without probabilities, so is the model.
        - Log-probabilities of members, as in `LogPool`: `StackingClassifier`, whose
          second layer takes logarithms and is a `LogisticRegression` with the weights.
        - Members behind a transformer: a `Pipeline` that ends in one of these.

        The model of a committee with a calibration, such as those of `prune` and
        `refine`, is a `CalibratedClassifierCV` with the same probabilities. One of these
        models is its `estimator.estimator`.

        Without a calibration, `predict_proba` of refined trees are means of refitted
        leaves: they sum to one but may be slightly below zero or above one, where the
        committee's own probabilities are cut.

    Raises
    ------
    ValueError
        If no native model has the same predictions.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from committee import Bagging, CommitteeClassifier, SimplexWeights, to_sklearn
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> committee = CommitteeClassifier(
    ...     generator=Bagging(10), combiner=SimplexWeights(), calibration=None
    ... ).fit(X, y)
    >>> forest = to_sklearn(committee)
    >>> type(forest).__name__, len(forest.estimators_) == committee.n_members_
    ('RandomForestClassifier', True)
    >>> float(abs(forest.predict_proba(X) - committee.predict_proba(X)).max()) < 1e-12
    True
    """
    if calibration not in ("keep", None):
        raise ValueError(f'calibration must be "keep" or None. Got {calibration!r}.')
    if (network := native_of_network(committee)) is not None:
        return network
    model = averaging(committee)
    if calibration is None or not _has_link(committee):
        return model
    if not hasattr(model, "predict_proba"):  # members that only vote
        found = committee.calibration_
        if found is not None and not found.keeps_order:
            raise ValueError(
                "A voting model in scikit-learn predicts labels only, and this "
                "calibration changes them: use to_onnx, committee.save, or "
                'calibration="slope".'
            )
        return model
    return with_link(model, committee)


def native_of_network(model: Any) -> Any:
    """Return scikit-learn's network for one of ours; None for other models."""
    return model._as_native() if hasattr(model, "_as_native") else None


def averaging(committee: Any) -> Any:
    """Return the native model before any calibration: means, or a logarithmic pool."""
    model = behind_transformer(committee)
    before = committee.transformer_
    if before is None:
        return model
    steps = before.steps if isinstance(before, Pipeline) else [("transformer", before)]
    return Pipeline([*steps, ("committee", model)])


def behind_transformer(committee: Any) -> Any:
    """Return the same without the transformer of X."""
    check_exportable(committee)
    roster, w = committee.roster_, committee.weights_
    if isinstance(roster.members[0], Round):
        # c if p = softmax(K c s) of the sums s of the rounds
        slope = committee.slope_ if is_classifier(committee) else None
        c = 1.0 if slope is None else slope / len(committee.classes_)
        return rebuild(roster.members, c * w, c * roster.offset)
    of_classes: dict[str, Any] = {}
    if is_classifier(committee):
        of_classes = {
            "classes": committee.classes_,
            "member_classes": roster.member_classes,
        }
    # A forest of trees has no room for a constant.
    constant = roster.floor is not None or np.any(roster.offset)
    if constant or not all(map(is_tree, roster.members)):
        return _voting(committee, of_classes)
    trees = roster.members, w, _width(committee, roster.members)
    if of_classes:
        forest = classification_forest(*trees, **of_classes, output=roster.output)
    else:
        forest = regression_forest(*trees)
    if (names := _names(committee)) is not None:
        forest.feature_names_in_ = names
    return forest


def _voting(committee: Any, of_classes: dict[str, Any]) -> Any:
    """Return a voting ensemble, behind a step that turns frames into arrays if needed."""
    roster, w = committee.roster_, committee.weights_
    members = on_the_same_columns(committee, roster.members)
    b, names = roster.offset, roster.names
    if roster.floor is not None:
        c = link_of(committee).scale
        b = c * np.broadcast_to(b, len(committee.classes_))
        how = {**of_classes, "names": names}
        voting: Any = log_pool_classifier(members, c * w, b, roster.floor, **how)
    elif of_classes:
        how = {**of_classes, "output": roster.output, "names": names}
        voting = voting_classifier(members, w, **how)
    else:
        voting = voting_regressor(members, w, names, b)
    if (names := _names(committee)) is None:
        return voting
    if not roster.arrays:
        voting.feature_names_in_ = names
        return voting
    as_array = picked_columns(np.arange(len(names)), len(names))
    as_array.feature_names_in_ = names
    return Pipeline([("columns", as_array), ("committee", voting)])


def on_the_same_columns(committee: Any, members: list[Member]) -> list[Any]:
    """Return the members as scikit-learn's own, on all of the columns."""
    members = [native_of_network(member) or member for member in members]
    if any(isinstance(member, OnColumns) for member in members):
        n_features = _width(committee, members)
        members = [on_all_columns(member, n_features) for member in members]
    return members


def check_exportable(committee: Any) -> None:
    """Raise if this is not a committee, or if no native model has its output."""
    if not hasattr(committee, "to_sklearn"):
        raise TypeError(
            "Expected a fitted CommitteeClassifier or CommitteeRegressor (prune makes "
            f"one from any ensemble). Got {type(committee).__name__} instead."
        )
    check_is_fitted(committee, "weights_")
    if committee.gate_ is not None:
        raise ValueError(
            "A native model has constant weights, but the weights of this "
            f"{type(committee).__name__} depend on x through {committee.gate_!r}: use "
            "committee.save, or fit without a gate."
        )
    w = committee.weights_
    if not np.any(w):
        raise ValueError(
            "All members of this committee have weight zero: no model can be exported."
        )
    if not is_classifier(committee) or committee.roster_.output == "scores":
        return
    if np.any(w < 0) and committee.roster_.floor is None:
        raise ValueError(
            "A native model averages probabilities, with weights that are not "
            f"negative. Got {np.count_nonzero(w < 0)} negative weights; fit with "
            "SimplexWeights, or use committee.save."
        )
    if committee.roster_.link == "combiner":
        check_mean(committee)


def _has_link(committee: Any) -> bool:
    """Return True if the committee has a calibration of its probabilities."""
    if not is_classifier(committee) or committee.roster_.output == "scores":
        return False
    return committee.calibration_ is not None


def link_of(committee: Any) -> Link:
    """Return how the weighted sums of a classifier become probabilities."""
    calibration = committee.calibration_
    if committee.roster_.floor is not None:  # p ~ exp(c s)
        first = committee._own_probabilities(np.eye(1, len(committee.classes_)))[0]
        return Link("softmax", float(np.log(first[0] / first[1])), calibration)
    if calibration is None or calibration.floor is not None:
        check_mean(committee)
    return Link("shares", 1.0, calibration)


def check_mean(committee: Any) -> None:
    """Raise for probabilities other than means, or those of a log pool."""
    roster = committee.roster_
    if roster.floor is not None or roster.link == "mean" or committee.combiner_ is None:
        return
    K, w = len(committee.classes_), committee.combiner_.weights_
    s = np.vstack([np.eye(K), np.linspace(1, 2, K) / np.linspace(1, 2, K).sum()])
    p = committee.combiner_.linked(w.sum() * s)
    if not np.allclose(p, as_probabilities(s), rtol=0, atol=1e-14):
        raise ValueError(
            "A native model averages probabilities. The probabilities of "
            f"{type(committee.combiner_).__name__} are not an average; "
            "prune(committee, X, y) makes a committee that averages, or use "
            "committee.save."
        )


def _width(committee: Any, members: list[Member]) -> int:
    """Return the number of columns of X, transformed for the members."""
    if committee.transformer_ is None:
        return int(committee.n_features_in_)
    for member in members:
        if not isinstance(member, OnColumns):
            return int(member.n_features_in_)
    return len(committee.transformer_.get_feature_names_out())


def _names(committee: Any) -> Any:
    """Return the column names of the members' input; None without names."""
    if committee.transformer_ is not None:
        return None
    return getattr(committee, "feature_names_in_", None)


#: Largest error of a piecewise linear curve; largest number of rounds of adding points.
_ERROR, _MOST_ROUNDS = 1e-6, 30
#: 1 / (1 + exp(-z)) is exp(z), to the last digit, for z below this.
_AS_EXP = -37.0


def with_link(model: Any, committee: Any) -> CalibratedClassifierCV:
    """Return the model of means s with the committee's probabilities of them."""
    if hasattr(model, "decision_function"):
        # Preferred by CalibratedClassifierCV; a vote of one has probabilities only.
        how = {"classes": model.classes_, "member_classes": model.classes_}
        model = voting_classifier([model], np.ones(1), output="soft", **how)
    frozen = FrozenEstimator(model)
    method, curves = _curves(committee)
    calibrated = CalibratedClassifierCV(frozen, method=method, ensemble=False)
    calibrated.classes_ = model.classes_
    calibrated.calibrated_classifiers_ = [
        calibrated_classifier(frozen, curves, model.classes_, method)
    ]
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(calibrated, name, getattr(model, name))
    return calibrated


def _curves(committee: Any) -> tuple[str, list[Any]]:
    """Return the kind of the curves c_k, and the curves.

        p_1 = c_1(s_1) for two classes,   p_k = c_k(s_k) / sum_j c_j(s_j) for more

    scikit-learn has no exponential, but sigmoids far out are exponentials.
    """
    K, total = len(committee.classes_), float(committee.weights_.sum())
    found: Calibration = committee.calibration_
    if found.floor is not None:
        check_mean(committee)
    if K == 2 and found.floor is not None:

        def second(s: FloatArray) -> FloatArray:
            p = as_probabilities(np.column_stack([1 - s, s]))
            return found(p, p)[:, 1]

        return "isotonic", [_curve(second, _ends(committee))]
    t = np.broadcast_to(found.slope, K) * (total if found.floor is None else 1.0)
    a = np.zeros(K) if found.offset is None else found.offset
    if K == 2:
        return "sigmoid", [sigmoid_curve(t[0] + t[1], a[1] - a[0] - t[0])]
    if found.floor is not None:
        far = _AS_EXP - np.max(a)
        return "sigmoid", [
            _power_curve(found.floor, *one) for one in zip(t, a + far, strict=True)
        ]
    far = _AS_EXP - np.max(t * _ends(committee)[1] + a)
    return "sigmoid", [sigmoid_curve(*one) for one in zip(t, a + far, strict=True)]


def _power_curve(floor: float, slope: float, intercept: float) -> Pipeline:
    """Return exp(t log clip(s, floor, 1) + a)."""
    return Pipeline(
        [
            (
                "clip",
                FunctionTransformer(np.clip, kw_args={"a_min": floor, "a_max": 1}),
            ),
            ("log", FunctionTransformer(np.log)),
            ("sigmoid", sigmoid_curve(slope, intercept)),
        ]
    )


def _ends(committee: Any) -> tuple[float, float]:
    """Return the least and largest possible mean; only refined leaves exceed [0, 1]."""
    if not hasattr(committee, "refined_"):
        return 0.0, 1.0
    values = [tree.tree_.value for tree in committee.members_]
    w = committee.weights_ / committee.weights_.sum()
    low, high = (w @ [end(v) for v in values] for end in (np.min, np.max))
    return min(0.0, float(low)), max(1.0, float(high))


def _curve(
    p: Callable[[FloatArray], FloatArray], ends: tuple[float, float]
) -> IsotonicRegression:
    """Return p(s) as a piecewise linear function that is right within _ERROR."""
    s = np.union1d(np.linspace(0.0, 1.0, 65), ends)
    for _ in range(_MOST_ROUNDS):
        middle = (s[1:] + s[:-1]) / 2
        known = p(s)
        off = np.abs(p(middle) - (known[1:] + known[:-1]) / 2) > _ERROR / 2
        if not off.any():
            break
        s = np.sort(np.concatenate([s, middle[off]]))
    return IsotonicRegression(out_of_bounds="clip").fit(s, p(s))
