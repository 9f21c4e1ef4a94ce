"""Train: every combination of names gives a model that predicts."""

import json
from collections import Counter

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    OrderPruner,
    Pool,
)
from committee.combiners import Combiner
from committee.shell import learners
from committee.shell.learners import TableSize, learners_of
from committee.shell.options import PRESETS
from committee.shell.table_model import read_model
from tests.shell.conftest import make_table, refused, run

TRAIN = ("-o", "m.skops", "--members", 10, "--json")


def train(data, target, *words):
    """Train on a file of the working folder; return what is printed, and the model."""
    printed = run("train", data, "--target", target, *TRAIN, *words, "--quiet")
    return json.loads(printed.stdout), read_model("m.skops")


def test_the_result_says_what_was_made(folder):
    report, _ = train("grades.csv", "grade")
    assert report["task"] == "classification"
    assert (report["rows"], report["columns"], report["members"]) == (120, 5, 10)
    assert 0 < report["members_with_a_weight"] <= 10
    assert 0 < report["held_out_error"] < 0.3
    assert report["measure"] == "error rate"
    assert report["file_bytes"] == (folder / "m.skops").stat().st_size


@pytest.mark.parametrize(
    "words",
    [
        ("--estimator", "random-tree"),
        ("--estimator", "linear"),
        ("--estimator", "neighbours"),
        ("--generator", "cross-splits"),
        ("--generator", "mini-batches"),
        ("--generator", "adaboost", "--estimator", "stump"),
    ],
    ids=" ".join,
)
def test_learners_and_generators(words, folder):
    tables = [("grades.csv", "grade"), ("prices.csv", "price")]
    for data, target in tables[: 1 if "adaboost" in words else 2]:
        _, model = train(data, target, *words)
        assert 0 < len(model.last.members_) <= 10


def test_the_same_seed_gives_the_same_model(folder, table):
    p = []
    for seed, jobs in ((3, 1), (3, 2), (4, 1)):
        words = ("--combiner", "average", "--seed", seed, "--jobs", jobs)
        _, model = train("grades.csv", "grade", *words)
        p.append(model.estimator.predict_proba(model.take(table)[0]))
    np.testing.assert_array_equal(p[0], p[1])
    assert (p[0] != p[2]).any()


def test_the_task_can_be_given(folder, table):
    table.assign(level=np.arange(len(table)) % 3).to_csv("levels.csv", index=False)
    for words, task in (
        ((), "classification"),
        (("--task", "regression"), "regression"),
        (("--task", "classification"), "classification"),
    ):
        assert train("levels.csv", "level", *words)[0]["task"] == task


def test_the_held_out_error_is_that_of_members_who_did_not_see_the_row(rng):
    """The mean of H members has the variance s^2 / H, that of all five s^2 / 5."""
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    committee = CommitteeRegressor(
        generator=Bagging(5),
        combiner=OrderPruner("best", 5),
        uncertainty=True,
        random_state=0,
    )
    committee.fit(X, y)
    F, mask = committee.member_predictions(X), committee.held_out_
    heard = [F[n, mask[n]] for n in range(60)]
    spread = np.mean([f.var(ddof=1) for f in heard if len(f) > 1])
    squares = [
        (f.mean() - y[n]) ** 2
        + (f.var(ddof=1) if len(f) > 1 else spread) * (1 / 5 - 1 / len(f))
        for n, f in enumerate(heard)
        if len(f)
    ]
    np.testing.assert_allclose(
        committee.held_out_error_, np.sqrt(np.mean(squares)), rtol=1e-9
    )


def test_the_held_out_error_is_not_that_of_lucky_members(rng):
    """Labels are noise: on the rows that chose them members look better."""
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    committee = CommitteeClassifier(
        generator=Bagging(60),
        combiner=EPPruner(),
        uncertainty=True,
        random_state=0,
    )
    committee.fit(X, y)
    assert committee.held_out_error_ > 0.4


