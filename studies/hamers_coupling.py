"""hamers-coupling: the error against the coupling (Figures 5 and 6)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from studies.claims import Claim, Verdict, by_parts, decide, standard_error
from studies.hamers import PROBLEMS, WEIGH_ON, draw_split, error, fit
from studies.hamers_boston import UNIT
from studies.study import PAPER, Entry, Job, Outcome, Results, Study, Table

CELLS = ("nox-8", "medv-8", "tic-tac-toe")
COUPLINGS = (
    -1000.0, -100.0, -10.0, -1.0, -0.1, -0.01, 0.0, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0,
)  # fmt: skip


def run(
    job: Job, *, n_rows: int | None = None, n_members: int | None = None
) -> Outcome:
    """Fit one split with every coupling; NaN where the problem has no minimum.

    n_rows and n_members may be fewer than in the paper.
    """
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    unit = UNIT if problem.regression else 1.0
    outcome: Outcome = {}
    for protocol, rows in WEIGH_ON.items():
        errors = []
        for nu in COUPLINGS:
            try:
                model = fit(
                    problem, split, job.seed, coupling=nu, weigh_on=rows,
                    n_members=n_members,
                )  # fmt: skip
                errors.append(unit * error(problem, model, split))
            except np.linalg.LinAlgError:
                errors.append(np.nan)
        outcome[protocol] = {"error": errors}
    return outcome


def report(results: Results) -> list[Table | Claim]:
    """Return the curves of Figures 5 and 6, and what the paper says about them."""
    curves = [
        (protocol, cell, nu, errors)
        for protocol in STUDY.protocols
        for cell in CELLS
        for nu, errors in zip(COUPLINGS, _curves(results, protocol, cell), strict=True)
    ]
    means = [
        Entry(f"{cell}, {nu:g}", "error", protocol, errors[np.isfinite(errors)])
        for protocol, cell, nu, errors in curves
    ]
    counts = [
        Entry(cell, f"{nu:g}", protocol, np.isfinite(errors).sum(keepdims=True))
        for protocol, cell, nu, errors in curves
        if nu <= 0 and len(errors)
    ]
    note = (
        "Means of the runs in which the problem has a minimum, where there are any: a "
        "coupling may be too negative."
    )
    return [
        Table("Figures 5 and 6: test error against the coupling", means, 4, note),
        Table("Runs in which the problem has a minimum", counts, 0),
        *(c for protocol in STUDY.protocols for c in claims(results, protocol)),
    ]


def _curves(results: Results, protocol: str, cell: str) -> FloatArray:
    """Return the errors of all runs at each coupling, (couplings, runs)."""
    values = results.values(protocol, cell, "error")
    return values.T if len(values) else np.empty((len(COUPLINGS), 0))


def claims(results: Results, protocol: str) -> list[Claim]:
    """Return what the paper says about the coupling."""
    curves = {cell: _curves(results, protocol, cell) for cell in CELLS}
    boston = {cell: curves[cell] for cell in CELLS[:2]}
    return [
        _improves(
            "Boston: a coupling above zero lowers the error.",
            protocol,
            boston,
            [i for i, nu in enumerate(COUPLINGS) if nu > 0],
        ),
        _improves(
            "Boston: a small negative coupling lowers the error as well.",
            protocol,
            boston,
            [i for i, nu in enumerate(COUPLINGS) if nu in (-0.01, -0.1)],
        ),
        _minimum(protocol, curves["tic-tac-toe"]),
    ]


def _improves(
    text: str, protocol: str, curves: dict[str, FloatArray], points: list[int]
) -> Claim:
    """Return a claim that the error is lower than at zero, at every given coupling."""
    zero = COUPLINGS.index(0.0)

    def judge() -> tuple[str, Verdict]:
        parts, found = [], []
        for cell, errors in curves.items():
            means = errors.mean(axis=1)  # NaN where some run has no minimum
            parts += [bool(means[i] < means[zero]) for i in points]
            listed = ", ".join(
                f"{COUPLINGS[i]:g}: "
                + (f"{means[i]:.3g}" if np.isfinite(means[i]) else _missing(errors[i]))
                for i in points
            )
            found.append(f"{cell} 0: {means[zero]:.3g}, {listed}")
        return "; ".join(found), by_parts(*parts)

    rule = (
        "the lower mean at every such coupling; partly where only at some; not lower "
        "where a run has no minimum"
    )
    runs = [errors.T for errors in curves.values()]
    return decide(text, rule, protocol, runs, judge)


def _missing(errors: FloatArray) -> str:
    return f"a minimum in {np.isfinite(errors).sum()} of {len(errors)} runs"


def _minimum(protocol: str, errors: FloatArray) -> Claim:
    """Return the claim about the minimum of Figure 6."""

    def judge() -> tuple[str, Verdict]:
        means = np.where(np.isfinite(errors).all(axis=1), errors.mean(axis=1), np.inf)
        inside = (np.array(COUPLINGS) >= 0.01) & (np.array(COUPLINGS) <= 1)
        best, others = int(means.argmin()), means[~inside].min()
        se = standard_error(errors[best])
        found = (
            f"least at {COUPLINGS[best]:g}: {means[best]:.3f} ± {se:.3f}; outside at "
            f"best {others:.3f}"
        )
        return found, by_parts(bool(inside[best]), bool(others > means[best] + se))

    text = "Tic-tac-toe: the error has a clear minimum between 0.01 and 1."
    rule = (
        "the least mean lies there, and all outside are above it by more than a "
        "standard error; partly where only the first holds"
    )
    return decide(text, rule, protocol, [errors.T], judge)


def figure(results: Results, data: str | None, fig: Any) -> None:
    """Draw Figures 5 and 6: runs as points, their mean as a line."""
    fig.set_size_inches(12, 3.8)
    place = np.arange(len(COUPLINGS))
    for ax, cell in zip(fig.subplots(1, 3), CELLS, strict=True):
        errors = _curves(results, PAPER, cell)
        for run_errors in errors.T:
            ax.plot(place, run_errors, ".", color="0.6", ms=3)
        if errors.shape[1]:
            ax.plot(place, errors.mean(axis=1), ":o", color="C0", ms=4)
        ax.set_xticks(place, [f"{nu:g}" for nu in COUPLINGS], rotation=60)
        if PROBLEMS[cell].regression:
            ax.set_yscale("log")
        ax.set_xlabel("coupling")
        ax.set_title(cell, fontsize="medium")


STUDY = Study(
    name="hamers-coupling",
    title="The role of the coupling",
    reruns="Hamers, Suykens and De Moor, Figures 5 and 6",
    cells=CELLS,
    run=run,
    report=report,
    figure=figure,
    setup=(
        "The transductive ensembles of hamers-boston (8 members, MSE x 10) and "
        "hamers-classification with couplings from -1000 to 1000, 0 on supports of "
        "three subsets. Paper: weights from the training rows. Held-out: from the rows "
        "outside each member's subset."
    ),
    datasets={"nox-8": "boston", "medv-8": "boston"},
    runs=20,
    why=(
        "Why not: below a small negative coupling the quadratic problem has no "
        "minimum, and we refuse it. The linear equations of the paper still have a "
        "solution there, which is no minimum; we guess that this is what Figure 5 "
        "shows. Very large couplings hold submodels together more than they fit, "
        "which the paper says too."
    ),
)
