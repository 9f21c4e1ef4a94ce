"""Numbers and tables as people read them."""

import numpy as np
import pytest

from committee._format import (
    NumberFormat,
    byte_size,
    change,
    count,
    cut,
    duration,
    figures,
    percent,
    printable,
    text_table,
)
from committee._hints import close_to


@pytest.mark.parametrize(
    ("x", "text"),
    [
        (0.0, "0"),
        (12.0, "12"),
        (0.012345, "0.0123"),
        (2900.4, "2,900"),
        (1e-9, "1e-09"),
        (float("nan"), "-"),
        (999.6, "1,000"),
        (1234567.0, "1,234,567"),
        (-0.00012345, "-0.000123"),
        (3e12, "3e+12"),
    ],
)
def test_figures(x, text):
    assert figures(x) == text


@pytest.mark.parametrize(
    ("found", "text"),
    [
        (byte_size(0), "0 B"),
        (byte_size(812), "812 B"),
        (byte_size(999.6), "1 kB"),
        (byte_size(12_345_678), "12.3 MB"),
        (byte_size(5e15), "5,000 TB"),
        (duration(2e-8), "20 ns"),
        (duration(0.00125), "1.25 ms"),
        (duration(0.9), "900 ms"),
        (duration(0.99999), "1 s"),
        (duration(2500.0), "2,500 s"),
        (percent(0.0), "0 %"),
        (percent(0.0345), "3.45 %"),
        (count(0, "row"), "0 rows"),
        (count(1, "member"), "1 member"),
        (count(1200, "row"), "1,200 rows"),
    ],
)
def test_units_fit_the_number(found, text):
    assert found == text


def test_no_change_is_not_a_loss():
    assert change(0.0, 0.0) == "0 ± 0"
    assert change(-1e-17, 0.5) == "0 ± 0.5"
    assert change(-0.6667, 0.5, "points") == "-0.67 ± 0.5 points"
    assert change(-2.0, float("nan"), "points") == "-2 points"
    assert change(150.2, 113.7) == "+150 ± 114"


def test_columns_are_as_wide_as_their_longest_entry():
    table = text_table([("member", "weight"), ("3", "0.5"), ("12", "0.25")])
    assert table == "member  weight\n3          0.5\n12        0.25"


def test_long_names_are_cut():
    assert cut("x" * 60) == "x" * 60
    assert cut("x" * 61) == "x" * 59 + "…"


def test_nothing_in_a_table_steers_the_terminal():
    cells = [("a\x1b[31m", "b\nc"), ("\x9b1m\u202e", "Zürich 東京\u3000√")]
    table = text_table(cells, "<")
    assert table == ("a\\x1b[31m     b\\nc\n\\x9b1m\\u202e  Zürich 東京\u3000√")
    assert printable("a\tb\nc", keep="\n") == "a\\tb\nc"


def test_names_that_are_close_are_suggested():
    assert close_to("Grade", ["grade", "size"]) == " Did you mean 'grade'?"
    assert close_to("GRADE", ["grade", "size"]) == " Did you mean 'grade'?"
    assert close_to("zzz", ["grade", "size"]) == ""


def test_rates_are_percent_with_two_decimals_and_differences_points():
    rate = NumberFormat.of("leave-one-out error rate", 0.3)
    assert [rate.text(x) for x in (0.09, 0.0925, 1.0)] == [
        "9.00 %",
        "9.25 %",
        "100.00 %",
    ]
    assert rate.interval(0.01, 0.2) == "1.00 % to 20.00 %"
    assert rate.change(-0.01, np.nan) == "-1.00 points"
    assert rate.change(1e-9, 0.001) == "0.00 ± 0.10 points"
    assert rate.text(np.nan) == rate.interval(np.nan, np.nan) == "-"


@pytest.mark.parametrize(
    ("typical", "text"),
    [(51.3, "7.00"), (0.05, "7.00000"), (12345.0, "7"), (0.0, "7.000"), (1e12, "7")],
)
def test_other_numbers_have_the_decimals_of_a_typical_one(typical, text):
    written = NumberFormat.of("RMSE", typical)
    assert written.text(7.0) == text
    assert written.spread(7.0, np.nan) == text
