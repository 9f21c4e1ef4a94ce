"""A comparison as rows, a printed table, a data frame."""

from __future__ import annotations

from collections.abc import Hashable
from typing import TYPE_CHECKING, Any

from committee._format import text_table

if TYPE_CHECKING:
    from committee.compare.comparison import Comparison


def rows(result: Comparison) -> dict[Hashable, dict[str, Any]]:
    """Return one row for each method, the best first."""
    make = _alone if result.control is None else _against_control
    best_first = sorted(result.methods, key=result.mean_ranks.__getitem__)
    return {
        method: {"mean rank": result.mean_ranks[method], **make(result, method)}
        for method in best_first
    }


def _against_control(result: Comparison, method: Hashable) -> dict[str, Any]:
    """Return how a method stands to the control; the control itself has no entries."""
    if method == result.control:
        return {}
    difference = result.differences[method]
    verdict = "worse" if difference > 0 else "better"
    row = {
        f"minus {result.control}": difference,
        "verdict": verdict if result.significant[method] else "unclear",
        "Holm p": result.holm_p[method],
        "signed-rank p": result.signed_rank_p[method],
        "w-l-t": str(result.by_mean[method]),
    }
    if result.by_ttest is not None:
        row["by t-test"] = str(result.by_ttest[method])
    return row


def _alone(result: Comparison, method: Hashable) -> dict[str, Any]:
    """Return the methods whose ranks differ from that of this one."""
    rank = result.mean_ranks
    others = [
        b if method == a else a
        for (a, b), significant in result.significant.items()
        if significant and method in (a, b)
    ]
    return {
        "better than": ", ".join(str(m) for m in others if rank[m] > rank[method]),
        "worse than": ", ".join(str(m) for m in others if rank[m] < rank[method]),
    }


def text(result: Comparison) -> str:
    """Return the tests as sentences, then the rows in columns."""
    direction = "lowest" if result.lower_is_better else "highest"
    found = result.iman_davenport_p < result.alpha
    verdict = "the methods differ" if found else "no difference was found"
    which, test = "of any two mean ranks", "Nemenyi"
    if result.control is not None:
        which, test = f"to {result.control}", "Bonferroni-Dunn"
    return (
        f"{len(result.methods)} methods on {len(result.datasets)} data sets; "
        f"rank 1 has the {direction} score.\n"
        f"Friedman p = {result.friedman_p:.2g}, Iman-Davenport p = "
        f"{result.iman_davenport_p:.2g}: {verdict} (alpha = {result.alpha:g}).\n"
        f"Critical difference {which}: {result.critical_difference:.2f} ({test}).\n\n"
    ) + _columns(rows(result))


def _columns(table: dict[Hashable, dict[str, Any]]) -> str:
    """Lay rows out: names to the left, the rest to the right."""
    header = max(table.values(), key=len)
    cells = [["method", *header]]
    for method, row in table.items():
        cells.append([str(method), *(_cell(row.get(name), name) for name in header)])
    return text_table(cells)


def _cell(value: Any, name: str) -> str:
    """Return p-values to three digits, ranks to two decimals, the rest as it is."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:#.3g}" if name.endswith(" p") else f"{value:.2f}"
    return str(value)


def frame(result: Comparison) -> Any:
    """Return the rows as a pandas data frame, methods as the index."""
    try:
        import pandas as pd
    except ImportError:
        raise ImportError(
            "to_frame needs pandas: pip install pandas; print(comparison) does without."
        ) from None
    table = rows(result)
    return pd.DataFrame(list(table.values()), index=pd.Index(table, name="method"))
