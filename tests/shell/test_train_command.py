"""Train: every combination of names gives a model that predicts."""

import json

import numpy as np
import pytest

from committee import (
    Bagging,
    BestPruner,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
)
from committee.shell.errors import ShellError
from committee.shell.model_files import read_model
from committee.shell.output import Voice
from committee.shell.train_command import Recipe, held_out_error, train

JSON = Voice(quiet=True, as_json=True)


def trained_with(trained, tmp_path, data="grades", target="grade", **options):
    path = str(tmp_path / "m.skops")
    recipe = Recipe(**{"members": 10} | options)
    train(
        str(trained / f"{data}.csv"),
        target=target,
        output=path,
        recipe=recipe,
        voice=JSON,
    )
    return read_model(path)


def test_the_result_says_what_was_made(trained, tmp_path, capsys):
    trained_with(trained, tmp_path)
    report = json.loads(capsys.readouterr().out)
    assert report["task"] == "classification"
    assert (report["rows"], report["columns"], report["members"]) == (120, 5, 10)
    assert 0 < report["members_with_a_weight"] <= 10
    assert 0 < report["held_out_error"] < 0.3
    assert report["measure"] == "error rate"
    assert report["bytes"] == (tmp_path / "m.skops").stat().st_size


@pytest.mark.parametrize("estimator", ["random-tree", "linear", "neighbours"])
@pytest.mark.parametrize(("data", "target"), [("grades", "grade"), ("prices", "price")])
def test_estimators_read_gaps_and_words(estimator, data, target, trained, tmp_path):
    model = trained_with(trained, tmp_path, data, target, estimator=estimator)
    assert len(model.last.members_) == 10


@pytest.mark.parametrize(
    ("generator", "estimator"),
    [("cross-splits", "tree"), ("mini-batches", "tree"), ("adaboost", "stump")],
)
def test_generators(generator, estimator, trained, tmp_path):
    model = trained_with(trained, tmp_path, generator=generator, estimator=estimator)
    assert len(model.last.members_) <= 10


def test_the_same_seed_gives_the_same_model(trained, tmp_path, table):
    first, again, other = (
        trained_with(trained, tmp_path, combiner="average", seed=seed)
        for seed in (3, 3, 4)
    )
    X = first.rows(table)
    p = first.estimator.predict_proba(X)
    np.testing.assert_array_equal(p, again.estimator.predict_proba(X))
    assert (p != other.estimator.predict_proba(X)).any()


def test_the_task_can_be_said(trained, tmp_path, table):
    labels = table.assign(level=np.arange(len(table)) % 3)[["size", "level"]]
    labels.to_csv(tmp_path / "levels.csv", index=False)
    tasks = [
        trained_with(tmp_path, tmp_path, "levels", "level", task=task).task
        for task in (None, "regression", "classification")
    ]
    assert tasks == ["classification", "regression", "classification"]


def test_the_held_out_error_is_that_of_members_who_did_not_see_the_row(rng):
    X = rng.normal(size=(60, 2))
    y = X[:, 0] + 0.1 * rng.normal(size=60)
    committee = CommitteeRegressor(
        generator=Bagging(5), combiner=BestPruner(5), random_state=0
    ).fit(X, y)
    F, mask = committee.member_predictions(X), committee.held_out_
    squares = [(F[n, mask[n]].mean() - y[n]) ** 2 for n in range(60) if mask[n].any()]
    np.testing.assert_allclose(
        held_out_error(committee, X, y), np.sqrt(np.mean(squares)), rtol=1e-12
    )


def test_the_held_out_error_is_not_that_of_lucky_members(rng):
    """Labels are noise: on the rows that chose them members look better."""
    X, y = rng.normal(size=(200, 3)), rng.integers(0, 2, 200)
    committee = CommitteeClassifier(
        generator=Bagging(60), combiner=EPPruner(), random_state=0
    ).fit(X, y)
    assert held_out_error(committee, X, y) > 0.4


def test_there_is_no_held_out_error_where_all_rows_were_seen(rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    committee = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, y)
    assert held_out_error(committee, X, y) is None


def test_a_task_that_does_not_exist_is_a_usage_error(trained, tmp_path):
    with pytest.raises(ShellError, match="classification, regression") as error:
        trained_with(trained, tmp_path, task="clustering")
    assert error.value.status == 2


