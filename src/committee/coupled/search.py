"""Find gamma, alpha and the coupling of a coupled ensemble."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby, product
from operator import itemgetter
from typing import Any

import numpy as np
from sklearn.base import clone, is_classifier

from committee._parallel import track
from committee._typing import FloatArray
from committee.coupled.coupled_kernel import CoupledKernel, needs_rows
from committee.coupled.rows import Rows
from committee.coupled.system import leave_one_out
from committee.distributed.collections import refuse_dask
from committee.kernels import make_kernel
from committee.predictions import combine

#: Leave-one-out keeps 3 N^2 numbers: at this N, 600 MB.
_MAX_LOO_ROWS = 5000
_STEPS = (1 / 9, 1 / 3, 1.0, 3.0, 9.0)


@dataclass(frozen=True)
class SearchResult:
    """Every candidate, and the best.

    Attributes
    ----------
    estimator : coupled estimator
        Not fitted; with the best parameters.
    best_params : dict
        gamma, alpha and coupling.
    best_error : float
    gamma, alpha, coupling : arrays of shape (n_candidates,)
    error : array of shape (n_candidates,)
        Mean squared error, or share of wrong labels; nan where the system was not
        positive definite.
    """

    estimator: Any
    best_params: dict[str, float]
    best_error: float
    gamma: FloatArray
    alpha: FloatArray
    coupling: FloatArray
    error: FloatArray


def search_coupled(
    estimator: CoupledKernel,
    X: Any,
    y: Any,
    *,
    gammas: Sequence[float] | None = None,
    alphas: Sequence[float] = (1e-3, 1e-2, 1e-1, 1.0, 10.0),
    couplings: Sequence[float] = (0.0, 0.01, 0.1, 1.0, 10.0),
    X_coupling: Any = None,
    sample_weight: Any = None,
    verbose: bool = False,
) -> SearchResult:
    """Try every (gamma, alpha, coupling) and return the one with the smallest error.

    Errors are leave-one-out errors in closed form, and members are weighed on the
    leave-one-out predictions. Subsets and coupling points are the same for all
    candidates; kernel blocks and their products are made once for each gamma. With more
    than 5000 rows, or for cross-validation, use scikit-learn's `GridSearchCV`.

    Parameters
    ----------
    estimator : CoupledKernelRegressor or CoupledKernelClassifier
        With all other parameters set.
    X : array-like of shape (N, n_features)
    y : array-like of shape (N,) or (N, T)
    gammas : sequence of float, default=None
        None means five values around the median heuristic.
    alphas, couplings : sequences of float
    X_coupling : array-like of shape (n_c, n_features), default=None
        Coupling points of a transductive fit.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    SearchResult

    Examples
    --------
    >>> import numpy as np
    >>> from committee import CoupledKernelRegressor
    >>> from committee.coupled import search_coupled
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(-3, 3, size=(100, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(100)
    >>> found = search_coupled(CoupledKernelRegressor(4, random_state=0), X, y)
    >>> sorted(found.best_params), round(found.best_error, 3)
    (['alpha', 'coupling', 'gamma'], 0.011)
    >>> found.estimator.fit(X, y).score(X, y) > 0.97
    True
    """
    _check_options(estimator, {"alphas": alphas, "gammas": gammas}, couplings)
    given = estimator
    # One seed for all candidates, also where the user gave none.
    estimator = clone(given)
    if estimator.random_state is None:
        estimator.random_state = int(np.random.default_rng().integers(2**31))
    refuse_dask(
        "search_coupled works in memory: pass it some of the rows as arrays, and fit "
        "what it finds to the Dask collections.",
        *(X, y, X_coupling, sample_weight),
    )
    data = _check(estimator, X, y, sample_weight)
    if gammas is None:
        kernel = make_kernel(estimator.kernel, data.X)
        steps = _STEPS if kernel.of_distances else (1.0,)
        gammas = [kernel.gamma * step for step in steps]
    grid = np.array(list(product(gammas, alphas, couplings)), dtype=np.float64)
    found = _loo_errors(estimator, data, X_coupling, grid)
    error = np.array(list(track(found, len(grid), "searching", verbose)))
    if not np.any(np.isfinite(error)):
        raise ValueError(
            "No candidate has a positive definite system: increase alphas."
        )
    best = int(np.nanargmin(error))
    params = dict(zip(("gamma", "alpha", "coupling"), grid[best].tolist(), strict=True))
    return SearchResult(
        estimator=clone(given).set_params(**params),
        best_params=params,
        best_error=float(error[best]),
        gamma=grid[:, 0],
        alpha=grid[:, 1],
        coupling=grid[:, 2],
        error=error,
    )


def _check_options(
    estimator: Any,
    positive: dict[str, Sequence[float] | None],
    couplings: Sequence[float],
) -> None:
    """Refuse what cannot be searched, before any work."""
    if not isinstance(estimator, CoupledKernel):
        raise TypeError(
            "search_coupled takes a CoupledKernelRegressor or CoupledKernelClassifier. "
            f"Got {type(estimator).__name__}; cells and Bayesian committees choose kernel, "
            "gamma, alpha and coupling in fit, where these are None."
        )
    for name, values in positive.items():
        if values is not None and not (
            len(values) and all(np.isfinite(v) and v > 0 for v in values)
        ):
            raise ValueError(
                f"{name} must be a non-empty list of positive numbers. Got {list(values)}."
            )
    if not (len(couplings) and np.all(np.isfinite(couplings))):
        raise ValueError(
            "couplings must be a non-empty list of finite numbers. Got "
            f"{list(couplings)}."
        )


def _check(estimator: Any, X: Any, y: Any, sample_weight: Any) -> Rows:
    """Return the rows as the estimator's own `fit` would see them."""
    estimator._validate_params()
    rows: Rows = estimator._target_rows(X, y, sample_weight)
    return rows


def _model(estimator: CoupledKernel, data: Rows, **params: Any) -> CoupledKernel:
    """Return a clone with columns and classes set, as if it had checked rows."""
    model: CoupledKernel = clone(estimator).set_params(**params)
    model.n_features_in_ = data.X.shape[1]
    if is_classifier(model):
        model.classes_ = np.arange(max(2, data.Y.shape[1]))
    return model


def _loo_errors(
    estimator: CoupledKernel, data: Rows, X_coupling: Any, grid: FloatArray
) -> Iterator[float]:
    """Yield the error of each (gamma, alpha, coupling), sorted by gamma."""
    if len(data.X) > _MAX_LOO_ROWS:
        raise ValueError(
            f"search_coupled takes up to {_MAX_LOO_ROWS} rows. Got {len(data.X)}: pass "
            "it some of the rows, or use GridSearchCV."
        )
    for gamma, rest in groupby(grid.tolist(), key=itemgetter(0)):
        # Leave-one-out predictions are held out already: no mask.
        model = _model(estimator, data, gamma=gamma, weigh_on="train")
        plan = model._prepare(data, X_coupling, keep=True)
        for _, alpha, coupling in rest:
            try:
                rows, outputs = leave_one_out(
                    plan.gram, data.Y, alpha=alpha, coupling=coupling
                )
            except np.linalg.LinAlgError:
                yield np.nan
                continue
            F = model._predictions(outputs)
            weighs = needs_rows(model.combiner, model.n_members)
            weighed = data.take(rows)
            w = model._weigh(F if weighs else None, weighed, rows)
            yield _error(combine(F, w), weighed)


def _error(f: FloatArray, data: Rows) -> float:
    """Return the mean squared error, or the share of wrong labels."""
    if data.y.dtype.kind == "i":
        loss = (f.argmax(axis=1) != data.y).astype(np.float64)
    else:
        loss = np.mean((f.reshape(data.Y.shape) - data.Y) ** 2, axis=1)
    return float(np.average(loss, weights=data.s))
