import numpy as np
import pytest

from committee.studies.chen_poker import deal
from tests.studies.small import fill, outcome, verdicts

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


def test_a_report(tmp_path):
    store = fill(tmp_path / "s.sqlite", "chen-poker", ["poker"], runs=2, **SMALL)
    assert "undecided" not in verdicts("chen-poker", store).values()
