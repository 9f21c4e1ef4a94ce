import pickle

import numpy as np
import pytest

from committee import EPPruner, LogPool, read_predictions


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
    with pytest.raises(ValueError, match="two members of the name 'a'"):
        read_predictions(tmp_path, names=["a", "a"])
    with pytest.raises(ValueError, match="leave out the others"):
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
    with pytest.raises(ValueError, match=r"d.parquet has the columns w, y, z"):
        read_predictions(tmp_path)


def test_rows_in_another_order_are_noticed(tmp_path, rng, pd):
    values = pd.Series(rng.normal(size=6), index=list("abcdef"), name="f")
    values.to_frame().to_parquet(tmp_path / "a.parquet")
    values[::-1].to_frame().to_parquet(tmp_path / "b.parquet")
    with pytest.raises(ValueError, match=r"b.parquet has other rows than a.parquet"):
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
    with pytest.raises(ValueError, match="or not all of it"):
        read_predictions(tmp_path)
    (tmp_path / "a.npy").write_bytes(pickle.dumps(Trap()))
    with pytest.raises(ValueError, match=r"a.npy is no array of numbers"):
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
    with pytest.raises(ValueError, match="is no folder"):
        read_predictions(tmp_path / "missing")
    (tmp_path / "a.parquet").write_bytes(b"not parquet")
    with pytest.raises(ValueError, match=r"a.parquet is no Parquet file"):
        read_predictions(tmp_path)


def test_numbers_are_those_of_a_regression(tmp_path, rng):
    y = rng.normal(size=50)
    for name, noise in (("good", 0.2), ("poor", 2.0)):
        np.save(tmp_path / f"{name}.npy", y + noise * rng.normal(size=50))
    known = read_predictions(tmp_path)
    assert known.F.shape == (50, 2)
    assert known.classes is None
    assert EPPruner().fit(known.F, y).weights_.argmax() == 0
    with pytest.raises(ValueError, match="no probabilities of classes"):
        read_predictions(tmp_path, classes=[0, 1])
    other = tmp_path / "classes"
    other.mkdir()
    for name in ("good", "poor"):
        np.save(other / f"{name}.npy", np.full((50, 2), 0.5))
    with pytest.raises(ValueError, match="like has classes"):
        read_predictions(other, like=known)
