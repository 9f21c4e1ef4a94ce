"""Report: a page from a model file and a table, and honest refusals."""

import json
import shutil
from html import escape

import pytest
from sklearn.ensemble import RandomForestRegressor
from typer.testing import CliRunner

from committee import save
from committee.cli import app
from committee.shell.errors import ShellError
from committee.shell.output import Voice
from committee.shell.report_command import report
from tests.shell.conftest import QUIET

JSON = Voice(quiet=True, as_json=True)


@pytest.mark.parametrize(
    ("model", "data", "section"),
    [("classifier", "grades", "confusion"), ("regressor", "prices", "residuals")],
)
def test_a_page_about_a_model(model, data, section, trained, tmp_path, capsys):
    path = tmp_path / "page.html"
    report(
        str(trained / f"{model}.skops"),
        str(trained / f"{data}.csv"),
        output=str(path),
        voice=JSON,
    )
    html = path.read_text(encoding="utf-8")
    said = json.loads(capsys.readouterr().out)
    assert said == {"report": str(path), "rows": 120, "bytes": path.stat().st_size}
    assert f"<h1>{model}.skops on {data}.csv</h1>" in html
    assert section in html
    assert "town" in html
    assert str(trained) not in html, "folders are nobody's business"


def test_a_forest_of_somebody_else_needs_its_target_named(tmp_path, table):
    frame = table[["size", "price"]]
    frame.to_csv(tmp_path / "t.csv", index=False)
    forest = RandomForestRegressor(4, random_state=0)
    save(forest.fit(frame[["size"]], frame["price"]), tmp_path / "forest.skops")
    files = [str(tmp_path / "forest.skops"), str(tmp_path / "t.csv")]
    page = str(tmp_path / "page.html")
    with pytest.raises(ShellError, match="give --target") as error:
        report(*files, output=page, voice=QUIET)
    assert error.value.status == 2
    report(*files, output=page, target="price", voice=QUIET)


def test_a_page_goes_to_a_file(trained, tmp_path):
    files = [str(trained / "classifier.skops"), str(trained / "grades.csv")]
    result = CliRunner().invoke(app, ["report", *files, "-o", "-"])
    assert result.exit_code == 2
    assert "goes to a file" in result.stderr
    nowhere = str(tmp_path / "no" / "page.html")
    assert CliRunner().invoke(app, ["report", *files, "-o", nowhere]).exit_code == 2


def test_labels_the_model_does_not_know_leave_no_page(trained, tmp_path, table):
    table.loc[0, "grade"] = "perhaps"
    table.to_csv(tmp_path / "t.csv", index=False)
    page = tmp_path / "page.html"
    model, data = str(trained / "classifier.skops"), str(tmp_path / "t.csv")
    result = CliRunner().invoke(app, ["report", model, data, "-o", str(page)])
    assert result.exit_code == 1
    assert "'perhaps', which the model does not know" in result.stderr
    assert not page.exists()


@pytest.mark.parametrize("name", ["classifier.skops", "grades.csv"])
def test_a_page_does_not_take_the_place_of_what_it_is_about(name, trained, tmp_path):
    for path in ("classifier.skops", "grades.csv"):
        shutil.copy(trained / path, tmp_path)
    before = (tmp_path / name).read_bytes()
    (tmp_path / "link.html").symlink_to(tmp_path / name)
    files = [str(tmp_path / "classifier.skops"), str(tmp_path / "grades.csv")]
    for output in (tmp_path / name, tmp_path / "." / name, tmp_path / "link.html"):
        result = CliRunner().invoke(app, ["report", *files, "-o", str(output)])
        assert result.exit_code == 2
        assert "it would be lost" in result.stderr
        assert (tmp_path / name).read_bytes() == before


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>.csv", "<script>&.csv"])
def test_a_hostile_name_of_a_file_stays_text(name, trained, tmp_path):
    shutil.copy(trained / "grades.csv", tmp_path / name)
    page = tmp_path / "page.html"
    report(
        str(trained / "classifier.skops"),
        str(tmp_path / name),
        output=str(page),
        voice=QUIET,
    )
    html = page.read_text(encoding="utf-8")
    assert name not in html
    assert html.count(escape(name)) >= 3  # title, heading, settings


@pytest.mark.parametrize(
    ("words", "status"),
    [
        (["train", "grades.csv", "--target", "grade", "-o", "grades.csv"], 2),
        (["prune", "classifier.skops", "grades.csv", "-o", "grades.csv"], 2),
        (["prune", "classifier.skops", "grades.csv", "-o", "classifier.skops"], 0),
        (["predict", "classifier.skops", "grades.csv", "-o", "grades.csv"], 2),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else str(value),
)
def test_no_command_writes_over_its_table(
    words, status, trained, tmp_path, monkeypatch
):
    """Only a model may take the place of the one that it was pruned from."""
    for name in ("classifier.skops", "grades.csv"):
        shutil.copy(trained / name, tmp_path)
    monkeypatch.chdir(tmp_path)
    before = (tmp_path / "grades.csv").read_bytes()
    result = CliRunner().invoke(app, words)
    assert result.exit_code == status, result.output
    assert (tmp_path / "grades.csv").read_bytes() == before
