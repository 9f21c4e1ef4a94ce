"""hamers-boston: coupled ensembles on Boston housing (Table 1, Figure 4)."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.coupled import LSSVMRegressor
from studies.claims import (
    SHARES,
    Claim,
    Verdict,
    by_parts,
    by_share,
    decide,
    standard_error,
)
from studies.hamers import (
    PROBLEMS,
    WEIGH_ON,
    Problem,
    Split,
    compared,
    draw_split,
    error,
    fit,
    significantly_lower,
    summary,
)
from studies.printed import figure as printed_figure
from studies.study import PAPER, Entry, Job, Outcome, Results, Study, Table, Why

CELLS = ("nox-8", "nox-16", "medv-8", "medv-16")
#: One reading of the printed unit: errors are ten times those of targets of variance one.
UNIT = 10.0
#: The second layer: weights that sum to one (eq. 6), not negative as well (eq. 7).
LAYERS = {"eq6": True, "eq7": False}
#: What is fitted on every split: the uncoupled ensemble of eq. 4, supports of three
#: subsets without coupling, coupling on a tenth of the training rows, on the test rows.
FITS: dict[str, dict[str, Any]] = {
    "uncoupled": {"coupling": 0.0, "overlap": False},
    "zero": {"coupling": 0.0},
    "train": {"coupling": 1.0, "transductive": False},
    "test": {"coupling": 1.0},
}
#: Ways of choosing as many coupling points as a tenth of the training rows.
POINTS = {
    "train": "training rows", "box": "points in the box", "centres": "k-means centres",
    "apart": "most disagreed on", "test": "test rows (T)", "zero": "none (nu = 0)",
}  # fmt: skip
#: The boxes of Figure 4.
BOXES = {
    "uncoupled": "uncoupled", "zero": "coupling 0", "train": "on train", "test": "on test",
}  # fmt: skip
Pairs = dict[str, tuple[FloatArray, FloatArray]]


def run(job: Job, *, n_rows: int | None = None) -> Outcome:
    """Fit all ensembles and an LS-SVM on one split, of n_rows where given.

    "apart" couples on the rows on which members at coupling 0 differ most.
    """
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, job.data, n_rows)
    lssvm = LSSVMRegressor(gamma=1 / problem.width, alpha=1 / problem.ridge)
    single = error(problem, lssvm.fit(split.X, split.y), split)
    outcome: Outcome = {}
    for protocol, rows in WEIGH_ON.items():
        outcome[protocol] = {"lssvm": single}
        for layer, dense in LAYERS.items():
            common = {"weigh_on": rows, "dense": dense}
            errors = _errors(problem, split, job.seed, common)
            outcome[protocol] |= {f"{layer}.{name}": e for name, e in errors.items()}
    return outcome


def _errors(
    problem: Problem, split: Split, seed: int, common: dict[str, Any]
) -> dict[str, float]:
    """Return the test error of every ensemble by one layer and protocol."""
    models = {
        name: fit(problem, split, seed, **common, **options)
        for name, options in FITS.items()
    }
    apart = _apart(models["zero"], split.X)
    for name, points in (("box", None), ("centres", None), ("apart", apart)):
        models[name] = fit(
            problem,
            split,
            seed,
            coupling=1.0,
            transductive=False,
            coupling_set="train" if name == "apart" else name,
            points=points,
            **common,
        )
    return {name: error(problem, model, split) for name, model in models.items()}


def _apart(model: Any, X: FloatArray) -> FloatArray:
    """Return the tenth of the rows on which members differ most."""
    spread = model.member_predictions(X).std(axis=1)
    rows: FloatArray = X[np.argsort(-spread)[: max(1, len(X) // 10)]]
    return rows


def scaled(
    results: Results, protocol: str, layer: str, cell: str, name: str
) -> FloatArray:
    """Return errors in units of the median of "8, T coupled", which prints 1.00."""
    number = name if name == "lssvm" else f"{layer}.{name}"
    base = results.values(protocol, f"{cell.split('-')[0]}-8", f"{layer}.test")
    values = results.values(protocol, cell, number)
    return values / np.median(base) if len(base) else values


def report(results: Results) -> list[Table | Claim]:
    """Return Table 1 by both layers and in both units, and what the paper says."""
    parts: list[Table | Claim] = []
    parts += [
        _table(results, layer, relative=relative)
        for layer in LAYERS
        for relative in (True, False)
    ]
    points = [
        Entry(cell, label, protocol, scaled(results, protocol, "eq7", cell, name))
        for protocol in STUDY.protocols
        for cell in CELLS
        for name, label in POINTS.items()
    ]
    boxes = [
        Entry(cell, label, protocol, scaled(results, protocol, "eq7", cell, name))
        for protocol in STUDY.protocols
        for cell in CELLS
        for name, label in BOXES.items()
    ]
    title = 'Figure 4: errors over the median of "8, T coupled", eq. 7'
    parts.append(Table(title, boxes, 3, box=True))
    title = 'Ways of choosing coupling points: errors over "8, T coupled", eq. 7'
    parts.append(
        Table(title, points, 3, "The text asks for more intelligent sampling.")
    )
    parts += [_single(results, relative=relative) for relative in (True, False)]
    for protocol in STUDY.protocols:
        for layer in LAYERS:
            parts += claims(results, protocol, layer)
        parts.append(_centres(results, protocol))
    return parts


def _table(results: Results, layer: str, *, relative: bool) -> Table:
    """Return Table 1 by one layer, in units of its 1.00 or times ten."""
    entries = [
        entry
        for protocol in STUDY.protocols
        for cell in CELLS
        for coupled in ("train", "test")
        for entry in _places(results, protocol, layer, cell, coupled, relative)
    ]
    unit = 'over the median of "8, T coupled"' if relative else "x 10"
    note = (
        "Both targets print exactly 1.00 for 8, T coupled, so that the table looks like "
        "ratios to this cell; claims about its figures are judged by this reading. "
        if relative
        else "Targets have variance one. With this unit an LS-SVM on MEDV comes near print. "
    ) + "T couples on the test inputs. The printed mean 0 of MEDV 8, T is left out."
    number = layer.replace("eq", "eq. ")
    return Table(
        f"Table 1 by {number}: test mean squared error {unit}", entries, 3, note
    )


def _single(results: Results, *, relative: bool) -> Table:
    """Return the errors of a single LS-SVM."""
    places = []
    for target in ("nox", "medv"):
        cell = f"{target}-8"
        runs = UNIT * results.values(PAPER, cell, "lssvm")
        if relative:
            runs = scaled(results, PAPER, "eq7", cell, "lssvm")
        places += [
            Entry(
                target,
                label,
                PAPER,
                number,
                printed_figure("hamers_table1_lssvm", label, target=target),
            )
            for label, number in summary(runs).items()
        ]
    unit = 'over the median of "8, T coupled", eq. 7' if relative else "x 10"
    return Table(f"Table 1: a single LS-SVM on all 400 rows, {unit}", places, 2)


def _places(
    results: Results,
    protocol: str,
    layer: str,
    cell: str,
    coupled: str,
    relative: bool,
) -> list[Entry]:
    target, q = cell.split("-")
    transductive = coupled == "test"

    def runs(name: str) -> FloatArray:
        if relative:
            return scaled(results, protocol, layer, cell, name)
        return UNIT * results.values(protocol, cell, f"{layer}.{name}")

    return compared(
        f"{target} {q}" + (", T" if transductive else ""),
        protocol,
        {"uncoupled": runs("uncoupled"), "coupled": runs(coupled)},
        "hamers_table1_boston_mse",
        target=target,
        n_members=q,
        transductive="1" if transductive else "0",
    )


def claims(results: Results, protocol: str, layer: str) -> list[Claim]:
    """Return what the paper says about coupling on Boston housing."""
    start = layer.replace("eq", "eq. ") + ": "

    def pairs(a: str, b: str) -> Pairs:
        names = (n if n == "lssvm" else f"{layer}.{n}" for n in (a, b))
        first, second = names
        return {cell: results.pair(protocol, cell, first, second) for cell in CELLS}

    return [
        _printed_ratios(results, protocol, layer),
        significantly_lower(
            f"{start}coupled on the test inputs, the ensemble is significantly better "
            "than the uncoupled one in all four cases.",
            protocol,
            pairs("test", "uncoupled"),
        ),
        _not_better(start, protocol, pairs("train", "uncoupled")),
        significantly_lower(
            f"{start}coupled on the test inputs, the ensemble is better than a single "
            "LS-SVM on all rows.",
            protocol,
            pairs("test", "lssvm"),
        ),
        _less_variance(start, protocol, pairs("test", "uncoupled")),
    ]


def _printed_ratios(results: Results, protocol: str, layer: str) -> Claim:
    """Return the claim that medians are those of the table, as ratios to its 1.00."""
    places = _table(results, layer, relative=True).entries
    medians = [
        e
        for e in places
        if e.protocol == protocol and e.column.endswith("median") and e.printed
    ]
    runs = [
        results.values(protocol, cell, f"{layer}.{name}")
        for cell in CELLS
        for name in FITS
    ]

    def judge() -> tuple[str, Verdict]:
        ratios = {
            f"{e.line} {e.column}": e.mean / e.printed for e in medians if e.printed
        }
        close = [abs(ratio - 1) <= 0.1 for ratio in ratios.values()]
        low, high = min(ratios.values()), max(ratios.values())
        found = f"{sum(close)} of {len(close)} places; ratios {low:.2f} to {high:.2f}"
        return found, by_share(close)

    number = layer.replace("eq", "eq. ")
    return decide(
        f"{number}: the medians are those of the table, as ratios to its 1.00.",
        f"within 10 % of print {SHARES}",
        protocol,
        runs,
        judge,
    )


def _centres(results: Results, protocol: str) -> Claim:
    """Return that chosen points are better than random ones, as the text suggests."""
    pairs = {
        cell: results.pair(protocol, cell, "eq7.centres", "eq7.train") for cell in CELLS
    }

    def judge() -> tuple[str, Verdict]:
        gaps = {cell: (a - b, b.mean()) for cell, (a, b) in pairs.items()}
        found = ", ".join(
            f"{cell} {100 * gap.mean() / mean:+.1f} ± {100 * standard_error(gap) / mean:.1f} %"
            for cell, (gap, mean) in gaps.items()
        )
        parts = (gap.mean() < -2 * standard_error(gap) for gap, _ in gaps.values())
        return found, by_parts(*map(bool, parts))

    return decide(
        "Points chosen by a criterion (k-means centres) are better than random rows.",
        "lower by two standard errors of the paired difference; partly where on some sets",
        protocol,
        [values for pair in pairs.values() for values in pair],
        judge,
    )


def _not_better(start: str, protocol: str, pairs: Pairs) -> Claim:
    """Return the claim that coupling on training rows does not help significantly."""
    text = f"{start}coupled on a tenth of the training rows, it is not significantly better."
    claim = significantly_lower(text, protocol, pairs)
    rule = "no lower median with p < 0.05 in a rank-sum test; partly where only some do"
    opposite: dict[str, Verdict] = {"reproduced": "not", "not": "reproduced"}
    verdict = opposite.get(claim.verdict, claim.verdict)
    return replace(claim, rule=rule, verdict=verdict)


def _less_variance(start: str, protocol: str, pairs: Pairs) -> Claim:
    """Return the claim that errors of coupled ensembles vary less."""

    def judge() -> tuple[str, Verdict]:
        ratios = {cell: a.var(ddof=1) / b.var(ddof=1) for cell, (a, b) in pairs.items()}
        found = ", ".join(f"{cell} {ratio:.2f}" for cell, ratio in ratios.items())
        verdict = by_parts(*(bool(ratio < 1) for ratio in ratios.values()))
        return f"ratio of variances: {found}", verdict

    text = f"{start}coupled on the test inputs, errors vary less than those of the uncoupled."
    rule = "the smaller variance over runs; partly where only some are"
    runs = [values for pair in pairs.values() for values in pair]
    return decide(text, rule, protocol, runs, judge)


STUDY = Study(
    name="hamers-boston",
    title="Coupled kernel ensembles on Boston housing",
    reruns="Hamers, Suykens and De Moor, Table 1 and Figure 4",
    cells=CELLS,
    run=run,
    report=report,
    setup=(
        "8 or 16 submodels on 400 of 506 standardised rows, tested on the others, with "
        "the printed hyper-parameters and coupling 1; weights of the second layer by "
        "eq. 6 and by eq. 7, as the text prescribes eq. 7 for classification alone. "
        "Uncoupled is eq. 4. Paper: weights from the training rows. Held-out: "
        "from the rows outside each member's subset."
    ),
    datasets=dict.fromkeys(CELLS, "boston"),
    why={
        "the medians are those of the table": Why(
            "Table 1 has these medians.",
            "As ratios to the cell that prints 1.00, those of eight uncoupled members "
            "and of all that are coupled on the test inputs agree; those of 16 "
            "uncoupled members and of coupling on training rows are larger in print.",
            'Table 1 names no unit. Both targets print exactly 1.00 for "8, T '
            'coupled", so that claims are judged by ratios to this cell; times ten is '
            "the other reading, and both are below. By eq. 6 the ratios also agree with "
            "16 members. The text prescribes eq. 7 for classification alone, so both "
            "are run.",
        ),
        "significantly better than the uncoupled one": Why(
            "Coupled on the test inputs, the ensemble is significantly better than the "
            "uncoupled one.",
            "On some of the four cases; a part of the gain comes without coupling, from "
            "supports of three subsets.",
            "Supports of three subsets at coupling 0 have a lower median error than eq. "
            "4.",
        ),
        "coupled on a tenth of the training rows": Why(
            "Coupled on a tenth of the training rows, it is not significantly better.",
            "Coupling on training rows helps here as well, about as much as on test "
            "inputs; the gain of supports of three subsets is in both.",
        ),
        "better than a single LS-SVM": Why(
            "The coupled ensemble is better than a single LS-SVM.",
            "The LS-SVM does not fit print in any unit: it wins here clearly, with "
            'about 0.6 of the error of "8, T coupled", where print has 1.76 and 1.31.',
            "A single LS-SVM sees all 400 rows, a submodel of 8 fifty. That it loses in "
            "print we cannot explain; hyper-parameters that were found by "
            "cross-validation for the submodels would not do it alone, as ours are the "
            "printed ones for both.",
        ),
        "errors vary less": Why(
            "Errors of coupled ensembles vary less.",
            "Ratios of variances near 1 are within what so many runs can tell.",
        ),
        "Points chosen by a criterion": Why(
            '"More intelligent sampling" of coupling points is better than random '
            "rows.",
            "With k-means centres the error is 0 to 4 % lower, on two of four cases by "
            "more than two standard errors.",
            "On four generated sets it is two percent lower. The table has five ways of "
            "choosing points.",
        ),
    },
)
