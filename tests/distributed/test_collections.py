"""Dask arrays and frames in chunks of the same rows."""

import numpy as np
import pytest

from committee.distributed.collections import is_dask, map_rows, own_blocks, row_chunks

delayed = pytest.importorskip("dask").delayed
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")


def blocks(chunks):
    return [np.asarray(part.compute()) for part in chunks.parts]


@pytest.fixture
def X():
    return np.arange(30.0).reshape(10, 3)


def unknown(array):
    """The same Dask array without the sizes of its chunks."""
    return array[da.from_array(np.ones(len(array), bool), chunks=array.chunks[0])]


def test_dask_is_known_by_its_types(X):
    array = da.from_array(X, chunks=4)
    frame = dd.from_pandas(pd.DataFrame(X), npartitions=2)
    assert is_dask(array)
    assert is_dask(frame)
    assert is_dask(frame[0])
    assert is_dask(None, X, array)
    assert not is_dask(X, None, pd.DataFrame(X), [1.0])


@pytest.mark.parametrize("y_chunks", [10, 1, (3, 7)])
def test_rows_follow_the_chunks_of_the_first(X, y_chunks):
    F = da.from_array(X, chunks=((4, 0, 6), (2, 1)))
    found = row_chunks(F=F, y=da.from_array(X[:, 0], chunks=(y_chunks,)), s=None)
    assert [len(b) for b in blocks(found["y"])] == [4, 0, 6]
    np.testing.assert_array_equal(np.concatenate(blocks(found["F"])), X)
    np.testing.assert_array_equal(np.concatenate(blocks(found["y"])), X[:, 0])
    assert found["s"] is None


def test_a_plain_array_beside_a_dask_one(X):
    found = row_chunks(F=da.from_array(X, chunks=4), y=X[:, 0].tolist())
    assert [len(b) for b in blocks(found["y"])] == [4, 4, 2]


def test_frames_and_series(X):
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=2)
    found = row_chunks(F=frame, y=frame["a"])
    np.testing.assert_array_equal(np.concatenate(blocks(found["F"])), X)
    np.testing.assert_array_equal(np.concatenate(blocks(found["y"])), X[:, 0])


def test_unknown_sizes_are_paired_by_number(X):
    F = unknown(da.from_array(X, chunks=(4, 3)))
    found = row_chunks(F=F, y=da.from_array(X[:, 0], chunks=4))
    assert [len(b) for b in blocks(found["y"])] == [4, 4, 2]


def test_what_cannot_be_paired_is_refused(X):
    F = da.from_array(X, chunks=(4, 3))
    with pytest.raises(ValueError, match="3 chunks of rows and y has 2, of unknown"):
        row_chunks(F=unknown(F), y=da.from_array(X[:, 0], chunks=5))
    with pytest.raises(ValueError, match="y is a plain array, but the chunks of F"):
        row_chunks(F=unknown(F), y=X[:, 0])
    with pytest.raises(ValueError, match="Got 9 for 10 rows"):
        row_chunks(F=F, y=da.from_array(X[:9, 0], chunks=4))


def test_a_mapped_array_is_lazy_and_keeps_its_chunks(X):
    calls = []

    def doubled(block, factor):
        calls.append(len(block))
        return factor * block[:, :2]

    Y = map_rows(doubled, da.from_array(X, chunks=((4, 0, 6), (3,))), (2,), float, 2.0)
    assert (Y.shape, Y.chunks[0], calls) == ((10, 2), (4, 0, 6), [])
    np.testing.assert_array_equal(Y.compute(), 2.0 * X[:, :2])
    assert sorted(calls) == [4, 6]


def test_a_mapped_frame_sees_frames(X):
    frame = dd.from_pandas(pd.DataFrame(X, columns=["a", "b", "c"]), npartitions=2)
    Y = map_rows(lambda block: block["b"], frame, (), float)
    np.testing.assert_array_equal(Y.compute(), X[:, 1])
    assert len(own_blocks(frame)) == 2


def test_an_error_names_its_chunk(X):
    def strict(block):
        if 20 < block.max() < 25:
            raise ValueError("too large")
        return block[:, 0]

    Y = map_rows(strict, da.from_array(X, chunks=(4, 3)), (), float)
    with pytest.raises(ValueError, match="Chunk 1: too large"):
        Y.compute(scheduler="synchronous")


def test_a_name_in_two_graphs_is_one_task():
    """A scheduler that gets two tasks of one name may lose both."""
    parts = [delayed(pd.DataFrame)({"a": [1.0, 2.0], "b": [0, i]}) for i in (0, 1)]
    frame = dd.from_delayed(parts, meta=pd.DataFrame({"a": [0.0], "b": [0]}))[["a"]]
    twice = map_rows(lambda block: 2 * block.to_numpy(), frame, (1,), np.float64)
    known = {}
    for blocks in (own_blocks(frame), own_blocks(twice), own_blocks(twice + 1.0)):
        for part in blocks.parts:
            for key, task in dict(part.dask).items():
                assert known.setdefault(key, task) == task
    assert len(known) > 4


def test_small_files_of_parquet_stay_partitions(tmp_path):
    """Dask's optimiser joins small reads: more of them for y than for a wide X."""
    pytest.importorskip("pyarrow")
    wide = pd.DataFrame(np.arange(420.0).reshape(10, 42)).rename(columns="c{}".format)
    for i in range(6):
        wide.assign(y=i).to_parquet(tmp_path / f"{i}.parquet")
    rows = dd.read_parquet(tmp_path / "*.parquet")
    found = row_chunks(X=rows.drop(columns="y"), y=rows["y"])
    assert [part.shape for part in map(np.asarray, found["X"].values())] == [
        (10, 42)
    ] * 6
    assert [set(part) for part in found["y"].values()] == [{i} for i in range(6)]
