"""Imports point to earlier layers, modules stay small, the picture shows them all."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "committee"
MODULES = {str(p.relative_to(SOURCE)): p for p in sorted(SOURCE.rglob("*.py"))}

#: Nine layers, each in an order of its own: a module imports only what stands before it.
LAYERS = {
    "doors, and functions of arrays": """
        _typing _files _format _hints _parallel _notebook _validation
        combiner_names linalg kernels distributed
    """,
    "mathematics of weights, leaves and cells": """
        losses probabilities path calibration ep bayes cells
        refining
    """,
    "members -> F": """
        targets ensembles predictions
    """,
    "generate, weigh, look, and back to models": """
        diagnostics training_sets votes members networks combiners gates weighing
        export
    """,
    "predictions of rows that chose nothing": "uncertainty held_out",
    "committees, coupled machines, mixtures": """
        fit_plan base_committee committee coupled mixtures
    """,
    "prune, refine": "pruning",
    "ship, compare, show": "interop persistence compare displays reporting",
    "the shell": "shell cli",
}
ORDER = " ".join(LAYERS.values()).split()
HEIGHT = {name: i for i, name in enumerate(ORDER)}


def _imports(path):
    """The modules of this package that a file imports, wherever the line stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            depth = len(path.relative_to(SOURCE).parts)
            if 0 < node.level < depth:
                continue  # relative, within its package
            names = [node.module or ""]
            if node.level == depth:
                names = [f"committee.{node.module}"]
            if (node.module or "committee") == "committee":
                names = [f"committee.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name[:10] == "committee.")


def _home(name):
    """The top-level module or package that a file belongs to."""
    return name.split("/")[0].removesuffix(".py")


def test_imports_point_to_earlier_layers():
    wrong = [
        f"{name} imports {imported}, which stands after it in LAYERS"
        for name in sorted(MODULES.keys() - {"__init__.py", "__main__.py"})
        for home in [_home(name)]
        for imported in _imports(MODULES[name])
        if imported != home and HEIGHT[imported] >= HEIGHT[home]
    ]
    assert not wrong


def test_only_one_package_imports_dask():
    """Another engine's collections would be another file of distributed/."""
    known = re.compile(r"^ *(import|from) (dask|distributed)\b", re.MULTILINE)
    homes = {_home(n) for n, p in MODULES.items() if known.search(p.read_text("utf-8"))}
    assert homes == {"distributed"}


def test_modules_are_small_and_finished_and_say_what_they_are_for():
    text = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    assert not [n for n in text if len(text[n].splitlines()) > 600]
    assert not [n for n in text if "TODO" in text[n] or "FIXME" in text[n]]
    assert not [n for n in text if not ast.get_docstring(ast.parse(text[n]))]


def test_the_picture_shows_every_module_once_and_no_other():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("```")[3].split("tests/  ")[0]
    drawn = Counter(re.findall(r"[\w_]+\.py", tree))
    there = Counter(path.name for path in MODULES.values())
    # Packages are drawn as folders, and commands as one line.
    there["__init__.py"] = 1
    for command in [name for name in there if name.endswith("_command.py")]:
        del there[command]
    del drawn["NAME_command.py"]
    assert drawn == there
