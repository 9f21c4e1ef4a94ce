"""hamers-boston: coupled ensembles on Boston housing (Table 1, Figure 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.coupled import LSSVMRegressor
from studies.claims import Claim, Verdict, by_parts, decide
from studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
    compared,
    draw_split,
    error,
    fit,
    significantly_lower,
    summary,
)
from studies.printed import figure as printed_figure
from studies.study import PAPER, Entry, Job, Outcome, Results, Study, Table

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


Pairs = dict[str, tuple[FloatArray, FloatArray]]


def run(job: Job, *, n_rows: int | None = None) -> Outcome:
    """Fit the four ensembles and an LS-SVM on one split, of n_rows where given."""
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    lssvm = LSSVMRegressor(gamma=1 / problem.width, alpha=1 / problem.ridge)
    single = error(problem, lssvm.fit(split.X, split.y), split)
    outcome: Outcome = {}
    for protocol, rows in WEIGH_ON.items():
        outcome[protocol] = {"lssvm": UNIT * single}
        for name, options in FITS.items():
            model = fit(problem, split, job.seed, weigh_on=rows, **options)
            outcome[protocol][name] = UNIT * error(problem, model, split)
    return outcome


def report(results: Results) -> list[Table | Claim]:
    """Return Table 1 and what the paper says about it."""
    entries = [
        entry
        for protocol in STUDY.protocols
        for cell in CELLS
        for coupled in ("train", "test")
        for entry in _places(results, protocol, cell, coupled)
    ]
    note = (
        "Errors of targets of variance one, times ten: the paper does not name its "
        "unit, and with this one a single LS-SVM on MEDV comes near its error (on NOX "
        "it does not). T couples on "
        "the test inputs. The printed mean 0 of MEDV 8, T is left out."
    )
    single = [
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
    return [
        Table("Table 1: test mean squared error x 10", entries, 3, note),
        Table("Table 1: a single LS-SVM on all 400 rows", single, 2),
        *(c for protocol in STUDY.protocols for c in claims(results, protocol)),
    ]


def _places(results: Results, protocol: str, cell: str, coupled: str) -> list[Entry]:
    target, q = cell.split("-")
    transductive = coupled == "test"
    return compared(
        f"{target} {q}" + (", T" if transductive else ""),
        protocol,
        {
            "uncoupled": results.values(protocol, cell, "uncoupled"),
            "coupled": results.values(protocol, cell, coupled),
        },
        "hamers_table1_boston_mse",
        target=target,
        n_members=q,
        transductive="1" if transductive else "0",
    )


def claims(results: Results, protocol: str) -> list[Claim]:
    """Return what the paper says about coupling on Boston housing."""

    def pairs(a: str, b: str) -> Pairs:
        return {cell: results.pair(protocol, cell, a, b) for cell in CELLS}

    return [
        significantly_lower(
            "Coupled on the test inputs, the ensemble is significantly better than "
            "the uncoupled one in all four cases.",
            protocol,
            pairs("test", "uncoupled"),
        ),
        _not_better(protocol, pairs("train", "uncoupled")),
        significantly_lower(
            "Coupled on the test inputs, the ensemble is better than a single "
            "LS-SVM on all rows.",
            protocol,
            pairs("test", "lssvm"),
        ),
        _less_variance(protocol, pairs("test", "uncoupled")),
    ]


def _not_better(protocol: str, pairs: Pairs) -> Claim:
    """Return the claim that coupling on training rows does not help significantly."""
    text = "Coupled on a tenth of the training rows, it is not significantly better."
    claim = significantly_lower(text, protocol, pairs)
    rule = "no lower median with p < 0.05 in a rank-sum test; partly where only some do"
    opposite: dict[str, Verdict] = {"reproduced": "not", "not": "reproduced"}
    verdict = opposite.get(claim.verdict, claim.verdict)
    return replace(claim, rule=rule, verdict=verdict)


def _less_variance(protocol: str, pairs: Pairs) -> Claim:
    """Return the claim that errors of coupled ensembles vary less."""

    def judge() -> tuple[str, Verdict]:
        ratios = {cell: a.var(ddof=1) / b.var(ddof=1) for cell, (a, b) in pairs.items()}
        found = ", ".join(f"{cell} {ratio:.2f}" for cell, ratio in ratios.items())
        verdict = by_parts(*(bool(ratio < 1) for ratio in ratios.values()))
        return f"ratio of variances: {found}", verdict

    text = "Coupled on the test inputs, errors vary less than those of the uncoupled."
    rule = "the smaller variance over runs; partly where only some are"
    runs = [values for pair in pairs.values() for values in pair]
    return decide(text, rule, protocol, runs, judge)


def figure(results: Results, data: str | None, fig: Any) -> None:
    """Draw Figure 4: box plots of eight members, on training rows."""
    from studies.figures import draw_runs

    fig.set_size_inches(9, 4)
    names = ("uncoupled", "zero", "train", "test")
    labels = ["uncoupled", "coupling 0", "on train", "on test"]
    for ax, cell in zip(fig.subplots(1, 2), ("nox-8", "medv-8"), strict=True):
        scores = np.stack([results.values(PAPER, cell, n) for n in names], axis=1)
        if len(scores):
            draw_runs(ax, scores, labels, "MSE x 10")
        ax.set_title(cell, fontsize="medium")


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
    datasets=dict.fromkeys(CELLS, "boston"),
    why={
        "significantly better than the uncoupled one": (
            "a part of the gain is there without coupling: supports of three subsets "
            "at coupling 0 have a lower median error than eq. 4."
        ),
        "Coupled on a tenth of the training rows": (
            "coupling on training rows helps here as well, about as much as on test "
            "inputs; the gain of supports of three subsets is in both. Errors of "
            "ensembles are mostly above print: that ours have more to gain is a "
            "guess."
        ),
        "better than a single LS-SVM": (
            "a single LS-SVM sees all 400 rows, a submodel of 8 fifty, and wins "
            "clearly; that it loses in print we cannot explain. Errors of ensembles "
            "are mostly above print, that of the LS-SVM on NOX below it: no unit "
            "mends both."
        ),
        "errors vary less": (
            "all ratios but one are below 1; that one, 1.05, is within what 100 runs "
            "can tell."
        ),
    },
)
