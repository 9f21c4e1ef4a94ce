"""Inspect: what a file holds, for people and machines."""

import json
import re

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.naive_bayes import GaussianNB

from committee import (
    Average,
    CommitteeClassifier,
    CommitteeRegressor,
    LogPool,
    Pool,
    refine,
    save,
)
from committee.reporting import charts
from committee.reporting.evaluation import evaluate_members
from committee.reporting.page_text import member_table
from committee.shell.table_model import read_model
from tests.shell.conftest import refused, run


def test_a_reader_sees_members_weights_and_columns(folder):
    out = run("inspect", "classifier.skops").stdout
    heaviest = read_model("classifier.skops").last.weights_.argmax()
    assert "CommitteeClassifier" in out
    assert "grades.csv, 120 rows" in out
    assert re.search(r"held-out error rate +0\.", out)
    assert "classes: no, yes" in out
    assert "numbers: size, age, member" in out
    assert "words: town, code" in out
    table = out[out.index("kind", out.index("words")) :].splitlines()
    assert table[1].split()[0] == str(heaviest)
    assert max(map(len, out.splitlines())) <= 100


def test_weights_are_shown_as_shares(tmp_path, rng):
    """Here and on the page; the weights of a log pool have another sum."""
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    X[:, 0] += y
    pool = Pool([("line", LogisticRegression()), ("bayes", GaussianNB())])
    committee = CommitteeClassifier(generator=pool, combiner=LogPool()).fit(X, y)
    assert abs(committee.combiner_.weights_.sum() - 1) > 0.01
    save(committee, tmp_path / "m.skops")
    shown = re.findall(
        r"(?:line|bayes) .* ([\d.]+)$",
        run("inspect", tmp_path / "m.skops").stdout,
        re.MULTILINE,
    )
    assert sum(map(float, shown)) == pytest.approx(1, abs=1e-4)
    evaluated = evaluate_members(committee, X, y)
    table = member_table(committee, evaluated)
    assert table.weights.sum() == pytest.approx(1)
    charted = charts.weights(committee, table.names)
    assert sum(charted["weight"]) == pytest.approx(1)


def test_a_machine_sees_every_weight(folder):
    report = json.loads(run("inspect", "regressor.skops", "--json").stdout)
    committee = read_model("regressor.skops").last
    np.testing.assert_array_equal(report["weights"], committee.weights_)
    assert report["classes"] is report["summary"] is None
    assert report["file_bytes"] == (folder / "regressor.skops").stat().st_size
    assert "scikit-learn" in report["saved_with"]


def test_a_pruned_model_tells_what_it_was_pruned_from(folder):
    words = ("-o", "small.skops", "--oob", "--max-members", 2)
    run("prune", "classifier.skops", "grades.csv", *words)
    out = run("inspect", "small.skops").stdout
    assert re.search(r"pruned from +[3-8]\n", out)
    assert "time for a row" in out


def test_refined_trees_tell_what_they_were_refined_from(folder, rng):
    X = rng.normal(size=(200, 3))
    forest = RandomForestRegressor(10, random_state=0).fit(X, X[:, 0])
    small = refine(forest, X, X[:, 0], oob=True, max_members=4)
    small.summary()
    save(small, "refined.skops")
    report = json.loads(run("inspect", "refined.skops", "--json").stdout)
    assert (report["pruned_from"], report["members"]) == (10, 4)
    assert "time for a row" in run("inspect", "refined.skops").stdout


def test_a_model_of_somebody_else_is_told_as_far_as_it_goes(folder):
    X = np.arange(40.0).reshape(20, 2)
    save(RandomForestClassifier(4).fit(X, np.arange(20) % 2), "forest.skops")
    out = run("inspect", "forest.skops").stdout
    assert "RandomForestClassifier" in out
    assert "members     4" in out
    assert "weight" not in out


def test_many_members_and_classes_are_cut(folder, rng):
    X, y = rng.normal(size=(30, 13)), rng.normal(size=30)
    committee = CommitteeRegressor(combiner=Average(), random_state=0).fit(X, y)
    save(committee, "m.skops")
    assert "and 90 more" in run("inspect", "m.skops").stdout
    forest = RandomForestClassifier(4).fit(X, np.arange(30) % 13)
    save(forest, "forest.skops")
    assert "classes: 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, ... (13)" in (
        run("inspect", "forest.skops").stdout
    )


def test_names_in_a_file_do_not_steer_the_terminal(tmp_path):
    rng = np.random.default_rng(0)
    evil = "size\x1b]0;gone\x07\nmembers  99"
    X = pd.DataFrame(rng.normal(size=(30, 1)), columns=[evil])
    y = np.array(["no", "yes\x1b[2J"])[(X[evil] > 0).astype(int)]
    model = RandomForestClassifier(2, random_state=0).fit(X, y)
    facts = {"target": evil, "columns": None, "source": {"file": evil, "rows": 30}}
    save(model, tmp_path / "m.skops", metadata={"table": facts})
    result = run("inspect", tmp_path / "m.skops")
    assert not set("\x1b\x07") & set(result.output)
    assert r"size\x1b]0;gone\x07\nmembers  99" in result.stdout
    assert r"classes: no, yes\x1b[2J" in result.stdout


@pytest.mark.parametrize(
    "facts",
    [
        {"target": 3, "columns": None, "source": None},
        {"target": None, "columns": [1], "source": None},
        {"target": None, "columns": {"names": 3}, "source": None},
        {"target": None, "columns": {"names": [], "more": 1}, "source": None},
        {"target": None, "columns": {"names": [1]}, "source": None},
        {"target": None, "columns": None, "source": "here"},
        {"target": None, "columns": None, "source": {"file": "a"}},
    ],
)
def test_facts_of_other_types_are_refused_in_a_sentence(tmp_path, facts):
    model = LinearRegression().fit([[0.0], [1.0]], [0.0, 1.0])
    save(model, tmp_path / "m.skops", metadata={"table": facts})
    assert "in its metadata" in refused("inspect", tmp_path / "m.skops")
    # What a user keeps there is another matter.
    save(model, tmp_path / "m.skops", metadata=facts)
    run("inspect", tmp_path / "m.skops")
