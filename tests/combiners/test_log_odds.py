from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from committee import (
    ARDPruner,
    CommitteeClassifier,
    EMPruner,
    EPPruner,
    Pool,
    load,
    prune,
    save,
)
from committee.bayes import fit_probit
from committee.combiners.likelihoods import signed_rows
from committee.combiners.log_odds import loo_slope
from committee.ep import classification_path, classification_posterior, preferred
from committee.votes import Votes
from tests.reference.problems import make_held_out, make_problem


def unsure_problem(N=300, K=3, seed=0):
    """Return F of seven members of unequal skill, two of them no use, and y."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    skill = np.array([1.2, 1.0, 0.8, 0.5, 0.3, 0.0, 0.0])
    right = y[:, None, None] == np.arange(K)
    odds = np.exp(skill[:, None] * right + rng.normal(size=(N, 7, K)))
    return odds / odds.sum(axis=2, keepdims=True), y


def weighed(step):
    return step.active, step.weights[step.active], step.cov


def test_it_is_the_sequence_of_probit_rows_on_log_odds():
    F, y = unsure_problem()
    pruner = EPPruner(pool="log", rule="max-density").fit(F, y)
    assert pruner.floor_ == 1 / 303
    z = np.log(np.clip(F, pruner.floor_, 1))
    S = [z[n, :, y[n]] - z[n, :, k] for n in range(300) for k in range(3) if k != y[n]]
    path = classification_path(np.array(S), group=2, rule="max-density")
    step = max(path.steps, key=lambda step: step.loo_density)
    np.testing.assert_allclose(pruner.weights_, step.weights)
    assert preferred(path.steps, "max-density") is step
    assert 0 < len(pruner.support_) < 7
    assert not pruner.weights_[5:].any()


def test_the_slope_is_that_of_rows_left_out():
    """Against posteriors without each row, at the same alphas, and a fine search."""
    F, y = unsure_problem(N=80, K=2, seed=1)
    floor = 1 / 82
    S = signed_rows(Votes(np.log(np.clip(F, floor, 1)), y, None, None)).F
    step = preferred(classification_path(S, rule="max-evidence").steps, "max-evidence")
    S = S[:, step.active]
    margins = np.array(
        [
            S[n] @ classification_posterior(np.delete(S, n, axis=0), step.alpha).mean
            for n in range(80)
        ]
    )
    targets = np.array([1 - 1 / 82, 1 / 82])

    def loss(log_slope):
        scores = np.exp(log_slope) * np.column_stack([0 * margins, -margins])
        return -np.sum(log_softmax(scores, axis=1) @ targets)

    best = np.exp(minimize_scalar(loss, bounds=(-5, 5), method="bounded").x)
    problem = Votes(F, y, None, None)
    found = loo_slope(problem, *weighed(step), floor)
    active, w, cov = weighed(step)
    as_fitted = loo_slope(problem, active, w, 0 * cov, floor)
    # One Newton step for each row, of 80: most of the way, not all of it.
    assert abs(found / best - 1) < abs(as_fitted / best - 1) / 3


def test_the_slope_is_of_full_votes():
    """Twins of which some abstain have the slope of a single one that never does."""
    F, y = unsure_problem(K=2)
    twins, mask = F[:, :1].repeat(4, axis=1), make_held_out(300, 4)
    rows = mask.any(axis=1)
    step = preferred(EPPruner(pool="log").fit(F[:, :1], y).path_.steps)
    one = loo_slope(Votes(F[rows, :1], y[rows], None, None), *weighed(step), 0.01)
    shared = replace(
        step,
        active=np.arange(4),
        weights=step.weights.repeat(4) / 4,
        cov=np.zeros((4, 4)),
    )
    several = loo_slope(Votes(twins, y, mask, None), *weighed(shared), 0.01)
    # The covariance of the one, and the rows without votes in 1 / (N + K), are all.
    assert several == pytest.approx(one, rel=0.02)


def test_probabilities_are_the_pool_with_its_slope():
    F, y = unsure_problem(K=3)
    pruner = EPPruner(pool="log", rule="max-density").fit(F, y)
    z = np.log(np.clip(F, pruner.floor_, 1))
    p = softmax(pruner.slope_ * np.einsum("nmk,m->nk", z, pruner.weights_), axis=1)
    np.testing.assert_allclose(pruner.probabilities(pruner.combine(F)), p)
    # Calibrated on its own rows, to what leaving them out takes.
    right = p[np.arange(300), y]
    assert np.mean(p.max(axis=1)) == pytest.approx(np.mean(p.argmax(1) == y), abs=0.06)
    assert -np.log(right).mean() < np.log(3)
    # A fit on votes afterwards forgets the logarithms.
    again = pruner.set_params(pool="votes").fit(F, y)
    assert again.floor_ is None
    np.testing.assert_allclose(
        again.combine(F), np.einsum("nmk,m->nk", F, again.weights_)
    )


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", [ARDPruner, EMPruner])
def test_relatives_of_ep_weigh_the_same_rows(kind, masked):
    F, y = unsure_problem(K=3)
    mask = make_held_out(300) if masked else None
    pruner = kind(pool="log").fit(F, y, held_out=mask)
    z = np.log(np.clip(F, pruner.floor_, 1))
    rows = signed_rows(Votes(z, y, mask, None))
    if kind is EMPruner:
        expected = fit_probit(rows.F).weights
    else:
        options = {"truncated": False, "rule": "max-evidence"}
        path = classification_path(rows.F, group=2, **options)
        expected = preferred(path.steps, "max-evidence").weights
    np.testing.assert_allclose(pruner.weights_, expected, rtol=0, atol=1e-8)
    fresh, _ = unsure_problem(N=200, K=3, seed=9)
    p = pruner.probabilities(pruner.combine(fresh))
    s = np.einsum("nmk,m->nk", np.log(np.clip(fresh, pruner.floor_, 1)), expected)
    np.testing.assert_allclose(p, softmax(pruner.slope_ * s, axis=1))


@pytest.mark.parametrize("kind", [ARDPruner, EMPruner])
def test_relatives_of_ep_are_calibrated_on_fresh_rows(kind):
    pruner = kind(pool="log").fit(*unsure_problem(K=3))
    F, y = unsure_problem(N=3000, K=3, seed=9)
    scores = pruner.combine(F)
    found, *others = (
        log_loss(y, pruner.probabilities(b * scores)) for b in (1.0, 0.7, 1.4)
    )
    assert found < min(others)


@pytest.mark.parametrize("masked", [False, True])
def test_dask_gives_what_memory_gives(masked):
    da = pytest.importorskip("dask.array")
    F, y = unsure_problem(N=200)
    mask = make_held_out(200) if masked else None
    known = {"held_out": mask, "sample_weight": np.linspace(0.5, 1.5, 200)}
    expected = EPPruner(pool="log", rule="max-density").fit(F, y, **known)
    lazy = da.from_array(F, chunks=((70, 130), 7, 3))
    found = EPPruner(pool="log", rule="max-density").fit(lazy, y, **known)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)
    assert found.slope_ == pytest.approx(expected.slope_)


def test_what_a_log_pool_cannot_do_is_said():
    with pytest.raises(ValueError, match="weighs log-probabilities of classes"):
        EPPruner(pool="log").fit(*make_problem("regression"))
    F, y = make_problem("binary")
    for wrong in ({"likelihood": "gaussian"}, {"votes": "equal"}):
        with pytest.raises(ValueError, match="has probit rows and posterior weights"):
            EPPruner(pool="log", **wrong).fit(F, y)
    with pytest.raises(ValueError, match="lie between 0 and 1"):
        EPPruner(pool="log").fit(3 * F, y)


def test_committees_predict_by_the_pool_on_every_point_of_the_path(tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    pool = Pool(
        [
            LogisticRegression(max_iter=5000),
            GaussianNB(),
            DecisionTreeClassifier(max_depth=2, random_state=0),
            DecisionTreeClassifier(max_depth=4, random_state=0),
        ]
    )
    combiner = EPPruner(pool="log", rule="max-density")
    fitted = CommitteeClassifier(generator=pool, combiner=combiner, random_state=0)
    fitted.fit(X[::2], y[::2])
    F = fitted.member_predictions(X)
    known = fitted.combiner_
    expected = known.slope_ * np.einsum(
        "nmk,m->nk", np.log(np.clip(F, known.floor_, 1)), fitted.weights_
    )
    np.testing.assert_allclose(fitted.predict_proba(X), softmax(expected, axis=1))
    members = [member.fit(X[::2], y[::2]) for member in pool.members]
    small = prune(members, X[1::2], y[1::2], combiner=combiner)
    for made in (small, small.path_.choose(max_members=1)):
        F = made.member_predictions(X)
        s = np.einsum(
            "nmk,m->nk", np.log(np.clip(F, made.combiner_.floor_, 1)), made.weights_
        )
        c = made.combiner_.slope_ * made.combiner_.weights_.sum()
        p = made.calibration_(softmax(c * s, axis=1), s)
        np.testing.assert_allclose(made.predict_proba(X), p)
        save(made, tmp_path / "model")
        np.testing.assert_allclose(load(tmp_path / "model").predict_proba(X), p)
