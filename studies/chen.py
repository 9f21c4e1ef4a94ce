"""Pruned trees on many data sets, as in both large studies of Chen, Tino and Yao."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.compare import compare
from studies.claims import (
    SHARES,
    Claim,
    Verdict,
    by_share,
    decide,
    lower_on_most,
    ratio,
    standard_error,
)
from studies.printed import figure as printed_figure
from studies.study import BOTH, PAPER, Entry, Results, Table
from studies.votes import SIZES

NAMES = {
    "ep": "EP", "ard": "ARD", "em": "EM", "kappa": "Kappa", "cp": "CP", "ls": "LS",
    "random": "Random", "unpruned": "Unpruned", "mcmc": "MCMC",
    "ep-printed": "EP as printed",
}  # fmt: skip
#: The methods of Tables 8 and 9; the first is the control.
RANKED = ("ep", "ard", "em", "unpruned")
#: Methods that choose the size by themselves.
WEIGHED = ("ep", "ep-printed", "ard", "em", "ls")
#: Runs behind a printed standard deviation.
PRINTED_RUNS = 100
#: Names of data sets in the table of seconds of regression.
_SHORT = {"friedman": "fried", "polynomial": "poly"}


def in_print(method: str) -> str:
    """Return the name of a method in the paper's tables: there is one EP."""
    return method.removesuffix("-printed")


@dataclass(frozen=True)
class Printed:
    """A table of the paper: its title, its file and column, and the number of ours."""

    title: str
    file: str
    column: str
    number: str
    methods: tuple[str, ...]
    digits: int

    def figure(
        self, ensemble: str, name: str, method: str, column: str = ""
    ) -> float | None:
        """Return what is printed for a method on a data set."""
        dataset = _SHORT.get(name, name) if self.number == "seconds" else name
        where = {"ensemble": ensemble, "dataset": dataset, "method": in_print(method)}
        return printed_figure(self.file, column or self.column, **where)

    def table(
        self, results: Results, ensemble: str, sets: Iterable[str], *protocols: str
    ) -> Table:
        """Return ours beside the printed ones."""
        places = [
            Entry(
                name,
                NAMES[method],
                protocol,
                results.values(
                    protocol, f"{ensemble}/{name}", f"{method}.{self.number}"
                ),
                self.figure(ensemble, name, method),
                self.figure(ensemble, name, method, "sd"),
            )
            for name in sets
            for method in self.methods
            for protocol in protocols
        ]
        return Table(self.title.format(ensemble), places, self.digits)

    def wins(self, ensemble: str, sets: Iterable[str], rival: str) -> tuple[int, int]:
        """Return how often EP has the lower printed mean, and the higher one."""
        gaps = [
            (self.figure(ensemble, name, "ep") or np.nan)
            - (self.figure(ensemble, name, rival) or np.nan)
            for name in sets
        ]
        return sum(gap < 0 for gap in gaps), sum(gap > 0 for gap in gaps)


