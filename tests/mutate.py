"""One wrong operator or number in the core: python -m tests.mutate --number 200.

Copies the sources and tests to a folder of its own, changes one place of one line at a time
there, and runs the tests of that part that call the changed function until one fails: those
in the file of the same name, and when that is done for all changes, the others, quick files
first. Which test calls which function, and how long it takes, is recorded once. A change that no test notices survives: it is printed, and either changes
nothing that anybody can see, or lacks a test.

With `--out FILE`, each result is added to FILE as a line of JSON, and a second call with
the same FILE goes on where the first one ended. Slow tests and tests with Dask's workers
are left out.
"""

from __future__ import annotations

import argparse
import ast
import compileall
import contextlib
import gc
import json
import os
import py_compile
import resource
import shutil
import signal
import sys
import tempfile
import threading
import time
from collections import Counter
from itertools import chain, zip_longest
from pathlib import Path
from typing import Any, NamedTuple

os.environ.setdefault("OMP_NUM_THREADS", "1")  # processes with threads cannot be forked

# Imported once for all changes, besides what this module needs.
import dask.dataframe  # noqa: F401
import hypothesis  # noqa: F401
import numpy as np
import pandas  # noqa: F401
import pytest
import scipy.stats  # noqa: F401
import sklearn.ensemble
import sklearn.gaussian_process
import sklearn.linear_model
import sklearn.neural_network
import sklearn.pipeline
import sklearn.svm  # noqa: F401

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
    "mixtures": ["tests/uncertainty/test_gated.py"],
    "persistence": [],
    "pruning": ["tests/test_checked_rows.py"],
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
#: A change counts as noticed after this many times the CPU seconds of its tests, and these
#: besides; or when it waits this many seconds for ever.
TIMES, CPU_SECONDS, SECONDS = 5, 60, 3600


class Mutant(NamedTuple):
    """One changed place: characters `start` to `end` of a file, and the new text."""

    part: str
    path: str
    function: str
    line: int
    start: int
    end: int
    new: str

    @property
    def key(self):
        return self.path, self.start, self.new

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
        self.classes, self.function = [], ""

    def at(self, line, column):
        """Return the number of a character; `ast` counts bytes of a line."""
        text = self.source[self.starts[line - 1] : self.starts[line]]
        return self.starts[line - 1] + len(text.encode()[:column].decode())

    def add(self, line, start, end, new):
        self.found.append((self.function, line, int(start), int(end), new))

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
            self.add(line, start, start + len(sign), new)

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
            self.add(node.lineno, start, start + 4, "")
        elif isinstance(node.op, ast.USub):
            self.add(node.lineno, start, start + 1, "+")
        self.generic_visit(node)

    def visit_Constant(self, node):
        if isinstance(node.value, bool):
            new = str(not node.value)
        elif isinstance(node.value, (int, float)):
            new = repr(node.value + 1 if node.value in (0, 1) else node.value * 2)
        else:
            return
        self.add(node.lineno, self.begin(node), self.end(node), new)

    def _name(self, name, end, line):
        if name in NAMES:
            self.add(line, end - len(name), end, NAMES[name])

    def visit_Name(self, node):
        self._name(node.id, self.end(node), node.lineno)

    def visit_Attribute(self, node):
        self._name(node.attr, self.end(node), node.end_lineno)
        self.generic_visit(node)

    def visit_AnnAssign(self, node):
        if node.value is not None:
            self.visit(node.value)

    def visit_ClassDef(self, node):
        self.classes.append(node.name)
        self.generic_visit(node)
        self.classes.pop()

    def visit_FunctionDef(self, node):
        for part in [*node.args.defaults, *filter(None, node.args.kw_defaults)]:
            self.visit(part)
        outer = self.function  # those inside of a function count as a part of it
        self.function = outer or ".".join([*self.classes, node.name])
        for part in node.body:
            self.visit(part)
        self.function = outer


def mutants(tree, part):
    """Return all changes of a part of a tree."""
    path, found = CODE / part, []
    files = [path.with_suffix(".py")]
    if (tree / path).is_dir():
        files = [p.relative_to(tree) for p in sorted((tree / path).glob("*.py"))]
    for file in files:
        source = (tree / file).read_text(encoding="utf-8")
        places = Places(source)
        places.visit(ast.parse(source))
        found += [Mutant(part, str(file), *place) for place in places.found]
    return found


