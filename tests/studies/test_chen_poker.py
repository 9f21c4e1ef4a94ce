import numpy as np
import pytest

from committee.studies.chen_poker import METHODS, deal
from tests.studies.small import claims, made_up, outcome

SMALL = {"n_members": 4, "n_train": 200, "n_test": 120}


def test_blocks_do_not_change_the_numbers():
    one, two = (
        outcome("chen-poker", "poker", **SMALL, block=block).outcome["paper"]
        for block in (60, 120)
    )
    # The hands of a block are dealt card by card, so that other blocks hold others.
    assert one["ep.size"] == two["ep.size"]
    assert 0 < one["unpruned.error"] < 100
    assert one["ep.total_seconds"] >= one["ep.test_seconds"]


def test_about_half_of_the_hands_hold_something():
    X, y = deal(20_000, np.random.default_rng(0))
    assert y.mean() == pytest.approx(0.4988, abs=0.015)  # 4 standard errors
    assert X.shape == (20_000, 10)


def numbers_of(seconds, noise, errors):
    def numbers(protocol, cell, run):
        spread = noise if run % 2 else -noise
        found = {f"{m}.error": errors.get(m, 30.0) for m in METHODS}
        found |= {f"{m}.total_seconds": 10.0 for m in METHODS}
        return found | {"ep.size": 12, "ep.total_seconds": seconds + spread}

    return numbers


@pytest.mark.parametrize(
    ("seconds", "noise", "verdict"),
    [(9, 0.1, "reproduced"), (9.9, 1.0, "partly"), (11, 0.1, "not")],
)
def test_less_time_by_two_standard_errors(seconds, noise, verdict):
    shelf = made_up("chen-poker", numbers_of(seconds, noise, {}))
    text = (
        "Pruning by EP and asking the committee takes less time than asking all trees."
    )
    assert claims("chen-poker", shelf)[text, "paper"].verdict == verdict


@pytest.mark.parametrize(
    ("errors", "verdict"),
    [
        ({"ep": 20.0, "ep12": 10.0}, "reproduced"),
        ({"ep": 31.0, "ep12": 10.0}, "not"),
        ({"ep": 29.0, "cp": 28.0}, "partly"),
    ],
)
def test_the_small_committee_that_is_not_in_print_decides_nothing(errors, verdict):
    shelf = made_up("chen-poker", numbers_of(9, 0.1, errors))
    text = "EP has a lower error than the unpruned ensemble and all others."
    assert claims("chen-poker", shelf)[text, "paper"].verdict == verdict
