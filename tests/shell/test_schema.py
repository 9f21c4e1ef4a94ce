"""The schema of tables as people have them, and their target."""

import json

import numpy as np
import pandas as pd
import pytest

from committee.shell.messages import ShellError
from committee.shell.schema import (
    as_target,
    guess_task,
    refuse_constant,
    row_ids,
    split_target,
)
from committee.shell.table_model import read_model
from tests.shell.conftest import refused, run


def column(values, **options):
    return pd.Series(values, name="y", **options)


@pytest.mark.parametrize(
    ("values", "task"),
    [
        (["a", "b"], "classification"),
        ([True, False], "classification"),
        ([0, 1, 2], "classification"),
        ([0.0, 1.0], "classification"),
        (list(range(10)), "classification"),
        (list(range(11)), "regression"),
        ([0.5, 1.0], "regression"),
        ([1.0, np.inf], "regression"),
    ],
)
def test_the_task_is_guessed(values, task):
    assert guess_task(column(values)) == task


@pytest.mark.parametrize(
    ("values", "kind"),
    [(["a", "b"], "U"), ([True, False], "b"), ([1.0, 2.0], "i"), ([3, 4], "i")],
)
def test_labels_keep_their_type(values, kind):
    y = as_target(column(values), "classification")
    assert y.dtype.kind == kind
    assert y.tolist() == values


def test_numbers_are_floats_and_whole_numbers_can_be_estimated():
    assert as_target(column([1, 2]), "regression").dtype == np.float64


@pytest.mark.parametrize(
    ("values", "task", "words"),
    [
        (["a", "b"], "regression", "must be numbers for regression. It has 'a'."),
        ([True, False], "regression", "must be numbers for regression"),
        ([0.5, 1.5], "classification", "use --task regression"),
        ([1.0, np.inf], "regression", "must be finite"),
    ],
)
def test_a_target_that_cannot_be_learned(values, task, words):
    with pytest.raises(ShellError) as error:
        as_target(column(values), task)
    assert words in str(error.value)
    assert error.value.status == 1


def test_one_value_cannot_be_learned():
    refuse_constant(np.array([1, 2]), "y", 7)
    with pytest.raises(ShellError, match=r"at least 2 .* All 7 rows have 'a'"):
        refuse_constant(np.array(["a"]), "y", 7)


def test_an_unknown_target_suggests_a_name():
    frame = pd.DataFrame({"size": [1], "grade": [2]})
    with pytest.raises(ShellError, match=r"mean 'grade'.*'size', 'grade'") as error:
        split_target(frame, "Grades")
    assert error.value.status == 2


def test_rows_without_a_target_are_left_out():
    frame = pd.DataFrame({"y": ["a", None, "b"], "x": [1, 2, 3]})
    rows, y = split_target(frame, "y")
    assert (rows["x"].tolist(), y.tolist()) == ([1, 3], ["a", "b"])
    assert rows.index.tolist() == y.index.tolist() == [0, 1]
    with pytest.raises(ShellError, match="'y' has no value in any of the rows"):
        refuse_constant(split_target(frame[1:2], "y")[1], "y", 0)


N = 60
DAYS = pd.date_range("2023-01-01", periods=N, freq="7D")


@pytest.fixture(autouse=True)
def working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def messy(money="${:,.2f}"):
    rng = np.random.default_rng(0)
    x = rng.permutation(N)
    return pd.DataFrame(
        {
            "PassengerId": 7 * rng.permutation(N),
            "uuid": [f"{i:x}-x" for i in range(N)],
            "amount": [money.format(100 * value + 0.5) for value in x],
            "share": [f"{value} %" for value in rng.integers(0, 100, N)],
            "day": DAYS.strftime("%d/%m/%Y 12:30"),
            "pause": [f"{value} days 04:00" for value in rng.integers(0, 9, N)],
            "zip": rng.choice(["01234", "00007", "56789"], N),
            "grade": np.where(x < N / 2, "low", "high"),
        }
    )


def train(data, *words, target="grade"):
    options = ("--target", target, "-o", "m.skops", "--members", 8, "--json")
    result = run("train", data, *options, *words)
    return json.loads(result.stdout), result.stderr, read_model("m.skops").schema


def test_columns_with_hardly_any_value_are_left_out():
    """Boosting failed on rows, or folds of them, that have no number in a column."""
    once = np.where(np.arange(N) == 7, 1.5, np.nan)
    nothing = np.full(N, np.nan)
    messy().assign(note=nothing, once=once).to_csv("t.csv", index=False)
    _, notes, columns = train("t.csv")
    assert not {"note", "once"} & set(columns.names)
    assert "'note', 'once' left out: no values, or hardly any; --keep 'note'" in notes
    _, notes, columns = train("t.csv", "--keep", "once")
    assert "once" in columns.names
    assert "'note' left out" in notes


