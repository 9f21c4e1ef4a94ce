"""Rows of Dask collections as chunks of training data."""

from functools import partial

import numpy as np
import pytest

from committee.members.dask_rows import chunked_data

da = pytest.importorskip("dask.array")

X = np.arange(24.0).reshape(12, 2)
Y = np.array(list("bbabacbbcaba"))


def looked_at(X=X, y=Y, s=None, sizes=(5, 0, 3, 4), classes=True, **checks):
    """Partitions of plain arrays in chunks of the given sizes."""
    options = {"check_X": np.asarray, "check_y": np.asarray, **checks}
    X = da.from_array(X, chunks=(sizes, 2))
    y = da.from_array(y, chunks=(sizes,))
    return chunked_data(X, y, s, classes=classes, **options)


def collected(chunks):
    return chunks.sum(lambda data: [data])


def test_classes_are_those_of_all_chunks_and_y_is_coded_by_them():
    rows = looked_at()
    assert rows.labels.tolist() == ["a", "b", "c"]
    assert [fact.n_rows for fact in rows.facts] == [5, 0, 3, 4]
    assert rows.facts[0].labels.tolist() == ["a", "b"]
    data = collected(rows.data)
    assert [len(chunk) for chunk in data] == [5, 3, 4]
    np.testing.assert_array_equal(np.concatenate([chunk.X for chunk in data]), X)
    codes = np.concatenate([chunk.y for chunk in data])
    np.testing.assert_array_equal(rows.labels[codes], Y)
    assert {chunk.n_classes for chunk in data} == {3}


def test_targets_come_without_the_cost_of_X():
    def costly(block):
        raise AssertionError("X is not needed")

    rows = looked_at(check_X=costly)
    assert [len(chunk) for chunk in collected(rows.targets)] == [5, 3, 4]


def test_numbers_stay_numbers():
    y = np.linspace(0.0, 1.0, 12)
    rows = looked_at(y=y, classes=False)
    assert rows.labels is None
    assert rows.n_classes is None
    found = np.concatenate([chunk.y for chunk in collected(rows.targets)])
    np.testing.assert_array_equal(found, y)


def test_what_is_made_of_chunks_is_one_lazy_array():
    rows = looked_at()
    array = rows.lazily(lambda data: data.X + 1.0, (2,), np.float64, rows.data)
    assert array.chunks == ((5, 0, 3, 4), (2,))
    np.testing.assert_array_equal(array.compute(), X + 1.0)


@pytest.mark.parametrize("given", [np.asarray, partial(da.from_array, chunks=7)])
def test_weights_are_cut_like_the_rows(given):
    s = np.arange(12.0)
    s[5:8] = 0.0
    rows = looked_at(s=given(s))
    found = np.concatenate([c.sample_weight for c in collected(rows.targets)])
    np.testing.assert_array_equal(found, s)
    assert [fact.counts for fact in rows.facts] == [True, False, False, True]


@pytest.mark.parametrize(("bad", "number"), [(-1.0, 3), (np.inf, 0), (np.nan, 2)])
def test_bad_weights_name_their_chunk(bad, number):
    s = np.ones(12)
    s[{0: 0, 2: 5, 3: 8}[number]] = bad
    with pytest.raises(ValueError, match=f"Chunk {number}: sample_weight must be"):
        looked_at(s=s)


def test_nothing_that_counts():
    with pytest.raises(ValueError, match="must have a positive entry"):
        looked_at(s=np.zeros(12))
    with pytest.raises(ValueError, match=r"at least one row.*Every chunk is empty"):
        looked_at(X[:0], Y[:0], sizes=(0, 0))


def test_what_the_checks_say_names_the_chunk():
    def picky(block):
        if len(block) == 3:
            raise ValueError("Not three, please.")
        return block

    with pytest.raises(ValueError, match="Chunk 2: Not three, please"):
        looked_at(check_y=picky)


def test_chunks_of_unknown_sizes_must_be_equal():
    known = da.ones(12, chunks=4, dtype=bool)
    unknown = da.from_array(X, (4, 2))[known]
    rows = chunked_data(
        unknown,
        da.from_array(Y, ((4, 3, 5),)),
        None,
        check_X=np.asarray,
        check_y=np.asarray,
        classes=True,
    )
    with pytest.raises(ValueError, match=r"Chunk [12]: X has 4 rows and y has [35];"):
        collected(rows.data)


def test_X_must_be_a_collection_too():
    with pytest.raises(ValueError, match="but X is not: hand in X as one too"):
        chunked_data(
            X,
            da.from_array(Y, 4),
            None,
            check_X=np.asarray,
            check_y=np.asarray,
            classes=True,
        )
