"""Box plots of paired runs."""

import numpy as np
import pandas as pd
import pytest

from committee import PairedRunsDisplay


def tick_labels(display):
    return [text.get_text() for text in display.ax_.get_xticklabels()]


@pytest.fixture
def scores(rng):
    return rng.normal(size=(12, 1)) + 0.1 * rng.normal(size=(12, 3))


def test_scores_as_they_are(scores, drawn):
    display = drawn(PairedRunsDisplay.from_scores(scores, ylabel="error"))
    assert np.array_equal(display.values, scores)
    assert display.mean == pytest.approx(scores.mean(axis=0))
    assert display.se == pytest.approx(scores.std(axis=0, ddof=1) / np.sqrt(12))
    for m, column in enumerate(scores.T):
        assert display.quartiles[:, m] == pytest.approx(
            [np.percentile(column, q) for q in (25, 50, 75)]
        )
    assert display.ax_.get_ylabel() == "error"
    assert display.ax_.get_title() == "12 paired runs"
    assert tick_labels(display) == ["0", "1", "2"]


def test_differences_to_a_control(scores, drawn):
    frame = pd.DataFrame(scores, columns=["a", "$b_1$", "<script>"])
    display = drawn(PairedRunsDisplay.from_scores(frame, control="$b_1$"))
    assert display.control == 1
    assert display.values == pytest.approx(scores - scores[:, [1]])
    # The pairing takes out what the runs share.
    assert np.all(display.se < PairedRunsDisplay(scores).se)
    assert display.ax_.get_ylabel() == r"score - that of \$b_1\$"
    assert tick_labels(display) == ["a", r"\$b_1\$", "<script>"]
    assert np.array_equal(PairedRunsDisplay(scores, control=1).values, display.values)


def test_the_box_is_drawn_where_the_quartiles_are(scores, ax):
    display = PairedRunsDisplay(scores).plot(ax)
    medians = [line for line in ax.lines if line.get_linewidth() == 2.0]
    drawn_at = [line.get_ydata()[0] for line in medians]
    assert drawn_at == pytest.approx(display.quartiles[1])


@pytest.mark.slow
@pytest.mark.parametrize(("runs", "methods"), [(1, 1), (3, 2), (100, 30)])
def test_few_and_many(runs, methods, rng, drawn):
    names = [f"a method of number {i}" for i in range(methods)]
    display = PairedRunsDisplay(rng.normal(size=(runs, methods)), names=names)
    drawn(display.plot())
    assert len(tick_labels(display)) == methods


def test_wrong_input_is_refused(scores):
    with pytest.raises(ValueError, match=r"shape \(runs, methods\)"):
        PairedRunsDisplay([1.0, 2.0])
    with pytest.raises(ValueError, match=r"Drop the runs \[1\]"):
        PairedRunsDisplay([[1.0], [np.nan]])
    with pytest.raises(ValueError, match=r"control must be one of the methods .*'x'"):
        PairedRunsDisplay(scores, control="x")
    with pytest.raises(ValueError, match=r"each of the 3 methods. Got 1"):
        PairedRunsDisplay(scores, names=["a"])
