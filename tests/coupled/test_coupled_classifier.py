"""Votes and probabilities of coupled classifiers; the contract is in test_coupled_kernel."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs, make_moons

from committee import CoupledKernelClassifier, OrderPruner
from committee.probabilities import fit_slope


def test_hard_votes_are_the_weighted_signs():
    """f = sign( sum_j w_j sign f_j )."""
    X, y = make_moons(150, noise=0.2, random_state=0)
    labels = np.array(["no", "yes"])[y]
    model = CoupledKernelClassifier(5, alpha=0.1, random_state=0).fit(X, labels)
    f = np.stack([m.predict(X) for m in model.members_], axis=1)
    expected = np.sign(f) @ model.weights_
    np.testing.assert_allclose(model.decision_function(X), expected, atol=1e-12)
    np.testing.assert_array_equal(model.predict(X), np.where(expected > 0, "yes", "no"))
    F = model.member_predictions(X)
    np.testing.assert_array_equal(F[..., 1], f > 0)
    np.testing.assert_array_equal(F.sum(axis=2), 1.0)


def test_rows_of_the_only_member_with_a_weight_do_not_calibrate_it():
    """Nobody else votes on them: the slope is that of the other rows."""
    X, y = make_moons(80, noise=0.2, random_state=0)
    best = OrderPruner("best", n_members=1)
    model = CoupledKernelClassifier(2, combiner=best, random_state=0).fit(X, y)
    assert sorted(model.weights_) == [0.0, 1.0]
    others = model.subsets_[int(model.weights_.argmin())]
    expected = fit_slope(model._scores(X[others]), y[others], None)
    assert model.slope_ == pytest.approx(expected)
    assert model.slope_ != pytest.approx(fit_slope(model._scores(X), y, None))


@pytest.mark.parametrize("K", [2, 3])
def test_values_of_members_are_what_they_vote_by(K):
    X, y = make_blobs(90, centers=K, random_state=0)
    model = CoupledKernelClassifier(4, alpha=0.1, random_state=0).fit(X, y)
    f = model.member_decision_function(X)
    for j, member in enumerate(model.members_):
        np.testing.assert_allclose(f[:, j], member.predict(X), atol=1e-12)
    chosen = f.argmax(axis=2) if K > 2 else f > 0
    votes = model.member_predictions(X).argmax(axis=2)
    np.testing.assert_array_equal(chosen, votes)


def test_soft_votes_are_one_expansion():
    X, y = make_moons(150, noise=0.2, random_state=0)
    model = CoupledKernelClassifier(5, voting="soft", random_state=0).fit(X, y)
    f = np.stack([m.predict(X) for m in model.members_], axis=1)
    np.testing.assert_allclose(
        model.decision_function(X), f @ model.weights_, rtol=1e-8, atol=1e-10
    )
    np.testing.assert_allclose(model.member_predictions(X)[..., 1], (1 + f) / 2)


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_several_classes_one_against_the_rest(voting):
    X, codes = make_blobs(150, centers=4, random_state=0)
    y = np.array(["a", "b", "c", "d"])[codes]
    model = CoupledKernelClassifier(5, alpha=0.1, voting=voting, random_state=0)
    model.fit(X, y)
    assert model.score(X, y) > 0.85
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    f = model.members_[2].predict(X)
    assert f.shape == (150, 4)
    chosen = model.member_predictions(X)[:, 2].argmax(axis=1)
    np.testing.assert_array_equal(chosen, f.argmax(axis=1))


@pytest.mark.parametrize("voting", ["hard", "soft"])
def test_probabilities_are_calibrated(voting):
    """Of new rows called p, about p are right."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(3000, 2))
    y = rng.random(3000) < 1 / (1 + np.exp(-2 * X[:, 0]))
    options = {"alpha": 5.0, "gamma": 0.3, "voting": voting, "random_state": 0}
    model = CoupledKernelClassifier(10, **options).fit(X[:1000], y[:1000])
    p = model.predict_proba(X[1000:])
    sure = p.max(axis=1)
    right = model.predict(X[1000:]) == y[1000:]
    assert abs(sure.mean() - right.mean()) < 0.04


def test_sample_weights_of_a_classifier():
    X, y = make_moons(120, noise=0.3, random_state=0)
    s = np.where(y == 1, 10.0, 0.1)
    plain = CoupledKernelClassifier(4, alpha=1.0, random_state=0).fit(X, y)
    model = clone(plain).fit(X, y, sample_weight=s)
    assert np.mean(model.predict(X)) > np.mean(plain.predict(X))


def test_a_single_member_is_not_surer_than_it_is_right(rng):
    """Its own training rows are fitted closely: the link is made by leave-one-out."""
    X = rng.normal(size=(480, 3))
    y = (X[:, 0] + rng.normal(size=480) > 0).astype(int)
    for voting in ("hard", "soft"):
        model = CoupledKernelClassifier(1, gamma=1.0, alpha=0.01, voting=voting)
        p = model.fit(X[:80], y[:80]).predict_proba(X[80:])
        right = (p.argmax(axis=1) == y[80:]).mean()
        # 400 test rows, a slope from 80: standard errors of 0.024 and 0.05.
        assert p.max(axis=1).mean() < right + 0.1


def test_parameters_changed_after_the_fit_do_not_change_predictions(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] > 0).astype(int)
    model = CoupledKernelClassifier(5, gamma=0.5, random_state=0).fit(X, y)
    before = model.member_predictions(X), model.predict_proba(X)
    model.set_params(n_members=3, overlap=False)
    np.testing.assert_array_equal(model.member_predictions(X), before[0])
    np.testing.assert_array_equal(model.predict_proba(X), before[1])


def test_given_subsets_must_have_two_classes():
    X, y = make_moons(60, noise=0.1, random_state=0)
    labels = np.array(["no", "yes"])[y]
    subsets = np.array_split(np.flatnonzero(y), 3)
    with pytest.raises(ValueError, match=r"at least 2 classes.* 'yes'"):
        CoupledKernelClassifier(3).fit(X, labels, subsets=subsets)
