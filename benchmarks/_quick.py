"""The short form of every benchmark, and all of them on one page.

python -m benchmarks NAME --quick runs one with these arguments, python -m benchmarks all
runs each of them in a process of its own; a benchmark that is not named here has no long
form. Short forms show what is measured and how; the figures of the guide are from the long
ones.
"""

import importlib
import os
import platform
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import committee

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
#: Seconds after which a benchmark is given up.
PATIENCE = 1800

QUICK = {
    "arena": "heart boston",
    "budgets": "heart boston",
    "cells": "regression piston",
    "cells-scale": "--rows 100000",
    "choose": "Average EPPruner GreedyPruner SimplexWeights best random",
    "coupled": "speed",
    "demo": "--seeds 1",
    "ep-quality": "--splits 1 --sets german image --ensembles bagging --pools waveform "
    "digits --runs 1 --jobs 1",
    "gates": "--sets piecewise banana --splits 2 --rows 10000",
    "grow": "--sets diabetes --seeds 1 --members 200",
    "intervals": "--sets diabetes --class-sets digits --splits 2 --members 40",
    "networks": "--members 20 --rivals 1 --repeats 1 --batches 200 --sizes 1 --sets diabetes --splits 1",
    "printed": "--sets generated --draws 4 --rows 500 --ensembles forest bag",
    "probabilities": "banana digits",
    "regression-pools": "--sets diabetes --splits 1",
    "prune": "--rows 1000 --members 100",
    "pruners": "EPPruner GreedyPruner ReduceErrorPruner orientation",
    "refine": "--splits 2 --lines 'GB lzma' HistGB HS FIGS --sets friedman1 'robot arm' "
    "boston diabetes image splice german waveform 'digits (10)'",
    "report": "--rows 10000 --members 100",
    "scale": "--rows 100000 --memory-up-to 100000",
    "serve": "--trees 100 --sets poker friedman",
    "ship": "--rows 600 --trees 50 --members 10 --sets 'digits (10)' friedman1",
    "shell": "--splits 1 --tables heart 'boston (numbers)'",
    "small-sizes": "1",
}


OPENING = """# Benchmarks

How fast and how good is it? Every benchmark in its short form, as
`python -m benchmarks all --page` printed it. They compare with a rival or a limit that is
measured in the same run; the guide has the figures of the long forms,
`python -m benchmarks NAME`.
"""


class Run(NamedTuple):
    """What came of one benchmark."""

    name: str
    seconds: float
    output: str
    failed: bool


def run_all(names: list[str], page: Path | None) -> int:
    """Run the short forms, print them, and write the page if there is to be one."""
    runs = []
    for run in _runs(names):
        word = "failed" if run.failed else "done"
        print(f"{run.name}: {word} in {run.seconds:.0f} s\n{run.output}", flush=True)
        runs.append(run)
    if page is not None:
        page.write_text(page_text(runs), encoding="utf-8")
        print(f"written: {page}")
    return int(any(run.failed for run in runs))


def _runs(names: list[str]) -> Iterator[Run]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = os.environ | {"PYTHONPATH": path, "NO_COLOR": "1"}
    with tempfile.TemporaryDirectory() as folder:  # for what a benchmark writes
        for name in names:
            command = [sys.executable, "-m", "benchmarks", name, "--quick"]
            start = time.perf_counter()
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    capture_output=True,
                    text=True,
                    timeout=PATIENCE,
                    check=False,
                )
                output, failed = done.stdout, done.returncode != 0
                if failed:
                    output += done.stderr
            except subprocess.TimeoutExpired:
                output, failed = f"given up after {PATIENCE} s", True
            yield Run(name, time.perf_counter() - start, output.rstrip(), failed)


def page_text(runs: list[Run]) -> str:
    """Return the page: the machine, then each benchmark with what it printed."""
    parts = [OPENING, f"{machine()}\n"]
    for run in runs:
        about = (_module(run.name).__doc__ or "").split("\n\npython -m")[0].strip()
        arguments = QUICK.get(run.name, "")
        command = f"python -m benchmarks {run.name} {arguments}".rstrip()
        output = "It did not run: it needs data sets that are not here, or more time."
        if not run.failed:
            output = f"```text\n{run.output}\n```"
        parts.append(f"## {run.name}\n\n{about}\n\n`{command}`, {run.seconds:.0f} s\n")
        parts.append(f"{output}\n")
    return "\n".join(parts)


def machine() -> str:
    """Return cores, processor, versions and the day; nothing that names the machine."""
    names = ("numpy", "scipy", "scikit-learn")
    versions = ", ".join(f"{name} {version(name)}" for name in names)
    # Of the code that runs, which need not be the one that is installed.
    versions = f"committee {committee.__version__}, {versions}"
    return (
        f"{datetime.now(UTC):%Y-%m-%d}, {os.cpu_count()} cores of {_processor()}, "
        f"{platform.system()}, Python {platform.python_version()}, {versions}.{_busy()}"
    )


def _busy() -> str:
    """Say so where others had the machine as well: seconds mean little then."""
    load = os.getloadavg()[2] if hasattr(os, "getloadavg") else 0.0
    if load <= 2 * (os.cpu_count() or 1):
        return ""
    return (
        f" Others used the machine at the same time (load {load:.0f}): read errors and "
        "ratios, not seconds."
    )


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        lines = []
    models = [line.split(":", 1)[1].strip() for line in lines if "model name" in line]
    return models[0] if models else platform.machine()


def _module(name: str):
    return importlib.import_module(f"benchmarks.{name.replace('-', '_')}")


def run_one(name: str, arguments: list[str]) -> None:
    """Call the benchmark's main, in its short form if that is asked for."""
    if "--quick" in arguments:
        rest = [word for word in arguments if word != "--quick"]
        arguments = [*shlex.split(QUICK.get(name, "")), *rest]
    _module(name).main(arguments)
