"""EMPruner: starts, likelihoods, and what it stores."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from committee import EMPruner
from committee.bayes.fit_em import fit_gaussian, fit_probit
from committee.ep.gaussian_rows import row_moments
from tests.bayes.test_fit_em import difficult_rows
from tests.reference.problems import KINDS, make_held_out, make_problem

#: Of probabilities, too: the default takes their logarithms (tests/combiners/test_log_pool).
VOTES = {"pool": "votes"}
LIKELIHOODS = {"regression": "gaussian", "binary": "probit", "multiclass": "gaussian"}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "start", ["best", "equal", "least-squares", np.linspace(0.1, 1, 7)]
)
def test_it_climbs_from_any_start(kind, start):
    F, y = make_problem(kind)
    for held_out in (None, make_held_out()):
        pruner = EMPruner(start=start, **VOTES).fit(F, y, held_out=held_out)
        assert pruner.likelihood_ == LIKELIHOODS[kind]
        assert pruner.converged_
        assert len(pruner.objective_) == pruner.n_iter_ >= 1
        assert (np.diff(pruner.objective_) >= -1e-8).all()
        assert (pruner.weights_ >= 0).all()
        assert pruner.noise_ > 0


def test_regression_is_the_function_of_moments():
    F, y = make_problem("regression")
    fit = fit_gaussian(row_moments(F, y))
    pruner = EMPruner().fit(F, y)
    assert_array_equal(pruner.weights_, fit.weights)
    assert pruner.noise_ == fit.noise


def test_binary_is_the_function_of_signed_votes():
    F, y = make_problem("binary")
    S = (2 * F[..., 1] - 1) * (2 * y - 1)[:, None]
    w = EMPruner(**VOTES).fit(F, y).weights_
    assert_allclose(w, fit_probit(S).weights, atol=1e-10)
    mask = make_held_out()
    assert_allclose(
        EMPruner().fit(F, y, held_out=mask).weights_,
        fit_probit(S * mask).weights,
        atol=1e-10,
    )


def test_the_start_matters():
    """Other starts, other committees: each of them a local maximum."""
    found = set()
    F, y = make_problem("regression", N=30, M=20, seed=3)
    starts = ["equal", "least-squares", *np.random.default_rng(0).random((6, 20))]
    for start in starts:
        pruner = EMPruner(start=start).fit(F, y)
        again = EMPruner(start=pruner.weights_).fit(F, y)
        assert_allclose(again.weights_, pruner.weights_, rtol=1e-3, atol=1e-8)
        found.add(tuple(pruner.support_.tolist()))
    assert len(found) > 1


def votes_of(S, y):
    """Return F of hard votes from signed rows."""
    return np.eye(2)[np.where(S > 0, y[:, None], 1 - y[:, None])]


def test_the_starts_that_were_tried_are_shown(rng):
    y = rng.integers(0, 2, size=2000)
    F = votes_of(difficult_rows(), y)
    pruner = EMPruner().fit(F, y)
    assert set(pruner.starts_) == {"equal", "equal x 3", "least-squares"}
    assert len(pruner.support_) in {members for members, _ in pruner.starts_.values()}
    assert EMPruner(start="equal").fit(F, y).starts_ == {}


def test_a_collapse_in_the_first_step_warns(rng):
    """And a start with one member, or data with one, does not."""
    y = rng.integers(0, 2, size=2000)
    F = votes_of(difficult_rows(), y)
    with pytest.warns(UserWarning, match=r"kept only 0 of 20 members.*start='best'"):
        assert len(EMPruner(start=np.ones(20)).fit(F, y).support_) == 1
    EMPruner(start=np.eye(20)[3]).fit(F, y)
    EMPruner().fit(F[:, :1], y)


def test_permuting_a_start_permutes_the_weights(rng):
    F, y = make_problem("binary")
    start, order = rng.exponential(size=7), rng.permutation(7)
    w = EMPruner(start=start).fit(F, y).weights_
    permuted = EMPruner(start=start[order]).fit(F[:, order], y).weights_
    assert_allclose(permuted, w[order], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_repeat_rows(kind, rng):
    F, y = make_problem(kind)
    s = rng.integers(0, 4, size=40)
    assert_allclose(
        EMPruner(tol=1e-9, **VOTES).fit(F, y, sample_weight=s).weights_,
        EMPruner(tol=1e-9, **VOTES).fit(F.repeat(s, axis=0), y.repeat(s)).weights_,
        atol=1e-6,
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("start", ["equal", "least-squares"])
def test_duplicates_share_or_drop(kind, start):
    """Never NaN, and the twins' sum is what one would have."""
    F, y = make_problem(kind)
    twins = np.concatenate([F, F[:, :3]], axis=1)
    for held_out in (None, np.tile(make_held_out(M=5), 2)):
        w = EMPruner(start=start, **VOTES).fit(twins, y, held_out=held_out).weights_
        assert np.isfinite(w).all()
        assert (w >= 0).all()
        assert w.any()


