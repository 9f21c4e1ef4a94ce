"""hamers-classification: coupled classifiers (Table 2, Figures 7, 8 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from committee._typing import FloatArray
from studies.claims import Claim, Verdict, by_parts, decide, standard_error
from studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
    compared,
    draw_split,
    error,
    fit,
    rank_sum,
    significantly_lower,
)
from studies.study import PAPER, Job, Outcome, Results, Study, Table

CELLS = ("tic-tac-toe", "australian", "adult", "adult-sparse")
KINDS = ("uncoupled", "coupled")
#: Printed for one split each: the area under the curve, and members with a weight.
PRINTED = {
    ("tic-tac-toe", "uncoupled.auc"): 0.77,
    ("tic-tac-toe", "coupled.auc"): 0.86,
    ("tic-tac-toe", "uncoupled.size"): 4.0,
    ("tic-tac-toe", "coupled.size"): 4.0,
    ("adult-sparse", "uncoupled.size"): 5.0,
    ("adult-sparse", "coupled.size"): 5.0,
}

Runs = tuple[FloatArray, FloatArray]


def run(
    job: Job, *, n_rows: int | None = None, n_members: int | None = None
) -> Outcome:
    """Fit the uncoupled and the coupled ensemble on one split.

    n_rows and n_members may be fewer than in the paper.
    """
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    outcome: Outcome = {protocol: {} for protocol in WEIGH_ON}
    for protocol, rows in WEIGH_ON.items():
        for kind in KINDS:
            coupled = kind == "coupled"
            model = fit(
                problem,
                split,
                job.seed,
                coupling=problem.coupling if coupled else 0.0,
                overlap=coupled,
                weigh_on=rows,
                n_members=n_members,
            )
            scores = model.decision_function(split.X_test)
            outcome[protocol] |= {
                f"{kind}.error": error(problem, model, split),
                f"{kind}.auc": float(roc_auc_score(split.y_test, scores)),
                f"{kind}.size": len(model.support_members_),
            }
    return outcome


def report(results: Results) -> list[Table | Claim]:
    """Return Table 2, the areas of Figure 7, the members of Figure 8, and claims."""
    rates = [
        entry
        for protocol in STUDY.protocols
        for cell in CELLS
        for entry in compared(
            cell,
            protocol,
            {k: results.values(protocol, cell, f"{k}.error") for k in KINDS},
            "hamers_table2_misclassification",
            dataset=cell,
        )
    ]
    areas, sizes = (
        results.entries(
            CELLS,
            {kind: f"{kind}.{number}" for kind in KINDS},
            lambda cell, name: PRINTED.get((cell, name)),
        )
        for number in ("auc", "size")
    )
    return [
        Table("Table 2: misclassification rates", rates, 4, "adult-sparse: eq. 7."),
        Table("Figure 7: area under the ROC curve", areas, 3),
        Table("Figure 8: members with a weight", sizes, 1),
        *(c for protocol in STUDY.protocols for c in claims(results, protocol)),
    ]


def claims(results: Results, protocol: str) -> list[Claim]:
    """Return what the paper says about coupled classifiers."""

    def runs(cell: str, number: str) -> Runs:
        return results.pair(protocol, cell, f"coupled.{number}", f"uncoupled.{number}")

    return [
        significantly_lower(
            "Coupled ensembles err significantly less on all three sets.",
            protocol,
            {cell: runs(cell, "error") for cell in CELLS[:3]},
        ),
        _no_difference(protocol, runs("adult-sparse", "error")),
        _larger_area(protocol, runs("tic-tac-toe", "auc")),
    ]


def _no_difference(protocol: str, runs: Runs) -> Claim:
    """Return the claim about sparse weights on adult."""

    def judge() -> tuple[str, Verdict]:
        p = rank_sum(*runs)
        means = f"means {runs[0].mean():.3f} coupled, {runs[1].mean():.3f} uncoupled"
        return f"{means}, p = {p:.1e}", by_parts(p >= 0.05)

    text = "With the sparse weights of eq. 7, coupling makes no difference on adult."
    return decide(text, "p >= 0.05 in a rank-sum test", protocol, runs, judge)


def _larger_area(protocol: str, runs: Runs) -> Claim:
    """Return the claim about the area under the curve."""

    def judge() -> tuple[str, Verdict]:
        gap = runs[0] - runs[1]
        mean, se = gap.mean(), standard_error(gap)
        found = (
            f"{runs[1].mean():.3f} to {runs[0].mean():.3f}, by {mean:.3f} ± {se:.3f}"
        )
        return found, by_parts(bool(mean > 2 * se), bool(mean >= 0.05))

    text = "Coupling raises the area under the ROC curve of tic-tac-toe by nearly 0.1."
    rule = (
        "the mean difference is at least 0.05; partly where it is above zero by two "
        "standard errors"
    )
    return decide(text, rule, protocol, runs, judge)


def figure(results: Results, data: str | None, fig: Any) -> None:
    """Draw Figures 7 (one split, made anew) and 9 (box plots)."""
    from committee.displays import (
        PairedRunsDisplay,
        RocCommitteeDisplay,
        WeightsDisplay,
    )

    fig.set_size_inches(10, 11)
    axes = fig.subplots(3, 2)
    job = Job(STUDY.name, "tic-tac-toe", 0, data)
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, data)
    for (roc, weights), kind in zip(axes[:2].T, KINDS, strict=True):
        model = fit(
            problem, split, job.seed, weigh_on="train", overlap=kind == "coupled",
            coupling=problem.coupling if kind == "coupled" else 0.0,
        )  # fmt: skip
        RocCommitteeDisplay.from_estimator(model, split.X_test, split.y_test, ax=roc)
        roc.set_title(f"tic-tac-toe, {kind}", fontsize="medium")
        WeightsDisplay.from_estimator(model, ax=weights)
    for ax, cell in zip(axes[2], ("australian", "adult"), strict=True):
        runs = [results.values(PAPER, cell, f"{kind}.error") for kind in KINDS]
        if len(runs[0]):
            scores = np.stack(runs, axis=1)
            PairedRunsDisplay(scores, names=KINDS, ylabel="wrong").plot(ax)
        ax.set_title(cell, fontsize="medium")


STUDY = Study(
    name="hamers-classification",
    title="Coupled kernel classifiers",
    reruns="Hamers, Suykens and De Moor, Table 2 and Figures 7, 8, 9",
    cells=CELLS,
    run=run,
    report=report,
    figure=figure,
    setup=(
        "Random splits of 638 + 320 (tic-tac-toe, 11 submodels), 460 + 230 "
        "(australian, 10) and 8,000 + 500 rows (adult without missing values, 100), "
        "standardised, with the printed hyper-parameters, coupled on the test inputs. "
        "Weights by eq. 7; adult: eq. 6. Uncoupled is eq. 4. Paper: weights from the "
        "training rows. Held-out: from the rows outside each member's subset."
    ),
    datasets={c: PROBLEMS[c].dataset for c in CELLS if c != "tic-tac-toe"},
    why=(
        "Why not: tic-tac-toe is far easier here than in print. How its squares were "
        "coded is not in the paper (ours: one number for each square, standardised), "
        "and another coding would change the kernel: a guess. With an area near one "
        "there is no room for 0.1 more. On australian and adult errors are below "
        "print with and without coupling; why so, and why coupling adds less, is not "
        "known."
    ),
)