@dataclass(frozen=True)
class TreeStudy:
    """What a study compares: ensembles on data sets, and the printed tables.

    Attributes
    ----------
    study : str
    sets, ensembles : tuple of str
    errors, sizes, seconds : Printed
        Seconds are those of bagging.
    ranks : callable
        Returns for a kind of ensemble a claim on mean ranks, and whether ARD, EM and
        the unpruned ensemble are said to be significantly worse than EP.
    """

    study: str
    sets: tuple[str, ...]
    ensembles: tuple[str, ...]
    errors: Printed
    sizes: Printed
    seconds: Printed
    ranks: Callable[[str], tuple[str, tuple[bool, bool, bool]]]
    #: The figure of errors against sizes, and the orderings in it.
    curves: str
    orders: tuple[str, ...]

    @property
    def cells(self) -> tuple[str, ...]:
        """A cell is a kind of ensemble on a data set."""
        return tuple(f"{e}/{name}" for e in self.ensembles for name in self.sets)

    def report(self, results: Results) -> list[Table | Claim]:
        """Return tables of errors, sizes and seconds, and the claims about them."""
        parts: list[Table | Claim] = []
        for ensemble in self.ensembles:
            errors = self.errors.table(results, ensemble, self.sets, *BOTH)
            sizes = self.sizes.table(results, ensemble, self.sets, *BOTH)
            parts += [errors, sizes, *_same_tables(ensemble, errors, sizes)]
            for protocol in BOTH:
                parts += self._wins(results, ensemble, protocol)
                text, worse = self.ranks(ensemble)
                parts.append(
                    _ranked(text, results, ensemble, self.sets, protocol, worse)
                )
        seconds = self.seconds.table(results, "bagging", self.sets, PAPER)
        note = "Printed: MATLAB on a processor of 2006."
        timings = Table(seconds.title, seconds.entries, self.seconds.digits, note)
        return [*parts, timings, _slower(timings), self._curves(results)]

    def _wins(self, results: Results, ensemble: str, protocol: str) -> list[Claim]:
        """Return the claims that EP has the lower error, and keeps fewer members."""

        def pairs(rival: str, number: str) -> list[tuple[FloatArray, FloatArray]]:
            names = f"ep.{number}", f"{rival}.{number}"
            cells = [f"{ensemble}/{name}" for name in self.sets]
            return [results.pair(protocol, cell, *names) for cell in cells]

        claims = [
            lower_on_most(
                f"{ensemble}: EP has a lower error than {NAMES[rival]}.",
                protocol,
                pairs(rival, "error"),
                self.errors.wins(ensemble, self.sets, rival),
            )
            for rival in self.errors.methods
            if in_print(rival) != "ep"
        ]
        for rival in ("em", "ard"):
            printed = self.sizes.wins(ensemble, self.sets, rival)
            if printed[0] > printed[1]:  # of boosting the paper has the opposite
                text = f"{ensemble}: EP keeps fewer members than {NAMES[rival]}."
                claims.append(
                    lower_on_most(text, protocol, pairs(rival, "size"), printed)
                )
        return claims

    def _curves(self, results: Results) -> Table:
        """Return means over the sets of the unpruned error over that of each method."""
        places = []
        for ensemble in self.ensembles:
            cells = {name: f"{ensemble}/{name}" for name in self.sets}
            for method in (*self.orders, *WEIGHED):
                line = f"{ensemble}, {NAMES[method]}"
                if method in self.orders:
                    ratios = _relative(results, cells.values(), f"{method}.curve")
                    columns = [f"{100 * size:.0f} %" for size in SIZES]
                    points: dict[str, tuple[Any, float | None]] = {
                        column: (ratios[k : k + 1], None)
                        for k, column in enumerate(columns[: len(ratios)])
                    }
                else:
                    printed = self._in_print(ensemble, method)
                    ratios = _relative(results, cells.values(), f"{method}.error")
                    sizes = [
                        results.values(PAPER, cell, f"{method}.size")
                        for cell in cells.values()
                    ]
                    means = [runs.mean() for runs in sizes if len(runs)]
                    size = np.array([np.mean(means)] if means else [])
                    points = {
                        "members": (size, printed[0]),
                        "ratio": (ratios, printed[1]),
                    }
                places += [
                    Entry(line, column, PAPER, values, printed_value)
                    for column, (values, printed_value) in points.items()
                ]
        title = (
            f"{self.curves}: error of all members over the error, mean over the sets"
        )
        return Table(title, places, 3, "At a share of the members, or at their number.")

    def _in_print(
        self, ensemble: str, method: str
    ) -> tuple[float | None, float | None]:
        """Return the printed size and ratio, means over the sets that have both."""
        found = [
            (
                self.sizes.figure(ensemble, data, method),
                self.errors.figure(ensemble, data, "unpruned"),
                self.errors.figure(ensemble, data, method),
            )
            for data in self.sets
        ]
        known = [(size, u / e) for size, u, e in found if size and u and e]
        if not known:
            return None, None
        size, ratio = np.mean(known, axis=0)
        return float(size), float(ratio)


def _same_tables(ensemble: str, errors: Table, sizes: Table) -> list[Claim]:
    """Return whether errors and sizes of one kind of ensemble are the printed ones."""
    claims = [
        _same_figures(
            f"{ensemble}: the errors of {column} are those of the table.",
            errors,
            column,
        )
        for column in ("Unpruned", "EP", "EP as printed")
    ]
    return claims + [
        _same_figures(
            f"{ensemble}: {column} keeps as many members as in the table.",
            sizes,
            column,
        )
        for column in ("EP", "EP as printed")
    ]