def drawn(tree, parts, seed):
    """Return all changes in random order, the parts in turns."""
    turns = []
    for part in parts:
        rng = np.random.default_rng([seed, list(PARTS).index(part)])
        known = mutants(tree, part)
        turns.append([known[i] for i in rng.permutation(len(known))])
    return [m for m in chain.from_iterable(zip_longest(*turns)) if m is not None]


# --- the tests -----------------------------------------------------------------------


def named(module):
    """Return the file or folder of the tests of a module."""
    own = Path("tests") / Path(module).relative_to(CODE)
    return str(own.with_name(f"test_{own.name}"))


def files_of(part):
    """Return the files of the tests of a part."""
    own = [Path("tests") / part, Path("tests") / f"test_{part}.py"]
    found = []
    for path in [*own, *map(Path, PARTS[part])]:
        found += sorted((ROOT / path).glob("test_*.py"))
        found += [ROOT / path] * (ROOT / path).is_file()
    return [str(path.relative_to(ROOT)) for path in dict.fromkeys(found)]


class Recorder:
    """Note the CPU seconds of each test that passes, and the functions that it calls."""

    def __init__(self, tree):
        self.sources = str(tree / CODE)
        self.names, self.shared, self.tests = {}, set(), {}
        self.called = self.shared

    def __call__(self, frame, event, arg):
        code = frame.f_code
        if code not in self.names:
            inside = code.co_filename.startswith(self.sources)
            name = code.co_qualname.split(".<locals>")[0]
            path = CODE / os.path.relpath(code.co_filename, self.sources)
            self.names[code] = inside and f"{path}:{name}"
        if self.names[code]:
            self.called.add(self.names[code])

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [
            i for i in items if "clusters" not in getattr(i, "fixturenames", ())
        ]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item):
        self.called, began = self.shared, time.process_time()  # fixtures serve many
        passed = yield
        self.called = self.shared
        if item.nodeid in self.tests:
            self.tests[item.nodeid][0] = time.process_time() - began
        return passed

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_call(self, item):
        self.called = set()
        passed = yield
        self.tests[item.nodeid] = [0.0, self.called]
        return passed

    def record(self):
        """Return [seconds, functions] of each test."""
        return {
            name: [seconds, sorted(called | self.shared)]
            for name, (seconds, called) in self.tests.items()
        }


class Chosen:
    """Run chosen tests only, and note the one that fails."""

    def __init__(self, wanted):
        self.wanted, self.failed = set(wanted), None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if item.nodeid in self.wanted]

    def pytest_runtest_logreport(self, report):
        if report.failed:
            self.failed = report.nodeid

    pytest_collectreport = pytest_runtest_logreport


OPTIONS = ["-x", "-q", "-n", "0", "-p", "no:cacheprovider", "--hypothesis-seed=0"]
# Seconds of a loaded machine say nothing: the process has a limit of CPU seconds.
OPTIONS += ["--timeout", "0", "--assert=plain"]


