"""chen-ranks: mean ranks and Friedman tests over data sets (Tables 8 and 9)."""

from __future__ import annotations

import numpy as np

from committee.compare import Comparison, compare
from studies import chen_classification, chen_regression
from studies.chen import NAMES, RANKED, mean_scores, ranked_runs
from studies.claims import SHARES, Claim, by_share, enough, undecided
from studies.printed import figure as printed_figure
from studies.study import BOTH, Entry, Results, Study, Table, Why

#: The ranks that the printed Tables 3 and 6 have.
PRINTED = "printed scores"
#: Lines of Tables 8 and 9: whose errors are ranked.
LINES = {
    f"regression-{ensemble}": (chen_regression.TREES, ensemble)
    for ensemble in chen_regression.TREES.ensembles
} | {
    ensemble: (chen_classification.TREES, ensemble)
    for ensemble in chen_classification.TREES.ensembles
}

Comparisons = dict[tuple[str, str], Comparison]


def comparisons(results: Results) -> Comparisons:
    """Return the comparison of EP with the others, by line and protocol."""
    found = {}
    for line, (trees, ensemble) in LINES.items():
        printed = [
            [trees.errors.figure(ensemble, name, method) for method in RANKED]
            for name in trees.sets
        ]
        scores = {PRINTED: np.array(printed, dtype=np.float64)}
        for protocol in BOTH:
            ours = results.of(trees.study)
            runs = ranked_runs(ours, ensemble, trees.sets, protocol)
            if all(map(enough, runs)):
                scores[protocol] = mean_scores(runs)
        for protocol, table in scores.items():
            found[line, protocol] = compare(table, control=0)
    return found


def report(results: Results) -> list[Table | Claim]:
    """Return Tables 8 and 9 from the printed scores and from ours."""
    found = comparisons(results)
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
        _same_digits("Table 8 follows from the printed Tables 3 and 6.", ranks),
        _same_digits("Table 9 follows from the printed Tables 3 and 6.", tests),
        *(_best_rank(found, protocol) for protocol in (PRINTED, *BOTH)),
    ]


def _ranks(found: Comparisons) -> list[Entry]:
    return [
        _entry("chen_table8_mean_rank", line, NAMES[method], method, protocol, rank)
        for (line, protocol), comparison in found.items()
        for method, rank in zip(RANKED, comparison.mean_ranks.values(), strict=True)
    ]


def _tests(found: Comparisons) -> list[Entry]:
    entries = []
    for (line, protocol), comparison in found.items():
        gaps = comparison.differences.values()
        numbers = {
            "p": ("friedman_p", comparison.iman_davenport_p),
            "CD": ("cd_0.10", comparison.critical_difference),
        } | {
            f"{NAMES[method]} - EP": (f"{method}_minus_ep", gap)
            for method, gap in zip(RANKED[1:], gaps, strict=True)
        }
        entries += [
            _entry("chen_table9_friedman", line, label, column, protocol, number)
            for label, (column, number) in numbers.items()
        ]
    return entries


def _entry(
    table: str, line: str, label: str, column: str, protocol: str, number: float
) -> Entry:
    printed = printed_figure(table, column, study=line)
    return Entry(line, label, protocol, np.array([number]), printed)


def _same_digits(text: str, table: Table) -> Claim:
    """Return the claim that printed scores give the printed figures."""
    # Ranks and their rounded differences may be off by one in the last digit.
    digit = {"p": 0.5e-3, "CD": 0.5e-2}
    close = {
        f"{e.line} {e.column}": abs(e.difference) < digit.get(e.column, 1.0001e-4)
        for e in table.entries
        if e.protocol == PRINTED
    }
    off = [place for place, same in close.items() if not same]
    found = f"{len(close) - len(off)} of {len(close)} figures"
    found += f"; not {', '.join(off)}" if off else ""
    rule = f"the same to one unit of the last printed digit {SHARES}"
    return Claim(text, rule, PRINTED, found, by_share(close.values()))


def _best_rank(found: Comparisons, protocol: str) -> Claim:
    """Return the claim that EP has the best mean rank everywhere."""
    ranks = [
        list(c.mean_ranks.values()) for (_, p), c in found.items() if p == protocol
    ]
    first = [line[0] == min(line) for line in ranks]
    text = "EP has the best mean rank of EP, ARD, EM and the unpruned ensemble."
    rule = f"the best {SHARES}"
    if len(first) < len(LINES):
        return undecided(text, rule, protocol)
    counted = f"in {sum(first)} of {len(first)} lines"
    return Claim(text, rule, protocol, counted, by_share(first))


STUDY = Study(
    name="chen-ranks",
    title="Mean ranks over data sets",
    reruns="Chen, Tino and Yao, Tables 8 and 9",
    cells=(),
    run=lambda job: {},  # never called, as there are no cells
    report=report,
    setup=(
        "EP, ARD, EM and the unpruned ensemble are ranked on each data set, by the "
        "errors printed in Tables 3 and 6, and by ours from chen-regression and "
        "chen-classification; control EP, alpha 0.10."
    ),
    protocols=(PRINTED, *BOTH),
    why={
        "follows from the printed Tables 3 and 6": Why(
            "Tables 8 and 9 follow from Tables 3 and 6.",
            "All figures but one: the printed rank of EM for regression forests cannot "
            "be a mean of ranks over seven sets.",
            "The row sums to 10.03 instead of 10.",
        ),
        "EP has the best mean rank": Why(
            "EP has the best mean rank in all five lines.",
            "From the printed errors yes, from ours no, because the errors differ.",
        ),
    },
)
