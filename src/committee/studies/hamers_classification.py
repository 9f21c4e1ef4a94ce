"""hamers-classification: coupled classifiers (Table 2, Figures 7, 8 and 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from committee.studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
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

CELLS = ("tic-tac-toe", "australian", "adult", "adult-sparse")
KINDS = ("uncoupled", "coupled")


def run(
    job: Job, *, n_rows: int | None = None, n_members: int | None = None
) -> Outcome:
    """Fit the uncoupled and the coupled ensemble on one split.

    Parameters
    ----------
    job : Job
    n_rows, n_members : int, optional
        Fewer than in the paper.

    Examples
    --------
    >>> from committee.studies.hamers_classification import run
    >>> from committee.studies.study import Job
    >>> job = Job("hamers-classification", "tic-tac-toe", 0)
    >>> numbers = run(job, n_rows=60, n_members=3)["paper"]
    >>> sorted(numbers)[:3]
    ['coupled.auc', 'coupled.error', 'coupled.size']
    """
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    outcome: Outcome = {protocol: {} for protocol in WEIGH_ON}
    for protocol, rows in WEIGH_ON.items():
        for kind in KINDS:
            alone = kind == "uncoupled"
            model = fit(
                problem,
                split,
                job.seed,
                coupling=0.0 if alone else problem.coupling,
                overlap=not alone,
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


def report(shelf: Shelf) -> list[Table | Claim]:
    """Return Table 2, the areas of Figure 7, the members of Figure 8, and claims."""
    results = shelf(STUDY.name)
    rates = [
        entry
        for protocol in STUDY.protocols
        for cell in CELLS
        for entry in _places(results, protocol, cell)
    ]
    return [
        Table("Table 2: misclassification rates", rates, 4, "adult-sparse: eq. 7."),
        Table("Figure 7: area under the ROC curve", _numbers(results, "auc", AREAS), 3),
        Table("Figure 8: members with a weight", _numbers(results, "size", KEPT), 1),
        *claims(results),
    ]


#: Printed for one split each.
AREAS = {("tic-tac-toe", "uncoupled"): 0.77, ("tic-tac-toe", "coupled"): 0.86}
KEPT = {
    ("tic-tac-toe", "uncoupled"): 4.0,
    ("tic-tac-toe", "coupled"): 4.0,
    ("adult-sparse", "uncoupled"): 5.0,
    ("adult-sparse", "coupled"): 5.0,
}


def _places(results: Results, protocol: str, cell: str) -> list[Entry]:
    entries, runs = [], []
    for kind in KINDS:
        values = results.values(protocol, cell, f"{kind}.error")
        runs.append(values)
        for label, number in summary(values).items():
            shown = _printed(f"{kind}_{label}", cell)
            entries.append(Entry(cell, f"{kind} {label}", protocol, number, shown))
    p = [rank_sum(*runs)] if len(runs[0]) > 1 else []
    return [*entries, Entry(cell, "p", protocol, np.array(p), _printed("p", cell))]


def _printed(column: str, cell: str) -> float | None:
    return printed_figure("hamers_table2_misclassification", column, dataset=cell)


def _numbers(
    results: Results, number: str, shown: dict[tuple[str, str], float]
) -> list[Entry]:
    return [
        Entry(
            cell,
            kind,
            protocol,
            results.values(protocol, cell, f"{kind}.{number}"),
            shown.get((cell, kind)),
        )
        for protocol in STUDY.protocols
        for cell in CELLS
        for kind in KINDS
    ]


def claims(results: Results) -> list[Claim]:
    """Return what the paper says about coupled classifiers."""
    found = []
    for protocol in STUDY.protocols:

        def runs(cell: str, number: str = "error", key: str = protocol) -> Any:
            return tuple(
                results.values(key, cell, f"{kind}.{number}")
                for kind in ("coupled", "uncoupled")
            )

        found += [
            significantly_lower(
                "Coupled ensembles err significantly less on all three sets.",
                protocol,
                {cell: runs(cell) for cell in CELLS[:3]},
            ),
            no_difference(protocol, runs("adult-sparse")),
            larger_area(protocol, runs("tic-tac-toe", "auc")),
        ]
    return found


def no_difference(protocol: str, runs: Any) -> Claim:
    """Return the claim about sparse weights on adult."""
    text = "With the sparse weights of eq. 7, coupling makes no difference on adult."
    rule = "p >= 0.05 in a rank-sum test"
    if not enough(runs):
        return undecided(text, rule, protocol)
    p = rank_sum(*runs)
    means = f"means {runs[0].mean():.3f} coupled, {runs[1].mean():.3f} uncoupled"
    return Claim(text, rule, protocol, f"{means}, p = {p:.1e}", by_parts(p >= 0.05))


def larger_area(protocol: str, runs: Any) -> Claim:
    """Return the claim about the area under the curve."""
    text = "Coupling raises the area under the ROC curve of tic-tac-toe by nearly 0.1."
    rule = "the mean difference is at least 0.05; partly where it is above zero by two standard errors"
    if not enough(runs):
        return undecided(text, rule, protocol)
    gap = runs[0] - runs[1]
    se = gap.std(ddof=1) / np.sqrt(len(gap))
    said = (
        f"{runs[1].mean():.3f} to {runs[0].mean():.3f}, by {gap.mean():.3f} ± {se:.3f}"
    )
    parts = bool(gap.mean() > 2 * se), bool(gap.mean() >= 0.05)
    return Claim(text, rule, protocol, said, by_parts(*parts))


def figure(shelf: Shelf, data: str | None) -> Any:
    """Draw Figures 7 (one split, made anew) and 9 (box plots)."""
    from matplotlib.figure import Figure

    from committee.displays import (
        PairedRunsDisplay,
        RocCommitteeDisplay,
        WeightsDisplay,
    )

    results = shelf(STUDY.name)
    drawn = Figure(figsize=(10, 11), layout="constrained")
    axes = drawn.subplots(3, 2)
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
    return drawn


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
    protocols=(PAPER, HELD_OUT),
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
