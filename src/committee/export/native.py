"""The committee as a plain model of scikit-learn or of the booster's library."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr
from scipy.stats import norm
from sklearn.base import is_classifier
from sklearn.calibration import CalibratedClassifierCV
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, Member
from committee._validation import calibrated_classifier
from committee.ensembles import Round, rebuild
from committee.ensembles.column_subsets import OnColumns
from committee.ensembles.forests import (
    classification_forest,
    is_tree,
    regression_forest,
)
from committee.ensembles.voting import (
    on_all_columns,
    picked_columns,
    voting_classifier,
    voting_regressor,
)
from committee.probabilities import as_probabilities

#: Of a probit in scikit-learn's calibration curves.
_CURVE_ERROR = 1e-6


def to_sklearn(committee: Any) -> Any:
    """Return a committee as a native model with the same classes or numbers.

        native(x) = sum_m w_m f_m(x)

    Trees become a forest, with the weights folded into its leaves, so that tools
    for forests (SHAP, treelite, skl2onnx) can be used. Rounds of a booster become
    a booster of its own kind, other members a voting ensemble. What transforms X
    before the members becomes a pipeline around the model.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        Fitted; as a rule made by `prune`.

    Returns
    -------
    model : fitted estimator
        `RandomForest*` or `ExtraTrees*` for trees; `GradientBoosting*`,
        `HistGradientBoosting*`, LightGBM's, XGBoost's or CatBoost's for rounds;
        `VotingClassifier`, `VotingRegressor` or `StackingRegressor` for others; or a
        `Pipeline` that ends in one of these. Members that only vote, and are no trees,
        give a `VotingClassifier` without `predict_proba`. Where two classes have the
        probit probabilities of a fitted `EPPruner`, that model is the `estimator` of a
        `CalibratedClassifierCV`, whose curve is Phi, within 1e-6.
        Probabilities of other forests and
        votes are the weighted means of the members': these models have no place for the
        slope that a pruned committee puts on them (`slope_`), which changes no class.
        `to_onnx` and `save` keep it.

    Raises
    ------
    ValueError
        If there is no native model with the same predictions.

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
    model = averaging(committee)
    scale = probit_scale(committee)
    if scale is None:
        return model
    if len(committee.classes_) > 2:
        raise ValueError(
            f"The probabilities of {type(committee.combiner_).__name__} for "
            f"{len(committee.classes_)} classes are products of probits, and scikit-learn "
            "has no model that holds them; to_onnx and committee.save do, and "
            "prune(committee, X, y) makes a committee that averages."
        )
    return _calibrated(model, scale)


def averaging(committee: Any) -> Any:
    """Return the native model of the weighted means, before any link."""
    _check(committee)
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
        return rebuild(members, w)
    how: dict[str, Any] = {}
    if is_classifier(committee):
        how = {
            "classes": committee.classes_,
            "member_classes": committee.roster_.member_classes,
            "votes": committee.roster_.votes,
        }
    if not all(is_tree(member) for member in members):
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
    """Return a voting ensemble, behind what makes an array of a frame if need be."""
    # Our own networks have a counterpart in scikit-learn.
    members = [m._as_native() if hasattr(m, "_as_native") else m for m in members]
    if any(isinstance(member, OnColumns) for member in members):
        n_features = _width(committee, members)
        members = [on_all_columns(member, n_features) for member in members]
    called = committee.roster_.names
    if called is not None:
        called = [called[m] for m in np.flatnonzero(committee.weights_)]
    make = voting_classifier if how else voting_regressor
    voting = make(members, w, names=called, **how)
    if (names := _names(committee)) is None:
        return voting
    if not committee.roster_.arrays:
        voting.feature_names_in_ = names
        return voting
    as_array = picked_columns(np.arange(len(names)), len(names))
    as_array.feature_names_in_ = names
    return Pipeline([("columns", as_array), ("committee", voting)])


def _check(committee: Any) -> None:
    """Refuse what is no committee, or whose output no native model has."""
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
            "All members of this committee have weight zero: there is nothing to export."
        )
    if not is_classifier(committee) or committee.roster_.votes == "scores":
        return
    if committee.roster_.floor is not None:
        raise ValueError(
            "A native model averages probabilities, and this committee adds up their logarithms: "
            "use committee.save, or fit or prune with a combiner that averages, such as "
            "SimplexWeights or EPPruner."
        )
    if np.any(w < 0):
        raise ValueError(
            "A native model averages probabilities, with weights that are not "
            f"negative. Got {np.count_nonzero(w < 0)} negative weights; fit with "
            "SimplexWeights or EPPruner, or use committee.save."
        )
    if probit_scale(committee) is None and not _is_mean(committee):
        raise ValueError(
            "A native model averages probabilities. The probabilities of "
            f"{type(committee.combiner_).__name__} are not an average; "
            "prune(committee, X, y) makes a committee that averages, or use "
            "committee.save."
        )


def probit_scale(committee: Any) -> float | None:
    """Return c where p_k ~ prod_j Phi(c (s_k - s_j)) of the weighted means s, or None."""
    if not is_classifier(committee) or committee.roster_.link != "combiner":
        return None
    combiner = committee.combiner_
    if combiner is None or combiner.probit_scale_ is None:
        return None
    return float(combiner.probit_scale_ * committee.weights_.sum())


def _calibrated(model: Any, scale: float) -> CalibratedClassifierCV:
    """Return the model of two classes with p = Phi(c (2 s - 1)), s its probability.

    The curve is linear between n + 1 points, with an error of at most max |p''| / (8 n^2),
    and |p''| = 4 c^2 |u phi(u)| <= 4 c^2 phi(1).
    """
    n = 2 * int(
        np.ceil(max(scale, 1.0) * np.sqrt(norm.pdf(1.0) / 2 / _CURVE_ERROR) / 2)
    )
    s = np.linspace(0.0, 1.0, n + 1)
    # Symmetric about one half, so that ties stay ties.
    curve = IsotonicRegression(y_min=0.0, y_max=1.0, out_of_bounds="clip")
    curve.fit(s, ndtr(scale * (2 * s - 1)))
    frozen = FrozenEstimator(model)
    calibrated = CalibratedClassifierCV(frozen, method="isotonic", ensemble=False)
    calibrated.classes_ = model.classes_
    calibrated.calibrated_classifiers_ = [
        calibrated_classifier(frozen, curve, model.classes_)
    ]
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(calibrated, name, getattr(model, name))
    return calibrated


def _is_mean(committee: Any) -> bool:
    """Whether probabilities are the weighted mean: by definition, or on trial."""
    if committee.roster_.link in ("mean", "slope") or committee.combiner_ is None:
        return True
    K, total = len(committee.classes_), committee.weights_.sum()
    scores = np.vstack([np.eye(K), np.linspace(1, 2, K) / np.linspace(1, 2, K).sum()])
    p = committee.combiner_.probabilities(total * scores)
    return bool(np.allclose(p, as_probabilities(scores), rtol=0, atol=1e-14))


def _width(committee: Any, members: list[Member]) -> int:
    """Return the number of columns that all members see, each some of them."""
    if committee.transformer_ is None:
        return int(committee.n_features_in_)
    for member in members:
        if not isinstance(member, OnColumns):
            return int(member.n_features_in_)
    return len(committee.transformer_.get_feature_names_out())


def _names(committee: Any) -> Any:
    """Return the column names of what the members see, None if it has none."""
    if committee.transformer_ is not None:
        return None
    return getattr(committee, "feature_names_in_", None)
