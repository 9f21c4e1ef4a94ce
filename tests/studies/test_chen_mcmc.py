import pytest

from tests.studies.small import fill, outcome, verdicts


@pytest.mark.parametrize("cell", ["sinc", "cancer"])
def test_a_small_run(cell):
    found = outcome("chen-mcmc", cell, n_members=8, n_samples=50).outcome
    for numbers in found.values():
        assert numbers["mcmc.size"] == numbers["ep.size"] <= 8
        assert numbers["off.mean"] < 2  # of fifty draws


def test_a_report_compares_errors(tmp_path):
    store = fill(
        tmp_path / "s.sqlite", "chen-mcmc", ["sinc"], n_members=6, n_samples=30
    )
    said = verdicts("chen-mcmc", store)
    assert (
        said["EP is about as good as MCMC, here of the same members.", "paper"]
        == "reproduced"
    )
