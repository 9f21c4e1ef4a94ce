"""Hints name packages that pip finds, whether this library is on an index or not."""

import ast
import re
import tomllib
from pathlib import Path

from committee._hints import EXTRAS, how_to_install

ROOT = Path(__file__).parents[1]
SOURCES = sorted((ROOT / "src").rglob("*.py"))


def project():
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)["project"]


def test_extras_are_those_of_the_project():
    declared = project()["optional-dependencies"]
    for extra, packages in EXTRAS.items():
        bare = [re.split(r"[<>=~!; ]", package)[0] for package in declared[extra]]
        assert [package.strip("'") for package in packages] == bare


def test_no_hint_is_written_by_hand():
    """Every other text that tells how to install something would go its own way."""
    for path in SOURCES:
        if path.name != "_hints.py":
            assert "pip install" not in path.read_text(), path


def test_every_hint_is_about_extras_that_there_are():
    hints = [
        [ast.literal_eval(argument) for argument in node.args]
        for path in SOURCES
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "how_to_install"
    ]
    assert {extra for extras in hints for extra in extras} == EXTRAS.keys()
    for extras in hints:
        assert how_to_install(*extras).startswith("pip install ")
        assert project()["name"] not in how_to_install(*extras)
