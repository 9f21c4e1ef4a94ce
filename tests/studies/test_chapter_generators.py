import pytest

from committee.studies.chapter_generators import generators
from tests.studies.small import claims, made_up, outcome


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


def numbers_of(bias):
    """Return runs in which the averaged members of mini-batches err by `bias`."""

    def numbers(protocol, cell, run):
        found = {}
        for name in generators():
            batches = name == "MiniBatches"
            squared, diversity = (bias, 2.0) if batches else (1.0, 0.5)
            found |= {
                f"{name}.error": squared,
                f"{name}.member": squared + diversity,
                f"{name}.diversity": diversity,
                f"{name}.size": 40 if name == "CrossSplits" else 30,
                f"{name}.seconds": 6.0,
            }
        return found

    return numbers


@pytest.mark.parametrize(("bias", "verdict"), [(1.5, "reproduced"), (0.5, "not")])
def test_bias_is_what_averaging_leaves_and_not_the_error_of_members(bias, verdict):
    said = claims("chapter-generators", made_up("chapter-generators", numbers_of(bias)))
    text = "On small data sets, mini-batches have too large a bias."
    assert said[text, "held-out"].verdict == verdict
    text = "Cross-splitting is faster than bagging: a member sees fewer rows."
    assert said[text, "held-out"].verdict == "reproduced"
    assert "150 ms against 200 ms" in said[text, "held-out"].found
