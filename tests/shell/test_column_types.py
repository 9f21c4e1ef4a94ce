"""Words that mean numbers: all of a column, or none of it."""

import numpy as np
import pandas as pd
import pytest

from committee.shell.column_types import (
    ColumnTypes,
    guess_type,
    guess_types,
    numbers_of,
)
from committee.shell.messages import ShellError


def guess(*words, decimal="."):
    return guess_type(pd.Series(words, dtype=object), decimal)


@pytest.mark.parametrize(
    ("words", "form", "numbers"),
    [
        (["$1,234.50", "-$7", "($0.5)"], "1,234.5 $", [1234.5, -7, -0.5]),
        (["1.234,50 €", "7 €"], "1.234,5 €", [1234.5, 7]),
        (["1 234,5", "12 345 678"], "1.234,5", [1234.5, 12345678]),
        (["1'234.5 CHF", "CHF 2"], "1,234.5 CHF", [1234.5, 2]),
        (["12.5 %", "3%"], "1,234.5 %", [12.5, 3]),
        (["1,234", "12"], "1,234.5", [1234, 12]),
        (["1,5", "12"], "1.234,5", [1.5, 12]),
        (["13/01/1970 12:00", "2/1/1970 00:00"], "%d/%m/%Y %H:%M", [12.5, 1]),
        (["1/13/1970", "1/2/1970"], "%m/%d/%Y", [12, 1]),
        (["02.01.1970", "03.01.1970"], "%d.%m.%Y", [1, 2]),
        (["Jan 2, 1970", "Jan 3, 1970"], "%b %d, %Y", [1, 2]),
        (["1970-01-02", "1970-01-02T02:00:00+02:00"], "date", [1, 1]),
        (["3 days 04:00", "00:01:30"], "duration", [3 * 86400 + 4 * 3600, 90]),
        (["1.5 h", "2 hours 30 min"], "duration", [5400, 9000]),
    ],
)
def test_what_words_mean(words, form, numbers):
    assert guess(*words).types[0] == form
    np.testing.assert_allclose(numbers_of(words, form), numbers, rtol=1e-12)


@pytest.mark.parametrize(
    "words",
    [
        ["Bonn", "Ulm"],
        ["A4", "B5"],
        ["$5", "5 €"],
        ["12 %", "0.12"],
        ["007,123", "012,345"],
        ["1.2.3", "1.10.0"],
        ["31/12/24", "01/02/24"],
        ["31/13/2024", "13/31/2024"],
    ],
    ids=["text", "codes", "units", "shares", "zeros", "versions", "years", "no dates"],
)
def test_what_could_mean_something_else_stays_text(words):
    assert guess(*words).types == []


def test_days_and_months_that_fit_both_ways_are_both_named():
    assert guess("01/02/2024", "03/04/2024").types == ["%d/%m/%Y", "%m/%d/%Y"]
    assert guess("01/02/2024 01:00 PM").types[0].startswith("%m/%d")
    assert guess("1,234 €", decimal=",").types == ["1.234,5 €", "1,234.5 €"]
    assert guess("12 €", decimal=",").types == ["1.234,5 €"]


def test_a_few_words_between_numbers_are_gaps_and_many_are_not():
    numbers = [str(number) for number in range(90)]
    assert guess(*numbers, *["unknown"] * 5).gaps == ["unknown"]
    assert guess(*numbers, *["unknown"] * 50).strange == "unknown"
    assert guess(*numbers, "V57").strange == "V57"  # a code, not a gap
    assert guess("1", "2", "3", *["x"] * 3).types == []


def test_later_tables_are_read_as_in_training():
    types = ColumnTypes({"a": "1,234.5 %", "d": "%d/%m/%Y"}, {"a": ["none"]})
    frame = pd.DataFrame({"a": ["5 %", "none", None], "d": ["13/01/1970", None, None]})
    plain = types.to_numbers(frame)
    np.testing.assert_array_equal(plain["a"], [5, np.nan, np.nan])
    assert plain["d"][0] == 12
    days = pd.DataFrame({"d": pd.to_datetime(["1970-01-13"])})
    assert types.to_numbers(days)["d"].tolist() == [12]
    for name, value, words in (
        (
            "a",
            "5",
            "numbers such as 1,234.5 % or missing values, as in training. Row 1 has '5'",
        ),
        ("a", 0.05, "It contains numbers"),
        ("d", "01/13/1970", "dates as day/month/year or missing values"),
        ("d", 12.0, "It contains numbers"),
    ):
        with pytest.raises(ShellError) as error:
            types.to_numbers(pd.DataFrame({name: [value]}))
        assert words in str(error.value)


def test_columns_that_are_text_are_not_guessed_at():
    frame = pd.DataFrame({"a": ["$1"], "b": ["$1"], "c": [[1, 2]]})
    assert list(guess_types(frame, texts=["b"])) == ["a"]
