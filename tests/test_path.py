"""One path, one rule to choose from it."""

import pickle
import re
import sys
from dataclasses import replace

import numpy as np
import pytest

from committee import EPPruner, GreedyPruner, OrderPruner, PruningPathDisplay
from committee.path import Path, as_equal_votes


def make_path(error, se, size=None):
    """A path whose k-th committee has `size[k]` members."""
    size = np.arange(1, len(error) + 1) if size is None else np.array(size)
    W = np.tri(max(size))[size - 1] / size[:, None]
    return Path(W, np.array(error, float), np.array(se, float), "error rate")


def chosen(path, **limits):
    return int(np.count_nonzero(path.choose(**limits)))


def test_the_largest_is_taken_unless_a_smaller_is_clearly_better():
    """Three standard errors of the difference make it clear."""
    near = make_path([0.30, 0.20, 0.22, 0.21], [0.02] * 4)
    assert chosen(near) == 4
    assert chosen(near, max_members=3) == 3
    clear = make_path([0.30, 0.10, 0.22, 0.21], [0.02] * 4)
    assert chosen(clear) == 2
    assert chosen(clear, max_members=1) == 1


def test_without_a_spread_the_least_error_decides():
    path = make_path([0.3, 0.1, 0.2], [np.nan] * 3)
    assert chosen(path) == 2


def test_size_is_given_up_while_the_error_is_near():
    """From the largest downwards; one that passes below one that fails was lucky."""
    path = make_path([0.205, 0.30, 0.24, 0.21, 0.20], [0.02] * 5)
    assert [chosen(path, within_se=t) for t in (0.0, 0.4, 1.0, 2.0, 9.0)] == [
        5,
        5,
        4,
        3,
        1,
    ]


def test_of_one_size_the_least_error_is_taken():
    path = make_path([0.3, 0.2, 0.1, 0.2], [0.5] * 4, size=[1, 2, 2, 2])
    at = int(np.flatnonzero((path.weights == path.choose()).all(axis=1))[0])
    assert path.size.tolist() == [1, 2, 2, 2]
    assert at in (1, 2, 3)
    assert path.step_within(4) == 2


def test_infinite_errors_and_unknown_ones():
    """No row counts at size one: any other size is as good as it gets."""
    path = make_path([np.inf, 0.2, np.nan], [np.nan, 0.1, np.nan])
    assert chosen(path, max_members=2) == 2
    assert chosen(path, max_members=1) == 1


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"max_members": 0}, "max_members must be a positive number"),
        ({"within_se": -1.0}, "within_se must be at least 0"),
        ({"max_bytes": 10}, "max_bytes needs the cost of each member"),
        ({"max_seconds": 1.0}, "max_seconds needs the cost of each member"),
    ],
)
def test_wrong_limits(limits, message):
    with pytest.raises(ValueError, match=message):
        make_path([0.1, 0.2], [0.1, 0.1]).choose(**limits)


def test_no_committee_is_small_enough():
    path = make_path([0.1, 0.2], [0.1, 0.1], size=[3, 4])
    with pytest.raises(ValueError, match="max_members=2; the least is 3"):
        path.choose(max_members=2)


@pytest.mark.parametrize(
    ("combiner", "measure"),
    [
        (EPPruner(), "leave-one-out error rate"),
        (EPPruner(votes="equal"), "leave-one-out error rate"),
        (OrderPruner("best", 3), "error rate"),
        (GreedyPruner(), "squared error of probabilities"),
        (GreedyPruner(scoring="accuracy"), "minus accuracy"),
    ],
    ids=repr,
)
def test_every_pruner_has_the_same_path(combiner, measure, rng):
    y = rng.integers(0, 2, 80)
    right = rng.random((80, 6)) < 0.75
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    path = combiner.fit(F, y).path_
    S = len(path)
    assert path.weights.shape == (S, 6)
    for values in (path.error, path.error_se, path.log_evidence, path.size):
        assert values.shape == (S,)
    assert path.measure == measure
    assert np.isnan(path.log_evidence).all() == (not isinstance(combiner, EPPruner))
    assert path.n_bytes is path.seconds_per_row is None
    np.testing.assert_array_equal(path[path.chosen].weights, combiner.weights_)
    most = path.choose()
    assert most.shape == (6,)
    assert np.count_nonzero(path.choose(max_members=2)) <= 2
    assert "6 members" not in repr(path) or path.size.max() == 6
    again = pickle.loads(pickle.dumps(path))
    np.testing.assert_array_equal(again.weights, path.weights)


