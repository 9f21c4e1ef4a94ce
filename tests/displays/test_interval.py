"""Intervals as a picture: numbers first."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from committee import Bagging, CommitteeRegressor, IntervalDisplay

pytest.importorskip("matplotlib")
INTERVAL = np.array([[0.0, 1.0], [5.0, 9.0], [2.0, 3.0]])


def test_intervals_are_drawn_in_the_order_of_their_centres():
    display = IntervalDisplay(INTERVAL, [0.5, 10.0, 2.0], coverage=0.9).plot()
    assert (display.coverage, display.width) == pytest.approx((2 / 3, 2.0))
    segments = display.ax_.collections[0].get_segments()
    assert [ends[:, 1].tolist() for ends in segments] == [[0, 1], [2, 3], [5, 9]]
    inside, outside = display.ax_.lines
    assert inside.get_ydata().tolist() == [0.5, 2.0]
    assert (outside.get_xdata().tolist(), outside.get_ydata().tolist()) == ([2], [10.0])
    texts = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert texts == ["interval, 90%", "within, 66.7% of all rows", "outside"]


def test_a_committee_is_asked_for_its_own():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    committee = CommitteeRegressor(
        Ridge(), generator=Bagging(10), uncertainty=True, random_state=0
    ).fit(X, X[:, 0])
    display = IntervalDisplay.from_estimator(
        committee, X, coverage=0.8, method="constant"
    )
    expected = committee.predict_interval(X, 0.8, method="constant")
    np.testing.assert_array_equal(display.interval, expected)
    assert display.coverage is None


def test_what_is_no_interval_is_refused():
    with pytest.raises(ValueError, match=r"shape \(N, 2\), lower and upper ends"):
        IntervalDisplay([1.0, 2.0])
    with pytest.raises(ValueError, match="one entry for each of the 3 intervals"):
        IntervalDisplay(INTERVAL, [1.0])
