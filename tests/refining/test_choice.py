"""Settings are chosen, and errors measured, on rows that had no part in them."""

from dataclasses import replace

import numpy as np
import pytest

from committee.refining import choice as choice_module
from committee.refining.choice import candidates, chosen, judged, refitted
from committee.refining.problem import PLAIN, Settings
from tests.refining.forests import problem_of


@pytest.fixture(scope="module")
def numbers():
    return problem_of(False)


def test_a_target_has_no_part_in_its_own_prediction(numbers):
    """Targets of one fold are changed: outputs on that fold stay as they are."""
    before = next(iter(candidates([numbers])))
    _, judged = numbers.folds[0]
    y = numbers.y.copy()
    y[judged] += 100.0
    changed = type(numbers)(
        *(numbers.nodes, numbers.w, numbers.rows, y, numbers.weight, numbers.held_out)
    )
    after = next(iter(candidates([changed])))
    assert np.array_equal(before.output[judged], after.output[judged])


def test_trees_that_have_not_seen_a_row_stand_for_all(numbers):
    """The second row has 3 of 4 votes by weight, so that these count 4 / 3 times."""
    mask = np.array([[True, True], [False, True], [False, False]])
    w = np.array([1.0, 3.0])
    one = replace(numbers, held_out=mask, w=w, y=numbers.y[:3])
    np.testing.assert_allclose(one.share, [[1, 1], [0, 4 / 3], [0, 0]])


def test_no_candidate_is_clearly_better_and_none_as_good_is_smaller(numbers):
    found = list(candidates([numbers]))
    best = choice_module._best_of_numbers(found, numbers.weight, None)
    for one in found:
        gap = one.losses - best.losses
        assert gap.mean() >= -gap.std() / np.sqrt(len(gap)) - 1e-9
        if gap.mean() <= 0:
            assert one.n_leaves >= best.n_leaves


@pytest.mark.parametrize("of_classes", [False, True])
def test_an_infinite_ridge_keeps_the_values_of_the_nodes(of_classes):
    problem = problem_of(of_classes)
    settings = chosen([problem]).settings._replace(ridge=np.inf, shrink=0.0)
    found = refitted(problem, settings)
    leaves, _ = problem.nodes.columns(found.cut)
    values = found.values / problem.w_of_nodes[:, None]
    np.testing.assert_allclose(values[leaves], problem.nodes.value[leaves], rtol=1e-12)


def test_fewer_leaves_are_judged_as_they_are_fitted(numbers):
    """Without a binding limit it is the same candidate; with one no leaf is too many."""
    settings = Settings(10, 6.0)
    free = judged([numbers], settings)
    same = judged([numbers], settings, free.n_leaves)
    assert np.array_equal(same.losses, free.losses)
    few = judged([numbers], settings, 20)
    assert few.n_leaves <= 20
    assert not np.array_equal(few.output, free.output)
    assert chosen([numbers], 20).after.n_leaves <= 20


def test_a_share_of_the_leaves_is_left(numbers):
    """Those whose values differ least are merged, down to one leaf in each tree."""
    settings = Settings(5, 6.0)
    n = refitted(numbers, settings).n_leaves
    half = refitted(numbers, settings._replace(share=0.5))
    assert n // 4 < half.n_leaves <= n // 2
    assert judged([numbers], settings._replace(share=0.5)).n_leaves <= n // 2
    assert refitted(numbers, settings._replace(share=0.0)).n_leaves == len(numbers.w)


def with_losses(one, losses):
    """Return a candidate with other losses, of numbers."""
    return replace(
        one, losses=losses, squares=losses, output=one.output + losses[:, None]
    )


def choice_of(problem, monkeypatch, refined, plain, max_leaves=None):
    """Return the choice among candidates of these losses, the first with fewest leaves."""
    one = judged([problem], Settings(20, 6.0))
    found = [
        replace(
            with_losses(one, losses),
            settings=one.settings._replace(ridge=float(n + 1)),
            n_leaves=10 + n,
        )
        for n, losses in enumerate(refined)
    ]
    stays = replace(with_losses(one, plain), settings=PLAIN, n_leaves=1000)
    monkeypatch.setattr(choice_module, "candidates", lambda problems: found)
    monkeypatch.setattr(choice_module, "judged", lambda *args, **options: stays)
    return chosen([problem], max_leaves)


def test_rows_are_predicted_by_what_other_rows_choose(numbers, monkeypatch):
    """The first of two is good on one fold only: there others choose the second."""
    N, (_, own) = len(numbers.y), numbers.folds[0]
    first, second = np.full(N, 5.0), np.full(N, 1.0)
    first[own] = 0.0
    # On all rows, and without fold 1 or 2, the first is worse than the second.
    found = choice_of(numbers, monkeypatch, [first, second], np.full(N, 9.0))
    assert found.settings.ridge == 2.0
    assert found.after.losses.tolist() == second.tolist()
    # The first is better but on fold 0: fold 0 is predicted by the first all the same.
    first, second = np.full(N, 0.0), np.full(N, 1.0)
    first[own] = 2.5
    found = choice_of(numbers, monkeypatch, [first, second], np.full(N, 9.0))
    assert np.array_equal(found.after.losses[own], first[own])


