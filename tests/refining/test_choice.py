"""What is chosen is judged by nothing that has seen the row."""

import numpy as np
import pytest

from committee.refining.choice import candidates, chosen, refitted
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
        gap = one.losses() - choice.losses()
        assert gap.mean() >= -gap.std() / np.sqrt(len(gap)) - 1e-9
        if gap.mean() <= 0:
            assert len(one.cut.leaves) >= len(choice.cut.leaves)


@pytest.mark.parametrize("of_classes", [False, True])
def test_an_infinite_ridge_keeps_the_values_of_the_nodes(of_classes):
    problem = problem_of(of_classes)
    choice = chosen(problem)._replace(ridge=np.inf)
    found = refitted(problem, choice)
    leaves, _ = problem.nodes.columns(found.cut)
    values = found.values / problem.w_of_nodes[:, None]
    np.testing.assert_allclose(values[leaves], problem.nodes.value[leaves], rtol=1e-12)


def test_leaves_are_cut_to_a_number_by_price(numbers):
    found = refitted(numbers, chosen(numbers), max_leaves=20)
    assert len(numbers.nodes.columns(found.cut)[0]) <= 20


def test_classes_of_a_leaf_sum_to_one():
    """The sum over classes solves the same equations with the solution 1."""
    problem = problem_of(True)
    found = refitted(problem, chosen(problem))
    v = found.values / problem.w_of_nodes[:, None]
    np.testing.assert_allclose(v.sum(axis=1), 1, atol=1e-10)
