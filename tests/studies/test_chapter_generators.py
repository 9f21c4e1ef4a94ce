import pytest

from committee.studies.chapter_generators import generators
from tests.studies.small import outcome


def test_all_ways_see_as_many_rows():
    N = 600
    sizes = {name: getattr(g, "n_members", None) for name, g in generators(30).items()}
    seen = {
        "RandomInits": N * sizes["RandomInits"],
        "Bagging": N * sizes["Bagging"],
        "CrossSplits": 3 * N // 4 * sizes["CrossSplits"],
        "MiniBatches": N // 5 * sizes["MiniBatches"],
    }
    assert set(seen.values()) == {30 * N}


@pytest.mark.parametrize("cell", ["multi", "waveform"])
def test_a_small_run_decomposes_the_error(cell):
    numbers = outcome("chapter-generators", cell, times=3, n_test=30).outcome[
        "held-out"
    ]
    assert numbers["RandomInits.size"] == 3
    assert ("AdaBoost.error" in numbers) == (cell == "waveform")
    if cell == "multi":  # the error is the squared one that is decomposed
        left = numbers["Bagging.member"] - numbers["Bagging.diversity"]
        assert left == pytest.approx(numbers["Bagging.error"])
