import io
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from studies import kept, page
from studies.claims import Claim
from studies.hamers_coupling import COUPLINGS
from studies.kept import summarise
from studies.page import explanations, lay_out, number, show, signed_number
from studies.store import Finished, Store
from studies.study import STUDIES, Job, Why
from tests.studies.small import TOY, finished


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    store = Store(tmp_path_factory.mktemp("page") / "s.sqlite")
    for run in range(2):
        store.add(finished("hamers-sine", "sine", run))
    return store


@pytest.fixture(scope="module")
def sine(store):
    return {"hamers-sine": summarise("hamers-sine", store)}


def test_a_line_has_print_ours_the_difference_and_the_other_protocol():
    columns = [
        "line", "column", "protocol", "runs", "mean", "sd", "printed", "printed_sd",
    ]  # fmt: skip
    rows = pd.DataFrame(
        [
            ["sinc", "EP", "paper", 2, 2.0, 1.41, 1.5, 0.2],
            ["sinc", "EP", "held-out", 2, 3.0, 1.41, 1.5, 0.2],
            ["plane", "EM", "paper", 1, 4.0, np.nan, np.nan, np.nan],
        ],
        columns=columns,
    )
    frame = lay_out(rows, 1)
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


def test_markdown_has_pipes_and_the_command(sine):
    text = show(sine, "md")
    assert "## hamers-sine" in text
    assert "`python -m studies run hamers-sine --runs 2` makes them" in text
    assert "| verdict | claim |" in text


def test_explanations_count_the_verdicts_of_their_claims(monkeypatch, sine):
    why = {
        "less": Why("EP has less.", "Because.", "A guess."),
        "more": Why("It has more.", "No."),
        "none": Why("", ""),
    }
    monkeypatch.setattr(page, "get_study", lambda name: replace(TOY, why=why))
    claims = [
        Claim(text, "", "paper", "", verdict)
        for text, verdict in (
            ("EP has less.", "not"), ("so less", "partly"), ("more", "not"),
        )
    ]  # fmt: skip
    summary = replace(sine["hamers-sine"], claims=claims)
    assert explanations("toy", summary) == [
        "EP has less. (1 partly, 1 not) Because. A guess.",
        "It has more. (1 not) No.",
    ]


def test_csv_has_a_row_for_every_place(sine, store):
    table = pd.read_csv(io.StringIO(show(sine, "csv")), index_col=["line", "column"])
    assert len(table) == 8
    assert set(table.runs) == {2}
    values = store.results("hamers-sine").values("paper", "sine", "coupled.mean")
    assert table["mean"]["their plain mean", "coupled"] == pytest.approx(values.mean())


def test_cells_without_runs_are_named(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    for run in range(2):
        job = Job("hamers-coupling", "tic-tac-toe", run)
        numbers = dict.fromkeys(("error", "minimum"), [1.0] * len(COUPLINGS))
        both = {"paper": numbers, "held-out": numbers}
        store.add(Finished(job, both, 0.1, None, "some.npz"))
    text = show({"hamers-coupling": summarise("hamers-coupling", store)}, "md")
    assert "0 to 2 runs of each cell (5)" in text
    assert "`python -m studies run hamers-coupling --runs 2 --data DIR` comp" in text
    assert "There are no runs of nox-8, medv-8, tic-tac-toe-123, australian." in text
    assert "Data: some.npz." in text


def test_a_page_of_all_studies_counts_its_verdicts():
    """By the summaries that are kept in the repository."""
    summaries = {name: kept.read(name) for name in STUDIES}
    text = show(summaries, "md")
    head = text[: text.index("## chen-regression")]
    rows = [line.split("|")[3:-1] for line in head.splitlines()[2:] if line]
    assert sum(int(n) for row in rows for n in row) == sum(
        len(summary.claims) for summary in summaries.values()
    )
    for name in STUDIES:
        assert f"## {name}" in text