def forked(tree, work, cpu_seconds):
    """Return what `work` returns, or None if it fails, in a process of the tree's own."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            os.close(reading)
            os.setsid()
            limit = int(cpu_seconds)
            resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
            silent = os.open(os.devnull, os.O_RDWR)
            for output in (0, 1, 2):
                os.dup2(silent, output)
            os.chdir(tree)
            sys.path[:0] = [str(tree / "src"), str(tree)]
            os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
            for name in [n for n in sys.modules if n.partition(".")[0] == "tests"]:
                del sys.modules[name]
            with os.fdopen(writing, "w") as reply:
                json.dump(work(), reply)
        finally:
            os._exit(0)
    os.close(writing)
    timer = threading.Timer(SECONDS, os.killpg, (child, signal.SIGKILL))
    timer.start()
    try:
        with os.fdopen(reading) as reply:
            answer = reply.read()
    finally:  # an interrupt ends both
        timer.cancel()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        os.waitpid(child, 0)
    return json.loads(answer) if answer else None


class Tests:
    """Which tests call which function, file by file, recorded when first asked for."""

    def __init__(self, tree, out=None):
        self.tree, self.path = tree, out and out.with_suffix(".tests.json")
        known = self.path and self.path.exists()
        self.files = json.loads(self.path.read_text()) if known else {}

    def of(self, file):
        """Return the record of a file: [seconds, functions] of each test."""
        if file not in self.files:
            found = forked(self.tree, lambda: self._recorded(file), SECONDS)
            if found is None:
                raise RuntimeError(f"{file} ends the process; run it with pytest.")
            print(f"     recorded {len(found):5} tests of {file}", flush=True)
            self.files[file] = found
            if self.path:
                self.path.write_text(json.dumps(self.files))
        return self.files[file]

    def _recorded(self, file):
        recorder = Recorder(self.tree)
        threading.settrace(recorder)
        sys.settrace(recorder)
        options = [option for option in OPTIONS if option != "-x"]
        pytest.main([*options, file], [recorder])
        sys.settrace(None)
        return recorder.record()

    def calling(self, mutant, file):
        """Return the tests of a file that call the changed function, and their seconds."""
        function, record = f"{mutant.path}:{mutant.function}", self.of(file)
        folder = "/".join(named(mutant.path).split("/")[:2])
        own = file.startswith(folder) and not mutant.function  # a module or class body
        tests = [name for name in record if own or function in record[name][1]]
        return tests, sum(record[name][0] for name in tests)


def failing_test(tree, mutant, tests, *, own):
    """Return the first test that fails, or in brackets what ends the run; else None.

    The tests are those in the file of the same name, or else all others of the part.
    """
    files = [f for f in files_of(mutant.part) if own == (f == named(mutant.path))]
    known = {f: tests.calling(mutant, f)[1] for f in files if f in tests.files}
    for file in sorted(files, key=lambda file: known.get(file, np.inf)):
        calling, seconds = tests.calling(mutant, file)
        by = calling and _failing(tree, mutant, file, calling, seconds)
        if by:
            return by
    return None


def _failing(tree, mutant, file, tests, seconds):
    def work():
        chosen = Chosen(tests)
        code = pytest.main([*OPTIONS, file], [chosen])
        return [int(code), chosen.failed]

    source = (tree / mutant.path).read_text(encoding="utf-8")
    (tree / mutant.path).write_text(mutant.applied(source), encoding="utf-8")
    try:
        reply = forked(tree, work, CPU_SECONDS + TIMES * seconds)
    finally:
        (tree / mutant.path).write_text(source, encoding="utf-8")
    if reply is None:
        return f"{file} (it never ends, or ends the process)"
    code, failed = reply
    return failed or (f"{file} (pytest ends with {code})" if code else None)


def copied(folder):
    """Return a copy of what the tests need."""
    tree = Path(folder) / "tree"
    skip = shutil.ignore_patterns("__pycache__")
    for name in ("src", "tests", "studies", "benchmarks"):
        shutil.copytree(ROOT / name, tree / name, ignore=skip)
    for name in ("conftest.py", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / name, tree / name)
    # Files that match their sources by content: these change within a second.
    mode = py_compile.PycInvalidationMode.CHECKED_HASH
    for name in ("src", "tests"):
        compileall.compile_dir(tree / name, quiet=1, invalidation_mode=mode)
    return tree


def printed(done):
    """Print a table of the parts."""
    counts = Counter(
        (part, bool(one["by"])) for one in done for part in (one["part"], "in all")
    )
    for part in [*sorted({part for part, _ in counts} - {"in all"}), "in all"]:
        print(
            f"{part:12} {counts[part, True]:4} killed {counts[part, False]:4} survived"
        )


def interrupted(signum, frame):
    raise KeyboardInterrupt


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n\n")[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, help="file of results, to go on with")
    options = parser.parse_args()
    out, done = options.out, {}
    if out and out.exists():
        read = map(json.loads, out.read_text().splitlines())
        done = {(one["path"], one["start"], one["new"]): one for one in read}

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, interrupted)
    gc.freeze()  # what is imported now is no garbage
    with tempfile.TemporaryDirectory() as folder:
        tree = copied(folder)  # the sources may change while this runs
        chosen = drawn(tree, options.parts, options.seed)[: options.number]
        tests = Tests(tree, out)
        try:
            for number, mutant in [*enumerate(chosen, 1)] * 2:
                before = done.get(mutant.key)
                if before and (before["by"] or before["all"]):
                    continue
                by = failing_test(tree, mutant, tests, own=not before)
                said = mutant.said((tree / mutant.path).read_text(encoding="utf-8"))
                found = {"by": by, "all": bool(before), "said": said}
                done[mutant.key] = one = {**mutant._asdict(), **found}
                what = "survived" if before else "passes its own file"
                print(f"{number:4} {f'killed by {by}' if by else f'{what}: {said}'}")
                sys.stdout.flush()
                if out:
                    with out.open("a") as lines:
                        lines.write(json.dumps(one) + "\n")
        except KeyboardInterrupt:
            print("interrupted")
    printed(done.values())


if __name__ == "__main__":
    main()
