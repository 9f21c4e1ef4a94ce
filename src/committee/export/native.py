"""Committees as models of scikit-learn or of the booster's own library."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, Member
from committee._validation import calibrated_classifier
from committee.ensembles import Round, rebuild
from committee.ensembles.forests import (
    classification_forest,
    is_tree,
    regression_forest,
)
from committee.ensembles.member_features import OnColumns
from committee.ensembles.voting import (
    on_all_columns,
    picked_columns,
    voting_classifier,
    voting_regressor,
)
from committee.probabilities import as_probabilities


def to_sklearn(committee: Any) -> Any:
    """Return a committee as a native model with the same classes or numbers.

        native(x) = sum_m w_m f_m(x)

    Trees become a forest, with the weights folded into its leaves, so that tools
    for forests (SHAP, treelite, skl2onnx) can be used. Rounds of a booster become
    a booster of the same class, other members a voting ensemble. A transformer of X
    becomes a pipeline around the model.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted, usually made by `prune`. Or a single `NetworkRegressor` or
        `NetworkClassifier`, which becomes scikit-learn's own.

    Returns
    -------
    model : fitted estimator
        - Trees: `RandomForest*` or `ExtraTrees*`.
        - Rounds: `GradientBoosting*`, `HistGradientBoosting*`, or the booster of LightGBM,
          XGBoost or CatBoost.
        - Other members: `VotingClassifier`, `VotingRegressor` or `StackingRegressor`. If
          the members are classifiers without probabilities, so is the model.
        - Members behind a transformer: a `Pipeline` that ends in one of these.

        If a committee was fitted with `calibration`, or with `EPPruner` for two classes,
        the model is the `estimator` of a `CalibratedClassifierCV`, whose curves are right
        within 1e-6. The same holds for refined trees with a calibration.

        The forest or vote of a pruned committee is a plain one, for tools that read
        forests, without the calibration: its probabilities are the weighted means of the
        members' probabilities. `to_onnx` and `save` keep the calibration.

        The plain forest of refined trees (`model.estimator.estimator` if calibrated) has
        the committee's decisions. Its `predict_proba` are means of refitted leaves: they
        sum to one but may be slightly below zero or above one, where the committee's own
        probabilities are clipped.

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
    ...     generator=Bagging(10), combiner=SimplexWeights(), random_state=0
    ... ).fit(X, y)
    >>> forest = to_sklearn(committee)
    >>> type(forest).__name__, len(forest.estimators_) == committee.n_members_
    ('RandomForestClassifier', True)
    >>> float(abs(forest.predict_proba(X) - committee.predict_proba(X)).max()) < 1e-12
    True
    """
    if (network := native_of_network(committee)) is not None:
        return network
    model = averaging(committee)
    if not is_classifier(committee) or not _has_curves(committee):
        return model
    if len(committee.classes_) > 2 and probit_scale(committee) is not None:
        raise ValueError(
            f"The probabilities of {type(committee.combiner_).__name__} for "
            f"{len(committee.classes_)} classes are products of probits, and scikit-learn "
            "has no model that holds them; to_onnx and committee.save do, and "
            "prune(committee, X, y) makes a committee that averages."
        )
    if not hasattr(model, "predict_proba"):  # members that only vote
        return model
    return with_curves(model, committee)


def native_of_network(model: Any) -> Any:
    """Return scikit-learn's network for one of ours; None for other models."""
    return model._as_native() if hasattr(model, "_as_native") else None


def averaging(committee: Any, *, logarithms: bool = False) -> Any:
    """Return the native model of the weighted means, before any link.

    With `logarithms`, a logarithmic pool is allowed: its model is a vote, without the
    logarithms.
    """
    _check(committee, logarithms)
    support = np.flatnonzero(committee.weights_)
    members = [committee.members_[m] for m in support]
    model = _native(committee, members, committee.weights_[support])
    before = committee.transformer_
    if before is None:
        return model
    steps = before.steps if isinstance(before, Pipeline) else [("transformer", before)]
    return Pipeline([*steps, ("committee", model)])


