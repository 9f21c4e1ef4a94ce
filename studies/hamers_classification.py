"""hamers-classification: coupled classifiers (Table 2, Figures 7, 8 and 9)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from committee._typing import FloatArray
from committee.combiners import SimplexWeights
from studies.claims import Claim, Verdict, by_parts, decide, standard_error
from studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
    Split,
    compared,
    draw_split,
    error,
    fit,
    rank_sum,
    significantly_lower,
)
from studies.study import PAPER, Job, Outcome, Results, Study, Table, Why

#: Tic-tac-toe as one number a square, 1, 0, -1; as letters b, o, x coded 1, 2, 3, which
#: comes near to print; and this with the first and the last rows of the file.
BOARDS = ("tic-tac-toe", "tic-tac-toe-123", "tic-tac-toe-123-in-order")
CELLS = (*BOARDS, "australian", "adult", "adult-sparse")
KINDS = ("uncoupled", "coupled")
#: Printed for one split each: the area under the curve, and members with a weight.
PRINTED = {
    **{(board, "uncoupled.auc"): 0.77 for board in BOARDS[:2]},
    **{(board, "coupled.auc"): 0.86 for board in BOARDS[:2]},
    **{(board, f"{kind}.size"): 4.0 for board in BOARDS[:2] for kind in KINDS},
    ("adult-sparse", "uncoupled.size"): 5.0,
    ("adult-sparse", "coupled.size"): 5.0,
}

NOTE = (
    "adult-sparse: eq. 7. Tic-tac-toe: fields x, blank and o are 1, 0 and -1, or 3, 1 and "
    "2. In order: the first 638 boards of the file train, the last 320 test. The file has "
    "the 626 boards that x has won first, so all test boards are of the class of which "
    "12 boards train; runs differ by the subsets."
)

AREAS = (
    "The paper ranks by votes. Coupled members vote alike on most rows, so that the sum of "
    "votes has few values and its area falls to that of a yes or no; the weighted values "
    "of the same members, and each member alone, rank as well as before or better."
)

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
            numbers = {
                "error": error(problem, model, split),
                "size": len(model.support_members_),
            }
            if len(np.unique(split.y_test)) == 2:  # else there is no curve
                numbers |= _areas(model, split)
            if protocol == PAPER:
                numbers["size of values"] = _size_of_values(model, split, job.seed)
            outcome[protocol] |= {f"{kind}.{name}": n for name, n in numbers.items()}
    return outcome


def _areas(model: Any, split: Split) -> dict[str, float]:
    """Return areas under the curves of votes, of values and of members."""
    values = model.member_decision_function(split.X_test)
    votes = np.sign(values)
    areas = [float(roc_auc_score(split.y_test, f)) for f in values.T]
    return {
        "auc": float(roc_auc_score(split.y_test, votes @ model.weights_)),
        "auc of values": float(roc_auc_score(split.y_test, values @ model.weights_)),
        "auc of a member": float(np.mean(areas)),
        "unanimous": 100 * float(np.mean(np.abs(votes.mean(axis=1)) == 1)),
    }


def _size_of_values(model: Any, split: Split, seed: int) -> int:
    """Return the members of eq. 7 from errors f_j - y on a tenth of the training rows."""
    n = max(1, len(split.y) // 10)
    rows = np.random.default_rng(seed).permutation(len(split.y))[:n]
    y = np.where(split.y[rows] == model.classes_[1], 1.0, -1.0)
    F = model.member_decision_function(split.X[rows])
    return len(SimplexWeights().fit(F, y).support_)


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
            dataset=cell.removesuffix("-123"),
        )
    ]
    areas, of_values, of_members, unanimous, sizes, subset = (
        results.entries(
            CELLS,
            {kind: f"{kind}.{number}" for kind in KINDS},
            lambda cell, name: PRINTED.get((cell, name.removesuffix(" of values"))),
        )
        for number in (
            "auc", "auc of values", "auc of a member", "unanimous", "size",
            "size of values",
        )
    )  # fmt: skip
    of_values = [replace(e, printed=None) for e in of_values]
    return [
        Table("Table 2: misclassification rates", rates, 4, NOTE),
        Table(
            "Figure 9: share of wrong labels",
            results.entries(CELLS, {kind: f"{kind}.error" for kind in KINDS}),
            3,
            box=True,
        ),
        Table("Figure 7: area under the ROC curve of the votes", areas, 3),
        Table("Area under the ROC curve of the weighted values", of_values, 3, AREAS),
        Table("Area under the ROC curve of a single member", of_members, 3),
        Table("Test rows on which all members vote alike, in %", unanimous, 1),
        Table("Figure 8: members with a weight", sizes, 1),
        Table(
            "Figure 8: members with a weight, by eq. 7 on values and a tenth of the rows",
            subset,
            1,
        ),
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
            {
                cell: runs(cell, "error")
                for cell in (*BOARDS[:2], "australian", "adult")
            },
        ),
        _no_difference(protocol, runs("adult-sparse", "error")),
        *(_larger_area(board, protocol, runs(board, "auc")) for board in BOARDS[:2]),
        _as_sparse(results, protocol, "size", "by votes on all training rows"),
        *(
            [_as_sparse(results, PAPER, "size of values", "by values on a tenth")]
            if protocol == PAPER
            else []
        ),
    ]


def _no_difference(protocol: str, runs: Runs) -> Claim:
    """Return the claim about sparse weights on adult."""

    def judge() -> tuple[str, Verdict]:
        p = rank_sum(*runs)
        means = f"means {runs[0].mean():.3f} coupled, {runs[1].mean():.3f} uncoupled"
        return f"{means}, p = {p:.1e}", by_parts(p >= 0.05)

    text = "With the sparse weights of eq. 7, coupling makes no difference on adult."
    return decide(text, "p >= 0.05 in a rank-sum test", protocol, runs, judge)


def _as_sparse(results: Results, protocol: str, number: str, how: str) -> Claim:
    """Return the claim about the number of support models, Figure 8."""
    places = {
        f"{cell} {kind}": (
            results.values(protocol, cell, f"{kind}.{number}"),
            PRINTED[cell, f"{kind}.size"],
        )
        for cell in ("tic-tac-toe-123", "adult-sparse")
        for kind in KINDS
    }

    def judge() -> tuple[str, Verdict]:
        means = {place: (runs.mean(), n) for place, (runs, n) in places.items()}
        found = ", ".join(f"{p} {m:.1f} ({n:.0f})" for p, (m, n) in means.items())
        return found, by_parts(*(bool(m <= 1.5 * n) for m, n in means.values()))

    text = f"Eq. 7 keeps 4 of 10 members, and about 5 % of 100 ({how})."
    rule = "means at most 1.5 times print (in brackets); partly in some places"
    return decide(text, rule, protocol, [runs for runs, _ in places.values()], judge)


def _larger_area(board: str, protocol: str, runs: Runs) -> Claim:
    """Return the claim about the area under the curve."""

    def judge() -> tuple[str, Verdict]:
        gap = runs[0] - runs[1]
        mean, se = gap.mean(), standard_error(gap)
        found = (
            f"{runs[1].mean():.3f} to {runs[0].mean():.3f}, by {mean:.3f} ± {se:.3f}"
        )
        return found, by_parts(bool(mean > 2 * se), bool(mean >= 0.05))

    text = f"Coupling raises the area under the ROC curve of {board} by nearly 0.1."
    rule = (
        "the mean difference is at least 0.05; partly where it is above zero by two "
        "standard errors"
    )
    return decide(text, rule, protocol, runs, judge)


STUDY = Study(
    name="hamers-classification",
    title="Coupled kernel classifiers",
    reruns="Hamers, Suykens and De Moor, Table 2 and Figures 7, 8, 9",
    cells=CELLS,
    run=run,
    report=report,
    setup=(
        "Random splits of 638 + 320 (tic-tac-toe, 11 submodels), 460 + 230 "
        "(australian, 10) and 8,000 + 500 rows (adult without missing values, 100), "
        "standardised, with the printed hyper-parameters, coupled on the test inputs. "
        "Weights by eq. 7; adult: eq. 6. Uncoupled is eq. 4. Paper: weights from the "
        "training rows. Held-out: from the rows outside each member's subset."
    ),
    datasets={c: PROBLEMS[c].dataset for c in CELLS if c not in BOARDS},
    why={
        "err significantly less": Why(
            "Coupled ensembles err significantly less on all three sets (Table 2).",
            "On tic-tac-toe clearly; on australian and adult errors are below print "
            "with and without coupling, and the difference is too small to tell.",
            "Why coupling adds less there is not known.",
        ),
        "sparse weights of eq. 7": Why(
            "With the sparse weights of eq. 7 coupling makes no difference on adult.",
            "As in print.",
        ),
        "Eq. 7 keeps": Why(
            "Eq. 7 keeps 4 of 10 members, and about 5 % of 100 (Figure 8).",
            "Not with the errors of the votes on all training rows; with errors of the "
            "values f on a tenth of the rows, 5 to 7 of 11 and 5 to 9 of 100.",
            'The text defines S by f - y on a data set that is "typically a subset of '
            'the original training set" (section 3), while what is combined are votes; '
            "ours takes the votes and all rows. Sizes fall with both changes, and "
            "coupled ensembles then have those of print. That the paper did so is a "
            "guess. On held-out rows coupled members keep many more (australian 10 of "
            "10, adult 50 of 100). Tested in three splits: the entries of S differ "
            "within their sampling error, so that S is shrunk towards equal ones, on "
            "australian entirely, where all 10 have the same weight. Without it 4 to 8 "
            "of 10 keep one, and on adult S is indefinite.",
        ),
        "area under the ROC curve": Why(
            "Coupling raises the area under the ROC curve on tic-tac-toe by nearly 0.1 "
            "(Figure 7).",
            "By 0.03 to 0.04, with letters coded 1, 2, 3.",
            "The paper does not say how it coded the squares of tic-tac-toe. With "
            "letters b, o and x as 1, 2 and 3 errors and areas come near to print, with "
            "0, -1 and 1 the task is far easier and there is no room for 0.1 more: we "
            "take the first to be the paper's. Its split into the first 638 and the "
            "last 320 rows cannot be that of the file, where all of the last rows are "
            "of one class. On adult and australian coupling lowers the area (.81 to "
            ".71, .92 to .90), and the cause is the score: it is a sum of votes, and "
            "coupled members vote alike on 80 to 90 % of the rows (uncoupled on 40 %), "
            "so that the score has few values and the area falls to that of a single "
            "yes or no. Ranked by the weighted values f of the same members it does not "
            "fall (.84 and .85, .92 and .92), and a single member's area rises (.80 to "
            ".85, .86 to .92): see the tables.",
        ),
    },
)
