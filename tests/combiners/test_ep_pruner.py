"""EPPruner and ARDPruner: what a user reads off them, and that nothing breaks them."""

from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier

from committee import (
    ARDPruner,
    Bagging,
    CommitteeClassifier,
    EMPruner,
    EPPruner,
    combine,
    member_predictions,
)
from committee.ep import classification_posterior, preferred, regression_posterior
from tests.reference.hostile import (
    fit_or_refuse,
    hostile_regression,
    hostile_votes,
)
from tests.reference.problems import KINDS, make_held_out, make_problem

PRUNERS = [EPPruner, ARDPruner]
PRINTED = partial(EPPruner, sequence="printed")


def many_members(kind, *, N=300, M=25, seed=0):
    return make_problem(kind, N=N, M=M, seed=seed)


@pytest.mark.parametrize("kind", KINDS)
def test_a_few_members_are_kept_with_positive_weights(kind):
    F, y = many_members(kind)
    pruner = EPPruner().fit(F, y)
    assert 1 <= len(pruner.support_) < 25
    assert np.all(pruner.weights_ >= 0)
    assert pruner.loo_ == pruner.path_.error.min()
    # Skill falls with the member's number in these problems.
    assert pruner.weights_[:12].sum() > pruner.weights_[12:].sum()


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("kind", KINDS)
def test_the_path_tells_every_committee_on_the_way(pruner, kind):
    F, y = many_members(kind)
    path = pruner().fit(F, y).path_
    n = len(path)
    assert path.weights.shape == (n, 25)
    for step, members, w in zip(path.steps, path.members, path.weights, strict=True):
        np.testing.assert_array_equal(members, np.flatnonzero(w))
        assert step.size == len(members)
    for name in ("size", "error", "error_se", "log_evidence"):
        assert getattr(path, name).shape == (n,)
        assert np.all(np.isfinite(getattr(path, name)))
    assert np.all(np.diff([step.objective for step in path.steps]) > 0)


def test_other_points_of_the_path_need_no_new_fit():
    F, y = many_members("binary")
    pruner = EPPruner().fit(F, y)
    assert any(np.array_equal(w, pruner.weights_) for w in pruner.path_.weights)
    assert np.count_nonzero(pruner.path_.choose(max_members=3)) <= 3
    small = np.count_nonzero(pruner.path_.choose(within_se=1))
    assert small <= pruner.path_.size.max()
    one_se = EPPruner(rule="one-se").fit(F, y)
    assert len(one_se.support_) <= len(pruner.support_)
    best = EPPruner(rule="max-evidence").fit(F, y)
    assert best.log_evidence_ == best.path_.log_evidence.max()


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("kind", KINDS)
def test_at_most_max_members(pruner, kind):
    F, y = many_members(kind)
    few = pruner(max_members=3).fit(F, y)
    assert 0 < len(few.support_) <= 3
    # The path is the same as without a limit, and so is the choice from it.
    w = pruner().fit(F, y).path_.choose(max_members=3)
    np.testing.assert_array_equal(few.weights_, w)


@pytest.mark.parametrize("kind", KINDS)
def test_equal_votes_go_to_the_members_that_ep_chose(kind):
    F, y = many_members(kind)
    chosen = EPPruner(pool="votes").fit(F, y).support_
    equal = EPPruner(votes="equal").fit(F, y)
    expected = np.zeros(25)
    expected[chosen] = 1 / len(chosen)
    np.testing.assert_allclose(equal.weights_, expected)


