"""GradientBoosting*: other losses and starts; HistGradientBoosting*: refusals."""

import numpy as np
import pytest
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression, LogisticRegression

from committee.ensembles import rebuild, rebuilt, roster_of
from tests.ensembles.test_trees import assert_same
from tests.reference.boosters import (
    assert_mean_is_the_booster,
    combined,
    make_rows,
    member_values,
    output,
)

W = np.array([0.2, 0.0, 0.8])


@pytest.mark.parametrize(
    "model",
    [
        GradientBoostingRegressor(loss="absolute_error"),
        GradientBoostingRegressor(loss="huber"),
        GradientBoostingRegressor(init="zero"),
        GradientBoostingRegressor(init=LinearRegression()),
        GradientBoostingClassifier(init="zero"),
        GradientBoostingClassifier(init=LogisticRegression()),
        # The slope of its log odds is 2.
        GradientBoostingClassifier(loss="exponential"),
    ],
    ids=repr,
)
def test_losses_and_starts(model):
    task = "binary" if hasattr(model, "predict_proba") else "regression"
    X, y = make_rows(task, missing=False)
    model.set_params(n_estimators=3).fit(X, y)
    roster = assert_mean_is_the_booster(model, X, task)
    np.testing.assert_allclose(
        output(rebuild(roster.members, W), X, task),
        combined(member_values(roster.members, X, task), W),
        rtol=1e-12,
    )
    if isinstance(model.init_, (LinearRegression, LogisticRegression)):
        with pytest.raises(ValueError, match=r"sum to one\. Got 0\.8"):
            rebuild(roster.members, 0.8 * W)
        assert rebuilt(roster.members, 0.8 * W) is None
    else:
        assert_same(model, X, 1e-5)


@pytest.mark.parametrize("loss", ["poisson", "gamma", "quantile"])
def test_losses_whose_rounds_do_not_add_up_are_refused(loss):
    X, y = make_rows("regression")
    model = HistGradientBoostingRegressor(loss=loss, quantile=0.5, max_iter=2)
    with pytest.raises(ValueError, match=f"loss='{loss}' cannot be re-weighed"):
        roster_of(model.fit(X, y))
