"""The section about a gate: shares, entropy, and the picture on two columns."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    MixtureOfExpertsRegressor,
    NeighbourGate,
    Pool,
    SoftmaxGate,
    report,
)
from committee.diagnostics import gate_usage
from committee.reporting.charts import gate
from committee.reporting.evaluation import evaluate_members
from committee.reporting.report import rounded


def _quadrants(N=400, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (N, 4))
    quadrant = 2 * (X[:, 1] > 0) + (X[:, 3] > 0)
    return X, np.array([0.0, 3.0, -2.0, 6.0])[quadrant] + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def mixture():
    model = MixtureOfExpertsRegressor(n_experts=4, tol=1e-3, random_state=0)
    return make_pipeline(StandardScaler(), model).fit(*_quadrants())


def test_shares_entropy_and_the_columns_that_tell_most(mixture):
    X, y = _quadrants(200, seed=1)
    found = gate(evaluate_members(mixture, X, y), X, list("abcd"))
    G = mixture[-1].gate_weights(mixture[:-1].transform(X))
    usage = gate_usage(G)
    order = np.argsort(-usage.share, kind="stable")
    assert [line["name"] for line in found["lines"]] == [list("abcd")[m] for m in order]
    shares = [line["share"] for line in found["lines"]]
    np.testing.assert_allclose(shares, usage.share[order])
    assert found["entropy"] == usage.entropy
    assert not found["fixed"]
    picture = found["picture"]
    assert {picture["x_label"], picture["y_label"]} == {"column 1", "column 3"}
    first = np.array(picture["groups"][0]["points"])
    assert len(first) == np.count_nonzero(G.argmax(axis=1) == order[0])
    np.testing.assert_allclose(first[:, 2], G.max(axis=1)[G.argmax(axis=1) == order[0]])
    json.dumps(rounded(found), allow_nan=False)
    html = report(mixture, X, y)
    assert "Which member has the largest weight where?" in html


def test_frames_with_text_have_a_picture_of_their_numbers():
    pd = pytest.importorskip("pandas")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=list("abcd"))
    committee = CommitteeClassifier(
        DecisionTreeClassifier(max_depth=2),
        generator=Bagging(6),
        gate=NeighbourGate("ola", columns=["a", "b"]),
        random_state=0,
    ).fit(frame[::2], y[::2])
    evaluated = evaluate_members(committee, frame[1::2], y[1::2])
    rows = frame[1::2].assign(text="t")
    found = gate(evaluated, rows, [str(m) for m in range(6)])
    assert {found["picture"]["x_label"], found["picture"]["y_label"]} < set("abcd")
    six = replace(evaluated, gate=np.eye(6)[np.arange(75) % 6])
    groups = gate(six, rows, [*"abcd", "others", "f"])["picture"]["groups"]
    assert [g["rest"] for g in groups] == [False] * 4 + [True]
    assert sum(len(g["points"]) for g in groups) == 75
    assert gate(evaluated, rows[["text", "a"]], list("abcdef"))["picture"] is None
    assert gate(evaluated, sparse.eye(75), list("abcdef"))["picture"] is None


def test_a_gate_that_learned_nothing_says_so_and_no_gate_says_nothing():
    X, y = load_iris(return_X_y=True)
    pool = Pool([GaussianNB(), DecisionTreeClassifier(max_depth=3)])
    gated = CommitteeClassifier(generator=pool, gate=SoftmaxGate(), random_state=0)
    gated.fit(X[::2], y[::2])
    assert gated.gate_.gate_share_ == 0.0
    html = report(gated, X[1::2], y[1::2])
    assert "has kept the same weights on every row" in html
    assert "these are means over the rows" in html
    plain = CommitteeClassifier(generator=pool, random_state=0).fit(X[::2], y[::2])
    evaluated = evaluate_members(plain, X[1::2], y[1::2])
    assert gate(evaluated, X[1::2], ["a", "b"]) is None
    assert "Which member has the largest weight where?" not in report(
        plain, X[1::2], y[1::2]
    )