def test_there_is_no_held_out_error_where_all_rows_were_seen(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    committee = CommitteeClassifier(generator=Bagging(3), calibration=None)
    assert committee.fit(X, y).held_out_error_ is None


def names_of(preset):
    """Return the learners of a preset that can be trained here."""
    return [name for name, _ in learners_of(preset, TableSize(100, 30, codes=[]))[0]]


@pytest.fixture(scope="module")
def by_default(tmp_path_factory):
    """What training without any choice prints and makes: two classes, three, numbers."""
    folder = tmp_path_factory.mktemp("default")
    table = make_table().drop(columns="grade")
    level = np.array(["low", "mid", "high"])[np.digitize(table["size"], [-0.5, 0.5])]
    tables = {
        "grade": make_table().drop(columns="price"),
        "level": table.drop(columns="price").assign(level=level)[::2],
        "price": table,
    }
    made = {}
    for target, frame in tables.items():
        data, output = folder / f"{target}.csv", folder / f"{target}.skops"
        frame.to_csv(data, index=False)
        words = ("--target", target, "-o", output, "--json", "--quiet")
        report = json.loads(run("train", data, *words).stdout)
        made[target] = report, read_model(str(output)), frame
    return made


@pytest.mark.parametrize("target", ["grade", "level", "price"])
def test_unlike_learners_are_trained_by_default(target, by_default):
    report, model, frame = by_default[target]
    assert list(report["learners"]) == names_of("fast")
    assert report["boosting_by"]
    assert sum(report["learners"].values()) == pytest.approx(1)
    assert report["members"] == len(names_of("fast"))
    kept = report["members_with_a_weight"]
    assert kept == len(model.last.members_)
    # Ridge weights keep all learners.
    assert kept == report["members"] if target == "price" else kept < report["members"]
    assert type(model.last.generator) is Pool
    guess = frame[target].std() if target == "price" else 0.5
    assert 0 <= report["held_out_error"] < 0.7 * guess
    X, y, _ = model.take_labelled(frame)
    assert model.estimator.score(X, y) > 0.7


def test_the_default_is_the_same_for_a_seed_and_any_jobs(folder, table, monkeypatch):
    monkeypatch.setitem(PRESETS, "fast", ("extra-trees", "linear"))
    p = []
    for jobs in (1, 2):
        words = ("--target", "grade", "-o", "m.skops", "--jobs", jobs, "--quiet")
        run("train", "grades.csv", *words)
        model = read_model("m.skops")
        p.append(model.estimator.predict_proba(model.take(table)[0]))
    np.testing.assert_array_equal(*p)
    # The file has no number of cores.
    for learner in [*model.last.members_, *model.last.generator.members]:
        jobs = {n: v for n, v in learner.get_params().items() if n.endswith("n_jobs")}
        assert set(jobs.values()) <= {None}


def test_without_time_one_learner_is_trained_and_the_others_are_named(folder):
    words = ("--target", "grade", "-o", "m.skops", "--minutes", 0)
    result = run("train", "grades.csv", *words)
    assert "left out, which would have taken more than the 0 minutes" in result.stderr
    assert "'extra-trees'" in result.stderr
    assert read_model("m.skops").last.generator.names == names_of("fast")[:1]


def test_rows_put_aside_weigh_the_learners_of_a_large_table(folder, monkeypatch):
    monkeypatch.setattr("committee.shell.learners._CROSS_FITTED", 100)
    monkeypatch.setattr("committee.shell.learners._MOST_ROWS", {"network": 100})
    monkeypatch.setitem(PRESETS, "fast", ("shallow-boosting", "linear", "network"))
    words = ("--target", "price", "-o", "m.skops")
    result = run("train", "prices.csv", *words)
    assert "120 rows are too many for 'network': left out." in result.stderr
    committee = read_model("m.skops").last
    assert committee.weigh_on == 0.1
    assert "held-out RMSE" in result.stdout


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("--generator", "pool", "--members", 5), "--members is for many members"),
        (("--estimator", "tree", "--preset", "best"), "--preset is for the learners"),
        (("--generator", "bagging", "--minutes", 1), "--minutes is for the learners"),
        (("--preset", "quick"), "--preset must be one of fast, best"),
        (("--generator", "pol"), "Did you mean 'pool'?"),
        (("--minutes", -1), "Invalid value for '--minutes'"),
    ],
    ids=lambda value: " ".join(map(str, value)) if isinstance(value, tuple) else "",
)
def test_options_that_do_not_go_together(words, sentence, folder):
    call = ("train", "grades.csv", "--target", "grade", "-o", "m.skops", *words)
    assert sentence in refused(*call, status=2)


def test_row_numbers_are_left_out_with_a_note(folder, table):
    """Rows that are sorted by the target would be told by their number."""
    sorted_rows = table.sort_values("grade", ignore_index=True)
    sorted_rows[["size", "grade"]].to_csv("sorted.csv")
    result = run("train", "sorted.csv", "--target", "grade", *TRAIN)
    assert "Note: the first column has no name and numbers the rows" in result.stderr
    assert read_model("m.skops").schema.names == ["size"]


def test_dates_are_numbers(folder):
    days = pd.date_range("2020-01-01", periods=60).strftime("%Y-%m-%d")
    frame = pd.DataFrame({"day": days, "y": np.arange(60) >= 30})
    frame.to_csv("days.csv", index=False)
    report, model = train("days.csv", "y")
    assert model.schema.words == []
    assert report["held_out_error"] < 0.1


@pytest.mark.parametrize(
    ("preset", "combiner_rows", "learner_fits"),
    [
        (
            ("shallow-boosting", "linear"),
            [96] * 5 + [120],
            {"boosting": 6, "linear": 6},
        ),
        (None, [96] * 5 + [120], {"tree": 10}),
    ],
    ids=["pool", "bagging"],
)
def test_one_call_cross_fits_once(
    preset, combiner_rows, learner_fits, folder, monkeypatch
):
    """The combiner is fitted on all rows and once without each fifth of them."""
    monkeypatch.setattr(learners, "_installed", lambda library: False)
    rows, fits = [], Counter()
    names = {
        HistGradientBoostingRegressor: "boosting",
        Ridge: "linear",
        DecisionTreeRegressor: "tree",
    }

    def count(kind, note):
        fit = kind.fit

        def counted(self, X, y, *args, **kwargs):
            note(self, y)
            return fit(self, X, y, *args, **kwargs)

        monkeypatch.setattr(kind, "fit", counted)

    count(Combiner, lambda _, y: rows.append(len(y)))
    for kind in names:
        count(kind, lambda learner, _: fits.update([names[type(learner)]]))
    words = ("--members", 10)
    if preset is not None:
        monkeypatch.setitem(PRESETS, "fast", preset)
        words = ()
    run("train", "prices.csv", "--target", "price", "-o", "m.skops", *words)
    assert sorted(rows) == combiner_rows
    assert fits == learner_fits
    assert read_model("m.skops").last.has_held_out_rows
