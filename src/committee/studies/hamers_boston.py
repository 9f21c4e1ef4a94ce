"""hamers-boston: coupled ensembles on Boston housing (Table 1, Figure 4)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.coupled import LSSVMRegressor
from committee.studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
    Problem,
    Split,
    draw_split,
    error,
    fit,
    rank_sum,
    significantly_lower,
    summary,
)
from committee.studies.printed import figure as printed_figure
from committee.studies.study import (
    HELD_OUT,
    PAPER,
    Claim,
    Entry,
    Job,
    Outcome,
    Results,
    Shelf,
    Study,
    Table,
)
from committee.studies.verdicts import by_parts, enough, undecided

CELLS = ("nox-8", "nox-16", "medv-8", "medv-16")
#: The printed errors are ten times those of targets of variance one.
UNIT = 10.0
#: What is fitted on every split: the uncoupled ensemble of eq. 4, supports of three
#: subsets without coupling, coupling on a tenth of the training rows, on the test rows.
FITS: dict[str, dict[str, Any]] = {
    "uncoupled": {"coupling": 0.0, "overlap": False},
    "zero": {"coupling": 0.0},
    "train": {"coupling": 1.0, "transductive": False},
    "test": {"coupling": 1.0},
}


def run(job: Job, *, n_rows: int | None = None) -> Outcome:
    """Fit the four ensembles and an LS-SVM on one split.

    Parameters
    ----------
    job : Job
    n_rows : int, optional
        Fewer training rows than the 400 of the paper.
    """
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    alone = {"lssvm": lssvm(problem, split)}
    return {
        protocol: alone
        | {
            name: UNIT
            * error(
                problem, fit(problem, split, job.seed, weigh_on=rows, **options), split
            )
            for name, options in FITS.items()
        }
        for protocol, rows in WEIGH_ON.items()
    }


def lssvm(problem: Problem, split: Split) -> float:
    """Return the error of one LS-SVM on all training rows."""
    model = LSSVMRegressor(gamma=1 / problem.width, alpha=1 / problem.ridge)
    return UNIT * error(problem, model.fit(split.X, split.y), split)


def report(shelf: Shelf) -> list[Table | Claim]:
    """Return Table 1 and what the paper says about it."""
    results = shelf(STUDY.name)
    entries = [
        entry
        for protocol in STUDY.protocols
        for cell in CELLS
        for transductive in ("0", "1")
        for entry in _places(results, protocol, cell, transductive)
    ]
    note = (
        "Errors of targets of variance one, times ten: the paper does not name its "
        "unit, and with this one a single LS-SVM on MEDV comes near its error (on NOX "
        "it does not). T couples on "
        "the test inputs. The printed mean 0 of MEDV 8, T is left out."
    )
    single = Table("Table 1: a single LS-SVM on all 400 rows", _single(results), 2)
    table = Table("Table 1: test mean squared error x 10", entries, 3, note)
    return [table, single, *claims(results)]


def _places(results: Results, protocol: str, cell: str, which: str) -> list[Entry]:
    """Return mean, median and variance, uncoupled and coupled, and p."""
    target, q = cell.split("-")
    where = {"target": target, "n_members": q, "transductive": which}
    coupled = "test" if which == "1" else "train"
    line = f"{target} {q}" + (", T" if which == "1" else "")
    runs = {
        kind: results.values(protocol, cell, name)
        for kind, name in (("uncoupled", "uncoupled"), ("coupled", coupled))
    }
    entries = []
    for kind, values in runs.items():
        for label, number in summary(values).items():
            shown = printed_figure(
                "hamers_table1_boston_mse", f"{kind}_{label}", **where
            )
            entries.append(Entry(line, f"{kind} {label}", protocol, number, shown))
    shown = printed_figure("hamers_table1_boston_mse", "p", **where)
    p = [rank_sum(*runs.values())] if len(runs["coupled"]) > 1 else []
    return [*entries, Entry(line, "p", protocol, np.array(p), shown)]


def _single(results: Results) -> list[Entry]:
    return [
        Entry(
            target,
            label,
            PAPER,
            number,
            printed_figure("hamers_table1_lssvm", label, target=target),
        )
        for target in ("nox", "medv")
        for label, number in summary(
            results.values(PAPER, f"{target}-8", "lssvm")
        ).items()
    ]


def claims(results: Results) -> list[Claim]:
    """Return what the paper says about coupling on Boston housing."""
    found = []
    for protocol in STUDY.protocols:

        def runs(a: str, b: str, key: str = protocol) -> dict[str, Any]:
            return {
                cell: (results.values(key, cell, a), results.values(key, cell, b))
                for cell in CELLS
            }

        found += [
            significantly_lower(
                "Coupled on the test inputs, the ensemble is significantly better than "
                "the uncoupled one in all four cases.",
                protocol,
                runs("test", "uncoupled"),
            ),
            not_better(protocol, runs("train", "uncoupled")),
            significantly_lower(
                "Coupled on the test inputs, the ensemble is better than a single "
                "LS-SVM on all rows.",
                protocol,
                runs("test", "lssvm"),
            ),
            steadier(protocol, runs("test", "uncoupled")),
        ]
    return found


def not_better(protocol: str, pairs: dict[str, tuple[FloatArray, FloatArray]]) -> Claim:
    """Return the claim that coupling on training rows does not help significantly."""
    text = "Coupled on a tenth of the training rows, it is not significantly better."
    claim = significantly_lower(text, protocol, pairs)
    rule = "no lower median with p < 0.05 in a rank-sum test; partly where only some do"
    opposite = {"reproduced": "not", "not": "reproduced"}
    verdict: Any = opposite.get(claim.verdict, claim.verdict)
    return Claim(text, rule, protocol, claim.found, verdict)


def steadier(protocol: str, pairs: dict[str, tuple[FloatArray, FloatArray]]) -> Claim:
    """Return the claim that errors of coupled ensembles vary less."""
    text = "Coupled on the test inputs, errors vary less than those of the uncoupled."
    rule = "the smaller variance over runs; partly where only some are"
    if not enough(runs for pair in pairs.values() for runs in pair):
        return undecided(text, rule, protocol)
    ratios = {cell: a.var(ddof=1) / b.var(ddof=1) for cell, (a, b) in pairs.items()}
    said = ", ".join(f"{cell} {ratio:.2f}" for cell, ratio in ratios.items())
    verdict = by_parts(*(bool(ratio < 1) for ratio in ratios.values()))
    return Claim(text, rule, protocol, f"ratio of variances: {said}", verdict)


def figure(shelf: Shelf, data: str | None) -> Any:
    """Draw Figure 4: box plots of eight members, on training rows."""
    from matplotlib.figure import Figure

    from committee.displays import PairedRunsDisplay

    results = shelf(STUDY.name)
    drawn = Figure(figsize=(9, 4), layout="constrained")
    names = ("uncoupled", "zero", "train", "test")
    labels = ["uncoupled", "coupling 0", "on train", "on test"]
    for ax, cell in zip(drawn.subplots(1, 2), ("nox-8", "medv-8"), strict=True):
        scores = np.stack([results.values(PAPER, cell, n) for n in names], axis=1)
        if len(scores):
            PairedRunsDisplay(scores, names=labels, ylabel="MSE x 10").plot(ax)
        ax.set_title(cell, fontsize="medium")
    return drawn


STUDY = Study(
    name="hamers-boston",
    title="Coupled kernel ensembles on Boston housing",
    reruns="Hamers, Suykens and De Moor, Table 1 and Figure 4",
    cells=CELLS,
    run=run,
    report=report,
    figure=figure,
    setup=(
        "8 or 16 submodels on 400 of 506 standardised rows, tested on the others, with "
        "the printed hyper-parameters and coupling 1; weights of the second layer by "
        "eq. 7. Uncoupled is eq. 4. Paper: weights from the training rows. Held-out: "
        "from the rows outside each member's subset."
    ),
    protocols=(PAPER, HELD_OUT),
    datasets=dict.fromkeys(CELLS, "boston"),
    why=(
        "Why not: coupling on training rows helps here as well. A part of the gain is "
        "there without coupling: supports of three subsets at coupling 0 have a lower "
        "median error than eq. 4. A single LS-SVM sees all 400 rows, a submodel of 8 "
        "fifty, and wins clearly; that it loses in print we cannot explain. Errors of "
        "ensembles are mostly above print, that of the LS-SVM on NOX below it: no "
        "unit mends both."
    ),
)
