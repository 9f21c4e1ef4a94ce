import numpy as np
import pytest

from committee.studies.study import Entry
from committee.studies.verdicts import (
    agrees,
    by_parts,
    by_share,
    lower_on_most,
    same_figures,
)

RUNS = np.array([0.9, 1.0, 1.1, 1.0])  # standard error 0.0408
TEN = np.linspace(0.9, 1.1, 10)


@pytest.mark.parametrize(
    ("printed", "sd", "expected"),
    [(1.08, 0.0, True), (1.09, 0.0, False), (1.09, 0.4, True)],
)
def test_two_joint_standard_errors(printed, sd, expected):
    assert agrees(Entry("l", "c", "paper", RUNS, printed, sd)) is expected


def test_shares_and_parts():
    assert by_share(0, 0) == "undecided"
    assert [by_share(n, 5) for n in (5, 4, 3, 2)] == [
        "reproduced", "reproduced", "partly", "not",
    ]  # fmt: skip
    assert by_parts(False, False) == "not"
    assert by_parts(True, True) == "reproduced"


def test_a_place_with_fewer_than_ten_runs_leaves_a_claim_open():
    full, few, empty = (
        Entry("l", "c", "paper", values, 1.0, 0.1) for values in (TEN, TEN[:9], TEN[:0])
    )
    assert same_figures("text", [full]).verdict == "reproduced"
    for other in (few, empty):
        assert same_figures("text", [full, other]).verdict == "undecided"
    pairs = [(TEN, TEN + 1), (TEN[:9], TEN)]
    assert lower_on_most("text", "paper", pairs, (2, 0)).verdict == "undecided"


def test_wins_and_losses_of_means_and_by_a_test():
    pairs = [(TEN, TEN + 1), (TEN, TEN), (TEN + 0.01, TEN)]
    claim = lower_on_most("text", "paper", pairs, (3, 0))
    assert claim.found == "wins 1, losses 1 (in print 3, 0); by a t-test 1, 0"
    assert claim.verdict == "not"


@pytest.mark.parametrize(
    ("wins", "printed", "verdict"),
    [(7, 8, "reproduced"), (7, 9, "partly"), (6, 7, "not"), (13, 8, "reproduced")],
)
def test_as_often_as_in_print_but_for_one(wins, printed, verdict):
    pairs = [(TEN, TEN + 1)] * wins + [(TEN + 1, TEN)] * (13 - wins)
    claim = lower_on_most("text", "paper", pairs, (printed, 13 - printed))
    assert claim.verdict == verdict
    assert lower_on_most("text", "paper", [], (1, 0)).verdict == "undecided"
