"""One format for a column, whatever its numbers are."""

import numpy as np
import pytest

from committee.reporting.number_format import NumberFormat


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