def test_the_last_comparison_of_two_is_nested(numbers, monkeypatch):
    """Refined trees are good on fold 0 only: other folds keep the trees as they are.

    On all rows refined trees have 4.9 less error on fold 0 and 1 more on the others, so
    that they are taken with five folds. Without fold 0 they are not: there the error is
    that of the trees as they are. Without another fold they are.
    """
    N, (_, own) = len(numbers.y), numbers.folds[0]
    refined, plain = np.full(N, 6.0), np.full(N, 5.0)
    refined[own] = 0.1
    found = choice_of(numbers, monkeypatch, [refined], plain)
    assert found.settings != PLAIN
    assert np.array_equal(found.refined.losses, refined)
    assert np.array_equal(found.plain.losses, plain)
    expected = np.where(np.isin(np.arange(N), own), plain, refined)
    assert np.array_equal(found.after.losses, expected)
    # What is delivered is not mixed: outputs are those of the settings that are taken.
    assert np.array_equal(found.after.output, found.refined.output)


def test_the_error_of_the_better_of_two_is_not_too_small(numbers, monkeypatch):
    """Of two with the same expected loss, 0.1 in each row, in 400 draws.

    The smaller mean is too small by s / sqrt(2 pi) with s the standard error of the
    difference, 0.0155; the standard error of a mean over draws is 0.0011.
    """
    rng, N = np.random.default_rng(0), len(numbers.y)
    found, least = [], []
    for _ in range(400):
        pair = (rng.random((2, N)) < 0.1).astype(float)
        found.append(choice_of(numbers, monkeypatch, pair[:1], pair[1]).after.losses)
        least.append(pair.mean(axis=1).min())
    se = np.sqrt(0.1 * 0.9 / N / 400)
    assert np.mean(least) < 0.1 - 5 * se
    assert np.mean(found) == pytest.approx(0.1, abs=4 * se)


def test_trees_that_refining_makes_worse_stay_as_they_are(numbers, monkeypatch):
    """By however little; unless there are more leaves than are allowed."""
    N = len(numbers.y)
    worse, same, better = (np.full(N, x) for x in (1.001, 1.0, 0.999))
    plain = np.full(N, 1.0)
    assert choice_of(numbers, monkeypatch, [worse], plain).settings == PLAIN
    assert choice_of(numbers, monkeypatch, [same], plain).settings != PLAIN
    assert choice_of(numbers, monkeypatch, [better], plain).settings != PLAIN
    assert choice_of(numbers, monkeypatch, [worse], plain, 500).settings != PLAIN
    assert choice_of(numbers, monkeypatch, [worse], plain, 1000).settings == PLAIN


def test_numbers_are_not_cut_further_than_the_trees_as_they_are(numbers, monkeypatch):
    """The fewest leaves within one standard error, but of those not worse than plain."""
    N = len(numbers.y)
    noise = np.zeros(N)  # a standard error of 0.27, and no mean in any fold
    for _, rows in numbers.folds:
        noise[rows] = np.where(np.arange(len(rows)) % 2, 3.0, -3.0)
    few, best, plain = 5.2 + noise, np.full(N, 5.0), np.full(N, 5.1)
    found = choice_of(numbers, monkeypatch, [few, best], plain)
    assert found.settings.ridge == 2.0
    found = choice_of(numbers, monkeypatch, [few, best], plain + 0.2)
    assert found.settings.ridge == 1.0


def test_leaves_are_cut_to_a_number_by_price(numbers):
    found = refitted(numbers, chosen([numbers]).settings, max_leaves=20)
    assert len(numbers.nodes.columns(found.cut)[0]) <= 20


def test_classes_of_a_leaf_sum_to_one():
    """The sum over classes solves the same equations with the solution 1."""
    problem = problem_of(True)
    found = refitted(problem, chosen([problem]).settings)
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


def test_other_settings_of_classes_must_be_clearly_better_than_the_first(monkeypatch):
    """By two standard errors of the mean difference, in all folds."""
    problem = problem_of(True)
    N = len(problem.y)
    first, noise = np.full(N, 5.0), np.zeros(N)
    for _, rows in problem.folds:  # no mean in any fold
        noise[rows[: len(rows) // 2 * 2]] = np.tile([1.0, -1.0], len(rows) // 2)
    se = noise.std() / np.sqrt(N)
    for better, ridge in [(0.5 * se, 1.0), (-0.5 * se, 1.0), (5.0 * se, 2.0)]:
        second = first + noise - better
        found = choice_of(problem, monkeypatch, [first, second], np.full(N, 9.0))
        assert found.refined.settings.ridge == ridge
