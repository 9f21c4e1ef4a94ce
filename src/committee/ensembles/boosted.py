"""Boosters of LightGBM, XGBoost and CatBoost as learners that keep plain trees.

The library is imported only to train. What is kept, and saved, is a table of nodes: files
hold no objects of other libraries, and predictions need none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass, field
from importlib import import_module
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, RandomState
from committee.ensembles.adapters import trees_of
from committee.ensembles.tree_sum import TreeSum

_PREFIXES = {"lightgbm": "LGBM", "xgboost": "XGB", "catboost": "CatBoost"}
#: Options that are always set.
_ALWAYS: dict[str, dict[str, Any]] = {
    # The same trees for any number of threads.
    "lightgbm": {"deterministic": True, "force_row_wise": True, "verbose": -1},
    "xgboost": {},
    "catboost": {"verbose": False, "allow_writing_files": False},
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
        trees = trees_of(model)
        assert trees is not None
        self.trees_ = trees
        if isinstance(self, ClassifierMixin):
            self.trees_.classes_ = self.classes_
        self.n_features_in_ = X.shape[1]
        return self

    def _model(self) -> Any:
        """Return the unfitted estimator of the library."""
        kind = "Classifier" if isinstance(self, ClassifierMixin) else "Regressor"
        made = getattr(import_module(self.library), _PREFIXES[self.library] + kind)
        threads = "thread_count" if self.library == "catboost" else "n_jobs"
        settings = {"random_state": self.random_state, **(self.settings or {})}
        return made(**settings | _ALWAYS[self.library] | {threads: self.n_jobs or 1})

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


def _single(X: Any) -> FloatArray:
    """Return rows in single precision; NaN is a missing value."""
    return np.asarray(check_array(X, dtype=np.float32, ensure_all_finite="allow-nan"))
