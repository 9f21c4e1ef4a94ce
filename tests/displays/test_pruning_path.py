"""The pruning path: its numbers, its scales, and who has one."""

import pickle
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    ARDPruner,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    GreedyPruner,
    PruningPathDisplay,
    ReduceErrorPruner,
    combine,
    member_predictions,
    prune,
)
from committee.path import Path


def labels(display):
    return [text.get_text() for text in display.ax_.get_legend().get_texts()]


@pytest.mark.parametrize("pruner", [EPPruner(), ARDPruner()])
def test_numbers_of_an_evidence_path(pruner, binary_problem, drawn):
    path = pruner.fit(*binary_problem).path_
    display = drawn(PruningPathDisplay.from_estimator(pruner))
    assert np.array_equal(display.size, path.size)
    assert np.array_equal(display.error, path.error)
    assert np.array_equal(display.error_se, path.error_se)
    assert np.array_equal(display.log_evidence, path.log_evidence)
    assert display.chosen == len(pruner.support_)
    assert display.ax_.get_xlabel() == "number of members"
    assert display.ax_.get_ylabel() == "error rate"
    assert "leave-one-out" in labels(display)
    assert display.evidence_ax_.get_ylabel() == "log evidence"
    assert "log evidence" in labels(display)


def test_numbers_of_an_ordering(binary_problem, drawn):
    F, y = binary_problem
    pruner = ReduceErrorPruner(3).fit(F, y)
    display = drawn(PruningPathDisplay.from_estimator(pruner))
    path = pruner.path_
    assert np.array_equal(display.error, path.error)
    assert np.array_equal(display.error_se, path.error_se)
    assert display.log_evidence is None
    assert display.evidence_ax_ is None
    assert display.chosen == 3
    assert display.ax_.get_ylabel() == "error rate"
    assert "on the weighing rows" in labels(display)


def test_numbers_of_a_greedy_path(regression_problem, drawn):
    pruner = GreedyPruner(10).fit(*regression_problem)
    display = drawn(PruningPathDisplay.from_estimator(pruner))
    assert np.array_equal(display.size, pruner.path_.size)
    assert np.array_equal(display.error, pruner.path_.error)
    assert display.error_se is None


def test_a_pruned_committee_and_the_test_error_of_its_forest(rng, drawn):
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] * X[:, 1] > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:80], y[:80])
    small = prune(forest, X[:80], y[:80], oob=True)
    F_test = member_predictions(forest, X[80:])
    display = drawn(
        PruningPathDisplay.from_path(small.path_, F_test=F_test, y_test=y[80:])
    )
    assert np.array_equal(display.error, small.path_.error)
    assert display.ax_.get_ylabel() == "error rate"
    assert "held-out" in labels(display)
    assert len(display.test_error) == len(small.path_)
    marked = drawn(PruningPathDisplay.from_estimator(small))
    assert marked.chosen == small.n_members_
    whole = drawn(PruningPathDisplay.from_estimator(small, X[80:], y[80:]))
    assert np.array_equal(whole.test_error, display.test_error)
    # A copy has the sizes whose members it has kept.
    copied = pickle.loads(pickle.dumps(small))
    partly = drawn(PruningPathDisplay.from_estimator(copied, X[80:], y[80:]))
    kept = ~np.delete(small.path_.weights, small.support_, axis=1).any(axis=1)
    assert np.array_equal(np.isfinite(partly.test_error), kept)
    assert kept.any()
    assert np.array_equal(partly.test_error[kept], display.test_error[kept])


def test_test_error_of_a_committee(rng, drawn):
    X = rng.normal(size=(100, 2))
    y = np.where(X[:, 0] > 0, "yes", "no")
    committee = CommitteeClassifier(
        generator=Bagging(8), combiner=EPPruner(), random_state=0
    ).fit(X[:60], y[:60])
    display = drawn(PruningPathDisplay.from_estimator(committee, X[60:], y[60:]))
    path = committee.combiner_.path_
    chosen = [np.array_equal(m, committee.support_) for m in path.members].index(True)
    wrong = committee.predict(X[60:]) != y[60:]
    assert display.test_error[chosen] == pytest.approx(wrong.mean())
    assert "test error" in labels(display)


def test_the_line_goes_through_the_best_of_a_size():
    display = PruningPathDisplay([2, 1, 2, 3], [0.3, 0.5, 0.1, np.inf])
    assert display.best.tolist() == [1, 2, 3]


def test_errors_that_are_not_known_leave_a_gap(drawn):
    display = drawn(PruningPathDisplay([1, 2, 3], [np.inf, 0.2, 0.1]).plot())
    line = display.ax_.lines[1].get_ydata()
    assert np.isnan(line[0])
    assert line[1:].tolist() == [0.2, 0.1]


def test_the_evidence_has_one_scale_however_often_it_is_drawn(binary_problem, ax):
    for combiner in (EPPruner(), ReduceErrorPruner()):
        PruningPathDisplay.from_estimator(combiner.fit(*binary_problem), ax=ax)
    assert len(ax.figure.axes) == 2


def test_wrong_input_is_refused(regression_problem, rng):
    with pytest.raises(TypeError, match=r"have a pruning path. Got Average\."):
        PruningPathDisplay.from_estimator(Average().fit(*regression_problem))
    X = rng.normal(size=(20, 2))
    plain = CommitteeRegressor(generator=Bagging(3)).fit(X, X[:, 0])
    with pytest.raises(TypeError, match=r"Got CommitteeRegressor without a combiner"):
        PruningPathDisplay.from_estimator(plain)
    with pytest.raises(NotFittedError):
        PruningPathDisplay.from_estimator(EPPruner())
    with pytest.raises(ValueError, match=r"each of the 2 steps. Got shape \(1,\)"):
        PruningPathDisplay([1, 2], [0.1])


