"""The rows that members left out, as a picture."""

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from committee import (
    CommitteeRegressor,
    CrossSplits,
    HeldOutDisplay,
    OptimalWeights,
    Pool,
)

pytest.importorskip("matplotlib")
X = np.arange(20.0)[:, None]


def test_the_parts_of_a_split_are_blocks():
    """Figure 4.1: of K parts, member k leaves out block k."""
    committee = CommitteeRegressor(
        Ridge(),
        generator=CrossSplits(5, repeats=1),
        combiner=OptimalWeights(),
        random_state=0,
    ).fit(X, X[:, 0])
    display = HeldOutDisplay.from_estimator(committee)
    drawn = np.asarray(display.ax_.images[0].get_array())
    assert drawn.tolist() == np.kron(np.eye(5), np.ones(4)).tolist()


def test_a_committee_without_a_mask_is_refused():
    committee = CommitteeRegressor(generator=Pool([Ridge(), Ridge(2.0)]))
    with pytest.raises(ValueError, match="rows that its members did not see"):
        HeldOutDisplay.from_estimator(committee.fit(X, X[:, 0]))
    with pytest.raises(ValueError, match=r"shape \(N, M\)"):
        HeldOutDisplay([True, False])
