"""Targets in chunks against targets in two arrays."""

import numpy as np
import pytest

from committee.distributed import Chunks
from committee.ep import ChunkedTargets, Targets, moments_path, row_moments

dask = pytest.importorskip("dask")


def spread(F, y, weight=None, sizes=(40, 0, 1, 59)):
    ends = np.cumsum(sizes)
    cuts = [slice(e - n, e) for n, e in zip(sizes, ends, strict=True)]
    return ChunkedTargets(
        Chunks(
            [
                dask.delayed(
                    Targets(F[c], y[c], None if weight is None else weight[c])
                    if c.stop > c.start
                    else None
                )
                for c in cuts
            ]
        )
    )


@pytest.mark.parametrize("unit", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize("weighted", [False, True])
def test_moments_and_path_are_those_of_one_array(rng, weighted, unit):
    y = unit * rng.normal(size=100)
    F = y[:, None] + unit * rng.normal(size=(100, 5)) * [0.3, 0.3, 1.0, 2.0, 3.0]
    weight = rng.random(100) + 0.5 if weighted else None
    rows, one = spread(F, y, weight), row_moments(F, y, weight)
    moments = rows.moments()
    np.testing.assert_array_equal(moments.scale, one.scale)
    np.testing.assert_allclose(moments.G, one.G, rtol=1e-12)
    found = moments_path(moments, rows=rows)
    expected = moments_path(one, rows=Targets(F, y, weight))
    for name in ("weights", "error", "error_se", "log_evidence"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=1e-9, atol=1e-12
        )


def test_no_rows_at_all():
    with pytest.raises(ValueError, match="at least one row"):
        spread(np.zeros((0, 2)), np.zeros(0), sizes=(0, 0)).moments()
