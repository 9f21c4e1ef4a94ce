"""Summaries of runs, and that the kept ones belong to the studies as they are."""

import numpy as np
import pandas as pd
import pytest

from studies.kept import BOX, KEPT, NoRunsError, read, summarise, write
from studies.store import Finished, Store
from studies.study import STUDIES, Job, get_study
from tests.studies.small import claims, finished, no_results


def test_a_summary_is_read_as_it_was_written(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    for run in range(3):
        store.add(finished("hamers-sine", "sine", run))
    summary = summarise("hamers-sine", store)
    write("hamers-sine", summary, tmp_path)
    again = read("hamers-sine", tmp_path)
    assert (again.made, again.tables, again.claims) == (
        summary.made, summary.tables, summary.claims,
    )  # fmt: skip
    assert again.seconds == pytest.approx(summary.seconds, abs=0.5)
    pd.testing.assert_frame_equal(
        again.places, summary.places, check_dtype=False, rtol=1e-4
    )


def test_means_deviations_and_quartiles_are_those_of_the_runs(tmp_path):
    store = Store(tmp_path / "s.sqlite")
    errors = [0.1, 0.2, 0.3, 0.4, 0.9]
    for run, value in enumerate(errors):
        numbers = {"uncoupled.error": value, "coupled.error": 1.0}
        outcome = {"paper": numbers, "held-out": numbers}
        job = Job("hamers-classification", "adult", run)
        store.add(Finished(job, outcome, 0.1, None))
    summary = summarise("hamers-classification", store)
    rows = summary.table("Figure 9").set_index(["line", "column", "protocol"])
    row = rows.loc["adult", "uncoupled", "paper"]
    assert row.runs == 5
    assert row["mean"] == pytest.approx(0.38)
    assert row.sd == pytest.approx(np.std(errors, ddof=1))
    assert row[list(BOX)].tolist() == pytest.approx([0.1, 0.2, 0.3, 0.4, 0.9])
    assert summary.means("Figure 9").loc["adult", "coupled"] == 1.0
    with pytest.raises(NoRunsError, match="Figure 8"):
        summary.table("Figure 8")


@pytest.mark.parametrize("name", STUDIES)
def test_what_is_kept_is_of_the_study_as_it_is(name):
    """The same tables and claims as the code makes: nothing is out of date."""
    summary = read(name)
    parts = get_study(name).report(no_results())
    titles = [part.title for part in parts if hasattr(part, "entries")]
    assert [table["title"] for table in summary.tables] == titles
    found = {(claim.text, claim.protocol) for claim in summary.claims}
    assert found == set(claims(name, no_results()))


def test_what_is_kept_is_small():
    assert sum(path.stat().st_size for path in KEPT.iterdir()) < 500_000
