"""The critical difference diagram: groups, names and where they stand."""

import numpy as np
import pytest

from committee import CriticalDifferenceDisplay
from committee.compare import compare

SHIFT = np.array([0.0, 0.0, 1.0, 1.0, 3.0])


def groups(display):
    return [set(group.tolist()) for group in display.groups]


@pytest.mark.parametrize("k", [2, 3, 6, 12])
@pytest.mark.parametrize("cd", [0.0, 0.7, 2.0, 20.0])
def test_groups_by_enumeration(k, cd, rng):
    """The maximal runs of sorted methods of which no two differ by the difference."""
    rank = rng.uniform(1, k, size=k)
    display = CriticalDifferenceDisplay(rank, cd)
    order = np.argsort(rank)
    runs = [
        set(order[i:j].tolist())
        for i in range(k)
        for j in range(i + 2, k + 1)
        if rank[order[j - 1]] - rank[order[i]] < cd
    ]
    largest = [run for run in runs if not any(run < other for other in runs)]
    assert groups(display) == largest


def test_numbers_of_a_comparison(rng, drawn):
    scores = rng.normal(size=(20, 5)) + SHIFT
    found = compare(scores)
    display = drawn(CriticalDifferenceDisplay.from_comparison(found))
    assert display.mean_ranks.tolist() == list(found.mean_ranks.values())
    assert display.critical_difference == found.critical_difference
    assert display.names == ["0", "1", "2", "3", "4"]
    for (a, b), different in found.significant.items():
        assert different != any({a, b} <= group for group in groups(display))
    assert display.ax_.get_xlabel() == "mean rank"


def test_a_control_has_one_group(rng, drawn):
    scores = rng.normal(size=(20, 5)) + SHIFT
    found = compare(scores, control=1)
    display = drawn(CriticalDifferenceDisplay.from_comparison(found))
    same = {m for m, different in found.significant.items() if not different}
    assert groups(display) == [{1} | same]
    bold = [t for t in display.ax_.texts if t.get_fontweight() == "bold"]
    assert len(bold) == 1


def test_names_stay_text_and_every_method_has_one(drawn):
    names = ["$a_1$", "b_2", "<script>"]
    display = drawn(CriticalDifferenceDisplay([1.5, 1.7, 2.8], 0.5, names=names).plot())
    texts = " ".join(text.get_text() for text in display.ax_.texts)
    for name in (r"\$a_1\$  1.50", "b_2  1.70", "2.80  <script>"):
        assert name in texts
    keyed = CriticalDifferenceDisplay({"a": 1.2, "b": 1.8}, 0.5)
    assert keyed.names == ["a", "b"]


@pytest.mark.parametrize("k", [2, 3, 40])
def test_text_is_within_the_figure_and_does_not_overlap(k, drawn):
    rank = np.linspace(1.2, k - 0.2, k)
    names = [f"a method with the number {i}" for i in range(k)]
    display = drawn(CriticalDifferenceDisplay(rank, 1.5, names=names).plot())
    figure = display.figure_
    boxes = [text.get_window_extent() for text in display.ax_.texts]
    boxes.append(display.ax_.xaxis.label.get_window_extent())
    for i, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.x1
        assert box.y0 >= 0
        assert box.y1 <= figure.bbox.y1
        assert box.count_overlaps(boxes[:i]) == 0


def test_wrong_input_is_refused():
    with pytest.raises(ValueError, match=r"at least two methods"):
        CriticalDifferenceDisplay([1.0], 0.5)
    with pytest.raises(ValueError, match=r"one finite rank"):
        CriticalDifferenceDisplay([1.0, np.nan, 2.0], 0.5)
    with pytest.raises(ValueError, match=r">= 0. Got nan"):
        CriticalDifferenceDisplay([1.0, 2.0], np.nan)
    with pytest.raises(ValueError, match=r"each of the 2 methods. Got 1"):
        CriticalDifferenceDisplay([1.0, 2.0], 0.5, names=["a"])
    with pytest.raises(ValueError, match=r"control must be one of the methods"):
        CriticalDifferenceDisplay([1.0, 2.0], 0.5, control="c")


def test_a_control_is_given_by_name_or_number():
    def control(known, names):
        return CriticalDifferenceDisplay([1.0, 2.0], 0.5, names=names, control=known)

    assert control("b", ["a", "b"]).control == 1
    assert control(np.int64(0), ["a", "b"]).control == 0
    assert control(2, ["2", "1"]).control == 0  # a name that is a number
    for unknown in ("c", 2, -1):
        with pytest.raises(ValueError, match=r"one of the methods \['a', 'b'\]"):
            control(unknown, ["a", "b"])
