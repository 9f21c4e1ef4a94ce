"""MCMCPruner checks EP: the same committee, the exact posterior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_ndtr
from sklearn.exceptions import ConvergenceWarning
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import EPPruner, MCMCPruner
from committee.bayes.gibbs import effective_sample_size
from committee.ep import classification_posterior, regression_posterior
from tests.reference.data import load_or_skip
from tests.reference.problems import KINDS, make_held_out, make_problem

# EP's own error, in posterior standard deviations: the truncations of a Gaussian are
# nearly exact, probit rows are less so where few rows decide much.
EP_ERROR = {"regression": 0.02, "binary": 0.1, "multiclass": 0.02}

#: Draws by the thousand.
pytestmark = pytest.mark.slow


def deviations(mcmc, mean):
    """Differences in standard deviations, less four Monte Carlo errors."""
    sd = mcmc.samples_.std(axis=(0, 1))
    return np.abs(mcmc.weights_[mcmc.support_] - mean) / sd - 4 / np.sqrt(mcmc.ess_)


def signed(F, y, held_out=None):
    S = (2 * F[..., 1] - 1) * (2 * y - 1)[:, None]
    return S if held_out is None else S * held_out


def exact_ep(mcmc, F, y, held_out=None):
    """EP at its fixed point, for the committee and the widths that were chosen."""
    a, step = mcmc.support_, mcmc.ep_.posterior_
    if F.ndim == 2:
        return regression_posterior(F[:, a], y, step.alpha, step.noise)
    return classification_posterior(
        signed(F, y, held_out)[:, a], step.alpha, max_iter=2000
    )


@pytest.mark.parametrize("kind", KINDS)
def test_the_committee_is_that_of_ep(kind):
    F, y = make_problem(kind)
    for known in ({}, {"held_out": make_held_out()}, {"sample_weight": np.arange(40)}):
        mcmc = MCMCPruner(n_samples=300, random_state=0).fit(F, y, **known)
        ep = EPPruner(pool="votes").fit(F, y, **known)
        assert_array_equal(mcmc.ep_.weights_, ep.weights_)
        assert_array_equal(mcmc.support_, ep.support_)
        a = len(mcmc.support_)
        assert mcmc.samples_.shape == (4, 300, a)
        assert mcmc.ess_.shape == mcmc.r_hat_.shape == (a,)
        assert mcmc.converged_
        assert mcmc.samples_.min() >= 0
        # From errors alone, weights are scaled to sum one: moments do so to 1e-3.
        exact = 2e-3 if "held_out" in known and kind != "binary" else 1e-7
        mean = mcmc.samples_.mean((0, 1))
        assert_allclose(mean, mcmc.weights_[mcmc.support_], rtol=exact)


@pytest.mark.parametrize("kind", ["regression", "binary"])
def test_ep_agrees_with_the_exact_posterior(kind, rng):
    """Means and standard deviations, from 200 rows that no committee gets all right."""
    F, y = make_problem(kind, N=200)
    if kind == "binary":
        y = np.where(rng.random(200) < 0.2, 1 - y, y)
    mcmc = MCMCPruner(rule="max-evidence", random_state=0).fit(F, y)
    ep = exact_ep(mcmc, F, y)
    assert ep.converged
    assert deviations(mcmc, ep.mean).max() < EP_ERROR[kind]
    sd = mcmc.samples_.std(axis=(0, 1))
    assert_allclose(np.sqrt(np.diag(ep.cov)), sd, rtol=0.1)


def test_ep_is_too_sure_of_a_member_that_is_always_right():
    """The likelihood is flat above: EP has the mean, but misses the upper tail."""
    y = np.resize([0, 1], 200)
    mcmc = MCMCPruner(n_chains=32, n_samples=300, random_state=0)
    mcmc.fit(np.eye(2)[y][:, None, :], y)
    ep = exact_ep(mcmc, np.eye(2)[y][:, None, :], y)
    alpha = mcmc.ep_.posterior_.alpha[0]
    w = np.linspace(0.0, 40.0, 40_001)
    log_p = 200 * log_ndtr(w) - 0.5 * alpha * w * w
    p = np.exp(log_p - log_p.max()) / np.exp(log_p - log_p.max()).sum()
    mean = p @ w
    sd = np.sqrt(p @ (w - mean) ** 2)
    assert abs(mcmc.weights_[0] - mean) < 4 * sd / np.sqrt(mcmc.ess_[0])
    squares = (mcmc.samples_[..., 0] - mean) ** 2
    error = squares.std() / np.sqrt(effective_sample_size(squares))
    assert abs(squares.mean() - sd**2) < 4 * error
    assert abs(ep.mean[0] - mean) < EP_ERROR["binary"] * sd
    assert ep.cov[0, 0] < 0.95 * sd**2


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_gaussian_paths_end_at_the_exact_posterior(kind):
    """With and without held-out rows, as EPPruner reports it."""
    F, y = make_problem(kind, N=200)
    for held_out in (None, make_held_out(N=200)):
        mcmc = MCMCPruner(rule="max-evidence", random_state=0)
        mcmc.fit(F, y, held_out=held_out)
        mean = mcmc.ep_.weights_[mcmc.support_]
        assert deviations(mcmc, mean).max() < EP_ERROR[kind]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["breast-cancer", "diabetis"])
def test_ep_agrees_on_the_sets_of_table_1(name):
    """Chen's Table 1, classification: 30 bagged trees, votes on out-of-bag rows."""
    data = load_or_skip(f"raetsch_{name}")
    train, test = data["train_idx"][0], data["test_idx"][0]
    X, y = data["X"], (data["y"] > 0).astype(int)
    F, T, held_out = _bagged_votes(X, y, train, test, M=30)
    mcmc = MCMCPruner(rule="max-evidence", n_samples=500, random_state=0)
    mcmc.fit(F, y[train], held_out=held_out)
    assert len(mcmc.support_) > 3
    assert mcmc.r_hat_.max() < 1.02
    ep = exact_ep(mcmc, F, y[train], held_out)
    assert deviations(mcmc, ep.mean).max() < 0.05
    sd = mcmc.samples_.std(axis=(0, 1))
    assert_allclose(np.sqrt(np.diag(ep.cov)), sd, rtol=0.15)
    # Who wins a vote does not depend on EP's error, except on rows near a tie.
    ours, theirs = (w.combine(T).argmax(axis=1) for w in (mcmc, mcmc.ep_))
    assert np.mean(ours == theirs) > 0.97


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sinc", "house"])
def test_ep_agrees_on_the_regression_sets_of_table_1(name):
    """Chen's Table 1, regression: 30 bagged trees with ten rows to split."""
    rng = np.random.default_rng(0)
    if name == "sinc":
        X = rng.uniform(-10, 10, size=(250, 1))
        y = np.sinc(X[:, 0] / np.pi)
        y = y + y.std() / 3 * rng.normal(size=250)
    else:
        data = load_or_skip("boston")
        X, y = data["X"], data["y"]
    members = []
    for m in range(30):
        rows = rng.integers(len(y), size=len(y))
        tree = DecisionTreeRegressor(min_samples_split=10, random_state=m)
        members.append(tree.fit(X[rows], y[rows]))
    F = np.column_stack([member.predict(X) for member in members])
    mcmc = MCMCPruner(rule="max-evidence", random_state=0).fit(F, y)
    assert len(mcmc.support_) > 3
    assert mcmc.r_hat_.max() < 1.02
    mean = mcmc.ep_.weights_[mcmc.support_]
    assert deviations(mcmc, mean).max() < EP_ERROR["regression"]
    sd = mcmc.samples_.std(axis=(0, 1))
    assert_allclose(np.sqrt(np.diag(mcmc.ep_.posterior_.cov)), sd, rtol=0.1)