def _native(committee: Any, members: list[Member], w: FloatArray) -> Any:
    """Return the model behind the transformer."""
    if isinstance(members[0], Round):
        if np.any(committee.roster_.offset):
            raise ValueError(
                "A booster of these rounds has their own start, and "
                f"{type(committee.combiner_).__name__} adds an intercept: use "
                "committee.save, or a combiner without one, such as SimplexWeights."
            )
        return rebuild(members, w)
    how: dict[str, Any] = {}
    if is_classifier(committee):
        how = {
            "classes": committee.classes_,
            "member_classes": committee.roster_.member_classes,
            "output": committee.roster_.output,
        }
    # A forest of trees has no room for a constant.
    sums_only = _adds_logarithms(committee) or np.any(committee.roster_.offset)
    if sums_only or not all(is_tree(member) for member in members):
        return _voting(committee, members, w, how)
    n_features = _width(committee, members)
    if how:
        forest = classification_forest(members, w, n_features, **how)
    else:
        forest = regression_forest(members, w, n_features)
    if (names := _names(committee)) is not None:
        forest.feature_names_in_ = names
    return forest


def _voting(
    committee: Any, members: list[Member], w: FloatArray, how: dict[str, Any]
) -> Any:
    """Return a voting ensemble, behind a step that turns frames into arrays if needed."""
    members = [native_of_network(member) or member for member in members]
    if any(isinstance(member, OnColumns) for member in members):
        n_features = _width(committee, members)
        members = [on_all_columns(member, n_features) for member in members]
    called = committee.roster_.names
    if called is not None:
        called = [called[m] for m in np.flatnonzero(committee.weights_)]
    voting: Any
    if how:
        voting = voting_classifier(members, w, names=called, **how)
    else:
        intercept = committee.roster_.offset
        voting = voting_regressor(members, w, called, intercept)
    if (names := _names(committee)) is None:
        return voting
    if not committee.roster_.arrays:
        voting.feature_names_in_ = names
        return voting
    as_array = picked_columns(np.arange(len(names)), len(names))
    as_array.feature_names_in_ = names
    return Pipeline([("columns", as_array), ("committee", voting)])


def _adds_logarithms(committee: Any) -> bool:
    return committee.roster_.floor is not None


def _check(committee: Any, logarithms: bool) -> None:
    """Raise if this is not a committee, or if no native model has its output."""
    if not hasattr(committee, "to_sklearn"):
        raise TypeError(
            "A fitted CommitteeClassifier or CommitteeRegressor was expected (prune "
            f"makes one of any ensemble). Got {type(committee).__name__} instead."
        )
    check_is_fitted(committee, "weights_")
    if committee.gate_ is not None:
        raise ValueError(
            "A native model has the same weights everywhere, and the weights of this "
            f"{type(committee).__name__} depend on x, by {committee.gate_!r}: use "
            "committee.save, or fit without a gate."
        )
    w = committee.weights_
    if not np.any(w):
        raise ValueError(
            "All members of this committee have weight zero: no model can be exported."
        )
    if not is_classifier(committee) or committee.roster_.output == "scores":
        return
    if _adds_logarithms(committee) and not logarithms:
        raise ValueError(
            "A native model averages probabilities, and this committee sums their "
            "logarithms: use to_onnx or committee.save, or fit or prune with a combiner "
            "that averages, such as SimplexWeights or EPPruner."
        )
    if np.any(w < 0):
        raise ValueError(
            "A native model averages probabilities, with weights that are not "
            f"negative. Got {np.count_nonzero(w < 0)} negative weights; fit with "
            "SimplexWeights or EPPruner, or use committee.save."
        )
    if committee.roster_.link == "combiner":
        check_mean(committee)


