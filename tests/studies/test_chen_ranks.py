import numpy as np
import pytest

from committee.studies.chen_ranks import LINES, PRINTED, STUDY, comparisons
from committee.studies.store import Store
from committee.studies.study import Job, Results
from tests.studies.small import verdicts


def nothing(name):
    return Results(name, {})


def test_printed_scores_give_the_printed_ranks_but_for_one():
    table, tests, *_ = STUDY.report(nothing)
    off = {(e.line, e.column) for e in table.entries if abs(e.difference) > 6e-5}
    assert off == {("regression-random-forest", "EM")}
    off = {(e.line, e.column) for e in tests.entries if abs(e.difference) > 6e-3}
    assert off == {("regression-random-forest", "EM - EP")}


def test_what_the_paper_says_about_its_own_scores(tmp_path):
    said = verdicts("chen-ranks", Store(tmp_path / "s.sqlite"))
    text = "EP has the best mean rank of EP, ARD, EM and the unpruned ensemble."
    assert said[text, PRINTED] == "reproduced"
    assert said[text, "paper"] == "undecided"


def test_our_runs_are_ranked_once_all_sets_are_there():
    line = LINES[0]
    errors = {"ep": 1.0, "ard": 2.0, "em": 3.0, "unpruned": 4.0}
    numbers = {f"{method}.error": value for method, value in errors.items()}
    cells = [f"{line.ensemble}/{name}" for name in line.sets]
    full = Results(
        line.study,
        {("paper", cell): dict.fromkeys(range(10), numbers) for cell in cells},
    )
    found = comparisons(lambda name: full if name == line.study else nothing(name))
    ranks = list(found[line.name, "paper"].mean_ranks.values())
    np.testing.assert_array_equal(ranks, [1, 2, 3, 4])
    part = Results(line.study, {("paper", cells[0]): dict.fromkeys(range(10), numbers)})
    assert (line.name, "paper") not in comparisons(lambda name: part)


def test_there_is_nothing_to_run():
    assert STUDY.cells == ()
    with pytest.raises(ValueError, match="results of other studies"):
        STUDY.run(Job("chen-ranks", "", 0))
