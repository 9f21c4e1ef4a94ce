"""Predictions of members that other tools trained."""

import pickle

import numpy as np
import pytest

from committee import (
    EPPruner,
    LogPool,
    read_predictions,
)
from committee.interop.external_predictions import Predictions, assembled


def test_labels_become_codes_also_where_files_hold_them_as_text():
    known = Predictions(["a"], np.zeros((2, 1, 3)), np.array(["10", "2", "x"]))
    assert known.codes(["x", "10", 2]).tolist() == [2, 0, 1]
    assert known.codes(np.array([10, 2])).tolist() == [0, 1]
    assert known.codes(np.array([10.0, 2.0])).tolist() == [0, 1]
    with pytest.raises(ValueError, match=r"the label '7'.*classes 10, 2, x"):
        known.codes([2, 7])
    with pytest.raises(ValueError, match="pass y to the combiner unchanged"):
        Predictions(["a"], np.zeros((2, 1))).codes([1, 2])


def test_weights_by_name_are_those_that_count():
    known = Predictions(["a", "b", "c"], np.zeros((2, 3)))
    assert list(known.by_name([0.1, 0.0, -0.7]).items()) == [("c", -0.7), ("a", 0.1)]
    with pytest.raises(ValueError, match=r"each of 3 members. Got 2"):
        known.by_name([1.0, 2.0])


def test_one_column_of_two_classes_is_that_of_the_second():
    both = np.array([[0.9, 0.1], [0.2, 0.8]])
    made = assembled({"a": both[:, 1], "b": both}, ["no", "yes"])
    np.testing.assert_allclose(made.F, np.stack([both] * 2, axis=1))
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
        ([[0.5, np.nan], [0.5, 0.5]], "b contains infinity, or rows with NaN for only"),
        ([[np.inf, 0.0], [0.5, 0.5]], "b contains infinity"),
        (np.full((2, 2), np.nan), "b has no predictions"),
        ([[0.5, 0.5], [-2.0, 3.0]], r"b has \[-2.0, 3.0\] in row 1.*Apply a softmax"),
        (
            [[50.0, 50.0], [0.5, 0.5]],
            "b has .* in row 0. Probabilities of classes must",
        ),
        (np.zeros((3, 2)), r"b has predictions of shape \(3, 2\), a of shape \(2, 2\)"),
        (np.zeros((2, 3)), r"b has predictions of shape \(2, 3\), a"),
    ],
)
def test_what_does_not_fit_is_named(values, message):
    with pytest.raises(ValueError, match=message):
        assembled({"a": np.full((2, 2), 0.5), "b": np.array(values)}, None)


def test_as_many_columns_as_classes():
    with pytest.raises(
        ValueError, match="there are 3 classes: expected one column for each"
    ):
        assembled({"a": np.zeros((4, 2))}, ["x", "y", "z"])
    with pytest.raises(ValueError, match="there are 3 classes"):
        assembled({"a": np.zeros(4)}, ["x", "y", "z"])


@pytest.fixture
def pd():
    pytest.importorskip("pyarrow")
    return pytest.importorskip("pandas")


def some_probabilities(rng, N=40, K=3):
    y = rng.integers(0, K, N)
    odds = rng.standard_exponential((N, K))
    odds[np.arange(N), y] += 1
    return odds / odds.sum(axis=1, keepdims=True), y


def test_from_a_folder_to_the_combined_test_rows(tmp_path, rng):
    """The whole way, against F made by hand."""
    (tmp_path / "oof").mkdir()
    (tmp_path / "test").mkdir()
    F, y = [], rng.integers(0, 3, 120)
    for name, skill in (("a", 2.0), ("b", 1.0), ("c", 0.0)):
        odds = rng.standard_exponential((120, 3))
        odds[np.arange(120), y] += skill
        F.append(odds / odds.sum(axis=1, keepdims=True))
        np.save(tmp_path / "oof" / f"{name}.npy", F[-1][:80])
        np.save(tmp_path / "test" / f"{name}.npy", F[-1][80:].astype(np.float32))
    known = read_predictions(tmp_path / "oof", classes=["x", "y", "z"])
    labels = np.array(["x", "y", "z"])[y]
    pruner = LogPool().fit(known.F, known.codes(labels[:80]))
    assert next(iter(known.by_name(pruner.weights_))) == "a"
    new = read_predictions(tmp_path / "test", like=known)
    p = pruner.probabilities(pruner.combine(new.F))
    by_hand = pruner.combine(np.stack(F, axis=1)[80:])
    np.testing.assert_allclose(p, pruner.probabilities(by_hand), atol=1e-5)


