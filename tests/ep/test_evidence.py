"""The evidence sequence: its gains, its path, and that nothing breaks it."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from threadpoolctl import threadpool_info

from committee.ep import (
    PRICE,
    arrays,
    classification_path,
    classification_posterior,
    given_moments,
    moments_path,
    preferred,
    regression_path,
    regression_posterior,
)
from committee.ep.gaussian_rows import error_moments
from committee.ep.moves import Moves, best_alpha, choose_moves, gain


def votes(rng, N=300, M=12, right=0.7, abstaining=0.3):
    """Signed votes of independent members, with abstentions."""
    S = np.where(rng.random((N, M)) < right, 1.0, -1.0)
    return S * (rng.random((N, M)) >= abstaining)


def predictions(rng, N=200, M=8):
    """Two good members, the others poor."""
    y = rng.normal(size=N)
    spread = np.where(np.arange(M) < 2, 0.3, 2.0)
    return y[:, None] + spread * rng.normal(size=(N, M)), y


def test_gain_is_the_evidence_of_one_member(rng):
    """One member, Gaussian likelihood: r = F'F / noise, u = F'y / noise, all exact."""
    F, y = predictions(rng, N=20, M=1)
    noise = 0.8
    r, u = F.T @ F / noise, F.T @ y / noise
    silence = -0.5 * (20 * np.log(2 * np.pi * noise) + y @ y / noise)
    for alpha in (0.1, 1.0, 30.0):
        for truncated in (True, False):
            posterior = regression_posterior(F, y, alpha, noise, truncated=truncated)
            got = gain(np.array([alpha]), r[0], u, truncated=truncated)
            assert_allclose(got, posterior.log_evidence - silence, atol=1e-9)


@pytest.mark.parametrize("truncated", [True, False])
@pytest.mark.parametrize("z", [1.1, 1.5, 4.0, 1e3])
def test_best_alpha_has_the_largest_gain(truncated, z):
    """A bounded search over log alpha finds no larger gain."""
    r, u = np.array([2.0]), np.array([z * np.sqrt(2.0)])
    alpha = best_alpha(r, u, truncated=truncated)
    search = minimize_scalar(
        lambda log: -gain(np.exp([log]), r, u, truncated=truncated)[0],
        bounds=(-30, 10),
        method="bounded",
    )
    best = gain(alpha, r, u, truncated=truncated)[0]
    assert best >= -search.fun - 1e-9 * max(1.0, best)


def test_best_alpha_without_truncation_is_that_of_tipping_and_faul():
    r, u = np.array([2.0, 2.0, 2.0]), np.array([3.0, -3.0, 1.0])
    expected = [4.0 / 7.0, 4.0 / 7.0, np.inf]
    assert_allclose(best_alpha(r, u, truncated=False), expected)


@pytest.mark.parametrize(
    ("r", "u", "truncated"),
    [(2.0, -3.0, True), (2.0, 0.0, True), (4.0, 2.0, False), (0.0, 1.0, True)],
)
def test_a_member_without_use_never_enters(r, u, truncated):
    """Without truncation it has none if u^2 = r."""
    r, u = np.array([r]), np.array([u])
    assert best_alpha(r, u, truncated=truncated) == np.inf


def test_members_that_enter_promise_a_quarter_of_the_best_or_more():
    """All of 5 may enter: those that promise 8, 4 and 2 do, and that of 1.9 does not."""
    promise = np.array([8.0, 4.0, 2.0, 1.9, 0.0])
    moves = Moves(np.array([1.0, 2.0, 3.0, 4.0, np.inf]), promise)
    members = np.full(5, np.inf)
    found = choose_moves(
        np.append(members, np.ones(5)),
        Moves(np.append(moves.alpha, np.ones(5)), np.append(promise, np.zeros(5))),
        share=1.0,
    )
    assert found[:5].tolist() == [1.0, 2.0, 3.0, np.inf, np.inf]


def test_the_default_price_of_a_member_is_half_of_log_two(rng):
    F = votes(rng)
    by_default = classification_path(F)
    given = classification_path(F, price=np.log(2) / 2)
    assert [step.objective for step in by_default.steps] == [
        step.objective for step in given.steps
    ]


def check_path(path, truncated=True):
    """What holds for every path; the weight of a member that abstains is zero without truncation."""
    objective = np.array([step.objective for step in path.steps])
    assert np.all(np.diff(objective) > 0)
    for step in path.steps:
        assert step.size == len(step.active)
        assert set(np.flatnonzero(step.weights)) <= set(step.active)
        assert not truncated or np.all(step.weights[step.active] > 0)
        assert np.isfinite(step.weights).all()
        assert np.isfinite(step.cov).all()
        assert np.isfinite(step.alpha).all()
        for name in (
            "loo_error",
            "loo_se",
            "loo_density",
            "log_evidence",
            "objective",
            "noise",
        ):
            assert np.isfinite(getattr(step, name)), name


def test_no_state_comes_twice(rng):
    path = classification_path(votes(rng, M=30))
    check_path(path)
    states = {(step.active.tobytes(), step.alpha.tobytes()) for step in path.steps}
    assert len(states) == len(path)
    assert path.converged


def test_objective_is_evidence_less_price(rng):
    for step in classification_path(votes(rng)).steps:
        assert_allclose(step.objective, step.log_evidence - PRICE * step.size)


def test_every_step_is_a_posterior(rng):
    """The steps are EP fits of their alphas, settled to the tolerance between steps.

    The evidence is stationary in the sites: with moments that agree to 0.01 for each
    of 300 rows it is within 300 x 0.01^2 of the fixed point.
    """
    S = votes(rng)
    step = classification_path(S).steps[-1]
    posterior = classification_posterior(S[:, step.active], step.alpha)
    sd = np.sqrt(np.diag(posterior.cov))
    assert np.all(np.abs(step.weights[step.active] - posterior.mean) <= 0.05 * sd)
    assert_allclose(step.log_evidence, posterior.log_evidence, atol=0.03)
    assert_allclose(step.loo_density, posterior.loo_score.density, atol=0.01)


def test_regression_steps_are_exact_posteriors(rng):
    F, y = predictions(rng)
    step = regression_path(F, y).steps[-1]
    F = F[:, step.active]
    posterior = regression_posterior(F, y, step.alpha, step.noise)
    sd = np.sqrt(np.diag(posterior.cov))
    assert np.all(np.abs(step.weights[step.active] - posterior.mean) <= 0.01 * sd)
    assert_allclose(step.log_evidence, posterior.log_evidence, atol=1e-3)
    assert_allclose(step.loo_error, posterior.loo, rtol=1e-3)
    assert_allclose(step.loo_se, posterior.loo_score.standard_error, rtol=1e-2)


def test_good_members_are_found_and_noise_is_learned(rng):
    F, y = predictions(rng, N=400)
    step = preferred(regression_path(F, y).steps, "max-evidence")
    assert {0, 1} <= set(step.active)
    assert step.weights[:2].sum() > 0.9 * step.weights.sum()
    # The precisions of y and of the members' errors add up; a variance is known from
    # 400 rows to sqrt(2 / 400) of itself, and three of these are allowed.
    expected = 1 / (1 + 2 / 0.3**2 + 6 / 2.0**2)
    assert_allclose(step.noise, expected, rtol=3 * np.sqrt(2 / 400))


def test_noise_can_be_given(rng):
    F, y = predictions(rng)
    assert all(step.noise == 0.5 for step in regression_path(F, y, noise=0.5).steps)


def test_ard_takes_either_sign(rng):
    F, y = predictions(rng)
    F[:, 0] *= -1
    free = regression_path(F, y, truncated=False)
    check_path(free, truncated=False)
    assert free.steps[-1].weights[0] < 0
    assert np.all(regression_path(F, y).steps[-1].weights >= 0)
    S = votes(rng)
    S[:, 0] *= -1
    assert classification_path(S, truncated=False).steps[-1].weights[0] < 0


def test_order_does_not_matter(rng):
    """Equal but for rounding of sums, which the sequence may carry into its decimals."""
    S, (F, y) = votes(rng), predictions(rng)
    members = rng.permutation(12)
    order = rng.permutation(300)
    one, other = classification_path(S), classification_path(S[order][:, members])
    assert len(one) == len(other)
    assert_allclose(other.steps[-1].weights, one.steps[-1].weights[members], rtol=1e-6)
    members, order = rng.permutation(8), rng.permutation(200)
    one, other = regression_path(F, y), regression_path(F[order][:, members], y[order])
    assert_allclose(other.steps[-1].weights, one.steps[-1].weights[members], rtol=1e-6)


@pytest.mark.parametrize("factor", [1e-150, 1e-7, 1e150])
def test_units_do_not_matter(rng, factor):
    F, y = predictions(rng)
    one, other = regression_path(F, y), regression_path(F * factor, y * factor)
    assert_allclose(other.steps[-1].weights, one.steps[-1].weights, rtol=1e-6)
    assert_allclose(
        other.steps[-1].loo_error / factor**2, one.steps[-1].loo_error, rtol=1e-6
    )
    S = votes(rng)
    one, other = classification_path(S), classification_path(S * factor)
    assert_allclose(other.steps[-1].weights * factor, one.steps[-1].weights, rtol=1e-6)


def test_duplicates_do_not_add_up(rng):
    """A copy adds nothing new: the total weight stays, within the steps' tolerance."""
    F, y = predictions(rng)
    one, two = (
        regression_path(F, y).steps[-1],
        regression_path(np.hstack([F, F]), y).steps[-1],
    )
    total = two.weights[:8] + two.weights[8:]
    assert_allclose(total, one.weights, atol=0.05)
    check_path(classification_path(np.repeat(votes(rng, M=3), 5, axis=1)))


