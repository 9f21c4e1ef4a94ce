"""Sizes with units, and jobs that are not nobody."""

import pytest
import typer

from committee.shell.quantities import number_of_bytes, number_of_jobs


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("15000", 15_000),
        ("1e6", 10**6),
        ("800 kB", 800_000),
        ("5MB", 5 * 10**6),
        ("1.5gb", 1.5 * 10**9),
        ("2KiB", 2 * 2**10),
        ("5MiB", 5 * 2**20),
        ("100B", 100),
    ],
)
def test_a_size_is_a_number_of_bytes(text, n_bytes):
    assert number_of_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["15kX", "-1", "1.5.5MB", "much", "", "MB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(typer.BadParameter, match="is no size: give bytes, or"):
        number_of_bytes(text)


def test_jobs_are_some():
    assert [number_of_jobs(n) for n in (-2, -1, 1, 8)] == [-2, -1, 1, 8]
    with pytest.raises(typer.BadParameter, match="-1 for all cores"):
        number_of_jobs(0)
