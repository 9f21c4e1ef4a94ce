import numpy as np

from committee.studies.catalogue import get_study
from committee.studies.hamers_coupling import COUPLINGS
from tests.studies.small import claims, fill, made_up, outcome


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
    table, count, *_ = get_study("hamers-coupling").report(store.results)
    assert len(table.entries) == 2 * 3 * len(COUPLINGS)
    found = {e.column: e.mean for e in count.entries if e.protocol == "paper"}
    assert found["-1000"] == 0
    assert found["0"] == 3


def test_a_report_tells_in_how_many_runs_there_was_a_minimum():
    def numbers(protocol, cell, run):
        errors = [abs(np.log10(nu / 0.1)) if nu > 0 else 4.0 for nu in COUPLINGS]
        if run >= 4:
            errors[COUPLINGS.index(-0.1)] = None
        return {"error": errors}

    said = claims("hamers-coupling", made_up("hamers-coupling", numbers))
    negative = said[
        "Boston: a small negative coupling lowers the error as well.", "paper"
    ]
    assert "-0.1: a minimum in 4 of 10 runs" in negative.found
    assert negative.verdict == "not"
    text = "Tic-tac-toe: the error has a clear minimum between 0.01 and 1."
    assert said[text, "paper"].verdict == "reproduced"
