import pytest

from tests.studies.small import claims, made_up, outcome


@pytest.mark.parametrize("cell", ["sinc", "cancer"])
def test_a_small_run(cell):
    found = outcome("chen-mcmc", cell, n_members=8, n_samples=50).outcome
    for numbers in found.values():
        assert numbers["mcmc.size"] == numbers["ep.size"] <= 8
        assert numbers["off.mean"] < 2  # of fifty draws


@pytest.mark.parametrize(
    ("ratio", "verdict"), [(1.06, "reproduced"), (0.92, "reproduced"), (1.2, "not")]
)
def test_as_good_as_mcmc_is_within_a_tenth(ratio, verdict):
    """In print the errors on sinc are 6 % apart: the paper must pass its own rule."""

    def numbers(protocol, cell, run):
        errors = {"ep.error": ratio, "mcmc.error": 1.0, "unpruned.error": 2.0}
        return errors | {"ep.seconds": 1.0, "mcmc.seconds": 20.0}

    said = claims("chen-mcmc", made_up("chen-mcmc", numbers))
    text = "EP is about as good as MCMC, here of the same members."
    assert said[text, "paper"].verdict == verdict
    assert (
        said["MCMC takes many times longer than EP.", "paper"].verdict == "reproduced"
    )