def _same_figures(text: str, table: Table, column: str) -> Claim:
    """Return the claim that our means in a column are the printed ones."""
    places = [
        e
        for e in table.entries
        if (e.column, e.protocol) == (column, PAPER) and e.printed is not None
    ]

    def judge() -> tuple[str, Verdict]:
        close = [agrees(e) for e in places]
        gaps = [100 * e.difference / e.printed for e in places if e.printed]
        typical = f"; median difference {np.median(gaps):+.0f} %" if gaps else ""
        return f"{sum(close)} of {len(close)} places{typical}", by_share(close)

    rule = f"within two joint standard errors {SHARES}"
    return decide(text, rule, PAPER, [e.values for e in places], judge)


def agrees(entry: Entry) -> bool:
    """Tell whether ours is within two joint standard errors of the printed mean.

    |m - m'| <= 2 sqrt(s^2 / n + s'^2 / 100)
    """
    printed = (entry.printed_sd or 0.0) / np.sqrt(PRINTED_RUNS)
    joint = np.hypot(standard_error(entry.values), printed)
    return bool(abs(entry.difference) <= 2 * joint)


def ranked_runs(
    results: Results, ensemble: str, sets: Iterable[str], protocol: str
) -> list[list[FloatArray]]:
    """Return for each set the errors of EP, ARD, EM and the unpruned ensemble."""
    return [
        [
            results.values(protocol, f"{ensemble}/{name}", f"{method}.error")
            for method in RANKED
        ]
        for name in sets
    ]


def mean_scores(runs: list[list[FloatArray]]) -> FloatArray:
    """Return mean errors, (sets, methods)."""
    return np.array([[values.mean() for values in line] for line in runs])


def _ranked(
    text: str,
    results: Results,
    ensemble: str,
    sets: Sequence[str],
    protocol: str,
    worse: tuple[bool, bool, bool],
) -> Claim:
    """Return a claim of section 4.4 on mean ranks; `worse` as in `TreeStudy.ranks`."""
    runs = ranked_runs(results, ensemble, sets, protocol)

    def judge() -> tuple[str, Verdict]:
        compared = compare(mean_scores(runs), control=0)
        cd = compared.critical_difference
        gaps = list(zip(compared.differences.values(), worse, strict=True))
        are_worse = [gap >= cd for gap, is_worse in gaps if is_worse]
        level = [abs(gap) < cd for gap, is_worse in gaps if not is_worse]
        # A difference that is not significant is no support: few sets have none.
        verdict: Verdict = "partly" if any(are_worse) else "not"
        if all(are_worse) and all(level):
            verdict = "reproduced"
        ranks = ", ".join(
            f"{NAMES[method]} {rank:.2f}"
            for method, rank in zip(RANKED, compared.mean_ranks.values(), strict=True)
        )
        return f"mean ranks on {len(runs)} sets: {ranks}; CD {cd:.2f}", verdict

    rule = (
        "Bonferroni-Dunn on mean ranks, alpha 0.10; partly where one of the said "
        "differences is significant, but not all parts hold"
    )
    return decide(text, rule, protocol, [r for line in runs for r in line], judge)


def _slower(timings: Table) -> Claim:
    """Return the claim that EP takes more seconds than each of the others."""
    means = {(e.line, e.column): e.mean for e in timings.entries}
    more = [
        means[line, "EP"] > mean
        for (line, column), mean in means.items()
        if column != "EP"
    ]
    others = [column for column in dict.fromkeys(c for _, c in means) if column != "EP"]
    text = (
        f"EP takes more time to prune than {', '.join(others[:-1])} and {others[-1]}."
    )
    rule = f"EP's mean seconds are more than another method's {SHARES}"
    found = f"in {sum(more)} of {len(more)} places"
    runs = [e.values for e in timings.entries]
    return decide(text, rule, PAPER, runs, lambda: (found, by_share(more)))


def _relative(results: Results, cells: Iterable[str], name: str) -> FloatArray:
    """Return the mean over sets of the mean unpruned error over a mean error, (points,).

    A set without runs is left out, and where a method makes no error there is no ratio.
    """
    found = []
    for cell in cells:
        errors = results.values(PAPER, cell, name)
        if len(errors):
            unpruned = results.values(PAPER, cell, "unpruned.error").mean()
            found.append(np.atleast_1d(ratio(unpruned, errors.mean(axis=0))))
    if not found:
        return np.empty(0)
    return np.ma.filled(np.ma.masked_invalid(found).mean(axis=0), np.nan)
