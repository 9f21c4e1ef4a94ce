"""Boosters of LightGBM, XGBoost and CatBoost as learners that keep plain trees.

The library is imported only to train. What is kept, and saved, is a table of nodes: files
hold no objects of other libraries, and predictions need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, RandomState
from committee.ensembles.catboost import catboost_trees
from committee.ensembles.lightgbm import lightgbm_trees
from committee.ensembles.tree_sum import TreeSum
from committee.ensembles.xgboost import xgboost_trees

#: Functions of a fitted model that return its trees.
_TREES = {
    "lightgbm": lightgbm_trees,
    "xgboost": xgboost_trees,
    "catboost": catboost_trees,
}


@dataclass(eq=False, repr=False)
class Boosted(BaseEstimator):
    """A booster of another library, which is needed to train only.

    Rows are trained on and predicted in single precision, in which the trees are kept.

    Parameters
    ----------
    library : {"lightgbm", "xgboost", "catboost"}
    settings : dict, default=None
        Parameters of the library's estimator.
    n_jobs : int, default=None
        Number of training threads. None means 1.
    random_state : int or None

    Attributes
    ----------
    trees_ : TreeSum
    n_features_in_ : int
    """

    trees_: TreeSum = field(init=False)
    n_features_in_: int = field(init=False)
    classes_: Any = field(init=False)

    library: str = "lightgbm"
    settings: Mapping[str, Any] | None = None
    _: KW_ONLY
    n_jobs: int | None = None
    random_state: RandomState = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train the booster of the library, and keep its trees."""
        X = _single(X)
        model = self._model().fit(X, self._targets(y), sample_weight=sample_weight)
        self.trees_ = _TREES[self.library](model)
        if isinstance(self, ClassifierMixin):
            self.trees_.classes_ = self.classes_
        self.n_features_in_ = X.shape[1]
        return self

    def _model(self) -> Any:
        """Return the unfitted estimator of the library."""
        seed, threads = self.random_state, self.n_jobs or 1
        kind = "Classifier" if isinstance(self, ClassifierMixin) else "Regressor"
        own: dict[str, Any] = {"random_state": seed, **(self.settings or {})}
        if self.library == "catboost":
            import catboost

            own |= {"thread_count": threads, "verbose": False}
            return getattr(catboost, f"CatBoost{kind}")(
                **own, allow_writing_files=False
            )
        if self.library == "xgboost":
            import xgboost

            return getattr(xgboost, f"XGB{kind}")(**own, n_jobs=threads)
        import lightgbm

        # The same trees for any number of threads.
        own |= {"deterministic": True, "force_row_wise": True, "verbose": -1}
        return getattr(lightgbm, f"LGBM{kind}")(**own, n_jobs=threads)

    def _targets(self, y: Any) -> Any:
        """Return the targets as the library takes them."""
        return np.asarray(y, dtype=np.float64)


class BoostedRegressor(RegressorMixin, Boosted):
    """A booster for numbers: see `Boosted`."""

    def predict(self, X: Any) -> FloatArray:
        """Return the predictions, (N,)."""
        check_is_fitted(self)
        return np.asarray(self.trees_.predict(_single(X)))


class BoostedClassifier(ClassifierMixin, Boosted):
    """A booster for classes: see `Boosted`."""

    def _targets(self, y: Any) -> Any:
        """Return codes 0..K-1 of the classes that there are."""
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"y must have two classes or more. Got {self.classes_[0]!r}."
            )
        return codes

    def predict_proba(self, X: Any) -> FloatArray:
        """Return class probabilities (N, K), in the order of `classes_`."""
        check_is_fitted(self)
        return np.asarray(self.trees_.predict_proba(_single(X)))

    def predict(self, X: Any) -> Any:
        """Return the labels of the most probable classes, (N,)."""
        return self.classes_[self.predict_proba(X).argmax(axis=1)]


def boosted_trees(model: Boosted) -> TreeSum:
    """Return the trees of a fitted booster."""
    return model.trees_


def _single(X: Any) -> FloatArray:
    """Return rows in single precision; NaN is a missing value."""
    return np.asarray(check_array(X, dtype=np.float32, ensure_all_finite="allow-nan"))
