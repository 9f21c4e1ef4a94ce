"""Report: a page from a model file and a table, and honest refusals."""

import json
import shutil
from html import escape

import pytest

from tests.shell.conftest import refused, run


@pytest.mark.parametrize(
    ("model", "data", "section"),
    [("classifier", "grades", "confusion"), ("regressor", "prices", "residuals")],
)
def test_a_page_about_a_model(model, data, section, folder):
    files = (folder / f"{model}.skops", folder / f"{data}.csv")
    printed = run("report", *files, "-o", "page.html", "--json", "--quiet").stdout
    html = (folder / "page.html").read_text(encoding="utf-8")
    size = (folder / "page.html").stat().st_size
    assert json.loads(printed) == {
        "report": "page.html",
        "rows": 120,
        "file_bytes": size,
    }
    assert f"<h1>{model}.skops on {data}.csv</h1>" in html
    assert section in html
    assert "town" in html
    assert str(folder) not in html, "folders are nobody's business"


@pytest.mark.parametrize("name", ["<img src=x onerror=alert(1)>.csv", "<script>&.csv"])
def test_a_hostile_name_of_a_file_stays_text(name, folder):
    shutil.copy("grades.csv", name)
    run("report", "classifier.skops", name, "-o", "page.html", "--quiet")
    html = (folder / "page.html").read_text(encoding="utf-8")
    assert name not in html
    assert html.count(escape(name)) >= 3  # title, heading, settings


MODEL, DATA = "classifier.skops", "grades.csv"


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (("report", MODEL, DATA, "-o", "-"), "output file is missing"),
        (("report", MODEL, DATA, "-o", "none/page.html"), "no folder"),
        (("report", MODEL, DATA, "-o", "page.pdf"), "must end in .html or .htm"),
        (("report", MODEL, DATA, "-o", MODEL), "it would be lost"),
        (("report", MODEL, DATA, "-o", f"./{DATA}"), "it would be lost"),
        (("report", MODEL, DATA, "-o", "link.html"), "it would be lost"),
        (("train", DATA, "--target", "grade", "-o", DATA), "it would be lost"),
        (("prune", MODEL, DATA, "-o", DATA), "it would be lost"),
        (("predict", MODEL, DATA, "-o", DATA), "it would be lost"),
    ],
)
def test_no_command_writes_over_what_it_reads(words, sentence, folder):
    (folder / "link.html").symlink_to(folder / MODEL)
    before = [(folder / name).read_bytes() for name in (MODEL, DATA)]
    assert sentence in refused(*words, status=2)
    assert [(folder / name).read_bytes() for name in (MODEL, DATA)] == before


def test_rows_that_look_like_those_of_the_training_are_named(folder, table):
    table.to_csv("other.csv", index=False)
    said = "the table that the model was trained on"
    assert said in run("report", MODEL, DATA, "-o", "page.html").stderr
    assert said not in run("report", MODEL, "other.csv", "-o", "page.html").stderr


def test_labels_the_model_does_not_know_leave_no_page(folder, table):
    table.assign(grade="perhaps").to_csv("rows.csv", index=False)
    error = refused("report", MODEL, "rows.csv", "-o", "page.html")
    assert "'perhaps', which the model was not trained on" in error
    assert not (folder / "page.html").exists()
