"""committee demo: three tables whose figures are those of fresh rows, and a page."""

import json

import pytest
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier
from typer.testing import CliRunner

from committee.cli import app
from committee.shell import demo_command as demo

MODELS = [
    ("tree", DecisionTreeClassifier(max_depth=8)),
    ("bayes", GaussianNB(var_smoothing=1e-3)),
    ("near", KNeighborsClassifier(5)),
]


@pytest.fixture
def small(monkeypatch):
    """The real run on the real digits, with few models and few trees."""
    monkeypatch.setattr(demo, "ten_models", lambda: MODELS)
    monkeypatch.setattr(demo, "N_TREES", 30)
    monkeypatch.setattr(demo, "N_KEPT", 3)


def test_rows_are_errors_on_fresh_rows(small, tmp_path):
    path = tmp_path / "page.html"
    parts = demo.run_demo(page=str(path))
    best, mean, stacking, committee = parts["pool"]
    X, X_test, y, y_test = train_test_split(
        *load_digits(return_X_y=True),
        test_size=1 / 3,
        random_state=0,
        shuffle=True,
        stratify=load_digits(return_X_y=True)[1],
    )
    near = KNeighborsClassifier(5).fit(X, y)
    assert best["predictions of"] == "best single model (near)"
    assert best["error"][0] == pytest.approx(1 - near.score(X_test, y_test))
    assert mean["models"] == stacking["models"] == 3
    assert committee["log_loss"][0] < min(best["log_loss"][0], mean["log_loss"][0])
    assert best["log_loss"][0] >= log_loss(y_test, near.predict_proba(X_test)) - 1e-9
    forest, calibrated, pruned, refined = parts["forest"]
    assert [row["models"] for row in (forest, calibrated, refined)] == [30, 30, 3]
    assert calibrated["error"] == forest["error"]
    assert calibrated["log_loss"][0] < 0.7 * forest["log_loss"][0]
    assert forest["more_errors"] == (0, 0)
    gap = pruned["error"][0] - forest["error"][0]
    assert pruned["more_errors"][0] == pytest.approx(gap)
    assert pruned["models"] <= 30
    assert refined["file"] < 0.2 * forest["file"]
    covers = [row["cover"][0] for row in parts["intervals"]]
    assert covers == sorted(covers)
    assert covers[1] == pytest.approx(0.9, abs=0.08)
    assert "<h1>Ten models of digits</h1>" in path.read_text(encoding="utf-8")


def test_tables_fit_80_columns(monkeypatch, tmp_path):
    def scores(name):
        return {
            "predictions of": name,
            "log_loss": (0.0961, 0.0142),
            "error": (0.0267, 0.0066),
            "models": 500,
        }

    parts = {
        "pool": [scores("best single model (15-neighbours)")],
        "forest": [
            {
                **scores(name),
                "file": 3_590_000,
                "per row": 177e-6,
                "more_errors": (0.0033, 0.0041),
            }
            for name in ("forest", "forest, calibrated", "pruned", "refined")
        ],
        "intervals": [
            {
                "intervals for": "90% of rows",
                "cover": (0.9054, 0.0241),
                "mean width": 193,
            }
        ],
    }
    asked = {}

    def run_demo(**options):
        asked.update(options)
        return parts

    monkeypatch.setattr(demo, "run_demo", run_demo)
    page = str(tmp_path / "demo.html")
    words = ["demo", "--seed", "3", "--jobs", "1", "-o", page]
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 0
    assert asked == {"seed": 3, "n_jobs": 1, "page": page}
    for text in (
        "0.096 ± 0.014",
        "2.67 ± 0.66 %",
        "3.59 MB",
        "177 µs",
        "+0.33 ± 0.41 points more errors",
        "90.54 ± 2.41 %",
    ):
        assert text in result.stdout
    lines = result.stdout.splitlines()
    assert max(len(line) for line in lines if page not in line) <= 80
    result = CliRunner().invoke(app, [*words, "--json"])
    found = json.loads(result.stdout)
    assert found["pool"][0]["log_loss"] == [0.0961, 0.0142]


def test_ten_models():
    assert len({name for name, _ in demo.ten_models()}) == 10