def test_integer_weights_are_repeated_rows(rng):
    S, s = votes(rng, N=100), rng.integers(0, 3, size=100)
    weighted = classification_path(S, sample_weight=s).steps[-1]
    repeated = classification_path(np.repeat(S, s, axis=0)).steps[-1]
    assert_allclose(weighted.weights, repeated.weights, rtol=1e-6)
    assert_allclose(weighted.loo_error, repeated.loo_error)
    F, y = predictions(rng, N=100)
    weighted = regression_path(F, y, sample_weight=s).steps[-1]
    repeated = regression_path(np.repeat(F, s, axis=0), np.repeat(y, s)).steps[-1]
    assert_allclose(weighted.weights, repeated.weights, rtol=1e-6)


def test_moments_are_enough(rng):
    F, y = predictions(rng)
    from_rows = regression_path(F, y)
    moments = given_moments(F.T @ F, F.T @ y, float(y @ y), len(y))
    from_moments = moments_path(moments)
    assert_allclose(
        from_moments.steps[-1].weights, from_rows.steps[-1].weights, rtol=1e-6
    )
    # Without rows the error is cross-validation by the mean leverage.
    assert_allclose(
        from_moments.steps[-1].loo_error, from_rows.steps[-1].loo_error, rtol=0.05
    )
    assert_allclose(
        from_moments.steps[-1].loo_density, from_rows.steps[-1].loo_density, atol=0.05
    )
    assert_allclose(from_moments.steps[-1].loo_se, from_rows.steps[-1].loo_se, rtol=0.5)


