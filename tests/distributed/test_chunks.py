"""Maps and sums over chunks, by the scheduler of one process."""

import numpy as np
import pytest

from committee.distributed.chunks import Chunks

dask = pytest.importorskip("dask")


def chunks(values):
    return Chunks([dask.delayed(value) for value in values])


@pytest.mark.parametrize("n", [1, 2, 8, 9, 70])
def test_a_sum_has_every_chunk_once(n):
    assert chunks(range(1, n + 1)).sum(lambda v: v**2) == sum(
        v**2 for v in range(1, n + 1)
    )


def test_values_are_added_in_order():
    assert chunks("abcdefghijkl").sum(str.upper) == "ABCDEFGHIJKL"


def test_chunks_without_rows_are_passed_over():
    assert chunks([None, 2, None, 3]).map(lambda v: v * 10).sum(lambda v: v) == 50
    assert chunks([None, None]).sum(lambda v: v) is None


def test_other_chunks_are_paired_and_other_values_shared():
    result = chunks([1, 2]).map(lambda a, b, c: (a, b, c), chunks([10, 20]), [5])
    assert [part.compute() for part in result.parts] == [(1, 10, [5]), (2, 20, [5])]


def test_kept_values_are_computed_once():
    calls = []

    def noted(value):
        calls.append(value)
        return value

    kept = chunks([1, 2]).map(noted).kept()
    assert kept.sum(lambda v: v) == kept.sum(lambda v: v) == 3
    assert sorted(calls) == [1, 2]


def test_arrays_and_sums_with_a_method_plus():
    class Longest(str):
        def plus(self, other):
            return max(self, other, key=len)

    assert chunks(["a", "abc", "ab"]).sum(Longest) == "abc"
    total = chunks([1.0, 2.0]).sum(lambda v: np.array([v, 1.0]))
    np.testing.assert_array_equal(total, [3.0, 2.0])


def test_an_error_comes_as_it_is():
    with pytest.raises(ZeroDivisionError):
        chunks([1, 0]).sum(lambda v: 1 / v)


def test_values_come_in_their_order():
    assert chunks([3, None, 1]).map(lambda v: 2 * v).values() == [6, None, 2]
