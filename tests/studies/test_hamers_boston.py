from tests.studies.small import fill, outcome, verdicts


def test_a_small_run():
    found = outcome("hamers-boston", "medv-8", n_rows=80).outcome
    assert found["paper"]["lssvm"] == found["held-out"]["lssvm"]
    assert set(found["paper"]) == {"lssvm", "uncoupled", "zero", "train", "test"}


def test_a_report_of_some_cells(tmp_path):
    few = fill(tmp_path / "s.sqlite", "hamers-boston", ["nox-16"], n_rows=80)
    assert "undecided" in verdicts("hamers-boston", few).values()
    store = fill(few.path, "hamers-boston", ["nox-16"], runs=10, n_rows=80)
    assert "undecided" not in verdicts("hamers-boston", store).values()
