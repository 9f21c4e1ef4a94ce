import pytest

from committee.studies.catalogue import STUDIES, get_study
from committee.studies.figures import draw
from committee.studies.store import Store
from tests.studies.small import fill

#: Drawn from what is in the store alone.
FROM_RUNS = {
    "chen-regression": ("bagging/plane", {"n_members": 4}),
    "chen-classification": ("bagging/heart", {"n_members": 4}),
    "chen-poker": ("poker", {"n_members": 3, "n_train": 90, "n_test": 20}),
    "hamers-boston": ("nox-8", {"n_rows": 60}),
    "hamers-coupling": ("tic-tac-toe", {"n_rows": 60, "n_members": 3}),
    "hamers-classification": ("tic-tac-toe", {"n_rows": 60, "n_members": 3}),
    "chapter-generators": ("multi", {"times": 3, "n_test": 9}),
}


@pytest.mark.parametrize("name", FROM_RUNS)
def test_figures_of_a_few_runs(tmp_path, name):
    cell, options = FROM_RUNS[name]
    store = fill(tmp_path / "s.sqlite", name, [cell], runs=2, **options)
    path = draw(name, store, tmp_path / "figure.svg")
    assert path.read_text().startswith("<?xml")


@pytest.mark.parametrize("name", ["chen-ranks", "hamers-sine"])
def test_figures_without_runs(tmp_path, name):
    assert draw(name, Store(tmp_path / "s.sqlite"), tmp_path / "a.png").exists()


def test_the_ending_decides(tmp_path):
    with pytest.raises(ValueError, match="svg, png, pdf"):
        draw("hamers-sine", Store(tmp_path / "s.sqlite"), tmp_path / "figure.doc")


def test_every_study_can_be_drawn():
    assert all(callable(get_study(name).figure) for name in STUDIES)