def test_wrong_names_are_found_before_the_table_is_read(tmp_path):
    with pytest.raises(ShellError, match="must be one of"):
        trained_with(tmp_path, tmp_path, "no such table", combiner="nonsense")


def test_row_numbers_are_left_out_with_a_note(tmp_path, table, capsys):
    """Rows that are sorted by the target would be told by their number."""
    frame = table.drop(columns=["price", "code"]).sort_values(
        "grade", ignore_index=True
    )
    frame.to_csv(tmp_path / "sorted.csv")
    path = tmp_path / "m.skops"
    train(
        str(tmp_path / "sorted.csv"),
        target="grade",
        output=str(path),
        recipe=Recipe(members=3, task="classification"),
        voice=Voice(),
    )
    notes = [x for x in capsys.readouterr().err.splitlines() if x.startswith("Note")]
    assert notes == [
        "Note: the first column has no name and numbers the rows: left out."
    ]
    columns = read_model(str(path)).columns
    assert columns.names == ["size", "age", "town", "member"]
    assert columns.left_out == ["Unnamed: 0"]


@pytest.mark.parametrize("estimator", ["tree", "linear"])
def test_one_file_gives_workers_the_model_of_memory(
    estimator, tmp_path, table, two_workers
):
    table.drop(columns="price").to_csv(tmp_path / "t.csv", index=False)
    recipe = Recipe(members=6, estimator=estimator, combiner="simplex")
    models = []
    for scheduler in (None, two_workers.scheduler.address):
        output = str(tmp_path / "m.skops")
        train(
            str(tmp_path / "t.csv"),
            target="grade",
            output=output,
            recipe=recipe,
            scheduler=scheduler,
            voice=JSON,
        )
        models.append(read_model(output))
    memory, dask = models
    assert (dask.columns, dask.source) == (memory.columns, memory.source)
    np.testing.assert_allclose(
        dask.last.weights_, memory.last.weights_, rtol=0, atol=1e-8
    )
    X = memory.rows(table)
    np.testing.assert_allclose(
        dask.estimator.predict_proba(X), memory.estimator.predict_proba(X), atol=1e-8
    )


def test_mini_batches_of_a_regression_on_files(tmp_path, table, two_workers, capsys):
    for number in range(3):
        part = table.drop(columns="grade")[40 * number : 40 * number + 40]
        part.to_parquet(tmp_path / f"part-{number}.parquet")
    train(
        str(tmp_path),
        target="price",
        output=str(tmp_path / "m.skops"),
        recipe=Recipe(members=10, generator="mini-batches"),
        scheduler=two_workers.scheduler.address,
        voice=JSON,
    )
    facts = json.loads(capsys.readouterr().out)
    assert facts["measure"] == "root mean squared error"
    assert 0 < facts["leave_one_out_error"] < table["price"].std()
    model = read_model(str(tmp_path / "m.skops"))
    assert model.source == {"file": tmp_path.name, "rows": 120}
    assert np.isfinite(model.estimator.predict(model.rows(table))).all()


def on_three_files(table, target, folder, two_workers, **recipe):
    """Train on parts of a table that two workers read."""
    for number in range(3):
        part = table[40 * number : 40 * number + 40]
        part.to_csv(folder / f"part-{number}.csv", index=False)
    train(
        str(folder / "part-*.csv"),
        target=target,
        output=str(folder / "m.skops"),
        recipe=Recipe(members=6, **recipe),
        scheduler=two_workers.scheduler.address,
        voice=JSON,
    )


def test_no_error_is_told_that_is_far_off(tmp_path, table, two_workers, capsys):
    table["grade"] = np.arange(len(table)) % 3
    on_three_files(table, "grade", tmp_path, two_workers)
    facts = json.loads(capsys.readouterr().out)
    assert facts["members"] == 6
    assert facts["measure"] is facts["leave_one_out_error"] is None


def test_em_on_two_classes_is_refused_before_training(tmp_path, table, two_workers):
    with pytest.raises(ShellError, match="On Dask with 2 classes") as caught:
        on_three_files(table, "grade", tmp_path, two_workers, combiner="em")
    assert caught.value.status == 2
    assert not (tmp_path / "m.skops").exists()


def test_a_file_of_one_class_is_named(tmp_path, table, two_workers):
    table = table.sort_values("grade").reset_index(drop=True)
    with pytest.raises(ShellError, match=r"part-0.csv' has rows of one class only"):
        on_three_files(table, "grade", tmp_path, two_workers)
