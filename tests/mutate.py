"""One wrong operator or number in the core: python -m tests.mutate --number 200.

Copies the sources and tests to a folder of its own, changes one place of one line there,
and runs the tests of that part until one fails. A change that no test notices survives: it
is printed, and either changes nothing that anybody can see, or lacks a test.
"""

from __future__ import annotations

import argparse
import ast
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

ROOT = Path(__file__).parents[1]
CODE = Path("src/committee")
#: Parts of the core, each with tests besides those of its own name.
PARTS = {
    "bayes": ["tests/combiners"],
    "calibration": ["tests/test_class_probabilities.py"],
    "cells": [],
    "combiners": ["tests/test_combiners.py"],
    "coupled": [],
    "ep": [],
    "held_out": ["tests/uncertainty", "tests/pruning"],
    "losses": ["tests/test_held_out.py"],
    "mixtures": [],
    "persistence": [],
    "pruning": [],
    "refining": ["tests/pruning/test_refine.py"],
    "uncertainty": [],
}
#: Operators, and what is written instead.
OTHER: dict[Any, str] = {
    ast.Add: "-",
    ast.Sub: "+",
    ast.Mult: "/",
    ast.Div: "*",
    ast.Pow: "*",
    ast.MatMult: "*",
    ast.Lt: "<=",
    ast.LtE: "<",
    ast.Gt: ">=",
    ast.GtE: ">",
    ast.Eq: "!=",
    ast.NotEq: "==",
    ast.And: "or",
    ast.Or: "and",
    ast.BitAnd: "|",
    ast.BitOr: "&",
}
NAMES = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}
NAMES |= {"any": "all", "all": "any", "argmin": "argmax", "argmax": "argmin"}
#: Seconds after which a change counts as noticed: it never ends.
SECONDS = 900


class Mutant(NamedTuple):
    """One changed place: characters `start` to `end` of a file, and the new text."""

    part: str
    path: Path
    line: int
    start: int
    end: int
    new: str

    def applied(self, source: str) -> str:
        return source[: self.start] + self.new + source[self.end :]

    def said(self, source: str) -> str:
        """Return the line as it was and as it is now."""
        old, new = source.splitlines(), self.applied(source).splitlines()
        return (
            f"{self.path}:{self.line}\n- {old[self.line - 1].strip()}"
            f"\n+ {new[self.line - 1].strip()}"
        )


class Places(ast.NodeVisitor):
    """Collect the places of a module that can be changed, without types and texts."""

    def __init__(self, source):
        lines = source.splitlines(keepends=True)
        self.starts = np.cumsum([0, *map(len, lines)])
        self.source, self.found = source, []

    def at(self, line, column):
        """Return the number of a character; `ast` counts bytes of a line."""
        text = self.source[self.starts[line - 1] : self.starts[line]]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def end(self, node):
        return self.at(node.end_lineno, node.end_col_offset)

    def begin(self, node):
        return self.at(node.lineno, node.col_offset)

    def between(self, left, right, operator):
        """Add the change of an operator that stands between two expressions."""
        start, end = self.end(left), self.begin(right)
        text, new = self.source[start:end], OTHER.get(type(operator))
        sign = text.strip(" ()\n\\").split("#")[0].strip()
        if new and sign and " " not in sign:
            start += text.index(sign)
            line = int(np.searchsorted(self.starts, start, side="right"))
            self.found.append((line, start, start + len(sign), new))

    def visit_BinOp(self, node):
        self.between(node.left, node.right, node.op)
        self.generic_visit(node)

    def visit_Compare(self, node):
        sides = [node.left, *node.comparators]
        for left, right, operator in zip(sides, sides[1:], node.ops, strict=False):
            self.between(left, right, operator)
        self.generic_visit(node)

    def visit_BoolOp(self, node):
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, node.op)
        self.generic_visit(node)

    def visit_UnaryOp(self, node):
        start = self.begin(node)
        if isinstance(node.op, ast.Not):
            self.found.append((node.lineno, start, start + 4, ""))
        elif isinstance(node.op, ast.USub):
            self.found.append((node.lineno, start, start + 1, "+"))
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            new = str(not node.value)
        elif isinstance(node.value, (int, float)):
            new = repr(node.value + 1 if node.value in (0, 1) else node.value * 2)
        else:
            return
        self.found.append((node.lineno, self.begin(node), self.end(node), new))

    def _name(self, name, end, line):
        if name in NAMES:
            self.found.append((line, end - len(name), end, NAMES[name]))

    def visit_Name(self, node):
        self._name(node.id, self.end(node), node.lineno)

    def visit_Attribute(self, node):
        self._name(node.attr, self.end(node), node.end_lineno)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        for part in node.body:
            self.visit(part)


def mutants(tree, parts):
    """Return all changes of some parts of a tree."""
    found = []
    for part in parts:
        path = CODE / part
        files = [path.with_suffix(".py")]
        if (tree / path).is_dir():
            files = [p.relative_to(tree) for p in sorted((tree / path).glob("*.py"))]
        for file in files:
            source = (tree / file).read_text(encoding="utf-8")
            places = Places(source)
            places.visit(ast.parse(source))
            found += [Mutant(part, file, *place) for place in places.found]
    return found


def tests_of(mutant):
    """Return the tests of a part, those of the module first."""
    own = Path("tests") / mutant.path.relative_to(CODE)
    own = own.with_name(f"test_{own.name}")
    folder = own.parent if own.parent.name == mutant.part else own
    wanted = [own, folder, *map(Path, PARTS[mutant.part])]
    return list(dict.fromkeys(str(p) for p in wanted if (ROOT / p).exists()))


def run(tree, tests):
    """Return whether all tests pass in a copy of the tree."""
    options = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--timeout", "300"]
    environment = {**os.environ, "PYTHONPATH": str(tree / "src")}
    environment["PYTHONDONTWRITEBYTECODE"] = "1"  # sources change within a second
    try:
        done = subprocess.run(
            [sys.executable, "-m", "pytest", *options, "--hypothesis-seed=0", *tests],
            cwd=tree,
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=SECONDS,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return False
    return done.returncode == 0


def copied(folder):
    """Return a copy of what the tests need."""
    tree = Path(folder) / "tree"
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests", "studies", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=skip)
    for name in ("conftest.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree / name)
    return tree


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--part", action="append", choices=PARTS)
    options = parser.parse_args()
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(folder)  # the sources may change while this runs
        known = mutants(tree, options.part or PARTS)
        rng = np.random.default_rng(options.seed)
        chosen = rng.permutation(len(known))[: options.number]
        for number in chosen:
            mutant = known[number]
            source = (tree / mutant.path).read_text(encoding="utf-8")
            (tree / mutant.path).write_text(mutant.applied(source), encoding="utf-8")
            survived = run(tree, tests_of(mutant))
            (tree / mutant.path).write_text(source, encoding="utf-8")
            counts[mutant.part, survived] += 1
            found = f"survived: {mutant.said(source)}" if survived else "killed"
            print(f"{counts.total():4} {found}", flush=True)
    for part in sorted({part for part, _ in counts}):
        killed, survived = counts[part, False], counts[part, True]
        print(f"{part:12} {killed + survived:4} mutants, {survived:3} survived")
    print(f"{counts.total():4} of {len(known):,} mutants in all")


if __name__ == "__main__":
    main()
