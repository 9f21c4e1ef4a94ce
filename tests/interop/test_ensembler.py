"""Against what AutoGluon and TabArena ask of an ensembler, without either of them."""

import inspect

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss

from committee import (
    ARDPruner,
    Average,
    CommitteeEnsembler,
    EPPruner,
    GreedyPruner,
    LogPool,
)


def task(kind, rng, N=300, M=5):
    """Return predictions (M, N) or (M, N, K), and labels."""
    if kind == "regression":
        y = rng.normal(size=N)
        return y + rng.normal(size=(M, N)) * np.linspace(0.3, 2, M)[:, None], y
    K = 2 if kind == "binary" else 3
    y = rng.integers(0, K, N)
    odds = rng.standard_exponential((M, N, K))
    odds[:, np.arange(N), y] += np.linspace(2, 0, M)[:, None]
    p = odds / odds.sum(axis=2, keepdims=True)
    return (p[:, :, 1] if kind == "binary" else p), y


def as_tabarena_does(ensembler_cls, kwargs, kind, P, y):
    """The calls of its task evaluator, in their order."""
    made = ensembler_cls(problem_type=kind, metric=object(), **kwargs)
    assert isinstance(made.linear, bool)
    assert made.fit(predictions=P, labels=y) is made
    p, labels = made.predict_proba(P), made.predict(P, problem_type=kind)
    weights, used, info = made.model_weights(), made.models_used(), made.info()
    assert used.dtype == bool
    assert used.tolist() == (weights != 0).tolist()
    assert info["n_models"] == used.sum()
    return made, p, labels


def as_autogluon_does(model_base, kind, P, y, **params):
    """The calls of its weighted ensemble: models of weight zero are left out."""
    model = model_base(problem_type=kind, quantile_levels=None, metric=None, **params)
    model = model.fit(list(P), y, time_limit=None, sample_weight=None)
    kept = [m for m, w in enumerate(model.weights_) if w != 0]
    model.weights_ = [model.weights_[m] for m in kept]
    assert model.ensemble_size == len(kept)
    return model.predict_proba([P[m] for m in kept]), model.predict(
        [P[m] for m in kept]
    )


class Nothing(Average):
    """A combiner that finds nobody worth a weight."""

    def _weigh(self, problem):
        return np.zeros(problem.n_members)


COMBINERS = ["ep", "log-pool", EPPruner(pool="votes"), "greedy"]


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize("combiner", COMBINERS, ids=str)
def test_classes_in_both_places(kind, combiner, rng):
    P, y = task(kind, rng)
    made, p, labels = as_tabarena_does(
        CommitteeEnsembler, {"combiner": combiner}, kind, P, y
    )
    assert p.shape == P.shape[1:]
    full = np.column_stack([1 - p, p]) if kind == "binary" else p
    np.testing.assert_allclose(full.sum(axis=1), 1.0)
    np.testing.assert_array_equal(labels, full.argmax(axis=1))
    assert made.weights_[0] == made.weights_.max()
    if made.linear:
        assert made.weights_.sum() == pytest.approx(1.0)
        np.testing.assert_allclose(np.tensordot(made.weights_, P, axes=1), p)
    else:
        F = np.stack([1 - P.T, P.T], axis=2) if kind == "binary" else P.swapaxes(0, 1)
        assert log_loss(y, p) < min(log_loss(y, one) for one in P)
        own = made.combiner_.probabilities(made.combiner_.combine(F))
        np.testing.assert_allclose(full, own, rtol=1e-7, atol=1e-12)
    also = as_autogluon_does(
        CommitteeEnsembler, kind, P, y, combiner=combiner, ensemble_size=25
    )
    np.testing.assert_allclose(also[0], p)
    np.testing.assert_array_equal(also[1], labels)


def test_regression_in_both_places(rng):
    P, y = task("regression", rng)
    made, f, labels = as_tabarena_does(
        CommitteeEnsembler, {"combiner": "ep"}, "regression", P, y
    )
    assert labels is not None
    np.testing.assert_allclose(f, made.weights_ @ P)
    np.testing.assert_allclose(labels, f)
    assert np.mean((f - y) ** 2) <= np.mean((P[0] - y) ** 2)
    also, _ = as_autogluon_does(CommitteeEnsembler, "regression", P, y, combiner="ep")
    np.testing.assert_allclose(also, f)


def test_what_is_linear_is_known_before_the_fit():
    for combiner, linear in (
        ("ep", False),
        ("greedy", True),
        ("log-pool", False),
        (LogPool(), False),
        (EPPruner(pool="log"), False),
        (EPPruner(pool="votes"), True),
        (ARDPruner(), False),
    ):
        made = CommitteeEnsembler(problem_type="binary", combiner=combiner)
        assert made.linear is linear


