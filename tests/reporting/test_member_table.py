"""Who the members are, and what each of them costs."""

import pickle

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import CommitteeRegressor, Pool
from committee.reporting.evaluation import hear
from committee.reporting.member_table import call_the_roll, core_of


def test_the_roll_has_an_entry_for_every_member(classifier):
    committee, X, y = classifier
    roll = call_the_roll(committee, hear(committee, X, y))
    np.testing.assert_array_equal(roll.weights, committee.weights_)
    assert roll.n_before == 20
    assert set(roll.kinds) == {"DecisionTreeClassifier"}
    assert roll.bytes[3] == len(pickle.dumps(committee.members_[3], protocol=5))
    assert roll.seconds.shape == (20,)
    assert np.all(roll.seconds > 0)


def test_members_of_a_pool_have_names(regressor):
    _, X, y = regressor
    pool = Pool([("line", LinearRegression()), ("near", KNeighborsRegressor())])
    committee = CommitteeRegressor(generator=pool, random_state=0).fit(X, y)
    roll = call_the_roll(committee, hear(committee, X, y))
    assert roll.names == ["#0 line", "#1 near"]
    assert roll.kinds == ["LinearRegression", "KNeighborsRegressor"]


def test_members_of_one_kind_have_numbers(pruned):
    small, X, y = pruned
    roll = call_the_roll(small, hear(small, X, y))
    assert roll.names == [f"#{number}" for number in small.support_]
    assert roll.n_before == 30
    assert roll.kept.tolist() == list(range(small.n_members_))


def test_a_pipeline_or_a_search_is_looked_through(regressor):
    committee, X, y = regressor
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2).fit(X, y)
    assert core_of(search).alpha == 1.0
    assert core_of(make_pipeline(StandardScaler(), committee)) is committee
    assert core_of(committee) is committee
