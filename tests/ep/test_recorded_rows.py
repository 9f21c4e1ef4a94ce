"""Sweeps that were broken off go on where they were."""

import numpy as np
import pytest

from committee import ARDPruner, EPPruner
from committee.ep.evidence import votes_path
from committee.ep.probit_rows import ProbitRows
from committee.ep.recorded_rows import RecordedRows


@pytest.fixture
def S(rng):
    return np.where(rng.random((200, 12)) < np.linspace(0.55, 0.8, 12), 1.0, -1.0)


class Stop(Exception):
    """Somebody pulled the plug."""


def stop_after(n):
    seen = []

    def callback(step):
        seen.append(step)
        if len(seen) == n:
            raise Stop

    return callback


class Counted(ProbitRows):
    """Rows that count how often they are swept over."""

    swept = 0

    def sweep(self, *args):
        type(self).swept += 1
        return super().sweep(*args)


def same_path(found, expected):
    np.testing.assert_array_equal(found.weights, expected.weights)
    np.testing.assert_allclose(found.error, expected.error, rtol=1e-14)
    np.testing.assert_allclose(found.error_se, expected.error_se, rtol=1e-12)


@pytest.mark.parametrize("n", [1, 3, 5])
def test_a_second_start_goes_on(S, tmp_path, n):
    with pytest.raises(Stop):
        votes_path(
            RecordedRows(ProbitRows(S), tmp_path),
            rule="min-loo",
            callback=stop_after(n),
        )
    Counted.swept = 0
    expected = votes_path(Counted(S), rule="min-loo")
    whole, Counted.swept = Counted.swept, 0
    same_path(votes_path(RecordedRows(Counted(S), tmp_path), rule="min-loo"), expected)
    assert 0 < Counted.swept < whole


def test_a_finished_run_is_read_without_a_sweep(S, tmp_path):
    expected = votes_path(RecordedRows(ProbitRows(S), tmp_path), rule="min-loo")
    Counted.swept = 0
    same_path(votes_path(RecordedRows(Counted(S), tmp_path), rule="min-loo"), expected)
    assert Counted.swept == 0


def test_the_folder_stays_small(S, tmp_path):
    votes_path(RecordedRows(ProbitRows(S), tmp_path), rule="min-loo")
    assert len(list(tmp_path.glob("sites-*"))) < 0.5 * len(list(tmp_path.glob("*.npz")))


def test_other_rows_or_options_are_refused(S, tmp_path):
    votes_path(RecordedRows(ProbitRows(S), tmp_path))
    with pytest.raises(ValueError, match="other rows or other options"):
        votes_path(RecordedRows(ProbitRows(S[:-1]), tmp_path))
    with pytest.raises(ValueError, match="other rows or other options"):
        votes_path(RecordedRows(ProbitRows(S), tmp_path), truncated=False, price=1.0)


def test_sites_of_other_rows_are_refused(S, tmp_path):
    rows = ProbitRows(S)
    rows.save(rows.initial_sites(), tmp_path)
    np.testing.assert_array_equal(rows.load(tmp_path).t, rows.initial_sites().t)
    with pytest.raises(ValueError, match="sites of 200 rows, but there are 100"):
        ProbitRows(S[:100]).load(tmp_path)


@pytest.mark.parametrize("kind", [EPPruner, ARDPruner])
def test_pruners_take_a_checkpoint(kind, binary_problem, tmp_path):
    F, y = binary_problem
    expected = kind().fit(F, y)
    for _ in range(2):
        found = kind(checkpoint=tmp_path / "here").fit(F, y)
        np.testing.assert_array_equal(found.weights_, expected.weights_)
        assert found.loo_ == pytest.approx(expected.loo_, rel=1e-12)


def test_the_folder_is_found_from_other_places(S, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rows = RecordedRows(ProbitRows(S), "sweeps")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    votes_path(rows, rule="min-loo")
    assert list((tmp_path / "sweeps").glob("*.npz"))
    assert not list((tmp_path / "elsewhere").iterdir())
