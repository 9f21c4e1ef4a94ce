from tests.studies.small import claims, made_up, outcome


def test_a_small_run():
    found = outcome("hamers-boston", "medv-8", n_rows=80).outcome
    assert found["paper"]["lssvm"] == found["held-out"]["lssvm"]
    assert set(found["paper"]) == {"lssvm", "uncoupled", "zero", "train", "test"}


def numbers(protocol, cell, run):
    return {"lssvm": run, "uncoupled": 2 * run, "zero": run, "train": run, "test": run}


def test_a_report_needs_ten_runs_of_every_cell():
    full = claims("hamers-boston", made_up("hamers-boston", numbers))
    assert "undecided" not in {claim.verdict for claim in full.values()}
    few = claims("hamers-boston", made_up("hamers-boston", numbers, runs=9))
    assert {claim.verdict for claim in few.values()} == {"undecided"}
