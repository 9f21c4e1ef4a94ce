"""Bars of noise, bias and variance."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from committee import BiasVarianceDisplay, bias_variance
from committee.training_sets import Terms

pytest.importorskip("matplotlib")


def test_bars_stand_on_each_other_up_to_the_error():
    terms = [Terms(3.0, 1.0, 0.5, 1.5), Terms(2.0, 1.0, 0.5, 0.5)]
    display = BiasVarianceDisplay(terms, ["member", "committee"]).plot()
    tops = [bar.get_y() + bar.get_height() for bar in display.ax_.patches]
    assert max(tops) == 3.0
    assert tops[-1] == 2.0
    assert len(tops) == 6


def test_what_is_not_known_has_no_bar():
    X = np.arange(8.0)[:, None]
    display = BiasVarianceDisplay.from_estimator(
        Ridge(), (X, X[:, 0]), X, X[:, 0], n_sets=3, random_state=0
    )
    assert display.names == ["model"]
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["squared bias and noise", "variance"]


def test_members_stand_beside_their_committee():
    from sklearn.ensemble import RandomForestRegressor

    X = np.arange(12.0)[:, None]
    forest = RandomForestRegressor(3)
    found = bias_variance(forest, (X, X[:, 0]), X, X[:, 0], n_sets=3, random_state=0)
    display = BiasVarianceDisplay.from_result(found)
    assert display.names == ["member", "committee"]
