import csv
import io

import numpy as np
import pytest

from committee.studies.catalogue import STUDIES, get_study
from committee.studies.hamers_coupling import COUPLINGS
from committee.studies.store import Finished, Store
from committee.studies.study import Entry, Job, Table
from committee.studies.tables import lay_out, number, show, signed_number
from tests.studies.small import fill


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("tables") / "s.sqlite"
    return fill(path, "hamers-sine", ["sine"], runs=2)


def test_a_line_has_print_ours_the_difference_and_the_other_protocol():
    entries = [
        Entry("sinc", "EP", protocol, np.array([1.0, 3.0]) + shift, 1.5, 0.2)
        for protocol, shift in (("paper", 0), ("held-out", 1))
    ]
    header, rows = lay_out(Table("", entries, 1))
    assert header == ["", "", "EP"]
    assert rows == [
        ["sinc", "printed", "1.5 ± 0.2"],
        ["", "paper", "2.0 ± 1.4"],
        ["", "difference", "+0.5"],
        ["", "held-out", "3.0 ± 1.4"],
    ]


def test_numbers_keep_their_meaning():
    assert number(0.0004, 2) == "4.0e-04"
    assert number(0.0, 2) == "0.00"
    assert signed_number(-0.00001, 3) == "0.000"
    assert signed_number(-0.5, 1) == "-0.5"


def test_markdown_has_pipes_and_the_command(store):
    text = show(["hamers-sine"], store, "md")
    assert "## hamers-sine" in text
    assert "`committee study run hamers-sine --runs 2` makes them" in text
    assert "| verdict | claim |" in text


def test_html_is_a_page_of_tables(store):
    text = show(["hamers-sine"], store, "html")
    assert text.startswith("<!doctype html>")
    assert text.count("<table>") == text.count("</table>") == 2


def test_csv_has_a_row_for_every_place(store):
    rows = list(csv.DictReader(io.StringIO(show(["hamers-sine"], store, "csv"))))
    assert len(rows) == 8
    assert {row["runs"] for row in rows} == {"2"}
    values = store.results("hamers-sine").values("paper", "sine", "coupled.mean")
    (mean,) = [
        float(row["mean"])
        for row in rows
        if (row["line"], row["column"]) == ("their plain mean", "coupled")
    ]
    assert mean == values.mean()


def test_cells_without_runs_are_named(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    for run in range(2):
        job = Job("hamers-coupling", "tic-tac-toe", run)
        numbers = {"error": [1.0] * len(COUPLINGS)}
        both = {"paper": numbers, "held-out": numbers}
        store.add(Finished(job, both, 0.1, None, "some.npz"))
    text = show(["hamers-coupling"], store, "md")
    assert "0 to 2 runs of each cell (3)" in text
    assert "`committee study run hamers-coupling --runs 2 --data DIR` completes" in text
    assert "There are no runs of nox-8, medv-8." in text
    assert "Data: some.npz." in text


def test_a_page_says_what_was_chosen_and_counts_its_verdicts(store):
    text = show(STUDIES, store, "md")
    head = text[: text.index("## chen-regression")]
    rows = [line.split("|")[3:-1] for line in head.splitlines() if "| chen" in line
            or "| hamers" in line or "| chapter" in line]  # fmt: skip
    verdicts = sum(int(cell) for row in rows for cell in row)
    assert f"There are {verdicts} verdicts" in head
    assert "after early runs" in head


@pytest.mark.parametrize("name", [n for n in STUDIES if n != "hamers-sine"])
def test_every_study_says_why_where_a_claim_does_not_hold(store, name):
    why = get_study(name).why
    assert why.startswith("Why not: ")
    assert why in show([name], store, "md")


@pytest.mark.parametrize("form", ["table", "md", "csv", "html"])
def test_all_studies_in_one_page(store, form):
    text = show(STUDIES, store, form)
    assert "chen-ranks" in text
    assert "hamers-sine" in text


def test_an_unknown_format_is_refused(store):
    with pytest.raises(ValueError, match="one of table, md, csv, html"):
        show(["hamers-sine"], store, "pdf")