def test_a_messy_table_from_end_to_end():
    messy().to_csv("t.csv", index=False)
    report, notes, columns = train("t.csv", "--categorical", "zip")
    assert columns.names == ["amount", "share", "day", "pause", "zip"]
    assert columns.words == ["zip"]
    assert report["held_out_error"] < 0.15
    assert "'PassengerId', 'uuid' left out" in notes
    assert "'amount' is read as numbers such as 1,234.5 $" in notes
    run("prune", "m.skops", "t.csv", "--oob", "-o", "s.skops", "--quiet")
    for model in ("m.skops", "s.skops"):
        found = json.loads(run("evaluate", model, "t.csv", "--json", "-q").stdout)
        assert found["scores"]["error_rate"]["value"] < 0.1
        run("predict", model, "t.csv", "-o", "o.csv", "--quiet")
        right = pd.read_csv("o.csv")["prediction"] == messy()["grade"]
        assert right.mean() > 0.9
    messy("€{:,.2f}").to_csv("euros.csv", index=False)
    assert "'amount' must contain numbers such as 1,234.5 $" in refused(
        "predict", "m.skops", "euros.csv"
    )


def test_a_target_of_money_is_a_number_and_its_gaps_are_left_out():
    frame = messy().assign(x=np.arange(N) % 7)[["x", "amount", "day"]]
    frame.loc[[3, 5], "amount"] = None
    frame.to_csv("t.csv", index=False)
    report, notes, _ = train("t.csv", target="amount")
    assert (report["task"], report["rows"]) == ("regression", N - 2)
    assert "Note: 2 rows have no value of the target 'amount': left out." in notes
    result = run("evaluate", "m.skops", "t.csv", "--json")
    assert json.loads(result.stdout)["rows"] == N - 2
    assert "Note: 2 rows have no value" in result.stderr


def test_columns_are_dropped_and_kept_by_name():
    messy().to_csv("t.csv", index=False)
    words = ("--keep", "PassengerId", "--drop", "uuid", "--drop", "amount")
    _, _, columns = train("t.csv", *words)
    assert columns.names == ["PassengerId", "share", "day", "pause", "zip"]
    train_words = ("train", "t.csv", "--target", "grade", "-o", "m.skops")
    for more, sentence in (
        (
            ("--drop", "Amount"),
            "--drop 'Amount': the table has no such column. Did you mean",
        ),
        (("--keep", "x"), "--keep 'x': the table has no such column."),
        (("--categorical", "x"), "--categorical 'x': the table has no such column."),
        (("--drop", "grade"), "'grade' cannot be both --drop and --target."),
    ):
        assert sentence in refused(*train_words, *more, status=2)


def test_a_column_that_may_not_be_looked_at_does_not_stop_others():
    frame = messy()[["zip", "grade"]].assign(list=[[1, 2]] * N)
    frame.to_parquet("t.parquet")
    words = ("train", "t.parquet", "--target", "grade", "-o", "m.skops")
    assert "--drop 'list'" in refused(*words)
    assert train("t.parquet", "--drop", "list")[2].names == ["zip"]


def test_ids_are_different_in_every_row():
    n = np.arange(30)
    frame = pd.DataFrame(
        {
            "counts": n[::-1] + 5,
            "squares": n**2,
            "order_id": n**2,
            "visitId": n // 2,
            "real": n + 0.0,
        }
    )
    assert row_ids(frame) == ["counts", "order_id"]
    assert row_ids(frame[:20]) == []


@pytest.mark.parametrize(
    ("codec", "words"),
    [("utf-16", ()), ("cp1252", ("--encoding", "cp1252")), ("utf-8-sig", ())],
)
def test_text_in_other_codecs(codec, words):
    frame = messy("{:.2f} €")[["amount", "grade"]].assign(größe="Köln")
    frame.to_csv("t.csv", index=False, encoding=codec)
    assert train("t.csv", *words)[2].names == ["amount", "größe"]
    if words:
        named = refused("predict", "m.skops", "t.csv")
        assert "not UTF-8" in named
        assert "--encoding latin-1" in named
        found = refused("predict", "m.skops", "t.csv", "--encoding", "cp", status=2)
        assert "--encoding must be an encoding of Python" in found
    run("predict", "m.skops", "t.csv", "-o", "o.csv", "--quiet", *words)


def test_json_lines():
    frame = messy()
    frame.to_json("t.jsonl", orient="records", lines=True)
    frame.to_csv("t.csv", index=False)
    assert (
        train("t.jsonl", "--categorical", "zip")[2]
        == train("t.csv", "--categorical", "zip")[2]
    )
    run("predict", "m.skops", "t.jsonl", "-o", "o.csv", "--quiet")
    frame.to_json("t.json", orient="records")
    assert "is one JSON list" in refused("predict", "m.skops", "t.json")
    with open("t.json", "w") as file:
        file.write('{"a": 1}\n{"a": "x"}\n')
    assert "is not JSON lines" in refused("predict", "m.skops", "t.json")


def test_dates_where_numbers_were_are_refused():
    frame = pd.DataFrame({"a": np.arange(N) / 7, "y": np.arange(N) % 2})
    frame.to_parquet("t.parquet")
    train("t.parquet", target="y")
    frame.assign(a=DAYS).to_parquet("days.parquet")
    assert "'a' must contain numbers, as in training. It contains dates." in refused(
        "predict", "m.skops", "days.parquet"
    )
