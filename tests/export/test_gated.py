"""onnxruntime predicts what gated committees and mixtures predict."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    Pool,
    RandomSubspaces,
    SoftmaxGate,
    prune,
    to_onnx,
    to_sklearn,
)
from tests.export.test_onnx import assert_same

X3, y3 = load_iris(return_X_y=True)
X3 = X3.astype(np.float32).astype(float)
LABELS = np.array(["setosa", "versicolor", "virginica"])[y3]


def _sides(N=300, seed=0):
    """Two laws, parted by the first of three columns."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 3)).astype(np.float32).astype(float)
    y = np.where(X[:, 0] > 0, 5 + X[:, 1], -3 * X[:, 2]) + 0.1 * rng.normal(size=N)
    return X, y


@pytest.mark.parametrize("columns", [None, [3, 0]])
def test_classes_behind_a_softmax_gate(columns):
    pool = Pool(
        [LogisticRegression(max_iter=1000), DecisionTreeClassifier(max_depth=1)]
    )
    gate = SoftmaxGate(columns)
    committee = CommitteeClassifier(generator=pool, gate=gate, random_state=0)
    committee.fit(X3, LABELS)
    assert np.ptp(committee.gate_weights(X3)[:, 0]) > 0.1
    assert_same(committee, X3)


def test_numbers_behind_a_softmax_gate_and_columns_by_name():
    pd = pytest.importorskip("pandas")
    X, y = _sides()
    frame = pd.DataFrame(X, columns=list("abc"))
    pool = Pool([Ridge(), DecisionTreeRegressor(max_depth=1)])
    gate = SoftmaxGate(["c", "a"])
    committee = CommitteeRegressor(generator=pool, gate=gate, random_state=0)
    committee.fit(frame, y)
    by_number = CommitteeRegressor(
        generator=pool, gate=SoftmaxGate([2, 0]), random_state=0
    ).fit(X, y)
    assert np.ptp(by_number.gate_weights(X)[:, 0]) > 0.1
    assert_same(by_number, X)
    assert_same(by_number, X, model=to_onnx(committee))


def test_static_weights_of_a_gate_that_learned_nothing():
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=3),
        generator=RandomSubspaces(5),
        gate=SoftmaxGate(static=Average()),
        weigh_on=0.3,
        random_state=0,
    ).fit(X3, LABELS)
    assert committee.gate_.gate_share_ == 0.0
    assert_same(committee, X3)


@pytest.mark.parametrize(
    "model",
    [
        MixtureOfExpertsRegressor(n_experts=3, random_state=0),
        MixtureOfExpertsRegressor(DecisionTreeRegressor(max_depth=2), n_experts=1),
        MixtureOfExpertsRegressor(
            n_experts=9, depth=2, n_restarts=1, tol=0.01, random_state=0
        ),
        MixtureOfExpertsRegressor(
            make_pipeline(StandardScaler(), Ridge()),
            n_experts=3,
            assignment="hard",
            random_state=0,
        ),
    ],
    ids=["mixture", "one tree", "hierarchical", "parts"],
)
def test_mixtures_of_numbers(model):
    X, y = _sides()
    assert_same(model.fit(X, y), X)


@pytest.mark.parametrize(
    "model",
    [
        MixtureOfExpertsClassifier(n_experts=2, n_restarts=1, random_state=0),
        MixtureOfExpertsClassifier(depth=2, n_restarts=1, tol=1e-3, random_state=0),
    ],
    ids=["mixture", "hierarchical"],
)
def test_mixtures_of_classes(model):
    assert_same(model.fit(X3, LABELS), X3)


def test_what_has_no_linear_gate_is_refused_in_words():
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2), generator=Bagging(5), random_state=0
    )
    near = committee.set_params(gate=NeighbourGate()).fit(X3, LABELS)
    with pytest.raises(ValueError, match="NeighbourGate is not"):
        to_onnx(near)
    X, y = _sides(60)
    bayes = MixtureOfExpertsRegressor(n_experts=2, gate=GaussianNB()).fit(X, y)
    with pytest.raises(ValueError, match="GaussianNB: use committee"):
        to_onnx(bayes)
    votes = CommitteeClassifier(
        generator=Pool([SVC(), KNeighborsClassifier()]), gate=SoftmaxGate()
    ).fit(X3, LABELS)
    with pytest.raises(ValueError, match="Got a SVC without it"):
        to_onnx(votes)
    piped = make_pipeline(StandardScaler(), RandomForestClassifier(5, random_state=0))
    small = prune(piped.fit(X3[::2], y3[::2]), X3[1::2], y3[1::2], combiner="average")
    gated = small.with_gate(SoftmaxGate(), X3[1::2], y3[1::2])
    with pytest.raises(ValueError, match="transforms columns"):
        to_onnx(gated)
    with pytest.raises(TypeError, match="MixtureOfExpertsRegressor"):
        to_sklearn(bayes)
    strange = MixtureOfExpertsRegressor(Unknown(), n_experts=2, random_state=0)
    with pytest.raises(ValueError, match=r"could not write .*member0.*Unknown"):
        to_onnx(strange.fit(X, y))


class Unknown(Ridge):
    """A kind that skl2onnx does not know."""
