import numpy as np
import pytest

from studies.chen import agrees
from studies.claims import by_parts, by_share, decide, lower_on_most, ratio
from studies.hamers import significantly_lower
from studies.study import Entry

RUNS = np.array([0.9, 1.0, 1.1, 1.0])  # standard error 0.0408
TEN = np.linspace(0.9, 1.1, 10)


@pytest.mark.parametrize(
    ("printed", "sd", "expected"),
    [(1.08, 0.0, True), (1.09, 0.0, False), (1.09, 0.4, True)],
)
def test_two_joint_standard_errors(printed, sd, expected):
    assert agrees(Entry("l", "c", "paper", RUNS, printed, sd)) is expected


def test_shares_and_parts():
    verdicts = [by_share([True] * n + [False] * (5 - n)) for n in (5, 4, 3, 2)]
    assert verdicts == ["reproduced", "reproduced", "partly", "not"]
    assert by_parts(False, False) == "not"
    assert by_parts(True, False) == "partly"
    assert by_parts(True, True) == "reproduced"


@pytest.mark.parametrize(
    ("runs", "verdict"),
    [([TEN, TEN], "reproduced"), ([TEN, TEN[:9]], "undecided"), ([], "undecided")],
)
def test_fewer_than_ten_runs_of_anything_leave_a_claim_open(runs, verdict):
    claim = decide("text", "rule", "paper", runs, lambda: ("found", "reproduced"))
    assert claim.verdict == verdict


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


def test_a_ratio_to_no_error_at_all():
    np.testing.assert_array_equal(ratio(3.0, np.array([2.0, 0.0])), [1.5, np.nan])
    assert ratio(0.0, 0.0) == 1.0


@pytest.mark.parametrize(
    ("shifts", "verdict"),
    [((-2, -2), "reproduced"), ((-2, 2), "partly"), ((0, 2), "not")],
)
def test_lower_medians_by_rank_sums(shifts, verdict):
    pairs = {str(i): (TEN + shift, TEN) for i, shift in enumerate(shifts)}
    assert significantly_lower("text", "paper", pairs).verdict == verdict
