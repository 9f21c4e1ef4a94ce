"""Thresholds in single precision that decide as those in double do."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from committee.export.tables import rounded_down

FINITE = st.floats(-(2.0**100), 2.0**100)


@given(t=FINITE, x=st.floats(-(2.0**100), 2.0**100, width=32))
def test_single_x_takes_the_same_branch(t, x):
    assert (np.float32(x) <= rounded_down(t)) == (float(np.float32(x)) <= t)


@given(t=FINITE)
def test_the_nearest_values_take_the_same_branch(t):
    near = np.float32(t)
    x = np.array([np.nextafter(near, np.float32(s)) for s in (-np.inf, near, np.inf)])
    np.testing.assert_array_equal(x <= rounded_down(t), x.astype(np.float64) <= t)


def test_thresholds_beyond_single_precision():
    largest = np.finfo(np.float32).max
    t = np.array([1e300, np.inf, -1e300, -np.inf])
    assert rounded_down(t).tolist() == [largest, np.inf, -np.inf, -np.inf]
    assert rounded_down(t).dtype == np.float32