def test_classes_weighed_out_of_bag_have_one_measure(rng, drawn):
    """Held-out multi-class errors are squared, and so is the test error beside them."""
    X = rng.normal(size=(150, 3))
    y = np.digitize(X[:, 0], [-0.5, 0.5])
    committee = CommitteeClassifier(
        generator=Bagging(8), combiner=EPPruner(), random_state=0
    ).fit(X[:100], y[:100])
    assert committee.combiner_.loo_measure_ == "squared error of probabilities"
    display = drawn(PruningPathDisplay.from_estimator(committee, X[100:], y[100:]))
    assert display.ax_.get_ylabel() == "squared error of probabilities"
    F, path = committee.member_predictions(X[100:]), committee.combiner_.path_
    known = np.flatnonzero(np.isfinite(display.test_error))
    assert len(known)
    for step in known:
        w = path.weights[step, committee.support_]
        distance = combine(F, w) - np.eye(3)[y[100:]]
        assert display.test_error[step] == pytest.approx(
            (distance**2).sum(axis=1).mean()
        )


def test_greedy_errors_are_squared_or_minus_a_score(binary_problem, drawn):
    F, y = binary_problem
    plain = GreedyPruner(6).fit(F, y)
    test = {"F_test": F, "y_test": y}
    display = drawn(PruningPathDisplay.from_path(plain.path_, **test))
    assert display.ax_.get_ylabel() == "squared error of probabilities"
    # On the rows of the fit both curves are the same.
    assert display.test_error == pytest.approx(display.error)
    scored = GreedyPruner(6, scoring="roc_auc").fit(F, y)
    display = PruningPathDisplay.from_path(scored.path_, **test)
    assert display.ax_.get_ylabel() == "minus roc_auc"
    w = scored.path_.weights[-1]
    assert display.test_error[-1] == pytest.approx(
        -roc_auc_score(y, combine(F, w)[:, 1])
    )


def test_rows_without_a_vote_have_a_note(rng, binary_problem):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    committee = CommitteeClassifier(
        generator=Bagging(6), combiner=EPPruner(), random_state=0
    ).fit(X, y)
    display = PruningPathDisplay.from_estimator(committee)
    note = "rows on which no member has a vote count half"
    assert display.note == note
    assert display.ax_.get_ylabel() == f"error rate\n({note})"
    everybody = PruningPathDisplay.from_estimator(EPPruner().fit(*binary_problem))
    assert everybody.note == ""


def test_a_pipeline_around_a_committee(rng, drawn):
    X = rng.normal(size=(80, 2))
    y = (X[:, 0] > 0).astype(int)
    committee = CommitteeClassifier(
        generator=Bagging(6), combiner=ReduceErrorPruner(), random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), committee).fit(X[:50], y[:50])
    display = drawn(PruningPathDisplay.from_estimator(pipeline, X[50:], y[50:]))
    assert np.array_equal(display.error, pipeline[-1].combiner_.path_.error)
    scaled = pipeline[0].transform(X[50:])
    alone = PruningPathDisplay.from_estimator(pipeline[-1], scaled, y[50:])
    assert np.array_equal(display.test_error, alone.test_error)


def test_rows_need_targets_and_targets_rows(binary_problem):
    F, y = binary_problem
    pruner = EPPruner().fit(F, y)
    with pytest.raises(ValueError, match=r"Got only X_test: pass y_test as well"):
        PruningPathDisplay.from_estimator(pruner, F)
    with pytest.raises(ValueError, match=r"Got only y_test: pass F_test as well"):
        PruningPathDisplay.from_path(pruner.path_, y_test=y)


def test_of_equal_errors_the_line_goes_through_what_the_pruner_prefers():
    path = Path(
        np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5]]),
        np.array([0.3, 0.1, 0.2]),
        np.full(3, np.nan),
        "error rate",
        assessment=SimpleNamespace(
            errors=(np.array([0.2, 0.2, 0.1]), np.full(3, np.nan), "error rate")
        ),
    )
    assert PruningPathDisplay.from_path(path).best.tolist() == [1, 2]


@pytest.mark.parametrize(
    ("scoring", "kind"),
    [
        (None, RandomForestRegressor),
        ("neg_mean_absolute_error", RandomForestRegressor),
        ("neg_log_loss", RandomForestClassifier),
        (None, RandomForestClassifier),
    ],
)
def test_of_what_prune_returns_every_size_has_a_test_error(scoring, kind, rng, drawn):
    """It is of the kind that the error of the path is: a root, a log-loss."""
    X = rng.normal(size=(220, 3))
    y = X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=220)
    y = (y > 0).astype(int) if kind is RandomForestClassifier else y
    forest = kind(15, random_state=0).fit(X[:80], y[:80])
    small = prune(
        forest, X[80:160], y[80:160], combiner=ReduceErrorPruner(4), scoring=scoring
    )
    display = drawn(PruningPathDisplay.from_estimator(small, X[160:], y[160:]))
    assert np.isfinite(display.test_error).all()
    size = small.n_members_
    at = display.size.tolist().index(size)
    chosen = small.path_.choose(max_members=size)
    if kind is RandomForestClassifier:
        p = chosen.predict_proba(X[160:])
        expected = log_loss(y[160:], p) if scoring else np.mean(p.argmax(1) != y[160:])
    else:
        left = np.abs(chosen.predict(X[160:]) - y[160:])
        expected = left.mean() if scoring else np.sqrt(np.mean(left**2))
    assert np.array_equal(chosen.support_, small.path_.members[at])
    assert display.test_error[at] == pytest.approx(expected)
