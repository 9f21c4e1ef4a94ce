"""Every study runs and is shown, at a size for tests."""

import numpy as np
import pytest

from studies.kept import summarise
from studies.page import show
from studies.store import Store
from studies.ways import WAYS
from tests.studies.small import finished

SMALL = {
    "chen-regression": {"n_members": 6, "n_test": 20},
    "chen-classification": {"n_members": 6},
    "chen-stability": {"n_members": 8},
    "chen-mcmc": {"n_members": 8, "n_samples": 50},
    "chen-synthetic": {"n_members": 3, "n_test": 20},
    "chen-poker": {"n_members": 4, "n_train": 90, "n_test": 50, "block": 20},
    "hamers-sine": {},
    "hamers-boston": {"n_rows": 60},
    "hamers-coupling": {"n_rows": 60, "n_members": 3},
    "hamers-chain": {"n_rows": 60, "n_members": 3},
    "hamers-classification": {"n_rows": 90, "n_members": 5},
    "chapter-generators": {"times": 3, "n_test": 30, "rounds": 5},
}
#: One cell of each kind of member, data and target.
CELLS = [
    ("chen-regression", "random-forest/house"),
    ("chen-classification", "bagging/heart"),
    ("chen-classification", "adaboost/thyroid"),
    ("chen-mcmc", "sinc"),
    ("chen-mcmc", "cancer"),
    ("chen-stability", "friedman"),
    ("chen-stability", "heart"),
    ("chen-synthetic", "sinc"),
    ("chen-synthetic", "synth"),
    ("chen-poker", "poker"),
    ("hamers-sine", "sine"),
    ("hamers-boston", "nox-8"),
    ("hamers-coupling", "tic-tac-toe"),
    ("hamers-chain", "medv-8"),
    ("hamers-classification", "tic-tac-toe-123"),
    ("hamers-classification", "adult"),
    ("chapter-generators", "waveform"),
]


def seeded(outcome):
    """The numbers that the seed decides."""
    return {
        (protocol, name): np.asarray(value, dtype=np.float64)
        for protocol, numbers in outcome.items()
        for name, value in numbers.items()
        if not name.endswith("seconds")
    }


@pytest.mark.slow
@pytest.mark.parametrize(("name", "cell"), CELLS)
def test_a_study_runs_and_is_shown(tmp_path, name, cell):
    store = Store(tmp_path / "s.sqlite")
    done = finished(name, cell, **SMALL[name])
    for (_, number), value in seeded(done.outcome).items():
        if number.endswith("size"):
            assert value >= 1
        if number.endswith(".error"):
            assert 0 <= value <= 200
    store.add(done)
    text = show({name: summarise(name, store)}, "md")
    assert "There are no runs of" in text or "1 runs of each cell (1)" in text


def test_a_run_repeats_itself_and_both_protocols_have_the_same_members():
    options = SMALL["chen-regression"]
    outcome, again = (
        finished("chen-regression", "bagging/plane", **options).outcome
        for _ in range(2)
    )
    numbers = seeded(outcome)
    for key, value in seeded(again).items():
        np.testing.assert_array_equal(value, numbers[key])
    assert outcome["paper"]["unpruned.error"] == outcome["held-out"]["unpruned.error"]
    assert outcome["paper"]["ep.error"] != outcome["held-out"]["ep.error"]


def test_couplings_without_a_minimum_have_an_error_all_the_same():
    outcome = finished(
        "hamers-coupling", "tic-tac-toe-123", **SMALL["hamers-coupling"]
    ).outcome
    numbers = outcome["paper"]
    assert np.isfinite(numbers["error"]).all()
    assert numbers["minimum"][0] == 0
    assert numbers["minimum"][6:] == [1.0] * 7


def test_boards_in_the_order_of_the_file_have_no_curve():
    outcome = finished(
        "hamers-classification", "tic-tac-toe-123-in-order", n_members=11
    ).outcome
    assert outcome["paper"]["coupled.error"] > 0.9
    assert "coupled.auc" not in outcome["paper"]


def test_a_chain_and_a_ring_have_the_same_subsets_but_another_error():
    numbers = finished("hamers-chain", "tic-tac-toe", n_members=5).outcome["paper"]
    assert numbers["difference"] == numbers["chain"] - numbers["ring"]
    assert abs(numbers["difference"]) < 0.05


def test_coupling_helps_where_submodels_have_not_trained():
    for run in range(3):
        numbers = finished("hamers-sine", "sine", run).outcome["paper"]
        assert numbers["coupled.away"] < numbers["uncoupled.away"]
        assert numbers["uncoupled.member"] < numbers["uncoupled.away"]


def test_every_way_of_making_members_has_a_line_where_it_is_defined():
    options = SMALL["chapter-generators"]
    lines = {
        cell: {
            name.split(".")[0]
            for name in finished("chapter-generators", cell, **options).outcome[
                "held-out"
            ]
            if name.endswith(".error")
        }
        for cell in ("multi", "twonorm")
    }
    assert lines["twonorm"] == set(WAYS)
    assert lines["multi"] == set(WAYS) - {"AdaBoost", "Arcing", "LPBoost"}


def test_thyroid_is_boosted_to_the_last_member():
    numbers = finished("chen-classification", "adaboost/thyroid").outcome
    sizes = [numbers[protocol]["unpruned.size"] for protocol in ("paper", "held-out")]
    assert sizes == [100, 100]


def test_the_error_of_a_regression_is_decomposed():
    options = SMALL["chapter-generators"]
    numbers = finished("chapter-generators", "multi", **options).outcome["held-out"]
    left = numbers["Bagging.member"] - numbers["Bagging.diversity"]
    assert left == pytest.approx(numbers["Bagging.error"])


def test_starts_of_ep_are_orders_of_the_members():
    """Weighed on training rows, members in another order are the same committee."""
    numbers = finished("chen-stability", "friedman", n_members=12).outcome["paper"]
    assert numbers["ep.spread"] == pytest.approx(0.0, abs=1e-6)
    assert numbers["ep.shared"] == 1.0
    assert numbers["em.shared"] < 1.0
    assert 0 < numbers["ep.loo"] < numbers["ep.test"]


def test_coupled_members_vote_alike_and_rank_better_by_their_values():
    finished_run = finished("hamers-classification", "tic-tac-toe-123")
    numbers = finished_run.outcome["paper"]
    assert numbers["coupled.unanimous"] > 2 * numbers["uncoupled.unanimous"]
    for kind in ("uncoupled", "coupled"):
        assert numbers[f"{kind}.auc of values"] > numbers[f"{kind}.auc"]
        assert numbers[f"{kind}.size of values"] < numbers[f"{kind}.size"]
