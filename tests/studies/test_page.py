import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from studies.hamers_coupling import COUPLINGS
from studies.page import draw, explanations, lay_out, number, show, signed_number
from studies.store import Finished, Store
from studies.study import STUDIES, Entry, Job, Table
from tests.studies.small import TOY, finished


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("page") / "s.sqlite")
    for run in range(2):
        store.add(finished("hamers-sine", "sine", run))
    return store


def test_a_line_has_print_ours_the_difference_and_the_other_protocol():
    entries = [
        Entry("sinc", "EP", protocol, np.array([1.0, 3.0]) + shift, 1.5, 0.2)
        for protocol, shift in (("paper", 0), ("held-out", 1))
    ]
    entries.append(Entry("plane", "EM", "paper", np.array([4.0])))
    frame = lay_out(Table("", entries, 1))
    assert frame.columns.tolist() == ["", "", "EP", "EM"]
    assert frame.to_numpy().tolist() == [
        ["sinc", "printed", "1.5 ± 0.2", ""],
        ["", "paper", "2.0 ± 1.4", ""],
        ["", "difference", "+0.5", ""],
        ["", "held-out", "3.0 ± 1.4", ""],
        ["plane", "paper", "", "4.0"],
    ]


def test_numbers_keep_their_meaning():
    assert number(0.0004, 2) == "4.0e-04"
    assert number(0.0, 2) == "0.00"
    assert signed_number(-0.00001, 3) == "0.000"
    assert signed_number(-0.5, 1) == "-0.5"


def test_markdown_has_pipes_and_the_command(store):
    text = show(["hamers-sine"], store, "md")
    assert "## hamers-sine" in text
    assert "`python -m studies run hamers-sine --runs 2` makes them" in text
    assert "| verdict | claim |" in text


def test_explanations_count_the_verdicts_of_their_claims():
    study = replace(TOY, why={"less": "because.", "more": "a guess.", "none": ""})
    verdicts = [("EP has less.", "not"), ("less and more", "partly"), ("more", "not")]
    assert explanations(study, verdicts) == [
        "less (1 partly, 1 not): because.",
        "more (1 not): a guess.",
    ]


def test_csv_has_a_row_for_every_place(store):
    table = pd.read_csv(
        io.StringIO(show(["hamers-sine"], store, "csv")), index_col=["line", "column"]
    )
    assert len(table) == 8
    assert set(table.runs) == {2}
    values = store.results("hamers-sine").values("paper", "sine", "coupled.mean")
    assert table["mean"]["their plain mean", "coupled"] == values.mean()


def test_cells_without_runs_are_named(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    for run in range(2):
        job = Job("hamers-coupling", "tic-tac-toe", run)
        numbers = dict.fromkeys(("error", "minimum"), [1.0] * len(COUPLINGS))
        both = {"paper": numbers, "held-out": numbers}
        store.add(Finished(job, both, 0.1, None, "some.npz"))
    text = show(["hamers-coupling"], store, "md")
    assert "0 to 2 runs of each cell (5)" in text
    assert "`python -m studies run hamers-coupling --runs 2 --data DIR` comp" in text
    assert "There are no runs of nox-8, medv-8, tic-tac-toe-123, australian." in text
    assert "Data: some.npz." in text


def test_a_page_of_all_studies_counts_its_verdicts(store):
    text = show(STUDIES, store, "md")
    head = text[: text.index("## chen-regression")]
    rows = [line.split("|")[3:-1] for line in head.splitlines()[10:] if line]
    assert f"There are {sum(int(n) for row in rows for n in row)} verdicts" in head
    for name in STUDIES:
        assert f"## {name}" in text


@pytest.mark.parametrize("name", ["chen-ranks", "hamers-sine"])
def test_figures_without_runs(tmp_path, name):
    store = Store(tmp_path / "s.sqlite")
    assert draw(name, store, tmp_path / "a.png").exists()
    with pytest.raises(ValueError, match=r"\.svg, \.png, \.pdf"):
        draw(name, store, tmp_path / "figure.doc")
