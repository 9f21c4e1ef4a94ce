import pytest

from tests.studies.small import fill, outcome, verdicts


@pytest.mark.parametrize("cell", ["tic-tac-toe", "australian", "adult", "adult-sparse"])
def test_a_small_run(cell):
    found = outcome("hamers-classification", cell, n_rows=90, n_members=5).outcome
    for numbers in found.values():
        assert 0 <= numbers["coupled.error"] <= 1
        assert 0 <= numbers["uncoupled.auc"] <= 1
        assert 1 <= numbers["coupled.size"] <= 5
    if cell == "adult":
        assert numbers["coupled.size"] == 5  # eq. 6 keeps all


def test_a_report_of_some_cells(tmp_path):
    store = fill(
        tmp_path / "s.sqlite", "hamers-classification", ["tic-tac-toe"], n_rows=90
    )
    said = verdicts("hamers-classification", store)
    text = "With the sparse weights of eq. 7, coupling makes no difference on adult."
    assert said[text, "paper"] == "undecided"