def test_error_correlations_give_weights_of_sum_one(rng):
    """As C^-1 1 / (1' C^-1 1), where the prior is weak and no weight is at zero."""
    E = rng.normal(size=(2000, 3)) * [1.0, 1.2, 1.5] + rng.normal(size=(2000, 1))
    C = E.T @ E / len(E)
    step = moments_path(error_moments(C, len(E))).steps[-1]
    expected = np.linalg.solve(C, np.ones(3))
    assert_allclose(step.weights.sum(), 1, rtol=2e-3)
    assert_allclose(step.weights, expected / expected.sum(), atol=0.02)
    # The error is that of the committee, w'Cw = 1 / (1' C^-1 1).
    assert_allclose(step.loo_error, 1 / expected.sum(), rtol=0.02)


def test_cases_of_several_rows(rng):
    S = votes(rng)
    single, grouped = classification_path(S), classification_path(S, group=3)
    assert_allclose(grouped.steps[-1].weights, single.steps[-1].weights)
    assert grouped.steps[-1].loo_error >= single.steps[-1].loo_error


def test_loss_of_stacked_probabilities(rng):
    """K = 3 probability vectors as 3 N rows; the loss is one per case."""
    label = rng.integers(0, 3, size=100)
    target = np.eye(3)[label] - 1 / 3
    F = target[:, None, :] + rng.normal(size=(100, 5, 3))
    stacked = F.transpose(0, 2, 1).reshape(300, 5)

    def wrong(prediction):
        return (prediction.reshape(100, 3).argmax(axis=1) != label).astype(float)

    step = regression_path(stacked, target.ravel(), loss=wrong).steps[-1]
    plain = wrong(stacked @ step.weights).mean()
    assert abs(step.loo_error - plain) <= 0.05


def test_blocks_of_rows_do_not_matter(rng, monkeypatch):
    S = votes(rng)
    whole = classification_path(S)
    monkeypatch.setattr(arrays, "_BLOCK_ELEMENTS", 1)
    assert_allclose(
        classification_path(S).steps[-1].weights, whole.steps[-1].weights, rtol=1e-6
    )


def test_callback_and_limits(rng):
    S = votes(rng, M=30)
    seen = []
    path = classification_path(S, callback=seen.append)
    assert seen == list(path.steps)
    short = classification_path(S, max_iter=3)
    assert len(short) == short.n_iter == 3
    assert not short.converged


