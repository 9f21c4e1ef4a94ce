import numpy as np
import pytest
from hypothesis import given, settings

from committee import GreedyPruner, SimplexWeights
from tests.reference import errors, search
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem

kinds = pytest.mark.parametrize("kind", KINDS)


def squared_error(y, K=None):
    target = y if K is None else np.eye(K)[y]
    return lambda f: ((f - target) ** 2).sum() / len(y)


@kinds
@pytest.mark.parametrize("n_initial", [1, 3, 20])
def test_against_the_plain_loop(kind, n_initial):
    F, y = make_problem(kind)
    error = squared_error(y, F.shape[2] if F.ndim == 3 else None)
    picks, path = search.greedy(F, error, 15, n_initial)
    pruner = GreedyPruner(15, n_initial=n_initial).fit(F, y)
    assert pruner.order_.tolist() == picks
    np.testing.assert_allclose(pruner.path_.error, path, rtol=1e-10)
    best = int(np.argmin(path))
    counts = np.bincount(picks[: best + 1], minlength=7)
    np.testing.assert_allclose(pruner.weights_, counts / (best + 1), rtol=1e-14)


def test_uncorrelated_members_are_picked_by_their_precision():
    """Errors of variance 1 and 4: the best weights are 4/5 and 1/5."""
    E = np.array([[1.0, 2.0], [1.0, -2.0], [-1.0, 2.0], [-1.0, -2.0]])
    pruner = GreedyPruner(5).fit(E, np.zeros(4))
    assert pruner.order_.tolist() == [0, 0, 1, 0, 0]
    assert pruner.weights_.tolist() == [0.8, 0.2]
    np.testing.assert_allclose(pruner.path_.error, [1, 1, 8 / 9, 13 / 16, 0.8])


@kinds
def test_squared_error_nears_the_simplex_weights(kind):
    F, y = make_problem(kind)
    known = {"held_out": make_held_out()}
    for given_rows in ({}, known):
        simplex = SimplexWeights().fit(F, y, **given_rows)
        greedy = GreedyPruner(300).fit(F, y, **given_rows)
        assert simplex.error_ <= greedy.path_.error.min() * (1 + 1e-9)
        assert greedy.path_.error.min() <= simplex.error_ * 1.002


def test_held_out_rows_are_those_of_the_shrunk_correlation(regression_problem):
    F, y = regression_problem
    held_out = make_held_out()
    C = errors.shrunk_correlation(F, y, held_out, None)
    pruner = GreedyPruner(10).fit(F, y, held_out=held_out)
    counts = np.bincount(pruner.order_, minlength=7)
    assert pruner.path_.error[-1] == pytest.approx(counts @ C @ counts / 100)


def test_path_chooses_by_size(multiclass_problem):
    path = GreedyPruner(30).fit(*multiclass_problem).path_
    assert path.size[0] == 1
    assert np.all(np.diff(path.size) >= 0)
    assert np.count_nonzero(path.choose(max_members=2)) <= 2
    assert path.choose().sum() == pytest.approx(1)
    with pytest.raises(ValueError, match="max_members must be a positive number"):
        path.choose(max_members=0)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"n_steps": 0}, "n_steps"),
        ({"scoring": "no such score"}, "scoring"),
        ({"n_initial": 0}, "n_initial"),
    ],
)
def test_options_are_checked(wrong, message, regression_problem):
    with pytest.raises(ValueError, match=f"'{message}' parameter of GreedyPruner"):
        GreedyPruner(**wrong).fit(*regression_problem)


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    fit_or_refuse(GreedyPruner(10, n_initial=3), *case)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    for scoring in (None, "accuracy", "neg_log_loss"):
        fit_or_refuse(GreedyPruner(5, scoring=scoring), *case)