@pytest.mark.parametrize("rule", ["min-loo", "max-evidence", "one-se"])
@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_the_chosen_committee_is_at_the_fixed_point_of_ep(rule, kind):
    """Weights and covariance are those of EP run to its end at the same alphas.

    Settled to 1e-4 of a standard deviation per sweep; the rest is the tail of a
    geometric sequence, which on separable votes is long.
    """
    F, y = make_problem(kind, N=200)
    step = EPPruner(rule=rule, pool="votes").fit(F, y).posterior_
    if kind == "regression":
        q = regression_posterior(F[:, step.active], y, step.alpha, step.noise)
    else:
        S = np.where(y == 1, 1, -1)[:, None] * (2 * F[..., 1] - 1)
        q = classification_posterior(S[:, step.active], step.alpha, max_iter=2000)
    sd = np.sqrt(np.diag(q.cov))
    np.testing.assert_allclose(step.weights[step.active] / sd, q.mean / sd, atol=0.02)
    np.testing.assert_allclose(np.sqrt(np.diag(step.cov)), sd, rtol=0.02)


def test_inclusion_says_why():
    """Strength is mean over standard deviation; a useless member brings nothing."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    F = np.column_stack([y + 0.3 * rng.normal(size=300), -y, np.ones(300)])
    pruner = EPPruner().fit(F, y)
    strength, evidence = pruner.inclusion_
    assert strength[0] > 10
    assert evidence[0] > 100
    assert strength[1] == evidence[1] == 0
    step = pruner.posterior_
    np.testing.assert_allclose(
        strength[step.active], step.weights[step.active] / np.sqrt(np.diag(step.cov))
    )


def test_evidence_of_a_member_is_what_is_lost_without_it():
    """Gaussian rows: gain = log Z with the member - log Z without, others as they are.

    Up to EP's own error, as the truncation sites of the others adapt.
    """
    F, y = make_problem("regression", N=200, M=3)
    pruner = EPPruner(rule="max-evidence").fit(F, y)
    step = pruner.posterior_
    whole = regression_posterior(F[:, step.active], y, step.alpha, step.noise)
    for i, m in enumerate(step.active):
        rest = np.delete(np.arange(step.size), i)
        without = regression_posterior(
            F[:, step.active[rest]], y, step.alpha[rest], step.noise
        )
        lost = whole.log_evidence - without.log_evidence
        assert pruner.inclusion_.evidence[m] == pytest.approx(lost, abs=0.05)


@pytest.mark.parametrize("offset", [0.0, 100.0, 1e4])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("pruner", PRUNERS)
def test_standard_deviation_does_not_depend_on_an_offset(offset, masked, pruner):
    """Members with errors of sd 0.5: committees of seven leave about 0.2."""
    rng = np.random.default_rng(0)
    y = rng.normal(size=300)
    F = y[:, None] + 0.5 * rng.normal(size=(300, 7))
    held_out = rng.random(F.shape) < 0.4 if masked else None
    fitted = pruner().fit(F + offset, y + offset, held_out=held_out)
    mean, std = fitted.combine(F + offset, return_std=True)
    rms = np.sqrt(np.mean((y + offset - mean) ** 2))
    assert 0.75 * rms < np.median(std) < 1.35 * rms


def test_standard_deviation_of_a_regression():
    """sqrt(noise + F'VF): of the right size, and 68 % of targets within one."""
    F, y = make_problem("regression", N=400)
    pruner = EPPruner().fit(F, y)
    mean, std = pruner.combine(F, return_std=True)
    np.testing.assert_allclose(mean, pruner.combine(F))
    covered = np.mean(np.abs(y - mean) < std)
    # Binomial standard error 0.023.
    assert covered == pytest.approx(0.683, abs=0.07)
    F, y = make_problem("binary")
    pruner = EPPruner().fit(F, y)
    equal = EPPruner(votes="equal").fit(*make_problem("regression"))
    with pytest.raises(ValueError, match="votes='posterior'"):
        equal.combine(make_problem("regression")[0], return_std=True)
    with pytest.raises(ValueError, match="return_std is for regression"):
        pruner.combine(F, return_std=True)


@pytest.mark.parametrize("likelihood", ["probit", "gaussian"])
@pytest.mark.parametrize("vote", ["posterior", "equal"])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_probabilities_are_probabilities_and_keep_the_order(likelihood, vote, kind):
    F, y = make_problem(kind, N=200)
    pruner = EPPruner(likelihood=likelihood, votes=vote, pool="votes").fit(F, y)
    scores = pruner.combine(F)
    p = pruner.probabilities(scores)
    np.testing.assert_allclose(p, scores / pruner.weights_.sum())
    np.testing.assert_array_equal(p.argmax(axis=1), scores.argmax(axis=1))


@pytest.mark.parametrize("pruner", [EPPruner, EMPruner])
def test_probabilities_of_trees_weighed_out_of_bag_are_not_overconfident(pruner):
    """Weights made for a third of the votes are not applied to all of them."""
    X, y = make_classification(2000, 20, n_informative=6, flip_y=0.15, random_state=3)
    committee = CommitteeClassifier(
        DecisionTreeClassifier(),
        generator=Bagging(50),
        combiner=pruner(),
        random_state=0,
    ).fit(X[:600], y[:600])
    p = committee.predict_proba(X[600:])
    sure = p.max(axis=1).mean()
    right = (p.argmax(axis=1) == y[600:]).mean()
    # 1,400 test rows: a standard error of 0.011.
    assert sure < right + 0.05


def test_weights_that_sum_to_one_are_hardly_any_rows():
    F, y = make_problem("binary")
    with pytest.warns(UserWarning, match="Scale them to a mean of one"):
        EPPruner().fit(F, y, sample_weight=np.full(40, 1 / 40))


def test_the_path_of_equal_votes_has_equal_votes():
    F, y = many_members("binary")
    pruner = EPPruner(votes="equal").fit(F, y)
    assert any(np.array_equal(w, pruner.weights_) for w in pruner.path_.weights)
    small = pruner.path_.choose(max_members=2)
    np.testing.assert_allclose(small[small > 0], 1 / np.count_nonzero(small))
    with pytest.raises(ValueError, match=r"rule must be one of .*Got 'min_loo'"):
        preferred(pruner.path_.steps, "min_loo")


@pytest.mark.parametrize("likelihood", ["probit", "gaussian"])
def test_more_classes(likelihood):
    F, y = many_members("multiclass", N=400)
    pruner = EPPruner(likelihood=likelihood, pool="votes").fit(F[:200], y[:200])
    wrong = np.mean(pruner.combine(F[200:]).argmax(axis=1) != y[200:])
    everyone = np.mean(F[200:].mean(axis=1).argmax(axis=1) != y[200:])
    # Two standard errors of a difference of paired error rates below 10 %.
    assert wrong <= everyone + 0.04
    assert pruner.likelihood_ == likelihood


def test_auto_is_probit_for_two_classes_and_gaussian_for_more():
    for kind, expected in zip(KINDS, ("gaussian", "probit", "gaussian"), strict=True):
        pruner = EPPruner(pool="votes").fit(*make_problem(kind))
        assert pruner.likelihood_ == expected
    with pytest.raises(ValueError, match="'probit' likelihood is for votes"):
        EPPruner(likelihood="probit").fit(*make_problem("regression"))


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("kind", KINDS)
def test_permuting_members_or_rows(pruner, kind):
    """Sums change by rounding only; a path stops at a relative 1e-4."""
    F, y = many_members(kind, N=200, M=12)
    w = pruner().fit(F, y).weights_
    rng = np.random.default_rng(1)
    order, rows = rng.permutation(12), rng.permutation(200)
    np.testing.assert_allclose(pruner().fit(F[:, order], y).weights_, w[order], 1e-6)
    np.testing.assert_allclose(pruner().fit(F[rows], y[rows]).weights_, w, 1e-6)


@pytest.mark.parametrize("scale", [1e-150, 1e-3, 1e7, 1e149])
@pytest.mark.parametrize("masked", [False, True])
def test_scaling_predictions_and_targets_sums(scale, masked):
    F, y = make_problem("regression")
    held_out = make_held_out() if masked else None
    w = EPPruner().fit(F, y, held_out=held_out).weights_
    scaled = EPPruner().fit(scale * F, scale * y, held_out=held_out)
    np.testing.assert_allclose(scaled.weights_, w, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("pruner", PRUNERS)
@pytest.mark.parametrize("shift", [1e4, 1e6, -1e9])
def test_a_large_offset_tells_nothing_about_the_members(pruner, shift):
    """Weights then sum to one, as those of an error correlation do."""
    F, y = many_members("regression", M=8)
    shifted = pruner(rule="max-evidence").fit(F + shift, y + shift)
    other = pruner(rule="max-evidence").fit(F + 3 * shift, y + 3 * shift)
    # Errors F - y keep 6 digits at an offset of 1e9.
    np.testing.assert_allclose(shifted.weights_, other.weights_, atol=1e-4)
    np.testing.assert_array_equal(shifted.support_, other.support_)
    assert shifted.weights_.sum() == pytest.approx(1, abs=1e-2)


@pytest.mark.parametrize("kind", KINDS)
def test_duplicated_members_share(kind):
    """The same mixture comes out; one copy may take the weight of both.

    Its scale is set by the prior, which for a pair is not that of one member.
    """
    F, y = many_members(kind, N=200, M=6)
    once, twice = (
        EPPruner(rule="max-evidence", pool="votes").fit(members, y)
        for members in (F, np.concatenate([F, F], axis=1))
    )
    sums = twice.weights_[:6] + twice.weights_[6:]
    assert np.all(np.isfinite(sums))
    np.testing.assert_allclose(
        sums / sums.sum(), once.weights_ / once.weights_.sum(), atol=0.05
    )


@pytest.mark.parametrize("kind", KINDS)
def test_whole_weights_count_as_repeated_rows(kind):
    F, y = make_problem(kind, N=60)
    s = np.random.default_rng(0).integers(1, 4, size=60)
    # The floor of logarithms counts rows, not weights.
    pruner = EPPruner(rule="max-evidence", pool="votes")
    weighted = clone(pruner).fit(F, y, sample_weight=s)
    rows = np.repeat(np.arange(60), s)
    repeated = pruner.fit(F[rows], y[rows])
    np.testing.assert_array_equal(weighted.support_, repeated.support_)
    # Path steps are settled to 1e-2 of a standard deviation.
    np.testing.assert_allclose(weighted.weights_, repeated.weights_, rtol=2e-2)


def test_trees_that_memorised_their_rows_are_judged_out_of_bag():
    """On training rows a handful of trees looks perfect, and is not."""
    X, y = make_classification(1200, 20, n_informative=6, flip_y=0.1, random_state=0)
    committee = {
        on: CommitteeClassifier(
            DecisionTreeClassifier(),
            generator=Bagging(60),
            combiner=EPPruner(),
            weigh_on=on,
            calibration=None,
            random_state=0,
        ).fit(X[:400], y[:400])
        for on in ("train", "held-out")
    }
    train, oob = committee["train"], committee["held-out"]
    assert oob.n_members_ > train.n_members_
    # 800 test rows: a standard error of 0.015.
    error = {on: 1 - c.score(X[400:], y[400:]) for on, c in committee.items()}
    assert error["train"] - train.combiner_.loo_ > 0.15
    assert abs(error["held-out"] - oob.combiner_.loo_) < 0.06
    np.testing.assert_allclose(
        oob.predict_proba(X[:5]),
        oob.combiner_.linked(combine(member_predictions(oob, X[:5]), oob.weights_)),
    )


def test_a_sequence_that_is_cut_short_warns_once_and_says_what_to_do():
    F, y = many_members("binary")
    with pytest.warns(ConvergenceWarning, match="Increase max_iter") as caught:
        pruner = EPPruner(max_iter=2).fit(F, y)
    assert len(caught) == 1
    assert not pruner.converged_
    assert pruner.n_iter_ == 2


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_printed_sequence_goes_one_member_at_a_time(kind, masked):
    """And it finds the members that matter, as its own test against the text shows."""
    F, y = many_members(kind)
    held_out = make_held_out(*F.shape[:2]) if masked else None
    pruner = EPPruner(sequence="printed").fit(F, y, held_out=held_out)
    steps = np.diff(pruner.path_.size)
    assert pruner.converged_
    assert set(np.abs(steps)) <= {0, 1}
    assert (pruner.weights_[pruner.support_] > 0).all()
    assert pruner.weights_[:12].sum() > pruner.weights_[12:].sum()
    assert pruner.loo_ == pruner.path_.error.min()


def test_the_printed_sequence_says_what_it_has_not_done():
    F, y = many_members("binary")
    with pytest.warns(ConvergenceWarning, match="after 2 moves. Increase max_iter"):
        EPPruner(sequence="printed", max_iter=2).fit(F, y)


def test_verbose_shows_the_steps_on_standard_error(capsys):
    F, y = make_problem("binary")
    pruner = EPPruner(verbose=True, pool="votes").fit(F, y)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert len(captured.err.splitlines()) == 1 + len(pruner.path_)


def test_ard_weights_may_be_negative():
    rng = np.random.default_rng(0)
    y, shared = rng.normal(size=(2, 500))
    F = np.column_stack([y + shared, 2 * shared + 0.1 * rng.normal(size=500)])
    assert ARDPruner().fit(F, y).weights_[1] < 0
    assert np.all(EPPruner().fit(F, y).weights_ >= 0)


def _fit_or_refuse(pruner, F, y, held_out, s):
    """Finite weights, or a ValueError; never a RuntimeWarning."""
    if not fit_or_refuse(pruner, F, y, held_out, s, ignore=[ConvergenceWarning]):
        return
    assert np.all(np.isfinite(pruner.path_.log_evidence))
    if isinstance(pruner, EPPruner):
        assert np.all(pruner.weights_ >= 0)
        assert len(pruner.support_) >= 1


@pytest.mark.parametrize("pruner", [*PRUNERS, PRINTED])
@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(pruner, case):
    _fit_or_refuse(pruner(), *case)


@pytest.mark.parametrize(
    "pruner",
    [
        EPPruner(),
        EPPruner(pool="log"),
        EPPruner(pool="votes", likelihood="probit"),
        EPPruner(pool="votes", likelihood="gaussian"),
    ],
    ids=["auto", "log", "probit", "gaussian"],
)
@settings(max_examples=50)
@given(hostile_votes())
def test_nothing_breaks_classification(pruner, case):
    _fit_or_refuse(clone(pruner), *case)


def test_the_deviation_of_a_member_that_is_opposite_to_y(rng):
    y = rng.normal(size=200)
    F = (-y + 0.1 * rng.normal(size=200))[:, None]
    mean, std = EPPruner().fit(F, y).combine(F, return_std=True)
    np.testing.assert_allclose(std, np.sqrt(np.mean((y - mean) ** 2)), rtol=0.1)


@pytest.mark.parametrize("pruner", PRUNERS)
def test_votes_make_no_class_impossible(pruner, rng):
    """Shares of zero are 1 / (N + K), as an event that N rows cannot tell apart."""
    y = rng.integers(0, 2, 300)
    right = rng.random((300, 12)) < 0.85
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    fitted = pruner(pool="votes").fit(F, y)
    shares = combine(F, fitted.weights_) / fitted.weights_.sum()
    agreed = (shares == 0).any(axis=1)
    assert agreed.any()
    assert not agreed.all()
    p = fitted.probabilities(fitted.combine(F))
    np.testing.assert_allclose(p[~agreed], shares[~agreed])
    eps = 1 / 302
    np.testing.assert_allclose(p[agreed].min(axis=1), eps / (1 + eps))
    np.testing.assert_allclose(p.sum(axis=1), 1.0)
    # A committee of it is calibrated, or has the shares as they are.
    np.testing.assert_allclose(fitted.linked(fitted.combine(F)), shares, atol=1e-15)