def _bagged_votes(X, y, train, test, M):
    """One-hot votes on train and test rows, and the out-of-bag mask."""
    rng = np.random.default_rng(0)
    N = len(train)
    F, T, held_out = [], [], np.ones((N, M), dtype=bool)
    for m in range(M):
        rows = rng.integers(N, size=N)
        held_out[rows, m] = False
        tree = DecisionTreeClassifier(random_state=m)
        tree.fit(X[train[rows]], y[train[rows]])
        F.append(np.eye(2)[tree.predict(X[train])])
        T.append(np.eye(2)[tree.predict(X[test])])
    return np.stack(F, axis=1), np.stack(T, axis=1), held_out


def test_members_in_another_order(rng):
    """Random numbers go by rank: the same draws, not only the same distribution."""
    for kind in ("regression", "binary"):
        F, y = make_problem(kind, N=80)
        order = rng.permutation(7)
        one = MCMCPruner(n_samples=200, random_state=3).fit(F, y)
        two = MCMCPruner(n_samples=200, random_state=3).fit(F[:, order], y)
        assert_allclose(two.weights_, one.weights_[order], atol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_integer_weights_repeat_rows(kind, rng):
    F, y = make_problem(kind)
    s = rng.integers(0, 4, size=40)
    one = MCMCPruner(n_samples=200, random_state=3).fit(F, y, sample_weight=s)
    two = MCMCPruner(n_samples=200, random_state=3)
    two.fit(F.repeat(s, axis=0), y.repeat(s))
    assert_allclose(one.weights_, two.weights_, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_duplicates(kind):
    F, y = make_problem(kind)
    twins = np.concatenate([F, F], axis=1)
    w = MCMCPruner(n_samples=200, random_state=0).fit(twins, y).weights_
    assert np.isfinite(w).all()
    assert (w >= 0).all()
    assert w.any()


def test_scales_cancel():
    F, y = make_problem("regression")
    w = MCMCPruner(n_samples=100, n_chains=8, random_state=0).fit(F, y).weights_
    far = MCMCPruner(n_samples=100, n_chains=8, random_state=0).fit(1e90 * F, 1e60 * y)
    assert_allclose(far.weights_ * 1e30, w, rtol=1e-3)


def test_units_of_targets_that_members_abstain_on_cancel(rng):
    F, y = make_problem("regression", N=80)
    held_out = rng.random(F.shape) < 0.5
    one, other = (
        MCMCPruner(n_samples=100, n_chains=8, random_state=0)
        .fit(c * F, c * y, held_out=held_out)
        .weights_
        for c in (1.0, 2.0**400)
    )
    assert_allclose(other, one, rtol=1e-6)


def test_targets_far_from_zero():
    """The moments are those that EP takes where the mean of y dominates."""
    F, y = make_problem("regression", N=100)
    mcmc = MCMCPruner(random_state=0).fit(F + 1e6, y + 1e6)
    mean = mcmc.ep_.weights_[mcmc.support_]
    assert deviations(mcmc, mean).max() < EP_ERROR["regression"]
    assert_allclose(mcmc.weights_.sum(), 1.0, atol=0.05)


def test_seeds():
    F, y = make_problem("binary")
    one, two, other = (
        MCMCPruner(n_samples=100, n_chains=8, random_state=seed).fit(F, y).samples_
        for seed in (0, 0, 1)
    )
    assert_array_equal(one, two)
    assert (one != other).any()


def test_max_members_goes_to_ep():
    F, y = make_problem("regression")
    mcmc = MCMCPruner(max_members=2, n_samples=100, n_chains=8, random_state=0)
    assert len(mcmc.fit(F, y).support_) <= 2


def test_probabilities_are_those_of_ep():
    F, y = make_problem("binary")
    mcmc = MCMCPruner(n_samples=100, n_chains=8, random_state=0).fit(F, y)
    scores = mcmc.combine(F)
    p = mcmc.probabilities(scores)
    assert_allclose(p, mcmc.ep_.probabilities(scores), rtol=1e-15)


@pytest.mark.parametrize("sequence", ["fast", "printed"])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_draws_choose_by_their_own_leave_one_out_errors(kind, masked, sequence):
    """EP's errors are those of nearly the same posteriors."""
    F, y = make_problem(kind, N=120)
    held_out = make_held_out(N=120) if masked else None
    options = {"loo": "draws", "sequence": sequence, "random_state": 0}
    mcmc = MCMCPruner(n_samples=200, **options).fit(F, y, held_out=held_out)
    path, errors = mcmc.ep_.path_, mcmc.path_loo_
    chosen = path.steps[int(errors.argmin())]
    assert_array_equal(mcmc.support_, chosen.active)
    assert_array_equal(mcmc.posterior_.active, chosen.active)
    assert mcmc.samples_.shape == (4, 200, chosen.size)
    # Two cases of 120 may fall on the other side of a tie.
    near = {"rtol": 0.05} if kind == "regression" else {"atol": 2.5 / 120, "rtol": 0.1}
    assert_allclose(errors, path.own_error, **near)
    assert_allclose(mcmc.loo_, errors.min(), **near)


def test_draws_have_no_evidence_to_choose_by():
    F, y = make_problem("regression")
    with pytest.raises(ValueError, match="use rule='min-loo' or 'one-se'"):
        MCMCPruner(loo="draws", rule="max-evidence").fit(F, y)


def test_one_se_of_the_draws_is_no_larger():
    F, y = make_problem("binary", N=120)
    sizes = [
        len(
            MCMCPruner(rule=rule, loo="draws", n_samples=100, random_state=0)
            .fit(F, y)
            .support_
        )
        for rule in ("one-se", "min-loo")
    ]
    assert sizes[0] <= sizes[1]


def test_chains_that_have_not_met_warn():
    F, y = make_problem("regression")
    with pytest.warns(ConvergenceWarning, match=r"R-hat .*Increase n_warmup \(0\)"):
        mcmc = MCMCPruner(n_samples=4, n_warmup=0, random_state=0).fit(F, y)
    assert not mcmc.converged_
    assert mcmc.r_hat_.max() > 1.05


@pytest.mark.parametrize("kind", ["regression", "binary"])
@pytest.mark.parametrize("weight", [1.0, 1e8])
def test_members_that_are_all_wrong(kind, weight):
    """The posterior is pressed against zero, where paths would bounce without end."""
    _, y = make_problem(kind, N=60)
    rng = np.random.default_rng(0)
    F = -y[:, None] + 0.1 * rng.normal(size=(60, 3))
    if kind == "binary":
        F = np.eye(2)[1 - y][:, None].repeat(3, axis=1)
    mcmc = MCMCPruner(n_samples=500, n_warmup=200, random_state=0)
    mcmc.fit(F, y, sample_weight=np.full(60, weight))
    assert len(mcmc.support_) == 1
    # EP matches the moments of a truncation that is all tail to some percent.
    assert_allclose(mcmc.weights_, mcmc.ep_.weights_, rtol=0.15)
