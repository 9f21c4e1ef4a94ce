import os
from importlib.resources import files
from pathlib import Path

import pytest

from committee.studies.printed import figure, printed

PAPERS = Path(
    os.environ.get(
        "COMMITTEE_PAPERS", Path(__file__).resolve().parents[3] / "shared" / "papers"
    )
)
TABLES = sorted(
    path.name.removesuffix(".csv")
    for path in (files("committee.studies") / "printed_tables").iterdir()
)


@pytest.mark.parametrize("name", TABLES)
def test_figures_are_those_of_the_papers(name):
    path = PAPERS / "tables" / f"{name}.csv"
    if not path.exists():
        pytest.skip("the tables of the papers are not at hand; set COMMITTEE_PAPERS")
    lines = path.read_text().splitlines()
    header = lines[0].split(",")
    assert [list(row) for row in printed(name)] == [header] * (len(lines) - 1)
    assert [",".join(row.values()) for row in printed(name)] == lines[1:]


def test_a_figure_that_was_not_printed_is_none():
    assert figure("chen_table12_poker", "train_seconds", method="unpruned") is None
    assert figure("chen_table12_poker", "size", method="nobody") is None


def test_known_figures():
    table = "chen_table6_classification_error"
    where = {"ensemble": "bagging", "dataset": "twonorm", "method": "ard"}
    assert figure(table, "error_percent", **where) == 12.55
    assert figure(table, "sd", **where) == 6.48
    assert len(printed(table)) == 3 * 13 * 8