@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_probabilities_of_votes_are_shares_of_the_scores(kind):
    F, y = make_problem(kind)
    pruner = EMPruner(**VOTES).fit(F, y)
    scores = pruner.combine(F)
    p = pruner.probabilities(scores)
    assert_allclose(p, scores / scores.sum(axis=1, keepdims=True))
    assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))


def test_probit_for_more_classes():
    F, y = make_problem("multiclass")
    pruner = EMPruner(likelihood="probit", **VOTES).fit(F, y)
    p = pruner.probabilities(pruner.combine(F))
    assert_allclose(p.sum(axis=1), 1.0)
    assert np.mean(p.argmax(axis=1) == y) > 0.8


def test_held_out_noise_is_in_units_of_y():
    F, y = make_problem("regression")
    mask = make_held_out()
    noise = EMPruner().fit(F, y, held_out=mask).noise_
    far = EMPruner().fit(1e40 * F, 1e40 * y, held_out=mask).noise_
    assert_allclose(far / 1e80, noise, rtol=1e-4)


def test_targets_far_from_zero():
    """Weights then sum to one, and the offset does not matter."""
    F, y = make_problem("regression", N=100)
    w = EMPruner().fit(F + 1e6, y + 1e6).weights_
    assert_allclose(w.sum(), 1.0, atol=0.01)
    assert_allclose(EMPruner().fit(F + 3e6, y + 3e6).weights_, w, atol=1e-4)


def test_too_few_iterations_warn():
    F, y = make_problem("regression")
    with pytest.warns(
        ConvergenceWarning, match=r"more than tol=1e-06\. Increase max_iter \(2\)"
    ):
        pruner = EMPruner(max_iter=2).fit(F, y)
    assert not pruner.converged_
    assert pruner.n_iter_ == 2


@pytest.mark.parametrize(
    ("start", "message"),
    [
        ("worst", "start"),
        (np.ones(6), "one weight for each of the 7 members"),
        (-np.ones(7), "minimum of -1"),
        (np.zeros(7), "at least one of them positive"),
    ],
)
def test_starts_that_are_none(start, message):
    F, y = make_problem("regression")
    with pytest.raises(ValueError, match=message):
        EMPruner(start=start).fit(F, y)


def test_votes_for_a_regression():
    F, y = make_problem("regression")
    with pytest.raises(ValueError, match="probit"):
        EMPruner(likelihood="probit").fit(F, y)


def test_members_that_out_of_bag_rows_cannot_tell_apart_are_pruned(rng):
    """The same error for all, and noise of their own: C is shrunk to equal members."""
    y, shared = rng.normal(size=(2, 200))
    F = (y + shared)[:, None] + 0.3 * rng.normal(size=(200, 40))
    held_out = make_held_out(200, 40)
    pruner = EMPruner().fit(F, y, held_out=held_out)
    assert pruner.converged_
    assert 1 < len(pruner.support_) < 20
    assert_allclose(pruner.weights_.sum(), 1.0)
