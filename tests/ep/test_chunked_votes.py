"""Votes in chunks against votes in one array."""

import numpy as np
import pytest

from committee.distributed import Chunks
from committee.ep import ChunkedVotes, Votes, votes_path

dask = pytest.importorskip("dask")


def spread(S, weight=None, sizes=(40, 0, 1, 59)):
    """Cut rows into chunks, some of them empty."""
    ends = np.cumsum(sizes)
    return ChunkedVotes(
        Chunks(
            [
                dask.delayed(
                    None
                    if n == 0
                    else Votes(
                        S[e - n : e], None if weight is None else weight[e - n : e]
                    )
                )
                for n, e in zip(sizes, ends, strict=True)
            ]
        )
    )


@pytest.fixture
def S(rng):
    return np.where(rng.random((100, 6)) < 0.7, 1.0, -1.0)


def assert_same_path(found, expected):
    assert len(found) == len(expected)
    for name in ("weights", "error", "error_se", "log_evidence"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-10, atol=1e-12
        )
    for one, two in zip(found.steps, expected.steps, strict=True):
        np.testing.assert_allclose(one.gain, two.gain, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.cov, two.cov, rtol=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_the_path_is_that_of_one_array(S, rng, weighted, truncated):
    weight = rng.integers(1, 4, 100) * 0.7 if weighted else None
    found = votes_path(spread(S, weight), truncated=truncated, rule="min-loo")
    assert_same_path(
        found, votes_path(Votes(S, weight), truncated=truncated, rule="min-loo")
    )


def test_facts_are_those_of_all_rows(S):
    rows, one = spread(S), Votes(S)
    assert (rows.n_members, rows.n_rows) == (one.n_members, one.n_rows)
    active, cov = np.array([0, 3]), np.array([[2.0, 0.5], [0.5, 1.0]])
    assert rows.mean_variance(active, cov) == pytest.approx(
        one.mean_variance(active, cov), rel=1e-12
    )


@pytest.mark.parametrize(
    ("values", "kind"),
    [([-1.0, 0.0, 1.0], np.int8), ([0.5, 0.25, 1.0], np.float32), ([0.1], np.float64)],
)
def test_rows_take_no_more_room_than_they_need(values, kind):
    S = np.resize(values, (100, 3))
    part = spread(S).chunks.parts[0].compute()
    assert part.S.dtype == kind
    np.testing.assert_array_equal(part.S, S[:40])


def test_columns_of_any_size(S):
    scale = np.array([1e-30, 1.0, 1.0, 1e20, 1.0, 1.0])
    rows = spread(S * scale)
    path = votes_path(rows, unit=rows.unit, rule="min-loo")
    expected = votes_path(Votes(S), rule="min-loo")
    np.testing.assert_allclose(
        path.steps[-1].weights * scale, expected.steps[-1].weights, rtol=1e-3
    )


def test_no_rows_at_all(S):
    with pytest.raises(ValueError, match="at least one row"):
        spread(S, sizes=(0, 0))


def test_saved_sites_come_back(S, tmp_path):
    rows = spread(S)
    initial = rows.initial_sites()
    rows.save(initial, tmp_path)
    np.testing.assert_array_equal(
        rows.messages(rows.load(tmp_path)).h, rows.messages(initial).h
    )
    other = spread(S, sizes=(50, 0, 50))
    with pytest.raises(ValueError, match="other rows or other chunks"):
        other.messages(other.load(tmp_path))