def test_equal_votes():
    W = np.array([[0.0, 0.3, 0.1], [2.0, 0.0, 0.0]])
    assert as_equal_votes(W).tolist() == [[0, 0.5, 0.5], [1, 0, 0]]
    assert as_equal_votes(W[0]).tolist() == [0, 0.5, 0.5]


def test_a_path_is_a_sequence_of_points():
    path = make_path([0.3, 0.2, 0.25], [0.03, np.nan, 0.02])
    assert len(path) == len(list(path)) == 3
    last = path[-1]
    assert (last.size, last.error, last.error_se) == (3, 0.25, 0.02)
    assert np.isnan(last.log_evidence)
    assert last.weights.tolist() == [1 / 3, 1 / 3, 1 / 3]
    assert [point.size for point in path[1:]] == [2, 3]
    assert [point.size for point in path[::-2]] == [3, 1]
    assert "weights" not in repr(last)
    with pytest.raises(IndexError, match=r"The path has 3 steps. Got index -4"):
        path[-4]


def test_a_number_is_a_limit_of_members():
    path = make_path([0.3, 0.2, 0.1], [0.02] * 3)
    np.testing.assert_array_equal(path.choose(2), path.choose(max_members=2))


def test_the_weights_of_a_step_are_marked():
    path = make_path([0.3, 0.2, 0.25], [0.03, np.nan, 0.02])
    assert path.chosen is None
    assert path.at(np.array([0.5, 0.5, 0.0])).chosen == 1
    assert path.at(np.array([0.5, 0.4, 0.0])).chosen is None
    assert repr(path.at(np.array([0.5, 0.5, 0.0]))) == (
        "Path of 3 committees, 1 to 3 members\n"
        "members      error rate\n"
        "      1  30.00 ± 3.00 %\n"
        "      2         20.00 %  chosen\n"
        "      3  25.00 ± 2.00 %"
    )


def test_a_notebook_shows_the_rows_of_print():
    path = make_path(np.linspace(0.3, 0.1, 30), [0.01] * 30)
    path = replace(path, chosen=14)
    sizes = [1, 2, 3, 4, 5, None, 15, None, 26, 27, 28, 29, 30]
    lines = repr(path).splitlines()[2:]
    cells = re.findall(r"<tr><td[^>]*>([^<]*)</td>", path._repr_html_())
    for n, line, cell in zip(sizes, lines, cells, strict=True):
        assert line.split()[0] == cell == ("..." if n is None else str(n))
    (bold,) = re.findall(r'right;font-weight:bold">(\d+)</td>', path._repr_html_())
    assert bold == "15"


def test_names_in_html_are_escaped():
    path = replace(make_path([0.1], [0.1]), own_measure="<script>x</script>")
    assert "<script>" not in path._repr_html_()
    assert "&lt;script&gt;" in path._repr_html_()


def test_a_path_becomes_a_data_frame(monkeypatch):
    pytest.importorskip("pandas")
    path = make_path([0.3, 0.2, 0.25], [0.03, np.nan, 0.02])
    frame = path.to_frame()
    assert frame.index.name == "step"
    assert list(frame) == ["size", "error", "error_se", "log_evidence"]
    np.testing.assert_array_equal(frame["size"], [1, 2, 3])
    np.testing.assert_array_equal(frame["error_se"], [0.03, np.nan, 0.02])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match="to_frame needs pandas: pip install pandas"):
        path.to_frame()


def test_a_path_draws_itself():
    pytest.importorskip("matplotlib").use("Agg")
    path = replace(make_path([0.3, 0.2, 0.25], [0.03] * 3), chosen=1)
    display = path.plot()
    assert isinstance(display, PruningPathDisplay)
    assert display.error.tolist() == [0.3, 0.2, 0.25]
    assert display.chosen == 2
    assert path.plot(display.ax_).ax_ is display.ax_
    display.figure_.clear()
