"""Who the members are, and what each of them costs."""

import pickle

import numpy as np
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import CommitteeRegressor, Pool
from committee.displays.sources import core_of
from committee.reporting.evaluation import evaluate_members
from committee.reporting.page_text import member_table


def test_there_is_an_entry_for_every_member(classifier):
    committee, X, y = classifier
    table = member_table(committee, evaluate_members(committee, X, y))
    np.testing.assert_array_equal(table.weights, committee.weights_)
    assert table.n_before == 20
    assert set(table.kinds) == {"DecisionTreeClassifier"}
    assert table.bytes[1] == len(pickle.dumps(committee.members_[1], protocol=5))
    assert table.seconds.shape == (committee.n_members_,)
    assert np.all(table.seconds > 0)


def test_members_of_a_pool_have_names(regressor):
    _, X, y = regressor
    pool = Pool([("line", LinearRegression()), ("near", KNeighborsRegressor())])
    committee = CommitteeRegressor(generator=pool, combiner=None).fit(X, y)
    table = member_table(committee, evaluate_members(committee, X, y))
    assert table.names == ["#0 line", "#1 near"]
    assert table.kinds == ["LinearRegression", "KNeighborsRegressor"]


def test_members_of_one_kind_have_numbers(pruned):
    small, X, y = pruned
    table = member_table(small, evaluate_members(small, X, y))
    # Those that were left out have a line too.
    assert table.names == [f"#{number}" for number in range(30)]
    assert table.n_before == 30
    assert table.kept.tolist() == small.support_.tolist()


def test_a_pipeline_or_a_search_is_looked_through(regressor):
    committee, X, y = regressor
    search = GridSearchCV(Ridge(), {"alpha": [1.0]}, cv=2).fit(X, y)
    assert core_of(search).alpha == 1.0
    assert core_of(make_pipeline(StandardScaler(), committee)) is committee
    assert core_of(committee) is committee