def test_it_takes_the_arguments_that_are_always_given():
    taken = inspect.signature(CommitteeEnsembler).parameters
    always = {"problem_type", "metric", "quantile_levels", "ensemble_size"}
    assert always | {"subsample_size"} <= set(taken)
    fit = inspect.signature(CommitteeEnsembler.fit).parameters
    assert list(fit)[1:] == [
        *("predictions", "labels", "time_limit", "identifiers", "sample_weight")
    ]


def test_sample_weights_reach_the_combiner(rng):
    P, y = task("regression", rng)
    s = np.r_[np.full(150, 1.0), np.zeros(150)]
    made = CommitteeEnsembler(problem_type="regression", combiner="simplex")
    some = made.fit(P, y, sample_weight=s).weights_
    few = made.fit(P[:, :150], y[:150]).weights_
    np.testing.assert_allclose(some, few, atol=1e-8)


def test_where_nothing_is_worth_a_weight_all_models_are_taken(rng):
    y = rng.normal(size=40)
    P = -y + rng.normal(size=(3, 40))
    made = CommitteeEnsembler(problem_type="regression", combiner=Nothing())
    np.testing.assert_allclose(made.fit(P, y).weights_, 1 / 3)


def test_wrong_use_is_said(rng):
    with pytest.raises(ValueError, match="Got 'quantile'"):
        CommitteeEnsembler(problem_type="quantile")
    P, y = task("multiclass", rng)
    made = CommitteeEnsembler(problem_type="multiclass")
    with pytest.raises(
        ValueError, match=r"must have shape \(M, N, K\). Got \(5, 300\)"
    ):
        made.fit(P[:, :, 0], y)
    for models in ([], None, "x", [P[0], P[1, :9]], [1.0, 2.0]):
        with pytest.raises(
            ValueError, match="one model at least, and of the same rows"
        ):
            made.fit(models, y)
    with pytest.raises(ValueError, match="the target y is None"):
        made.fit(P, None)
    with pytest.raises(TypeError, match=r"or its name\. Got 3"):
        CommitteeEnsembler(problem_type="binary", combiner=3)
    with pytest.raises(NotFittedError):
        made.predict_proba(P)
    for wrong in (np.array(["a", "b", "c"])[y], y + 0.5):
        with pytest.raises(ValueError, match=r"y must contain the class codes 0\.\.2"):
            made.fit(P, wrong)
    made.fit(P, y)
    with pytest.raises(ValueError, match=r"predictions of the 5 models.*Got 4"):
        made.predict_proba(P[:4])
    P[1, 7] = np.nan
    with pytest.raises(ValueError, match=r"must be finite. Check members \[1\]"):
        made.predict_proba(P)


class TrueClass:
    """TabArena's fast log-loss: what it makes of predictions, and how it is marked."""

    post_problem_type = "binary"

    @staticmethod
    def preprocess_bulk(y, P):
        if P.ndim == 2:
            return y, np.where(y == 1, P, 1 - P).astype(np.float32)
        return y, P[:, np.arange(len(y)), y].astype(np.float32)


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
@pytest.mark.parametrize(
    "combiner",
    [GreedyPruner(scoring="neg_log_loss"), "simplex", EPPruner(pool="votes")],
)
def test_weighted_sums_take_probabilities_of_the_true_class(kind, combiner, rng):
    """Of two classes they are the same problem, so the weights are the same."""
    P, y = task(kind, rng)
    made = CommitteeEnsembler(
        problem_type="binary", metric=TrueClass(), combiner=combiner
    )
    labels, Q = TrueClass.preprocess_bulk(y, P)
    p = made.fit(predictions=Q, labels=labels).predict_proba(Q)
    np.testing.assert_allclose(p, np.tensordot(made.weights_, Q, axes=1), rtol=1e-6)
    assert -np.log(p).mean() <= -np.log(Q).mean(axis=1).min()
    # Another metric may be measured on the predictions themselves.
    full = made.predict_proba(P)
    np.testing.assert_allclose(
        full, np.tensordot(made.weights_, P, axes=1), rtol=1e-6, atol=1e-9
    )
    assert np.mean(made.predict(P, problem_type=kind) == y) > 0.5
    if kind == "binary":
        plain = CommitteeEnsembler(problem_type="binary", combiner=combiner).fit(P, y)
        np.testing.assert_allclose(made.weights_, plain.weights_, atol=1e-6)


def test_a_pool_of_logarithms_refuses_probabilities_of_the_true_class(rng):
    P, y = task("binary", rng)
    made = CommitteeEnsembler(problem_type="binary", metric=TrueClass())
    assert not made.linear  # so that TabArena refuses it, before this
    with pytest.raises(ValueError, match="use_fast_metrics=False"):
        made.fit(*TrueClass.preprocess_bulk(y, P)[::-1])


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_one_setting_spans_all_tasks(kind, rng):
    P, y = task(kind, rng)
    made, p, labels = as_tabarena_does(CommitteeEnsembler, {}, kind, P, y)
    assert made.linear is (kind == "regression")
    assert p.shape == P.shape[1:]
    assert len(labels) == len(y)
