"""One number has one name: summary, path, page, notebook, committees and files."""

import json
import re

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge

from committee import (
    CommitteeClassifier,
    CommitteeRegressor,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    Pool,
    prune,
)
from committee._format import HELD_OUT, LEAVE_ONE_OUT, error_name, figures
from committee.displays.paths import split_measure
from committee.losses import OF_CLASSES, OF_NUMBERS
from committee.reporting.page_text import pruning
from committee.shell.table_model import read_model
from tests.shell.conftest import run


def _rows(task):
    if task == "classes":
        return make_classification(200, 6, flip_y=0.1, random_state=0)
    return make_friedman1(200, n_features=6, noise=1.0, random_state=0)


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_a_pruned_forest_has_two_errors_with_one_name_each(task):
    X, y = _rows(task)
    kind = RandomForestClassifier if task == "classes" else RandomForestRegressor
    small = prune(kind(20, random_state=0).fit(X, y), X, y, oob=True)
    summary, path = small.summary(), small.path_
    measure = {"classes": "error rate", "numbers": "RMSE"}[task]
    held_out = error_name(HELD_OUT, measure)
    loo = error_name(LEAVE_ONE_OUT, summary.loo_measure)
    assert summary.error_name == path.measure == held_out
    assert split_measure(path.measure) == (measure, HELD_OUT)
    assert summary.loo_measure == measure
    assert loo in summary.details()
    names = [row[0] for row in pruning(small)["rows"]]
    assert loo in names
    assert held_out in small._repr_html_()


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_committees_name_the_error_that_they_have(task):
    X, y = _rows(task)
    of_classes = task == "classes"
    members = [LogisticRegression(C=c) for c in (0.1, 1.0)]
    members = members if of_classes else [Ridge(1.0), Ridge(9.0)]
    kind = CommitteeClassifier if of_classes else CommitteeRegressor
    mixture = MixtureOfExpertsClassifier if of_classes else MixtureOfExpertsRegressor
    known = OF_CLASSES if of_classes else OF_NUMBERS
    name = error_name(HELD_OUT, next(iter(known.values())).name)
    models = [
        kind(generator=Pool(members), random_state=0),
        mixture(n_experts=2, n_restarts=1, uncertainty=True, random_state=0),
    ]
    for model in models:
        model.fit(X, y)
        assert model.held_out_error_name_ == name
        assert np.isfinite(model.held_out_error_)
    assert name in models[0]._repr_html_()
    models[1].set_params(uncertainty=False).fit(X, y)
    assert models[1].held_out_error_name_ is None


@pytest.mark.parametrize("task", ["classes", "numbers"])
def test_the_shell_prints_the_name_of_the_committee(task, tmp_path, monkeypatch):
    """`committee train` and `inspect`, on the terminal and as JSON."""
    monkeypatch.chdir(tmp_path)
    X, y = _rows(task)
    np.savetxt(
        "rows.csv", np.c_[X, y], "%.6g", ",", comments="", header="a,b,c,d,e,f,y"
    )
    words = ("rows.csv", "--target", "y", "-o", "m.skops", "--members", 10)
    out = run("train", *words).stdout
    committee = read_model("m.skops").last
    name, error = committee.held_out_error_name_, committee.held_out_error_
    assert re.search(rf"{name} +{figures(error, 4)}", out)
    assert name in run("inspect", "m.skops").stdout
    report = json.loads(run("train", *words, "--json").stdout)
    assert report["held_out_error"] == error
    assert error_name(HELD_OUT, report["measure"]) == name
