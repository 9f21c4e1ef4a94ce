"""What the studies of Chen, Tino and Yao share: tables, and figures by size."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.compare import compare
from committee.studies.printed import figure as printed_figure
from committee.studies.study import PAPER, Claim, Entry, Results, Table, Verdict
from committee.studies.verdicts import (
    SHARES,
    by_share,
    enough,
    lower_on_most,
    same_figures,
    undecided,
)
from committee.studies.votes import SHARES as SIZES

NAMES = {
    "ep": "EP", "ard": "ARD", "em": "EM", "kappa": "Kappa", "cp": "CP", "ls": "LS",
    "random": "Random", "unpruned": "Unpruned", "mcmc": "MCMC",
}  # fmt: skip


def entries(
    results: Results,
    ensemble: str,
    sets: Iterable[str],
    methods: Sequence[str],
    number: str,
    *,
    protocols: Sequence[str],
    table: str,
    column: str,
) -> list[Entry]:
    """Return the places of a printed table with `ensemble`, `dataset`, `method`."""
    found = []
    for name in sets:
        for method in methods:
            where = {"ensemble": ensemble, "dataset": name, "method": method}
            for protocol in protocols:
                cell = f"{ensemble}/{name}"
                found.append(
                    Entry(
                        name,
                        NAMES[method],
                        protocol,
                        results.values(protocol, cell, f"{method}.{number}"),
                        printed_figure(table, column, **where),
                        printed_figure(table, "sd", **where),
                    )
                )
    return found


def seconds_table(
    title: str,
    results: Results,
    sets: Iterable[str],
    methods: Sequence[str],
    table: str,
    protocol: str,
) -> Table:
    """Return seconds beside the printed ones, which are those of bagging."""
    found = [
        Entry(
            name,
            NAMES[method],
            protocol,
            results.values(protocol, f"bagging/{name}", f"{method}.seconds"),
            printed_figure(
                table, "seconds", dataset=_short(table, name), method=method
            ),
        )
        for name in sets
        for method in methods
    ]
    return Table(title, found, 3, "Printed: MATLAB on a processor of 2006.")


def _short(table: str, name: str) -> str:
    """Return the name of a data set in the table of seconds of regression."""
    if "regression" not in table:
        return name
    return {"friedman": "fried", "polynomial": "poly"}.get(name, name)


def wins(
    results: Results,
    ensemble: str,
    sets: Iterable[str],
    methods: Sequence[str],
    protocol: str,
    errors: tuple[str, str],
    sizes: tuple[str, str],
) -> list[Claim]:
    """Return the claims that EP has the lower error, and keeps fewer members.

    Parameters
    ----------
    results : Results
    ensemble : str
    sets, methods : sequence of str
    protocol : str
    errors, sizes : tuple of str
        The printed table and its column.
    """

    def runs(method: str, number: str) -> list[FloatArray]:
        return [
            results.values(protocol, f"{ensemble}/{name}", f"{method}.{number}")
            for name in sets
        ]

    def pairs(rival: str, number: str) -> list[tuple[FloatArray, FloatArray]]:
        return list(zip(runs("ep", number), runs(rival, number), strict=True))

    claims = [
        lower_on_most(
            f"{ensemble}: EP has a lower error than {NAMES[rival]}.",
            protocol,
            pairs(rival, "error"),
            _printed_wins(ensemble, sets, rival, *errors),
        )
        for rival in methods
        if rival != "ep"
    ]
    for rival in ("em", "ard"):
        printed = _printed_wins(ensemble, sets, rival, *sizes)
        if printed[0] > printed[1]:  # of boosting the paper has it the other way round
            text = f"{ensemble}: EP keeps fewer members than {NAMES[rival]}."
            claims.append(lower_on_most(text, protocol, pairs(rival, "size"), printed))
    return claims


def _printed_wins(
    ensemble: str, sets: Iterable[str], rival: str, table: str, column: str
) -> tuple[int, int]:
    """Return how often EP has the lower printed mean, and the higher one."""

    def mean(name: str, method: str) -> float:
        where = {"ensemble": ensemble, "dataset": name, "method": method}
        return printed_figure(table, column, **where) or np.nan

    gaps = [mean(name, "ep") - mean(name, rival) for name in sets]
    return sum(g < 0 for g in gaps), sum(g > 0 for g in gaps)


#: The methods of Tables 8 and 9; the first is the control.
RANKED = ("ep", "ard", "em", "unpruned")


def mean_scores(
    results: Results, ensemble: str, sets: Iterable[str], protocol: str
) -> dict[str, list[float]]:
    """Return mean errors of EP, ARD, EM and the unpruned ensemble on each set."""
    scores = {}
    for name in sets:
        runs = [
            results.values(protocol, f"{ensemble}/{name}", f"{method}.error")
            for method in RANKED
        ]
        if enough(runs):
            scores[name] = [float(values.mean()) for values in runs]
    return scores


def ranked(
    text: str,
    results: Results,
    ensemble: str,
    sets: Iterable[str],
    protocol: str,
    worse: tuple[bool, bool, bool],
) -> Claim:
    """Return a claim of section 4.4 on mean ranks.

    Parameters
    ----------
    text : str
    results : Results
    ensemble : str
    sets : iterable of str
    protocol : str
    worse : tuple of bool
        Whether ARD, EM and the unpruned ensemble are significantly worse than EP; the
        others are not told apart from it.
    """
    rule = (
        "Bonferroni-Dunn on mean ranks, alpha 0.10; partly where one of the said "
        "differences is significant, but not all parts hold"
    )
    sets = tuple(sets)
    scores = mean_scores(results, ensemble, sets, protocol)
    if len(scores) < len(sets):
        return undecided(text, rule, protocol)
    found = compare(np.array(list(scores.values())), control=0)
    cd = found.critical_difference
    gaps = list(zip(found.differences.values(), worse, strict=True))
    said_worse = [gap >= cd for gap, is_worse in gaps if is_worse]
    level = [abs(gap) < cd for gap, is_worse in gaps if not is_worse]
    # That nothing is told apart is no support: few sets tell nothing apart.
    verdict: Verdict = "partly" if any(said_worse) else "not"
    if all(said_worse) and all(level):
        verdict = "reproduced"
    said = ", ".join(
        f"{NAMES[method]} {rank:.2f}"
        for method, rank in zip(RANKED, found.mean_ranks.values(), strict=True)
    )
    ranks = f"mean ranks on {len(scores)} sets: {said}; CD {cd:.2f}"
    return Claim(text, rule, protocol, ranks, verdict)


def faster(text: str, protocol: str, timings: Table) -> Claim:
    """Return the claim that EP takes more seconds than each of the others."""
    rule = f"EP's mean seconds are more than another method's {SHARES}"
    if not enough(e.values for e in timings.entries):
        return undecided(text, rule, protocol)
    means = {(e.line, e.column): e.mean for e in timings.entries}
    pairs = [
        means[line, "EP"] > mean
        for (line, column), mean in means.items()
        if column != "EP"
    ]
    return Claim(
        text,
        rule,
        protocol,
        f"in {sum(pairs)} of {len(pairs)} places",
        by_share(sum(pairs), len(pairs)),
    )


def draw_sizes(
    results: Results,
    cells: Sequence[str],
    *,
    protocol: str,
    orders: Sequence[str],
    points: Sequence[str],
    ax: Any,
) -> None:
    """Draw the unpruned error over that of each method, against the size."""
    colours = {name: f"C{k}" for k, name in enumerate([*orders, *points])}
    for name in orders:
        lines = [relative(results, protocol, c, f"{name}.curve") for c in cells]
        lines = [line for line in lines if len(line)]
        if lines:
            x = 100 * np.array(SIZES)
            ax.plot(x, np.mean(lines, axis=0), color=colours[name], label=NAMES[name])
    for name in points:
        ratios = [relative(results, protocol, c, f"{name}.error") for c in cells]
        sizes = [results.values(protocol, c, f"{name}.size") for c in cells]
        kept = [values.mean() for values in sizes if len(values)]
        if kept:
            y = np.mean([ratio for ratio in ratios if ratio.ndim == 0])
            ax.plot(np.mean(kept), y, "o", color=colours[name], label=NAMES[name])
    ax.axhline(1.0, color="0.6", lw=0.8)
    ax.set_xlabel("members kept in %")
    ax.set_ylabel("unpruned error / error")
    ax.legend(frameon=False, fontsize="small")


def relative(results: Results, protocol: str, cell: str, name: str) -> FloatArray:
    """Return the mean unpruned error over the mean error, () or (points,)."""
    errors = results.values(protocol, cell, name)
    if not len(errors):
        return np.empty(0)
    whole = results.values(protocol, cell, "unpruned.error").mean()
    with np.errstate(divide="ignore"):
        ratio: FloatArray = np.asarray(whole / errors.mean(axis=0))
    return ratio


def same_tables(ensemble: str, errors: Table, sizes: Table) -> list[Claim]:
    """Return whether errors and sizes of one kind of ensemble are the printed ones."""
    claims = [
        same_figures(
            f"{ensemble}: the errors of {column} are those of the table.",
            [e for e in errors.entries if (e.column, e.protocol) == (column, PAPER)],
        )
        for column in ("Unpruned", "EP")
    ]
    text = f"{ensemble}: EP keeps as many members as in the table."
    kept = [e for e in sizes.entries if (e.column, e.protocol) == ("EP", PAPER)]
    return [*claims, same_figures(text, kept)]
