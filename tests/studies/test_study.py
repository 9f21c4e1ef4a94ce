import numpy as np
import pytest

from committee.studies.study import Entry, Job, Results
from tests.studies.small import TOY


def test_a_seed_depends_on_study_cell_and_run_only():
    seeds = {
        Job(study, cell, run).seed
        for study in ("s", "t")
        for cell in ("a", "b")
        for run in range(3)
    }
    assert len(seeds) == 12
    assert Job("s", "a", 1, "folder").seed == Job("s", "a", 1).seed


def test_values_come_in_the_order_of_runs_and_skip_what_a_run_lacks():
    runs = {2: {"x": 3.0}, 0: {"x": 1.0, "y": 7.0}, 1: {"x": 2.0}}
    results = Results("s", {("paper", "a"): runs, ("paper", "b"): {}})
    assert results.values("paper", "a", "x").tolist() == [1.0, 2.0, 3.0]
    assert results.values("paper", "a", "y").tolist() == [7.0]
    assert results.values("held-out", "a", "x").shape == (0,)


def test_runs_are_counted_for_every_cell_of_the_study_and_all_protocols():
    full = {run: {"x": 0.0} for run in range(3)}
    rows = {("paper", "a"): full, ("held-out", "a"): {0: {}}, ("paper", "b"): full}
    assert Results("toy", rows).n_runs(TOY) == {"a": 1, "b": 0, "c": 0}


def test_a_curve_keeps_its_gaps():
    results = Results("s", {("paper", "a"): {0: {"x": [1.0, None]}}})
    np.testing.assert_array_equal(results.values("paper", "a", "x"), [[1.0, np.nan]])


def test_an_entry_without_runs_or_print_has_no_difference():
    assert np.isnan(Entry("l", "c", "paper", np.empty(0), 1.0).difference)
    assert np.isnan(Entry("l", "c", "paper", np.array([1.0])).difference)
    entry = Entry("l", "c", "paper", np.array([1.0, 3.0]), 1.5)
    assert entry.difference == pytest.approx(0.5)
    assert entry.sd == pytest.approx(np.sqrt(2))
