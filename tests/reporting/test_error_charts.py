"""Where a committee errs: classes, curves and probabilities on all rows."""

import numpy as np
import pytest
from sklearn import metrics
from sklearn.datasets import make_blobs
from sklearn.ensemble import RandomForestClassifier
from sklearn.svm import SVC

from committee import prune, report
from committee.reporting import charts
from committee.reporting.evaluation import evaluate_members


def test_every_class_has_recall_precision_and_area(classifier):
    committee, X, y = classifier
    lines = charts.classes(evaluate_members(committee, X, y))
    predicted, p = committee.predict(X), committee.predict_proba(X)
    recall = metrics.recall_score(y, predicted, average=None)
    precision = metrics.precision_score(y, predicted, average=None)
    assert [line["recall"][0] for line in lines] == pytest.approx(recall)
    assert [line["precision"][0] for line in lines] == pytest.approx(precision)
    areas = [metrics.roc_auc_score(y == k, p[:, k]) for k in range(3)]
    assert [line["area"][0] for line in lines] == pytest.approx(areas)
    assert lines[0]["recall"][1] == f"{100 * recall[0]:.1f} %"
    counts = metrics.confusion_matrix(y, predicted)
    for k, line in enumerate(lines):
        wrong = counts[k].copy()
        wrong[k] = 0
        if wrong.any():
            assert line["confused"][0] == str(wrong.argmax())


def test_two_classes_have_curves_before_and_after_pruning(rng):
    X = rng.normal(size=(300, 4))
    y = (X[:, 0] + rng.normal(size=300) > 0).astype(int)
    forest = RandomForestClassifier(20, random_state=0).fit(X[:100], y[:100])
    small = prune(forest, X[100:200], y[100:200])
    evaluated = evaluate_members(small, X[200:], y[200:])
    shown = charts.curves(evaluated)
    for line, model in zip(shown["lines"], (small, forest), strict=True):
        p = model.predict_proba(X[200:])[:, 1]
        assert line["area"] == pytest.approx(metrics.roc_auc_score(y[200:], p))
        assert line["average"] == pytest.approx(
            metrics.average_precision_score(y[200:], p)
        )
    found = charts.calibration(evaluated)
    p = small.predict_proba(X[200:])
    assert sum(found["n_rows"]) == 100
    assert found["scores"]["log-loss"].startswith(
        f"{metrics.log_loss(y[200:], p):.4f} ± "
    )
    # These are the calibrated ones.
    small.calibration = small._calibration = None
    assert abs(small.predict_proba(X[200:])[:, 1] - p[:, 1]).max() > 0.01
    page = report(small, X[200:], y[200:])
    assert "all 20 members, before pruning" in page
    assert "before pruning, AUC" in page


def test_rows_of_one_class_and_votes_without_probabilities_have_no_curves(classifier):
    committee, X, y = classifier
    one = evaluate_members(committee, X[y == 0], y[y == 0])
    assert charts.curves(one) is None
    two = y < 2
    members = [SVC(C=c).fit(X[two], y[two]) for c in (1, 10)]
    assert "By class" in report(members, X[two], y[two])


def test_twenty_six_classes_have_a_cell_each():
    X, y = make_blobs(520, centers=26, random_state=0)
    labels = np.array(list("abcdefghijklmnopqrstuvwxyz"))[y]
    forest = RandomForestClassifier(5, random_state=0).fit(X, labels)
    shown = charts.confusion(evaluate_members(forest, X, labels))
    assert shown["labels"] == forest.classes_.tolist()
    assert len(forest.classes_) == 26
    page = report(forest, X, labels)
    assert 'class="confusion small"' in page
    assert page.count('class="number right"') == 26