def test_price_makes_committees_smaller(rng):
    S = votes(rng, M=30, right=0.6)
    sizes = [classification_path(S, price=p).steps[-1].size for p in (0.0, PRICE, 3.0)]
    assert sizes[0] >= sizes[1] > sizes[2]


def test_rules(rng):
    path = classification_path(votes(rng, M=30))
    error, size = path.error, path.size
    assert preferred(path.steps) is path.steps[int(error.argmin())]
    best = preferred(path.steps, "max-evidence")
    assert best.log_evidence == path.log_evidence.max()
    small = preferred(path.steps, "one-se")
    assert small.size <= preferred(path.steps).size
    assert small.loo_error <= error.min() + preferred(path.steps).loo_se
    assert size[0] == 1
    with pytest.raises(ValueError, match="rule must be one of"):
        preferred(path.steps, "least")


@pytest.mark.parametrize("S", [-np.ones((20, 3)), np.zeros((4, 2))])
def test_the_best_single_member_where_none_helps(S):
    path = classification_path(S)
    check_path(path)
    assert len(path) == 1
    assert path.steps[0].size == 1
    assert path.converged


@pytest.mark.parametrize("M", [1, 3])
@pytest.mark.parametrize("truncated", [True, False])
def test_noise_where_members_are_opposite_to_y(M, truncated, rng):
    """No weight above zero helps, so that all of y is noise; without the sign, little."""
    y = rng.normal(size=200)
    F = -y[:, None] + 0.1 * rng.normal(size=(200, M))
    step = regression_path(F, y, truncated=truncated, rule="min-loo").steps[0]
    residual = np.mean((y - F @ step.weights) ** 2)
    assert step.noise == pytest.approx(residual, rel=0.1)
    all_noise = -100 * np.log(2 * np.pi * np.e * residual)
    assert step.log_evidence == pytest.approx(all_noise, abs=15)


def test_a_member_that_only_abstains_is_not_the_best_single_one():
    """The others are wrong on every row; it has said nothing."""
    S = np.where(np.arange(4) == 2, 0.0, -1.0) * np.ones((20, 1))
    assert classification_path(S).steps[0].active.tolist() == [0]
    assert classification_path(S[:, ::-1]).steps[0].active.tolist() == [0]
    F = np.where(np.arange(4) == 2, 0.0, -1.0) * np.arange(20.0)[:, None]
    assert regression_path(F, np.arange(20.0)).steps[0].active.tolist() == [0]


def test_blas_threads_are_given_back(rng):
    before = [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]
    classification_path(votes(rng))
    after = [(lib["filepath"], lib["num_threads"]) for lib in threadpool_info()]
    assert after == before


@st.composite
def nasty(draw):
    """F and y with all that has ever broken a linear solve."""
    seed = draw(st.integers(0, 2**32 - 1))
    N = draw(st.sampled_from([1, 2, 5, 30]))
    M = draw(st.sampled_from([1, 2, 7, 40]))
    rng = np.random.default_rng(seed)
    y = rng.normal(size=N) + draw(st.sampled_from([0.0, 5.0]))
    spread = draw(st.sampled_from([0.0, 1e-8, 0.3, 5.0]))
    F = y[:, None] * rng.choice([0, 1, -1], size=M) + spread * rng.normal(size=(N, M))
    flaws = st.sampled_from(
        ["duplicate", "constant", "target", "wrong", "zero", "abstains", "one class"]
    )
    for flaw in draw(st.lists(flaws, max_size=2)):
        if flaw == "duplicate":
            F[:, M // 2 :] = F[:, : M - M // 2]
        elif flaw == "constant":
            F[:, ::2] = 1.0
        elif flaw == "target":
            F[:, ::3] = y[:, None]
        elif flaw == "wrong":
            F = -np.abs(F) * np.sign(y)[:, None]
        elif flaw == "zero":
            F[:, -1] = 0.0
        elif flaw == "abstains":
            F[rng.random(N) < 0.5] = 0.0
        else:
            y = np.full(N, draw(st.sampled_from([0.0, 1.0])))
    scales = st.sampled_from([1.0, 1e-150, 1e150, 1e-20, 1e20])
    return F * draw(scales), y, draw(scales)


@given(problem=nasty(), truncated=st.booleans())
@settings(max_examples=100)
def test_nothing_breaks_regression(problem, truncated):
    F, y, scale = problem
    path = regression_path(F, y * scale, truncated=truncated)
    check_path(path, truncated)


@given(problem=nasty(), truncated=st.booleans())
@settings(max_examples=100)
def test_nothing_breaks_classification(problem, truncated):
    F, y, _ = problem
    path = classification_path(np.where(y > 0, 1, -1)[:, None] * F, truncated=truncated)
    check_path(path, truncated)
