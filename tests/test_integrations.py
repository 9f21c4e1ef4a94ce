"""Every snippet of the page of integrations runs where its packages are installed."""

import re
import warnings
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "integrations.md"
START, *SECTIONS = PAGE.read_text(encoding="utf-8").split("\n## ")
TITLES = [section.splitlines()[0] for section in SECTIONS]
#: Those that start processes or are slow to import.
SLOW = {"SHAP", "treelite", "MLflow", "Dask", "Ray", "AutoGluon"}


def _code(text):
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    return block


@pytest.fixture(scope="module")
def start():
    """The names that all snippets start from."""
    namespace = {}
    exec(compile(_code(START), "integrations.md", "exec"), namespace)  # noqa: S102
    return namespace


@pytest.mark.filterwarnings("ignore")  # those of other packages are theirs
@pytest.mark.parametrize(
    "section",
    [
        pytest.param(s, id=t, marks=[pytest.mark.slow] if t in SLOW else [])
        for s, t in zip(SECTIONS, TITLES, strict=True)
    ],
)
def test_the_snippet_runs(section, start):
    code = _code(section)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for package in re.findall(r"^(?:import|from) (\w+)", code, re.MULTILINE):
            pytest.importorskip(package)
    exec(compile(code, f"integrations.md, {section[:12]}", "exec"), dict(start))  # noqa: S102


def test_the_page_has_all_that_were_asked_for():
    asked = {"joblib", "skops", "SHAP", "treelite", "MLflow", "ONNX runtime", "Dask"}
    assert asked | {"Ray", "AutoGluon", "set_output, pandas and polars"} == set(TITLES)