def test_names_choose_files_and_their_order(tmp_path):
    for i, name in enumerate("abc"):
        np.save(tmp_path / f"{name}.npy", np.full(5, float(i)))
    (tmp_path / "notes.txt").write_text("not a file of predictions")
    assert read_predictions(tmp_path).names == ["a", "b", "c"]
    known = read_predictions(tmp_path, names=["c", "a"])
    assert known.F[0].tolist() == [2.0, 0.0]
    with pytest.raises(ValueError, match=r"no file of d. There are a, b, c"):
        read_predictions(tmp_path, names=["a", "d"])
    with pytest.raises(ValueError, match="Two members have the name 'a'"):
        read_predictions(tmp_path, names=["a", "a"])
    with pytest.raises(ValueError, match="leave out names and classes"):
        read_predictions(tmp_path, names=["a"], like=known)


def test_columns_of_parquet_are_found_by_their_labels(tmp_path, rng, pd):
    p, y = some_probabilities(rng)
    frame = pd.DataFrame(p, columns=["x", "y", "z"])
    frame.to_parquet(tmp_path / "a.parquet")
    frame[["z", "x", "y"]].to_parquet(tmp_path / "b.parquet")
    np.save(tmp_path / "c.npy", p)
    known = read_predictions(tmp_path, classes=["x", "y", "z"])
    for m in range(3):
        np.testing.assert_array_equal(known.F[:, m], p)
    assert read_predictions(tmp_path).classes.tolist() == ["x", "y", "z"]
    assert known.codes(np.array(["x", "y", "z"])[y]).tolist() == y.tolist()
    frame.rename(columns={"x": "w"}).to_parquet(tmp_path / "d.parquet")
    with pytest.raises(
        ValueError, match=r"d.parquet must have .*: x, y, z. Got w, y, z"
    ):
        read_predictions(tmp_path)


def test_rows_in_another_order_are_noticed(tmp_path, rng, pd):
    values = pd.Series(rng.normal(size=6), index=list("abcdef"), name="f")
    values.to_frame().to_parquet(tmp_path / "a.parquet")
    values[::-1].to_frame().to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet: its index differs from"):
        read_predictions(tmp_path)


def test_nothing_is_unpickled(tmp_path):
    class Trap:
        def __reduce__(self):
            return (pytest.fail, ("unpickled",))

    with (tmp_path / "a.npy").open("wb") as file:
        np.save(file, np.array([Trap()], dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects are not read"):
        read_predictions(tmp_path)
    (tmp_path / "a.npy").write_bytes(b"")
    with pytest.raises(ValueError, match="is not a complete array"):
        read_predictions(tmp_path)
    (tmp_path / "a.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"a.npy is not a complete array of numbers"):
        read_predictions(tmp_path)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.array(["a", "b"]), "must have numbers"),
        (np.zeros((2, 2, 2)), r"shape \(N,\) or \(N, K\). Got shape \(2, 2, 2\)"),
        (np.zeros(0), r"Got shape \(0,\)"),
    ],
)
def test_arrays_of_another_kind_are_refused(tmp_path, array, message):
    np.save(tmp_path / "a.npy", array)
    with pytest.raises(ValueError, match=message):
        read_predictions(tmp_path)


def test_folders_without_predictions_are_refused(tmp_path, pd):
    with pytest.raises(ValueError, match=r"no .npy or .parquet files"):
        read_predictions(tmp_path)
    with pytest.raises(ValueError, match="is not a folder"):
        read_predictions(tmp_path / "missing")
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    with pytest.raises(ValueError, match=r"a.parquet is not a Parquet file"):
        read_predictions(tmp_path)


def test_numbers_are_those_of_a_regression(tmp_path, rng):
    y = rng.normal(size=50)
    for name, noise in (("good", 0.2), ("poor", 2.0)):
        np.save(tmp_path / f"{name}.npy", y + noise * rng.normal(size=50))
    known = read_predictions(tmp_path)
    assert known.F.shape == (50, 2)
    assert known.classes is None
    assert EPPruner().fit(known.F, y).weights_.argmax() == 0
    with pytest.raises(ValueError, match="Probabilities of classes"):
        read_predictions(tmp_path, classes=[0, 1])
    other = tmp_path / "classes"
    other.mkdir()
    for name in ("good", "poor"):
        np.save(other / f"{name}.npy", np.full((50, 2), 0.5))
    with pytest.raises(ValueError, match="like and the files must both be"):
        read_predictions(other, like=known)


@pytest.mark.parametrize("shape", [(10**12,), (10**18,), (2**40, 2**40)])
def test_a_header_that_announces_more_than_the_file_holds(tmp_path, shape):
    header = {"descr": "<f8", "fortran_order": False, "shape": shape}
    with (tmp_path / "a.npy").open("wb") as file:
        np.lib.format.write_array_header_1_0(file, header)
        file.write(bytes(80))
    with pytest.raises(ValueError, match=r"a.npy is not a complete array of numbers"):
        read_predictions(tmp_path)
