"""Studies at a size for tests."""

import os

import numpy as np

from studies.runner import perform
from studies.study import Job, Results, Study, get_study
from tests.reference.data import BESIDE, load_or_skip


def folder():
    """Return the folder of data sets, whether it is there or not."""
    return os.environ.get("COMMITTEE_DATA", str(BESIDE))


def finished(name, cell, run=0, **options):
    """Return one small run of a study, or skip where its data are not at hand."""
    study = get_study(name)
    if cell in study.datasets:
        load_or_skip(study.datasets[cell])
    return perform(study.run, Job(name, cell, run, folder()), **options)


def no_results(name=""):
    return Results({}, no_results)


def made_up(name, numbers, runs=10):
    """Return results with `numbers(protocol, cell, run)` for every cell of a study."""
    study = get_study(name)
    rows = {
        (protocol, cell): {run: numbers(protocol, cell, run) for run in range(runs)}
        for protocol in study.protocols
        for cell in study.cells
    }
    return Results(rows, no_results)


def claims(name, results):
    """Return the claims of a study by their text and protocol."""
    parts = get_study(name).report(results)
    return {(p.text, p.protocol): p for p in parts if hasattr(p, "verdict")}


def toy_run(job):
    rng = np.random.default_rng(job.seed)
    return {"paper": {"x": rng.normal()}, "held-out": {"x": rng.normal(size=2)}}


TOY = Study(
    "toy", "A toy", "nothing", ("a", "b", "c"), toy_run, lambda results: [],
    "Numbers are drawn.", runs=5,
)  # fmt: skip


def rows(store):
    """Return all numbers of the toy."""
    return {
        key: dict(sorted(r.items())) for key, r in store.results("toy").rows.items()
    }
