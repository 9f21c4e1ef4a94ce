import numpy as np

from committee.studies.hamers_coupling import COUPLINGS
from tests.studies.small import fill, outcome, verdicts


def test_couplings_that_are_too_negative_have_no_error():
    found = outcome("hamers-coupling", "tic-tac-toe", n_rows=90, n_members=3).outcome
    errors = np.array(found["paper"]["error"])
    assert np.isnan(errors[0])
    assert np.isfinite(errors[COUPLINGS.index(0.0) :]).all()


def test_a_report_has_a_line_for_each_coupling(tmp_path):
    store = fill(
        tmp_path / "s.sqlite",
        "hamers-coupling",
        ["tic-tac-toe"],
        n_rows=90,
        n_members=3,
    )
    said = verdicts("hamers-coupling", store)
    text = "Tic-tac-toe: the error has a clear minimum between 0.01 and 1."
    assert said[text, "paper"] != "undecided"
    assert (
        said["Boston: a coupling above zero lowers the error.", "paper"] == "undecided"
    )
