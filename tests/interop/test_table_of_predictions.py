import numpy as np
import pytest

from committee import EPPruner, Predictions
from committee.interop.table_of_predictions import assembled


def test_labels_become_codes_also_where_files_hold_them_as_text():
    known = Predictions(["a"], np.zeros((2, 1, 3)), np.array(["10", "2", "x"]))
    assert known.codes(["x", "10", 2]).tolist() == [2, 0, 1]
    assert known.codes(np.array([10, 2])).tolist() == [0, 1]
    assert known.codes(np.array([10.0, 2.0])).tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"the label '7'.*of 10, 2, x"):
        known.codes([2, 7])
    with pytest.raises(ValueError, match="give y to the combiner as it is"):
        Predictions(["a"], np.zeros((2, 1))).codes([1, 2])


def test_weights_by_name_are_those_that_count():
    known = Predictions(["a", "b", "c"], np.zeros((2, 3)))
    assert list(known.by_name([0.1, 0.0, -0.7]).items()) == [("c", -0.7), ("a", 0.1)]
    with pytest.raises(ValueError, match=r"each of 3 members. Got 2"):
        known.by_name([1.0, 2.0])


def test_one_column_of_two_classes_is_that_of_the_second():
    both = np.array([[0.9, 0.1], [0.2, 0.8]])
    made = assembled({"a": both[:, 1], "b": both, "c": both[:, 1:]}, ["no", "yes"])
    np.testing.assert_allclose(made.F, np.stack([both] * 3, axis=1))
    assert made.held_out is None


def test_rows_of_nan_are_rows_without_a_vote(rng):
    y = rng.integers(0, 2, 60)
    p = np.clip(y[:, None] * 0.6 + 0.4 * rng.random((60, 3)), 0, 1)
    p[::2, 0] = np.nan
    made = assembled({f"m{m}": p[:, m] for m in range(3)}, [0, 1])
    np.testing.assert_array_equal(made.held_out, ~np.isnan(p))
    assert np.isfinite(made.F).all()
    EPPruner().fit(made.F, y, held_out=made.held_out)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([[0.5, np.nan], [0.5, 0.5]], "b has rows that are infinite, or NaN for some"),
        ([[np.inf, 0.0], [0.5, 0.5]], "b has rows that are infinite"),
        (np.full((2, 2), np.nan), "b has no predictions"),
        ([[0.5, 0.5], [-2.0, 3.0]], r"b has \[-2.0, 3.0\] in row 1.*take a softmax"),
        ([[50.0, 50.0], [0.5, 0.5]], "b has .* in row 0, which are no probabilities"),
        (np.zeros((3, 2)), r"b has predictions of shape \(3, 2\), a of shape \(2, 2\)"),
        (np.zeros((2, 3)), r"b has predictions of shape \(2, 3\), a"),
    ],
)
def test_what_does_not_fit_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        assembled({"a": np.full((2, 2), 0.5), "b": np.array(values)}, None)


def test_as_many_columns_as_classes():
    with pytest.raises(ValueError, match="there are 3 classes: one column for each"):
        assembled({"a": np.zeros((4, 2))}, ["x", "y", "z"])
    with pytest.raises(ValueError, match="there are 3 classes"):
        assembled({"a": np.zeros(4)}, ["x", "y", "z"])
