"""The weights, their order and the spread of the posterior."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestRegressor, StackingRegressor
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from committee import (
    ARDPruner,
    Average,
    CommitteeRegressor,
    EPPruner,
    MCMCPruner,
    Pool,
    SimplexWeights,
    WeightsDisplay,
    prune,
)


def tick_labels(display):
    return [text.get_text() for text in display.ax_.get_yticklabels()]


@pytest.mark.parametrize("pruner", [EPPruner(), ARDPruner()])
def test_spread_is_that_of_the_posterior(pruner, regression_problem, drawn):
    pruner.fit(*regression_problem)
    display = drawn(WeightsDisplay.from_estimator(pruner))
    step, unit = pruner.posterior_, pruner.weights_.sum()
    # Weights are drawn as shares.
    assert display.weights == pytest.approx(pruner.weights_ / unit)
    assert display.std[step.active] == pytest.approx(np.sqrt(np.diag(step.cov)) / unit)
    dropped = np.setdiff1d(np.arange(7), step.active)
    assert not display.std[dropped].any()
    assert display.ax_.get_xlabel() == "weight ± posterior standard deviation"


def test_spread_of_draws_is_theirs(regression_problem):
    mcmc = MCMCPruner(n_samples=50, n_chains=2, random_state=0)
    mcmc.fit(*regression_problem)
    display = WeightsDisplay.from_estimator(mcmc)
    draws = mcmc.samples_.reshape(-1, len(mcmc.support_))
    std = draws.std(axis=0) / mcmc.weights_.sum()
    assert display.std[mcmc.support_] == pytest.approx(std)


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_draws_may_choose_another_committee_than_ep():
    rng = np.random.default_rng(3)
    y = rng.normal(size=40)
    F = y[:, None] + rng.normal(size=(40, 7))
    mcmc = MCMCPruner(n_samples=50, n_chains=2, random_state=3, loo="draws").fit(F, y)
    assert len(mcmc.support_) < len(mcmc.ep_.support_)
    display = WeightsDisplay.compute(mcmc)
    draws = mcmc.samples_.reshape(-1, len(mcmc.support_))
    std = draws.std(axis=0) / mcmc.weights_.sum()
    assert display.std[mcmc.support_] == pytest.approx(std)


@pytest.mark.parametrize("combiner", [SimplexWeights(), EPPruner(votes="equal")])
def test_votes_and_plain_weights_have_no_spread(combiner, regression_problem, drawn):
    display = drawn(WeightsDisplay.from_estimator(combiner.fit(*regression_problem)))
    assert display.std is None
    assert display.ax_.get_xlabel() == "weight"


def test_a_pruned_committee_shows_all_that_it_was_pruned_from(rng, drawn):
    X = rng.normal(size=(120, 3))
    forest = RandomForestRegressor(30, random_state=0).fit(X[:60], X[:60, 0])
    small = prune(forest, X[60:], X[60:, 0])
    display = drawn(WeightsDisplay.from_estimator(small))
    assert len(display.weights) == 30
    assert np.array_equal(np.sort(display.order), small.support_)
    assert np.all(display.std[small.support_] > 0)
    # The posterior is that of one committee of the path only.
    smallest = small.path_.choose(max_members=1)
    other = drawn(WeightsDisplay.from_estimator(smallest))
    assert other.order.tolist() == smallest.support_.tolist()
    assert other.std is None


def test_largest_weights_come_first_whatever_their_sign(drawn):
    display = drawn(WeightsDisplay([0.1, -0.9, 0.0, 0.5]).plot())
    assert display.order.tolist() == [1, 3, 0]
    assert tick_labels(display) == ["1", "3", "0"]
    assert display.ax_.get_title() == "3 of 4 members"
    top, bottom = display.ax_.get_ylim()
    assert top > bottom  # the first is on top


def test_names_of_columns_and_of_a_pool(regression_problem, rng):
    F, y = regression_problem
    frame = pd.DataFrame(F, columns=[f"m_{i} $" for i in range(7)])
    named = WeightsDisplay.from_estimator(Average().fit(frame, y))
    assert tick_labels(named)[0] == r"m_0 \$"
    X = rng.normal(size=(40, 2))
    pool = Pool([("tree", DecisionTreeRegressor()), ("ridge", Ridge())])
    committee = CommitteeRegressor(generator=pool).fit(X, X[:, 0])
    assert WeightsDisplay.from_estimator(committee).names == ["tree", "ridge"]
    given = WeightsDisplay.from_estimator(committee, names=["a", "b"])
    assert given.names == ["a", "b"]


def test_a_sparse_committee_of_many_is_named(drawn):
    w = np.zeros(500)
    w[[17, 401]] = 0.5
    display = drawn(WeightsDisplay(w).plot())
    assert tick_labels(display) == ["17", "401"]
    assert display.ax_.get_title() == "2 of 500 members"


def test_wrong_input_is_refused():
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(EPPruner())
    with pytest.raises(ValueError, match=r"each of the 2 members. Got 1"):
        WeightsDisplay([0.5, 0.5], names=["a"])
    with pytest.raises(ValueError, match=r"each of the 2 members"):
        WeightsDisplay([0.5, 0.5], std=[1.0])


def test_a_forest_votes_as_equals_inside_a_pipeline_or_a_search_too(rng):
    X = rng.normal(size=(40, 2))
    forest = RandomForestRegressor(6, random_state=0)
    search = GridSearchCV(forest, {"max_depth": [2]}, cv=2)
    for model in (forest, search, make_pipeline(StandardScaler(), forest)):
        display = WeightsDisplay.from_estimator(model.fit(X, X[:, 0]))
        assert display.weights == pytest.approx([1 / 6] * 6)
    committee = CommitteeRegressor(combiner=SimplexWeights(), random_state=0)
    pipeline = make_pipeline(StandardScaler(), committee).fit(X, X[:, 0])
    display = WeightsDisplay.from_estimator(pipeline)
    shares = display.weights[display.weights != 0]
    np.testing.assert_allclose(shares, pipeline[-1].weights_, rtol=1e-12)
    with pytest.raises(NotFittedError):
        WeightsDisplay.from_estimator(RandomForestRegressor())


def test_a_second_layer_has_no_weights(rng):
    X = rng.normal(size=(40, 2))
    stack = StackingRegressor([("a", Ridge()), ("b", LinearRegression())], cv=2)
    with pytest.raises(TypeError, match=r"StackingRegressor does not average"):
        WeightsDisplay.from_estimator(stack.fit(X, X[:, 0]))


def test_many_weights_of_both_signs_have_a_line_each(rng, drawn):
    w = rng.normal(size=120)
    display = drawn(WeightsDisplay(w, std=np.abs(w) / 2).plot())
    stems, spread = display.ax_.collections
    largest = w[display.order]
    ends = np.array([segment[:, 0] for segment in stems.get_segments()])
    assert ends == pytest.approx(np.column_stack([np.zeros(120), largest]))
    ends = np.array([segment[:, 0] for segment in spread.get_segments()])
    half = np.abs(largest) / 2
    assert ends == pytest.approx(np.column_stack([largest - half, largest + half]))
    assert stems.get_rasterized()


def test_many_equal_weights_are_one_bar(drawn):
    w = np.r_[0.5, np.full(12, 0.04), 0.01, 0.01]
    display = drawn(WeightsDisplay(w).plot())
    assert [len(bar) for bar in display.bars] == [1, 12, 1, 1]
    assert tick_labels(display) == ["0", "12 members, each", "13", "14"]
    assert display.ax_.get_title() == "15 of 15 members"
    # A posterior has a spread for each.
    assert len(WeightsDisplay(w, std=w / 2).bars) == 15
