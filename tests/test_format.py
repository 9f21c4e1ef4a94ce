"""Numbers as people read them; the doctests show the usual ones."""

import pytest

from committee._format import (
    byte_size,
    change,
    count,
    cut,
    duration,
    figures,
    percent,
)


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (float("nan"), "-"),
        (999.6, "1,000"),
        (1234567.0, "1,234,567"),
        (-0.00012345, "-0.000123"),
        (3e12, "3e+12"),
    ],
)
def test_figures(x, text):
    assert figures(x) == text


def test_the_smallest_and_largest_units():
    assert byte_size(0) == "0 B"
    assert byte_size(999.6) == "1 kB"
    assert byte_size(5e15) == "5,000 TB"
    assert duration(0.9) == "900 ms"
    assert duration(0.99999) == "1 s"


def test_no_change_is_not_a_loss():
    assert change(0.0, 0.0) == "0 ± 0"
    assert change(-1e-17, 0.5) == "0 ± 0.5"
    assert change(-2.0, float("nan"), "points") == "-2 points"
    assert percent(0.0) == "0 %"
    assert count(0, "row") == "0 rows"


def test_long_names_are_cut():
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 59 + "…"
