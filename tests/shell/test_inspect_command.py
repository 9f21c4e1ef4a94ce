"""Inspect: what a file holds, for people and machines."""

import json

import numpy as np
from sklearn.ensemble import RandomForestClassifier

from committee import Average, CommitteeRegressor, save
from committee.shell.inspect_command import described, inspect, tables_of
from committee.shell.model_files import Model, read_model
from committee.shell.output import Voice
from committee.shell.prune_command import prune
from tests.shell.conftest import QUIET


def test_a_reader_sees_members_weights_and_columns(trained, capsys):
    path = str(trained / "classifier.skops")
    inspect(path, voice=Voice())
    out = capsys.readouterr().out
    committee = read_model(path).last
    heaviest = committee.weights_.argmax()
    assert "CommitteeClassifier" in out
    assert "grades.csv, 120 rows" in out
    assert "classes: no, yes" in out
    assert "numbers: size, age, member" in out
    assert "words: town, code" in out
    table = out[out.index("kind", out.index("words")) :].splitlines()
    assert table[1].split()[0] == str(heaviest)
    assert max(map(len, out.splitlines())) <= 100


def test_a_machine_sees_every_weight(trained, capsys):
    path = str(trained / "regressor.skops")
    inspect(path, voice=Voice(as_json=True))
    report = json.loads(capsys.readouterr().out)
    committee = read_model(path).last
    np.testing.assert_array_equal(report["weights"], committee.weights_)
    assert report["classes"] is None
    assert report["summary"] is None
    assert report["bytes"] == (trained / "regressor.skops").stat().st_size
    assert "scikit-learn" in report["saved_with"]


def test_a_pruned_model_tells_what_it_was_pruned_from(trained, tmp_path, capsys):
    small = str(tmp_path / "small.skops")
    prune(
        str(trained / "classifier.skops"),
        str(trained / "grades.csv"),
        output=small,
        oob=True,
        limits={"max_members": 2},
        voice=QUIET,
    )
    capsys.readouterr()
    inspect(small, voice=Voice())
    out = capsys.readouterr().out
    assert "pruned from            8" in out
    assert "seconds per row" in out
    facts = described(read_model(small))
    assert facts["members"] <= 2
    assert facts["summary"]["n_members_before"] == 8


def test_a_model_of_somebody_else_is_told_as_far_as_it_goes(tmp_path, capsys):
    X = np.arange(40.0).reshape(20, 2)
    path = str(tmp_path / "forest.skops")
    save(RandomForestClassifier(4).fit(X, np.arange(20) % 2), path)
    inspect(path, voice=Voice())
    out = capsys.readouterr().out
    assert "RandomForestClassifier" in out
    assert "members     4" in out
    assert "weight" not in out


def test_many_members_and_columns_are_cut(rng):
    X, y = rng.normal(size=(30, 2)), rng.normal(size=30)
    committee = CommitteeRegressor(combiner=Average(), random_state=0).fit(X, y)
    facts = described(Model(committee))
    text = "\n".join(
        tables_of(facts | {"words": list("abcdefghijklm")}, Model(committee))
    )
    assert "and 90 more" in text
    assert "j, ... (13)" in text
