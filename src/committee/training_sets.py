"""Errors in expectation over training sets: noise, bias and variance (chapter 4.2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone, is_classifier
from sklearn.utils import check_random_state, indexable
from sklearn.utils.parallel import delayed

from committee._format import figures, text_table
from committee._parallel import results_of, track
from committee._typing import FloatArray
from committee._validation import safe_indexing
from committee.ensembles import Round, roster_of
from committee.predictions import in_columns_of, member_predictions, weighted_sum

#: Draws one training set (X, y) with a random state.
Draw = Callable[[np.random.RandomState], tuple[Any, Any]]


class Terms(NamedTuple):
    """Terms of a mean squared error: means over rows, or values by row.

    Examples
    --------
    >>> from committee.training_sets import Terms
    >>> Terms(error=3.0, noise=1.0, bias=0.5, variance=1.5).variance
    1.5
    """

    error: Any
    #: None if the expected target is not known; the bias then includes it.
    noise: Any
    bias: Any
    variance: Any

    def mean(self) -> Terms:
        """Return the means over rows."""
        return Terms(*(None if term is None else float(term.mean()) for term in self))


@dataclass(frozen=True)
class BiasVariance:
    """Result of `bias_variance`.

    Attributes
    ----------
    committee : Terms
        `error`, `noise`, `bias` (squared) and `variance` of the whole model.
    members : Terms or None
        The same for one member, drawn with the weights as probabilities; None if the
        model is not a weighted mean of members.
    committee_by_row, members_by_row : Terms
        Arrays of shape (N,).
    error_se : float
        Standard error of `committee.error` over the training sets.
    n_sets : int

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from committee import bias_variance
    >>> X, y = [[0.0], [1.0], [2.0], [3.0]], [0.0, 1.0, 2.0, 4.0]
    >>> found = bias_variance(Ridge(), (X, y), X, y, n_sets=5, random_state=0)
    >>> error, noise, bias, variance = found.committee
    >>> bool(abs(error - bias - variance) < 1e-12)
    True
    """

    committee_by_row: Terms
    members_by_row: Terms | None
    error_se: float
    n_sets: int

    @property
    def committee(self) -> Terms:
        """Terms of the whole model, means over rows."""
        return self.committee_by_row.mean()

    @property
    def members(self) -> Terms | None:
        """Terms of a member, means over rows."""
        return None if self.members_by_row is None else self.members_by_row.mean()

    def __str__(self) -> str:
        """Return the terms as a table."""
        columns = {"committee": self.committee}
        if self.members is not None:
            columns = {"members": self.members, **columns}
        rows = [("", *columns)]
        known = self.committee.noise is not None
        names = ["noise", "bias", "variance", "error"] if known else []
        for name in names or ["bias", "variance", "error"]:
            label = name if name != "bias" or known else "bias and noise"
            terms = (figures(getattr(t, name), 4) for t in columns.values())
            rows.append((label, *terms))
        return text_table(rows, "<" + ">" * len(columns))


class _Fitted(NamedTuple):
    """Predictions of one model, (N,) or (N, K), and mean and spread of its members."""

    f: FloatArray
    mean: FloatArray | None
    spread: FloatArray | None
    classes: Any


def bias_variance(
    estimator: Any,
    training: Any,
    X: Any,
    y: Any,
    *,
    expected: Any = None,
    n_sets: int = 50,
    random_state: Any = None,
    n_jobs: int | None = None,
    verbose: bool = False,
) -> BiasVariance:
    """Split the error into noise, bias and variance over training sets D.

        E_D,y (y - f_D)^2 = E (y - t)^2 + (E_D f_D - t)^2 + E_D (f_D - E_D f_D)^2
                            noise         bias              variance

    with t(x) the expected target. A member f_m of the committee f_D = sum_m w_m f_m has
    the same noise and the same bias, and more variance, by the expected diversity of
    eq. 4.4. The variance over S sets is divided by S - 1, and variance / S is subtracted
    from the squared bias. So both estimates are unbiased, and the estimate of a bias near
    zero can be negative.

    Parameters
    ----------
    estimator : estimator
        Cloned and fitted on every set. Committees and all ensembles that `prune` takes,
        except boosters, have terms of their members as well.
    training : callable, or pair (X, y)
        A function that draws a training set, `training(random_state) -> (X, y)`; or rows
        from which bootstrap samples are drawn. Bootstrap samples share rows, so the
        variance between samples of the population is partly counted as bias.
    X : array-like of shape (N, n_features)
        Fresh rows.
    y : array-like of shape (N,)
        For classes, errors are squared distances of probability vectors, as in
        `ambiguity`.
    expected : array-like of shape (N,) or (N, K), default=None
        t: the mean of y given x, or the probabilities of the classes in their order.
        Without it the bias includes the noise.
    n_sets : int, default=50
        Number S of training sets, at least 2.
    random_state : int, RandomState instance or None, default=None
        Controls the training sets and the random states of the clones. Pass an int for
        reproducible results.
    n_jobs : int, default=None
        Number of sets that are fitted in parallel.
    verbose : bool, default=False
        Whether to show a progress bar on standard error.

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from committee import Bagging, CommitteeRegressor, bias_variance
    >>> def draw(rng):
    ...     X = rng.uniform(-3, 3, (100, 1))
    ...     return X, np.sin(X[:, 0]) + 0.3 * rng.normal(size=100)
    >>> X = np.linspace(-3, 3, 50)[:, None]
    >>> t = np.sin(X[:, 0])
    >>> y = t + 0.3 * np.random.RandomState(0).normal(size=50)
    >>> bag = CommitteeRegressor(DecisionTreeRegressor(), generator=Bagging(20))
    >>> found = bias_variance(bag, draw, X, y, expected=t, n_sets=10, random_state=0)
    >>> found.committee.variance < 0.8 * found.members.variance
    True
    """
    if n_sets < 2:
        raise ValueError(f"n_sets must be at least 2. Got {n_sets}.")
    random = check_random_state(random_state)
    seeds = random.randint(np.iinfo(np.int32).max, size=n_sets)
    draw = training if callable(training) else _bootstrap(training)
    calls = (delayed(_fit_one)(estimator, draw, X, int(seed)) for seed in seeds)
    stream = track(results_of(calls, n_jobs), n_sets, "training sets", verbose)
    fitted = list(stream)
    targets, t, into = _as_vectors(fitted, y, expected, is_classifier(estimator))
    f = np.stack([into(one.f, one.classes) for one in fitted])
    by_set = ((f - targets) ** 2).mean(axis=1)
    members, means = None, [one.mean for one in fitted if one.mean is not None]
    if len(means) == len(fitted):
        g = [into(mean, one.classes) for one, mean in zip(fitted, means, strict=True)]
        # The spread of members around their mean is part of their variance.
        members = _terms(
            np.stack(g), targets, t, np.mean([one.spread for one in fitted], axis=0)
        )
    return BiasVariance(
        _terms(f, targets, t),
        members,
        float(by_set.sum(axis=-1).std(ddof=1) / np.sqrt(n_sets)),
        n_sets,
    )


def _bootstrap(rows: Any) -> Draw:
    """Return a function that draws bootstrap samples of the rows."""
    if not isinstance(rows, (tuple, list)) or len(rows) != 2:
        raise ValueError(
            "training must be a function that draws a training set, or a pair (X, y). "
            f"Got {type(rows).__name__}."
        )
    return partial(_resample, *indexable(*rows))


def _resample(X: Any, y: Any, random: np.random.RandomState) -> tuple[Any, Any]:
    chosen = random.randint(len(y), size=len(y))
    return safe_indexing(X, chosen), safe_indexing(y, chosen)


def _fit_one(estimator: Any, draw: Draw, X: Any, seed: int) -> _Fitted:
    """Fit a clone on a new training set, and return its predictions."""
    random = np.random.RandomState(seed)
    model = clone(estimator)
    names = [p for p in model.get_params() if p.split("__")[-1] == "random_state"]
    model.set_params(
        **{name: random.randint(np.iinfo(np.int32).max) for name in sorted(names)}
    )
    model.fit(*draw(random))
    classes = getattr(model, "classes_", None)
    if classes is None:
        f = np.asarray(model.predict(X), dtype=np.float64)
    elif hasattr(model, "predict_proba"):
        f = np.asarray(model.predict_proba(X))
    else:
        f = (np.asarray(model.predict(X))[:, None] == classes).astype(np.float64)
    return _Fitted(f, *_member_spread(model, X), classes)


def _member_spread(model: Any, X: Any) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the members' mean g = sum_m v_m f_m and sum_m v_m |f_m - g|^2 by row.

    v are the weights scaled to sum to one, equal if the weights have both signs. (None, None)
    if the model is not a weighted mean of members.
    """
    try:
        roster = roster_of(model)
    except TypeError:  # not an ensemble
        return None, None
    if roster.weights is None or isinstance(roster.members[0], Round):
        return None, None
    w = roster.weights
    v = w / w.sum() if np.all(w >= 0) and w.any() else np.full(len(w), 1 / len(w))
    F = member_predictions(model, X)
    g = weighted_sum(F, v)
    distance = (F - g[:, None]) ** 2
    spread = weighted_sum(distance, v)
    return g, spread if spread.ndim == 1 else spread.sum(axis=1)


