"""The package as a user sees it: names, docstrings and what an import costs."""

import inspect
import re
import subprocess
import sys
import types

import pytest

import committee
from committee import displays

PUBLIC = [name for name in committee.__all__ if name != "__version__"]


def test_all_is_sorted_and_the_public_namespace():
    assert committee.__all__ == sorted(committee.__all__)
    namespace = {
        name
        for name, value in vars(committee).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    lazy = {*displays.__all__, "report"}  # loaded on first use
    assert set(PUBLIC) == namespace | lazy


def test_every_name_can_be_imported_and_there_are_no_others():
    for name in committee.__all__:
        assert getattr(committee, name) is not None
    assert committee.__version__
    with pytest.raises(AttributeError):
        committee.no_such_name  # noqa: B018


@pytest.mark.parametrize("name", PUBLIC)
def test_every_name_is_documented_with_an_example(name):
    doc = inspect.getdoc(getattr(committee, name))
    assert len(doc.splitlines()[0]) <= 80
    assert "Examples\n--------\n" in doc
    assert ">>> " in doc


@pytest.mark.parametrize("name", PUBLIC)
def test_every_parameter_is_documented(name):
    """Of classes in the class docstring, of functions in their own."""
    thing = getattr(committee, name)
    if inspect.isclass(thing) and issubclass(thing, (tuple, Exception)):
        pytest.skip("made by the library, not by the user")
    doc = inspect.getdoc(thing)
    for parameter in inspect.signature(thing).parameters:
        assert re.search(rf"[\n, ]{parameter}( :|,)", doc), parameter


@pytest.mark.parametrize("name", PUBLIC)
def test_public_methods_are_documented(name):
    thing = getattr(committee, name)
    for method, value in inspect.getmembers(thing, inspect.isfunction):
        if not method.startswith("_") and value.__module__.startswith("committee"):
            assert inspect.getdoc(value), f"{name}.{method}"


HEAVY = [
    "lightgbm",
    "xgboost",
    "catboost",
    "matplotlib",
    "pandas",
    "polars",
    "typer",
    "rich",
    "click",
    "IPython",
    "jinja2",
]


def _run(code):
    """Run in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_import_pulls_in_nothing_heavy():
    """Nothing that scikit-learn (which from 1.9 on takes pandas and rich) does not."""
    assert (
        _run(
            "import sys, sklearn.ensemble, sklearn.model_selection\n"
            "before = set(sys.modules)\n"
            "import committee\n"
            f"print(sorted((set(sys.modules) - before) & set({HEAVY})))"
        )
        == "[]"
    )


def test_import_and_fit_work_where_nothing_heavy_is_installed():
    assert (
        _run(
            "import sys\n"
            "class Missing:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name.split('.')[0] in {HEAVY}:\n"
            "            raise ModuleNotFoundError(name)\n"
            "sys.meta_path.insert(0, Missing())\n"
            "import committee\n"
            "committee.CommitteeRegressor(generator=committee.Bagging(2)).fit("
            "[[0.0], [1.0]], [0.0, 1.0])\n"
            "print('fitted')"
        )
        == "fitted"
    )