def _has_curves(committee: Any) -> bool:
    """Return True if probabilities are curves of the means; see `to_sklearn`."""
    if committee.roster_.output == "scores":
        return False
    if hasattr(committee, "refined_"):
        return committee.calibration_ is not None
    if committee.roster_.link != "combiner":
        return False
    return probit_scale(committee) is not None or committee.calibration_ is not None


def probit_scale(committee: Any) -> float | None:
    """Return c if p_k ~ prod_j Phi(c (s_k - s_j)) of the weighted means s, else None."""
    if not is_classifier(committee):
        return None
    link, combiner = committee.roster_.link, committee.combiner_
    if link not in ("combiner", "slope") or combiner is None:
        return None
    if combiner.probit_scale_ is None:
        return None
    # A pruned committee has shares of the weights of its combiner.
    w = committee.weights_ if link == "combiner" else combiner.weights_
    return float(combiner.probit_scale_ * w.sum())


def pool_scale(committee: Any) -> float:
    """Return c if p = softmax(c s), with s the weighted mean of log-probabilities."""
    link, combiner = committee.roster_.link, committee.combiner_
    w = committee.weights_ if link == "combiner" else combiner.weights_
    one = combiner.probabilities(np.eye(1, len(committee.classes_)))[0]
    return float(np.log(one[0] / one[1]) * w.sum())


def check_mean(committee: Any) -> None:
    """Raise for probabilities other than means, probits of means, or a log pool's."""
    if probit_scale(committee) is not None or _adds_logarithms(committee):
        return
    if committee.roster_.link == "mean" or committee.combiner_ is None:
        return
    K, w = len(committee.classes_), committee.combiner_.weights_
    s = np.vstack([np.eye(K), np.linspace(1, 2, K) / np.linspace(1, 2, K).sum()])
    p = committee.combiner_.probabilities(w.sum() * s)
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


def with_curves(model: Any, committee: Any) -> CalibratedClassifierCV:
    """Return the model of means s with the committee's probabilities of them.

    For two classes p is a function of s_1; for more p_k ~ c_k(s_k).
    """
    frozen = FrozenEstimator(model)
    calibrated = CalibratedClassifierCV(frozen, method="isotonic", ensemble=False)
    calibrated.classes_ = model.classes_
    calibrated.calibrated_classifiers_ = [
        calibrated_classifier(frozen, _curves(committee), model.classes_)
    ]
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(calibrated, name, getattr(model, name))
    return calibrated


def _curves(committee: Any) -> list[IsotonicRegression]:
    """Return one curve for two classes, or one for each."""
    K, total = len(committee.classes_), float(committee.weights_.sum())
    ends = _ends(committee)
    if K > 2:
        return [_curve(partial(_of_class, committee, k, total), ends) for k in range(K)]

    def second(s: FloatArray) -> FloatArray:
        p: FloatArray = committee._probabilities(total * np.column_stack([1 - s, s]))
        return p[:, 1]

    return [_curve(second, ends)]


def _ends(committee: Any) -> tuple[float, float]:
    """Return the least and largest possible mean; only refined leaves exceed [0, 1]."""
    if not hasattr(committee, "refined_"):
        return 0.0, 1.0
    values = [tree.tree_.value for tree in committee.members_]
    w = committee.weights_ / committee.weights_.sum()
    low, high = (w @ [end(v) for v in values] for end in (np.min, np.max))
    return min(0.0, float(low)), max(1.0, float(high))


def _of_class(committee: Any, k: int, total: float, s: FloatArray) -> FloatArray:
    """Return c_k(s), (n,)."""
    found = committee.calibration_
    slopes = np.broadcast_to(found.slope, len(committee.classes_))
    offsets = np.zeros(len(slopes)) if found.offset is None else found.offset
    if found.floor is not None:
        z, largest = np.log(np.maximum(s, found.floor)), offsets.max()
    else:
        z, largest = total * s, np.max(total * slopes + offsets)
    return np.asarray(np.exp(slopes[k] * z + offsets[k] - largest))


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