def _as_vectors(
    fitted: list[_Fitted], y: Any, expected: Any, of_classes: bool
) -> tuple[FloatArray, FloatArray | None, Callable[[FloatArray, Any], FloatArray]]:
    """Return y and t, (N, 1) or (N, K), and a function that shapes predictions so.

    The function takes the predictions of one model and its classes.
    """
    y = np.asarray(y)
    t = None if expected is None else np.asarray(expected, dtype=np.float64)
    if not of_classes:
        targets, width = y.astype(np.float64)[:, None], 1
        t = t[:, None] if t is not None and t.ndim == 1 else t
    else:
        classes = np.unique(np.concatenate([y, *(one.classes for one in fitted)]))
        targets, width = (y[:, None] == classes).astype(np.float64), len(classes)

    def into(f: FloatArray, own: Any) -> FloatArray:
        return in_columns_of(classes, f, own) if of_classes else f[:, None]

    if not np.isfinite(targets).all():
        raise ValueError("y contains NaN or infinity.")
    if t is not None and t.shape != (len(y), width):
        shape = "(N,)" if not of_classes else f"(N, {width}), a column for each class"
        raise ValueError(f"expected must have shape {shape}. Got {np.shape(expected)}.")
    return targets, t, into


def _terms(
    f: FloatArray,
    y: FloatArray,
    t: FloatArray | None,
    spread: FloatArray | float = 0.0,
) -> Terms:
    """Return the terms by row of predictions f (S, N, K) and the spread around them.

    Against t the three terms add up to the error exactly:
    mean_s |f_s - t|^2 = |mean f - t|^2 - v / S + v, with v the variance of S - 1.
    """
    S, mean = len(f), f.mean(axis=0)
    between = ((f - mean) ** 2).sum(axis=(0, 2)) / (S - 1)
    center = y if t is None else t
    bias = ((mean - center) ** 2).sum(axis=1) - between / S
    noise = None if t is None else ((y - t) ** 2).sum(axis=1)
    variance = between + spread
    error = bias + variance if noise is None else noise + bias + variance
    return Terms(error, noise, bias, variance)
