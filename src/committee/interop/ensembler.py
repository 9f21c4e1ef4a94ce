"""CommitteeEnsembler: any combiner as the ensemble selection of AutoGluon or TabArena."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from committee._typing import BoolArray, FloatArray
from committee._validation import as_floats, check_predictions
from committee.combiner_names import as_combiner
from committee.combiners import LogPool, RidgeWeights
from committee.predictions import combine
from committee.probabilities import as_probabilities, pooled_terms

_TASKS = ("binary", "multiclass", "regression")


class CommitteeEnsembler:
    """Weigh the models of AutoGluon or TabArena by any combiner.

    It has the interface of AutoGluon's `EnsembleSelection` and TabArena's
    `AbstractEnsembler`, without importing either package. In TabArena, pass the class:

        ensemble_kwargs={"ensembler_cls": CommitteeEnsembler, "use_fast_metrics": False}
        repo.evaluate_ensemble(dataset, fold, ensemble_kwargs=ensemble_kwargs)

    To add a committee to an AutoGluon predictor, call `add_committee`.

    TabArena's fast metrics replace the predictions by the probabilities of the true
    class, which only weighted sums can combine. Combiners that return a weighted sum,
    such as "greedy", take them. For all others `linear` is False, and TabArena raises
    ValueError.

    Parameters
    ----------
    problem_type : {"binary", "multiclass", "regression"}
    metric : object, default=None
        Not optimised: a combiner has its own objective. It is only used to detect
        predictions that are probabilities of the true class, by its attribute
        `post_problem_type`.
    combiner : combiner or str, default="auto"
        For example "ep" or `GreedyPruner(scoring="neg_log_loss")`. "auto" and None are
        `LogPool()` for classes and `RidgeWeights()` for regression.
    ensemble_size, subsample_size, quantile_levels, random_state : optional
        Ignored; AutoGluon always passes them.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Weights of the models: for classes they sum to one, except for a logarithmic pool,
        which weighs log-probabilities; for regression they are the combiner's. Predictions
        depend on these alone, so AutoGluon may leave out models with weight zero.
    combiner_ : combiner
        The fitted combiner.
    linear : bool
        Whether predictions are weighted sums of the models' predictions; False for a
        logarithmic pool. Available before `fit`.
    ensemble_size : int
        Number of models with a nonzero weight.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CommitteeEnsembler
    >>> rng = np.random.default_rng(0)
    >>> y = rng.integers(0, 2, 200)
    >>> logits = (2 * y - 1) + rng.normal(size=(3, 200)) * [[1.0], [1.0], [9.0]]
    >>> p = 1 / (1 + np.exp(-logits))
    >>> pool = CommitteeEnsembler(problem_type="binary", combiner="log-pool")
    >>> pool.fit(predictions=p, labels=y).models_used()[:2].tolist()
    [True, True]
    >>> pool.predict_proba(p).shape, pool.linear
    ((200,), False)
    """

    def __init__(
        self,
        *,
        problem_type: str,
        metric: Any = None,
        combiner: Any = "auto",
        ensemble_size: int | None = None,
        subsample_size: int | None = None,
        quantile_levels: Any = None,
        random_state: Any = None,
    ) -> None:
        if problem_type not in _TASKS:
            raise ValueError(
                f"problem_type must be one of {', '.join(_TASKS)}. Got {problem_type!r}."
            )
        self.problem_type, self.metric = problem_type, metric
        if combiner is None or combiner == "auto":
            numbers = problem_type == "regression"
            combiner = RidgeWeights() if numbers else LogPool()
        self.combiner = as_combiner(combiner)
        # The attribute by which TabArena marks metrics of transformed predictions.
        self._true_class = getattr(metric, "post_problem_type", None) is not None

    @property
    def linear(self) -> bool:
        """True if predictions are a weighted sum; before `fit` only if this is certain."""
        if hasattr(self, "combiner_"):
            return self.combiner_.floor_ is None
        if self.problem_type == "regression":
            return True
        pool = getattr(self.combiner, "pool", "votes")
        return pool == "votes" and not isinstance(self.combiner, LogPool)

    def fit(
        self,
        predictions: Sequence[Any],
        labels: Any,
        time_limit: float | None = None,
        identifiers: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Weigh the models.

        Parameters
        ----------
        predictions : array-like of shape (M, N) or (M, N, K)
            For each model: numbers, probabilities of the second of two classes, or
            probabilities of all classes.
        labels : array-like of shape (N,)
            Numbers, or class codes 0..K-1.
        time_limit, identifiers : optional
            Ignored.
        sample_weight : array-like of shape (N,), default=None
            Sample weights.
        """
        F = self._matrix(predictions)
        if self._true_class:
            self._check_linear()
            labels = np.ones(len(F), dtype=np.intp)
        known = {} if sample_weight is None else {"sample_weight": sample_weight}
        self.combiner_ = clone(self.combiner).fit(F, labels, **known)
        w = self.combiner_.weights_
        if not w.any():  # all weights are zero: take the mean
            w = np.full(len(w), 1.0 / len(w))
        if F.ndim == 3 and self.linear and w.sum() > 0:
            w = w / w.sum()
        self.weights_ = w
        self.ensemble_size = int(np.count_nonzero(w))
        self._shares = w.copy()
        return self

    def predict_proba(self, X: Sequence[Any]) -> FloatArray:
        """Return probabilities, or numbers for regression.

        Parameters
        ----------
        X : array-like of shape (M, N) or (M, N, K)
            Predictions of the models in `weights_`, in their order.

        Returns
        -------
        p : array of shape (N,) or (N, K)
            For two classes the probabilities of the second, (N,).
        """
        self._check_fitted()
        F = self._matrix(X)
        w = np.asarray(self.weights_, dtype=np.float64)
        if F.shape[1] != len(w):
            raise ValueError(
                f"Expected predictions of the {len(w)} models passed to fit, in the "
                f"same order. Got {F.shape[1]}."
            )
        output = combine(pooled_terms(F, self.combiner_.floor_), w)
        if not self.linear or F.ndim == 2:
            output = output + self.combiner_.offset
        if output.ndim == 1:
            return np.asarray(output)
        # A weighted sum is returned unchanged, without the link of the combiner.
        linked = as_probabilities if self.linear else self.combiner_.probabilities
        p = linked(output)
        return np.asarray(p[:, 1] if len(np.shape(X[0])) == 1 else p)

    def predict(self, X: Sequence[Any], problem_type: str | None = None) -> Any:
        """Return class codes, or numbers.

        `problem_type` is given if labels and predictions have different types.
        """
        p = self.predict_proba(X)
        kind = self.problem_type if problem_type is None else problem_type
        if kind == "binary" and p.ndim == 1:
            return (p >= 0.5).astype(np.intp)
        return p if kind == "regression" else p.argmax(axis=1)

    def model_weights(self) -> FloatArray:
        """Return the weights of all models."""
        self._check_fitted()
        return np.array(self._shares)

    def models_used(self) -> BoolArray:
        """Return a mask (M,) of the models with a nonzero weight."""
        return np.asarray(self.model_weights() != 0)

    def info(self) -> dict[str, Any]:
        """Return the combiner and the number of models."""
        return {"combiner": repr(self.combiner_), "n_models": self.ensemble_size}

    def _check_fitted(self) -> None:
        if not hasattr(self, "weights_"):
            raise NotFittedError(
                "This CommitteeEnsembler is not fitted yet: call fit(predictions, labels)."
            )

    def _check_linear(self) -> None:
        if not self.linear:
            raise ValueError(
                f"{type(self.combiner).__name__} pools the logarithms of all classes, and "
                "this metric has only the probability of the true class: in TabArena, "
                "pass use_fast_metrics=False."
            )

    def _matrix(self, predictions: Any) -> FloatArray:
        """Return F (N, M) of numbers, or (N, M, K) of probabilities."""
        given = [] if predictions is None else predictions
        arrays: list[Any] = [as_floats(one) for one in given]
        shapes = {np.shape(one) for one in arrays}  # () of text too
        if len(shapes) != 1 or () in shapes:
            raise ValueError(
                "predictions must be numbers of one model at least, and of the same rows "
                f"and classes for all. Got the shapes {sorted(shapes)}."
            )
        P = np.stack(arrays, axis=1)
        if self.problem_type == "binary" and P.ndim == 2:
            P = np.stack([1.0 - P, P], axis=2)
        expected = 2 if self.problem_type == "regression" else 3
        if P.ndim != expected:
            shape = "(M, N)" if expected == 2 else "(M, N, K)"
            raise ValueError(
                f"predictions of {self.problem_type!r} must have shape {shape}. Got "
                f"{(P.shape[1], P.shape[0], *P.shape[2:])}."
            )
        return check_predictions(P)
