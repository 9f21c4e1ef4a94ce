"""Seeds, results and entries; every study is complete; the printed tables."""

import os
from pathlib import Path

import numpy as np
import pytest

from studies.datasets import NAMES
from studies.printed import TABLES, figure, printed
from studies.study import STUDIES, Entry, Job, Results, get_study
from tests.studies.small import TOY, claims, no_results

PAPERS = Path(
    os.environ.get(
        "COMMITTEE_PAPERS", Path(__file__).resolve().parents[3] / "shared" / "papers"
    )
)


@pytest.mark.parametrize("name", STUDIES)
def test_every_study_is_complete_and_undecided_without_runs(name):
    study = get_study(name)
    assert study.name == name
    assert set(study.datasets) <= set(study.cells)
    assert set(study.datasets.values()) <= set(NAMES)
    verdicts = {
        claim.verdict
        for (_, protocol), claim in claims(name, no_results()).items()
        if protocol != "printed scores"
    }
    assert verdicts == {"undecided"}


@pytest.mark.parametrize("name", STUDIES)
def test_every_claim_has_an_explanation_and_every_explanation_a_claim(name):
    texts = {text for text, _ in claims(name, no_results())}
    why = get_study(name).why
    first = {text: next((p for p in why if p in text), None) for text in texts}
    assert None not in first.values()
    assert set(first.values()) == set(why)


def test_a_seed_depends_on_study_cell_and_run_only():
    seeds = {
        Job(study, cell, run).seed
        for study in ("s", "t")
        for cell in ("a", "b")
        for run in range(3)
    }
    assert len(seeds) == 12
    assert Job("chen-regression", "bagging/sinc", 0, "folder").seed == 584381073


def test_values_come_in_the_order_of_runs_and_skip_what_a_run_lacks():
    runs = {2: {"x": 3.0}, 0: {"x": 1.0, "curve": [7.0, None]}, 1: {"x": 2.0}}
    results = Results({("paper", "a"): runs}, no_results)
    assert results.values("paper", "a", "x").tolist() == [1.0, 2.0, 3.0]
    assert results.values("held-out", "a", "x").shape == (0,)
    np.testing.assert_array_equal(
        results.values("paper", "a", "curve"), [[7.0, np.nan]]
    )


def test_runs_are_counted_for_every_cell_of_the_study_and_all_protocols():
    full = {run: {"x": 0.0} for run in range(3)}
    rows = {("paper", "a"): full, ("held-out", "a"): {0: {}}, ("paper", "b"): full}
    assert Results(rows, no_results).n_runs(TOY) == {"a": 1, "b": 0, "c": 0}


def test_an_entry_without_runs_or_print_has_no_difference():
    assert np.isnan(Entry("l", "c", "paper", np.empty(0), 1.0).difference)
    assert np.isnan(Entry("l", "c", "paper", np.array([1.0])).difference)
    entry = Entry("l", "c", "paper", np.array([1.0, 3.0]), 1.5)
    assert (entry.difference, entry.sd) == (0.5, pytest.approx(np.sqrt(2)))


def test_printed_tables_are_those_of_the_papers():
    if not PAPERS.exists():
        pytest.skip("the tables of the papers are not at hand; set COMMITTEE_PAPERS")
    for path in TABLES.iterdir():
        assert path.read_text() == (PAPERS / "tables" / path.name).read_text()


def test_printed_figures():
    table = "chen_table6_classification_error"
    where = {"ensemble": "bagging", "dataset": "twonorm", "method": "ard"}
    assert figure(table, "error_percent", **where) == 12.55
    assert len(printed(table)) == 3 * 13 * 8
    assert figure("chen_table12_poker", "train_seconds", method="unpruned") is None
    assert figure("chen_table12_poker", "size", method="nobody") is None
