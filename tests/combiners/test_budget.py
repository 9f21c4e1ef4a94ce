"""BudgetPruner against enumeration, its special cases, and costs that are wrong."""

from itertools import combinations

import numpy as np
import pytest

from committee import (
    BudgetPruner,
    EPPruner,
    GreedyPruner,
    LogPool,
    OptimalWeights,
    RidgeWeights,
    SimplexWeights,
)
from committee.losses import log_losses
from tests.reference.problems import make_held_out, make_problem


def errors(F, y, w):
    return np.mean((F @ w - y) ** 2)


def test_the_best_pair_within_the_budget(rng):
    """Independent errors and unlike costs: the same pair as by trying all of them."""
    y = rng.normal(size=4000)
    sigma, c = np.array([0.5, 0.6, 0.7, 0.8, 2.0]), np.array([9.0, 4.0, 4.0, 5.0, 1.0])
    F = y[:, None] + rng.normal(size=(4000, 5)) * sigma
    pruner = BudgetPruner(SimplexWeights(), costs=c, budget=8.0).fit(F, y)
    tried = {}
    for k in (1, 2, 3):
        for S in map(list, combinations(range(5), k)):
            if c[S].sum() <= 8:
                tried[tuple(S)] = errors(
                    F[:, S], y, SimplexWeights().fit(F[:, S], y).weights_
                )
    assert tuple(pruner.support_) == min(tried, key=tried.get) == (1, 2)


def test_a_member_without_weight_may_replace_the_one_that_leaves(rng):
    """A cheap and noisy copy is worth nothing beside its original, but much without it."""
    y = rng.normal(size=4000)
    F = y[:, None] + rng.normal(size=(4000, 3)) * [0.6, 0.5, 0.0]
    F[:, 2] = F[:, 0] + 0.3 * rng.normal(size=4000)
    assert SimplexWeights().fit(F, y).support_.tolist() == [0, 1]
    pruner = BudgetPruner(SimplexWeights(), costs=[5.0, 5.0, 1.0], budget=6.0)
    assert pruner.fit(F, y).support_.tolist() == [1, 2]


def test_a_member_leaves_by_what_it_is_worth_for_its_cost(rng):
    """Two members are worth the same; the one that costs more goes."""
    y = rng.normal(size=3000)
    F = y[:, None] + 0.5 * rng.normal(size=(3000, 3))
    for dear in range(3):
        c = np.where(np.arange(3) == dear, 3.0, 1.0)
        kept = BudgetPruner(SimplexWeights(), costs=c, budget=4.0).fit(F, y).support_
        assert dear not in kept
        assert len(kept) == 2


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
def test_a_budget_for_all_changes_nothing(kind):
    F, y = make_problem(kind)
    combiner = RidgeWeights() if kind == "regression" else LogPool()
    pruner = BudgetPruner(costs=np.ones(7), budget=7.0).fit(F, y)
    plain = combiner.fit(F, y)
    np.testing.assert_allclose(pruner.weights_, plain.weights_)
    np.testing.assert_allclose(pruner.combine(F), plain.combine(F))
    if kind != "regression":
        output = plain.combine(F)
        np.testing.assert_allclose(
            pruner.probabilities(output), plain.probabilities(output)
        )


@pytest.mark.parametrize("kind", ["binary", "multiclass", "regression"])
@pytest.mark.parametrize("budget", [1, 2, 4])
def test_without_costs_the_budget_is_a_number_of_members(kind, budget):
    F, y = make_problem(kind)
    assert 1 <= len(BudgetPruner(budget=budget).fit(F, y).support_) <= budget


def test_units_of_the_costs_do_not_matter():
    F, y = make_problem("multiclass")
    c = np.array([3.0, 1, 4, 1, 5, 9, 2])
    one = BudgetPruner(costs=c, budget=8.0).fit(F, y).weights_
    other = BudgetPruner(costs=c * 1e-6, budget=8e-6).fit(F, y).weights_
    np.testing.assert_allclose(one, other)


@pytest.mark.parametrize(
    "combiner",
    [GreedyPruner(scoring="neg_log_loss"), EPPruner(pool="votes"), OptimalWeights()],
)
def test_any_combiner_and_a_mask(combiner):
    F, y = make_problem("binary")
    pruner = BudgetPruner(combiner, budget=3.0)
    pruner.fit(F, y, held_out=make_held_out(len(y)))
    assert 1 <= len(pruner.support_) <= 3
    p = pruner.probabilities(pruner.combine(F))
    assert np.isfinite(log_losses(p, y)).all()


def test_costs_that_cannot_be():
    F, y = make_problem("regression")
    for wrong in ([1.0, 2.0], [np.nan] * 7, [-1.0] * 7, ["a"] * 7):
        with pytest.raises(
            ValueError, match="finite number of at least 0 for each of 7"
        ):
            BudgetPruner(costs=wrong).fit(F, y)
    with pytest.raises(
        ValueError, match="No member costs at most budget=1; the smallest cost is"
    ):
        BudgetPruner(costs=[2.0] * 7).fit(F, y)
    assert len(BudgetPruner(costs=[0.0] * 7, budget=1e-9).fit(F, y).support_) > 1


def test_a_path_takes_costs_of_its_members():
    F, y = make_problem("binary")
    path = EPPruner(pool="votes").fit(F, y).path_
    c = np.arange(1.0, 8.0)
    for limit in (7.0, 12.0, 28.0):
        for name, costs in (("max_seconds", "seconds"), ("max_bytes", "n_bytes")):
            w = path.choose(**{name: limit, costs: c})
            assert c[w != 0].sum() <= limit
    with pytest.raises(ValueError, match=r"max_seconds needs the cost.*seconds="):
        path.choose(max_seconds=1.0)
    for wrong in ([1.0], ["a"] * 7):
        with pytest.raises(ValueError, match="one finite number for each of 7 members"):
            path.choose(max_bytes=1.0, n_bytes=wrong)
