"""Members on columns of their own, drawn or rotated."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.tree import DecisionTreeClassifier

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    RandomSubspaces,
    Rotations,
    SimplexWeights,
    load,
    prune,
    save,
    to_sklearn,
)

X, y = make_classification(150, 7, n_informative=4, random_state=0)
TREE = DecisionTreeClassifier(max_depth=4)


@pytest.mark.parametrize(
    ("max_features", "n_columns"), [(0.5, 4), (3, 3), (1.0, 7), (1, 1), (0.01, 1)]
)
def test_a_member_sees_some_columns(max_features, n_columns):
    subspaces = RandomSubspaces(6, max_features=max_features)
    committee = CommitteeClassifier(TREE, generator=subspaces, random_state=0)
    members = committee.fit(X, y).members_
    assert {len(np.unique(member.columns)) for member in members} == {n_columns}
    # What a member cannot see does not change its vote.
    blind = np.setdiff1d(np.arange(7), members[0].columns)
    other = X.copy()
    other[:, blind] = 0.0
    np.testing.assert_array_equal(members[0].predict(other), members[0].predict(X))


def test_more_columns_than_there_are_is_refused():
    with pytest.raises(ValueError, match="max_features=8 columns of 7"):
        CommitteeClassifier(generator=RandomSubspaces(2, max_features=8)).fit(X, y)


@pytest.mark.parametrize("group_size", [1, 3, 7, 20])
def test_rotations_are_orthogonal_and_block_by_block(group_size):
    generator = Rotations(3, group_size=group_size)
    committee = CommitteeClassifier(TREE, generator=generator, random_state=0)
    matrices = [m.rotation_.toarray() for m in committee.fit(X, y).members_]
    for R in matrices:
        np.testing.assert_allclose(R @ R.T, np.eye(7), atol=1e-12)
        assert np.count_nonzero(R, axis=1).max() <= group_size
    if group_size == 3:
        assert not np.allclose(matrices[0], matrices[1])


def test_a_learner_without_axes_does_not_see_the_rotation():
    """Least squares is the same in any orthogonal basis."""
    A, t = make_regression(80, 5, noise=3.0, random_state=0)
    committee = CommitteeRegressor(
        LinearRegression(), generator=Rotations(4), random_state=0
    ).fit(A, t)
    plain = LinearRegression().fit(A, t).predict(A)
    np.testing.assert_allclose(committee.predict(A), plain, rtol=1e-9)


@pytest.mark.parametrize("generator", [RandomSubspaces(8), Rotations(8)], ids=repr)
def test_they_are_weighed_saved_pruned_and_repeatable(generator, tmp_path):
    options = {"generator": generator, "combiner": SimplexWeights(), "random_state": 1}
    s = np.linspace(0.5, 2.0, len(y))
    one = CommitteeClassifier(TREE, **options).fit(X, y, sample_weight=s)
    two = CommitteeClassifier(TREE, **options).fit(X, y, sample_weight=s)
    np.testing.assert_array_equal(one.predict_proba(X), two.predict_proba(X))
    save(one, tmp_path / "c.skops")
    again = load(tmp_path / "c.skops")
    np.testing.assert_array_equal(again.predict_proba(X), one.predict_proba(X))
    np.testing.assert_allclose(
        to_sklearn(one).predict_proba(X), one.predict_proba(X), atol=1e-6
    )
    assert prune(one, X, y, oob=False).n_members_ >= 1


def test_weights_reach_the_learner_behind_the_columns():
    """A row of weight zero has no say, where a weighted resample might draw others."""
    A, t = make_regression(60, 4, noise=1.0, random_state=0)
    s = np.ones(60)
    t[:5], s[:5] = 1e6, 0.0
    committee = CommitteeRegressor(
        Ridge(), generator=RandomSubspaces(3, max_features=4)
    )
    found = committee.fit(A, t, sample_weight=s).predict(A)
    expected = Ridge().fit(A[5:], t[5:]).predict(A)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_rows_of_half_precision_are_rotated_in_double():
    """The eigenvectors of linear algebra are there for single and double only."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 4)).astype(np.float16)
    y = X[:, 0].astype(float)
    model = CommitteeRegressor(generator=Rotations(3), random_state=0)
    half = model.fit(X, y).predict(X)
    np.testing.assert_array_equal(half, model.fit(X.astype(float), y).predict(X))
