"""chen-ranks: mean ranks and Friedman tests over data sets (Tables 8 and 9)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from committee.compare import Comparison, compare
from committee.studies import chen_classification, chen_regression
from committee.studies.chen import NAMES, RANKED, mean_scores
from committee.studies.printed import figure as printed_figure
from committee.studies.study import (
    HELD_OUT,
    PAPER,
    Claim,
    Entry,
    Job,
    Outcome,
    Shelf,
    Study,
    Table,
)
from committee.studies.verdicts import SHARES, by_share, undecided

#: The ranks that the printed Tables 3 and 6 have.
PRINTED = "printed scores"


class Line(NamedTuple):
    """A line of Tables 8 and 9: whose scores are ranked."""

    name: str
    study: str
    ensemble: str
    sets: tuple[str, ...]
    table: str
    column: str


def _lines() -> list[Line]:
    regression, classification = chen_regression, chen_classification
    return [
        Line(f"regression-{e}", regression.STUDY.name, e, regression.SETS,
             *regression.ERRORS)
        for e in regression.ENSEMBLES
    ] + [
        Line(e, classification.STUDY.name, e, tuple(classification.SETS),
             *classification.ERRORS)
        for e in classification.ENSEMBLES
    ]  # fmt: skip


LINES = _lines()


def run(job: Job) -> Outcome:
    """Refuse: there is nothing to run."""
    raise ValueError(f"{job.study} is made of the results of other studies.")


def comparisons(shelf: Shelf) -> dict[tuple[str, str], Comparison]:
    """Return the comparison of EP with the others, by line and protocol."""
    found = {}
    for line in LINES:
        scores = {PRINTED: list(_printed_scores(line))}
        for protocol in (PAPER, HELD_OUT):
            ours = mean_scores(shelf(line.study), line.ensemble, line.sets, protocol)
            if len(ours) == len(line.sets):
                scores[protocol] = list(ours.values())
        for protocol, table in scores.items():
            found[line.name, protocol] = compare(np.array(table), control=0)
    return found


def _printed_scores(line: Line) -> Iterable[list[float]]:
    for name in line.sets:
        where = {"ensemble": line.ensemble, "dataset": name}
        yield [
            printed_figure(line.table, line.column, **where, method=m) or np.nan
            for m in RANKED
        ]


def report(shelf: Shelf) -> list[Table | Claim]:
    """Return Tables 8 and 9 from the printed scores and from ours."""
    found = comparisons(shelf)
    ranks = Table("Table 8: mean ranks", _ranks(found), 4)
    tests = Table(
        "Table 9: p-value of Iman and Davenport, critical difference, differences to EP",
        _tests(found),
        4,
        "The column that the paper heads Friedman holds p-values of Iman and Davenport.",
    )
    return [
        ranks,
        tests,
        same_digits("Table 8 follows from the printed Tables 3 and 6.", ranks, 4),
        same_digits("Table 9 follows from the printed Tables 3 and 6.", tests, 3),
        *(best_rank(found, protocol) for protocol in (PRINTED, PAPER, HELD_OUT)),
    ]


def _ranks(found: dict[tuple[str, str], Comparison]) -> list[Entry]:
    return [
        _entry("chen_table8_mean_rank", name, NAMES[method], method, protocol, rank)
        for (name, protocol), comparison in found.items()
        for method, rank in zip(RANKED, comparison.mean_ranks.values(), strict=True)
    ]


def _tests(found: dict[tuple[str, str], Comparison]) -> list[Entry]:
    entries = []
    for (name, protocol), comparison in found.items():
        numbers = {
            "p": ("friedman_p", comparison.iman_davenport_p),
            "CD": ("cd_0.10", comparison.critical_difference),
        }
        for method, gap in zip(
            RANKED[1:], comparison.differences.values(), strict=True
        ):
            numbers[f"{NAMES[method]} - EP"] = (f"{method}_minus_ep", gap)
        entries += [
            _entry("chen_table9_friedman", name, label, column, protocol, number)
            for label, (column, number) in numbers.items()
        ]
    return entries


def _entry(
    table: str, line: str, label: str, column: str, protocol: str, number: float
) -> Entry:
    shown = printed_figure(table, column, study=line)
    return Entry(line, label, protocol, np.array([number]), shown)


def same_digits(text: str, table: Table, digits: int) -> Claim:
    """Return the claim that printed scores give the printed figures.

    Differences of rounded ranks may be off by one in the last digit, and the critical
    difference has two decimals.
    """
    filled = [e for e in table.entries if e.protocol == PRINTED]
    close = sum(abs(e.difference) < _last_digit(e, digits) for e in filled)
    off = [f"{e.line} {e.column}" for e in filled
           if abs(e.difference) >= _last_digit(e, digits)]  # fmt: skip
    said = f"{close} of {len(filled)} figures" + (
        f"; not {', '.join(off)}" if off else ""
    )
    rule = f"the same to one unit of the last printed digit {SHARES}"
    return Claim(text, rule, PRINTED, said, by_share(close, len(filled)))


def _last_digit(entry: Entry, digits: int) -> float:
    decimals = {"CD": 2, "p": 3}.get(entry.column, 4 if digits == 3 else digits)
    return (
        1.0001 * 10.0**-decimals
        if entry.column not in ("CD", "p")
        else 0.5 * 10.0**-decimals
    )


def best_rank(found: dict[tuple[str, str], Comparison], protocol: str) -> Claim:
    """Return the claim that EP has the best mean rank everywhere."""
    firsts = {
        name: min(c.mean_ranks.values()) == c.mean_ranks[0]
        for (name, key), c in found.items()
        if key == protocol
    }
    text = "EP has the best mean rank of EP, ARD, EM and the unpruned ensemble."
    rule = f"the best {SHARES}"
    if len(firsts) < len(LINES):
        return undecided(text, rule, protocol)
    return Claim(
        text,
        rule,
        protocol,
        f"in {sum(firsts.values())} of {len(firsts)} lines",
        by_share(sum(firsts.values()), len(firsts)),
    )


def figure(shelf: Shelf, data: str | None) -> Any:
    """Draw a critical difference diagram for each line, from our runs where there are."""
    from matplotlib.figure import Figure

    from committee.displays import CriticalDifferenceDisplay

    found = comparisons(shelf)
    drawn = Figure(figsize=(7, 9), layout="constrained")
    for ax, line in zip(drawn.subplots(len(LINES), 1), LINES, strict=True):
        protocol = PAPER if (line.name, PAPER) in found else PRINTED
        comparison = found[line.name, protocol]
        CriticalDifferenceDisplay(
            list(comparison.mean_ranks.values()),
            comparison.critical_difference,
            names=[NAMES[m] for m in RANKED],
            control=0,
        ).plot(ax)
        ax.set_title(f"{line.name}, {protocol}", fontsize="small")
    return drawn


STUDY = Study(
    name="chen-ranks",
    title="Mean ranks over data sets",
    reruns="Chen, Tino and Yao, Tables 8 and 9",
    cells=(),
    run=run,
    report=report,
    figure=figure,
    setup=(
        "EP, ARD, EM and the unpruned ensemble are ranked on each data set, by the "
        "errors printed in Tables 3 and 6, and by ours from chen-regression and "
        "chen-classification; control EP, alpha 0.10."
    ),
    protocols=(PRINTED, PAPER, HELD_OUT),
    why=(
        "Why not: the printed mean rank of EM for random forests in regression cannot "
        "be a mean of ranks over seven sets (the row sums to 10.03 instead of 10); "
        "ours differ because the errors do, see the two studies."
    ),
)
