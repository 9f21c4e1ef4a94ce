"""What is chosen is judged by nothing that has seen the row."""

import numpy as np
import pytest

from committee.refining.choice import candidates, chosen, judged, refitted
from committee.refining.problem import PLAIN, Settings
from tests.refining.forests import problem_of


@pytest.fixture(scope="module")
def numbers():
    return problem_of(False)


def test_a_target_has_no_part_in_its_own_prediction(numbers):
    """Targets of one fold are changed: outputs on that fold stay as they are."""
    before = next(iter(candidates(numbers)))
    _, judged = numbers.folds[0]
    y = numbers.y.copy()
    y[judged] += 100.0
    changed = type(numbers)(
        *(numbers.nodes, numbers.w, numbers.rows, y, numbers.weight, numbers.held_out)
    )
    after = next(iter(candidates(changed)))
    assert np.array_equal(before.output[judged], after.output[judged])


def test_no_candidate_is_clearly_better_and_none_as_good_is_smaller(numbers):
    choice = chosen(numbers)
    for one in candidates(numbers):
        gap = one.losses(numbers) - choice.losses(numbers)
        assert gap.mean() >= -gap.std() / np.sqrt(len(gap)) - 1e-9
        if gap.mean() <= 0:
            assert one.n_leaves >= choice.n_leaves


@pytest.mark.parametrize("of_classes", [False, True])
def test_an_infinite_ridge_keeps_the_values_of_the_nodes(of_classes):
    problem = problem_of(of_classes)
    settings = chosen(problem).settings._replace(ridge=np.inf, shrink=0.0)
    found = refitted(problem, settings)
    leaves, _ = problem.nodes.columns(found.cut)
    values = found.values / problem.w_of_nodes[:, None]
    np.testing.assert_allclose(values[leaves], problem.nodes.value[leaves], rtol=1e-12)


def test_fewer_leaves_are_judged_as_they_are_fitted(numbers):
    """Without a binding limit it is the same candidate; with one no leaf is too many."""
    choice = chosen(numbers)
    assert choice.cut_to(numbers, choice.n_leaves) is choice
    few = choice.cut_to(numbers, 20)
    assert few.n_leaves <= 20
    assert not np.array_equal(few.output, choice.output)


def test_a_share_of_the_leaves_is_left(numbers):
    """Those whose values differ least are merged, down to one leaf in each tree."""
    settings = Settings(5, 6.0)
    n = refitted(numbers, settings).n_leaves
    half = refitted(numbers, settings._replace(share=0.5))
    assert n // 4 < half.n_leaves <= n // 2
    assert judged(numbers, settings._replace(share=0.5)).n_leaves <= n // 2
    assert refitted(numbers, settings._replace(share=0.0)).n_leaves == len(numbers.w)


def test_trees_that_refining_makes_worse_stay_as_they_are():
    """An output that is always right is better than any refitted one."""
    problem = problem_of(True)
    assert chosen(problem, problem.y).settings == PLAIN
    assert chosen(problem, 1 - problem.y).settings != PLAIN


def test_leaves_are_cut_to_a_number_by_price(numbers):
    found = refitted(numbers, chosen(numbers).settings, max_leaves=20)
    assert len(numbers.nodes.columns(found.cut)[0]) <= 20


def test_classes_of_a_leaf_sum_to_one():
    """The sum over classes solves the same equations with the solution 1."""
    problem = problem_of(True)
    found = refitted(problem, chosen(problem).settings)
    v = found.values / problem.w_of_nodes[:, None]
    np.testing.assert_allclose(v.sum(axis=1), 1, atol=1e-10)


def test_a_node_of_the_least_number_of_rows_stays():
    """Nodes of fewer rows than `least` become leaves; a node of as many keeps its split."""
    problem = problem_of(False)
    nodes = problem.nodes
    n = int(nodes.n_rows[~nodes.leaf].min())
    for least, cut in ((n, False), (n + 1, True)):
        found = refitted(problem, Settings(least, np.inf)).cut
        assert found[~nodes.leaf & (nodes.n_rows == n)].all() == cut
        assert not found[~nodes.leaf & (nodes.n_rows > n)].any()
    found = refitted(problem, Settings(n, np.inf)).cut
    assert not found[~nodes.leaf & (nodes.n_rows == n)].any()
