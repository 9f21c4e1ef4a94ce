"""Rows in chunks against the same rows in arrays."""

import numpy as np
import pytest

from committee.distributed.chunks import Chunks
from committee.ep import moments_path
from committee.ep.chunked_rows import ChunkedProbitRows, ChunkedTargets
from committee.ep.evidence import votes_path
from committee.ep.gaussian_rows import Targets, row_moments
from committee.ep.probit_rows import ProbitRows

dask = pytest.importorskip("dask")


def chunks_of(kind, *arrays, sizes=(40, 0, 1, 59)):
    """Cut rows into chunks, some of them empty."""
    parts = []
    for n, end in zip(sizes, np.cumsum(sizes), strict=True):
        cut = [None if a is None else a[end - n : end] for a in arrays]
        parts.append(dask.delayed(kind(*cut) if n else None))
    return Chunks(parts)


def chunked_rows(S, weight=None, **sizes):
    return ChunkedProbitRows(chunks_of(ProbitRows, S, weight, **sizes))


@pytest.fixture
def S(rng):
    return np.where(rng.random((100, 6)) < 0.7, 1.0, -1.0)


def assert_same_path(found, expected, rtol=1e-10):
    assert len(found) == len(expected)
    for name in ("weights", "error", "error_se", "log_evidence"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=rtol, atol=1e-12
        )


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("truncated", [False, True])
def test_the_path_of_votes_is_that_of_one_array(S, rng, weighted, truncated):
    weight = rng.integers(1, 4, 100) * 0.7 if weighted else None
    found, expected = (
        votes_path(rows, truncated=truncated, rule="min-loo")
        for rows in (chunked_rows(S, weight), ProbitRows(S, weight))
    )
    assert_same_path(found, expected)
    for one, two in zip(found.steps, expected.steps, strict=True):
        np.testing.assert_allclose(one.gain, two.gain, rtol=1e-8, atol=1e-10)
        np.testing.assert_allclose(one.cov, two.cov, rtol=1e-8)


def test_facts_are_those_of_all_rows(S):
    rows, one = chunked_rows(S), ProbitRows(S)
    assert (rows.n_members, rows.n_rows) == (one.n_members, one.n_rows)


@pytest.mark.parametrize(
    ("values", "kind"),
    [([-1.0, 0.0, 1.0], np.int8), ([0.5, 0.25, 1.0], np.float32), ([0.1], np.float64)],
)
def test_rows_take_no_more_room_than_they_need(values, kind):
    S = np.resize(values, (100, 3))
    part = chunked_rows(S).chunks.parts[0].compute()
    assert part.S.dtype == kind
    np.testing.assert_array_equal(part.S, S[:40])


def test_columns_of_any_size(S):
    scale = np.array([1e-30, 1.0, 1.0, 1e20, 1.0, 1.0])
    rows = chunked_rows(S * scale)
    path = votes_path(rows, unit=rows.unit, rule="min-loo")
    expected = votes_path(ProbitRows(S), rule="min-loo")
    np.testing.assert_allclose(
        path.steps[-1].weights * scale, expected.steps[-1].weights, rtol=1e-3
    )


def test_saved_sites_come_back(S, tmp_path):
    rows = chunked_rows(S)
    initial = rows.initial_sites()
    rows.save(initial, tmp_path)
    np.testing.assert_array_equal(
        rows.messages(rows.load(tmp_path)).h, rows.messages(initial).h
    )
    other = chunked_rows(S, sizes=(50, 0, 50))
    with pytest.raises(ValueError, match="other rows or chunks"):
        other.messages(other.load(tmp_path))


@pytest.mark.parametrize("unit", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_and_path_of_targets_are_those_of_one_array(rng, weighted, unit):
    y = unit * rng.normal(size=100)
    F = y[:, None] + unit * rng.normal(size=(100, 5)) * [0.3, 0.3, 1.0, 2.0, 3.0]
    weight = rng.random(100) + 0.5 if weighted else None
    rows = ChunkedTargets(chunks_of(Targets, F, y, weight))
    one = row_moments(F, y, weight)
    moments = rows.moments()
    np.testing.assert_array_equal(moments.scale, one.scale)
    np.testing.assert_allclose(moments.G, one.G, rtol=1e-12)
    found = moments_path(moments, rows=rows)
    expected = moments_path(one, rows=Targets(F, y, weight))
    assert_same_path(found, expected, rtol=1e-9)


def test_no_rows_at_all(S):
    with pytest.raises(ValueError, match="at least one row"):
        chunked_rows(S, sizes=(0, 0))
    with pytest.raises(ValueError, match="at least one row"):
        ChunkedTargets(chunks_of(Targets, S, S[:, 0], sizes=(0, 0))).moments()
