"""The verdict on top of the page: the main results in a few sentences."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._format import NumberFormat, count, percent
from committee.pruning.summary import summary_of
from committee.reporting.evaluation import ComparedError, EvaluatedMembers
from committee.reporting.page_text import MemberTable

#: A difference of more standard errors than this is called clear.
_CLEAR = 2.0


def verdict(
    core: Any, evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, str]]:
    """Return sentences, each with a kind: "good", "plain" or "warning"."""
    own, after = evaluated.comparisons, []
    if not own["constant"].gap > 0:
        after.append(
            f"It is not better than always predicting {_constant_name(evaluated)}: "
            "members do not help on these rows."
        )
    if len(table.kept) > 1 and _direction(own["best"]) == "less":
        after.append(
            f"One member alone, {table.names[evaluated.best]}, has a smaller error on "
            "these rows, but it was picked on them."
        )
    before = "Members were trained on these rows: errors on this page are too small. "
    before += "Make the report with rows that no member was trained on."
    return [
        *([_sentence("warning", before)] if evaluated.is_training else []),
        _main(core, evaluated, table),
        *_costs(core),
        *(_sentence("warning", text) for text in after),
    ]


def _main(core: Any, evaluated: EvaluatedMembers, table: MemberTable) -> dict[str, str]:
    """Return the error, compared with one other prediction."""
    own = evaluated.comparisons["committee"]
    written = NumberFormat.of(evaluated.measure, own.error)
    kept, rows = len(table.kept), count(len(evaluated.y), "row")
    has = f"{kept:,} of {count(table.n_before, 'member')}"
    if kept == table.n_before:
        has = "The one member" if kept == 1 else f"All {count(kept, 'member')}"
    verb = "has" if kept == 1 else "have"
    text = f"{has} {verb} an {evaluated.measure} of {written.text(own.error)}"
    text += f" on {rows}"
    for key, name in (
        ("before", f"the ensemble of {table.n_before:,} before pruning"),
        ("equal", "equal votes of the same members"),
    ):
        if key not in evaluated.comparisons:
            continue
        if key == "equal" and (hasattr(core, "path_") or _is_average(evaluated)):
            continue
        other = evaluated.comparisons[key]
        return _compared(text, name, other, written)
    summary = summary_of(core)
    if summary is not None:
        shown = NumberFormat.of(summary.measure, summary.error_after)
        before, after = map(shown.text, (summary.error_before, summary.error_after))
        gap = shown.change(summary.difference, summary.difference_se)
        return _sentence(
            "plain",
            f"{text}. The ensemble before pruning is not available. Pruning changed the "
            f"{summary.error_name} from {before} to {after} ({gap}).",
        )
    if hasattr(core, "path_"):
        return _sentence(
            "plain",
            f"{text}. The ensemble before pruning is not available for comparison.",
        )
    best = evaluated.comparisons["best"]
    if kept > 1:
        name = "the best of them alone, picked on these rows"
        return _compared(text, name, best, written)
    return _sentence("plain", f"{text}.")


def _compared(
    text: str, name: str, other: ComparedError, written: NumberFormat
) -> dict[str, str]:
    """Return the sentence of a comparison with another prediction."""
    error = written.text(other.error)
    if other.is_same:
        return _sentence("good", f"{text}, the same on every row as {name}.")
    if np.isnan(other.gap_se):
        return _sentence("plain", f"{text}, against {error} of {name}.")
    gap = written.change(-other.gap, other.gap_se)
    kind, found = {
        "none": ("good", "no clear difference"),
        "more": ("good", "clearly better"),
        "less": ("warning", "clearly worse"),
    }[_direction(other)]
    return _sentence(kind, f"{text}, {name} {error}: {found} ({gap}).")


def _direction(other: ComparedError) -> str:
    """Return "more" or "less" if the other error clearly differs, else "none"."""
    if np.isnan(other.gap_se) or abs(other.gap) <= _CLEAR * other.gap_se:
        return "none"
    return "more" if other.gap > 0 else "less"


def _is_average(evaluated: EvaluatedMembers) -> bool:
    """Return True if all members with a weight have equal weights."""
    w = evaluated.roster.weights
    return w is None or bool(np.ptp(w[w != 0]) == 0 if w.any() else True)


def _costs(core: Any) -> list[dict[str, str]]:
    """Return the share of bytes and time that is left after pruning."""
    summary = summary_of(core)
    if summary is None or np.isnan(summary.bytes_after / summary.bytes_before):
        return []
    size = percent(summary.bytes_after / summary.bytes_before)
    time = percent(summary.seconds_after / summary.seconds_before)
    return [
        _sentence(
            "plain",
            f"It takes {size} of the bytes and {time} of the time of all members.",
        )
    ]


def _constant_name(evaluated: EvaluatedMembers) -> str:
    if not evaluated.is_classifier:
        return "the mean of the targets"
    code = int(evaluated.answers["constant"].predicted[0])
    return f"{str(evaluated.roster.classes[code])!r}"


def _sentence(kind: str, text: str) -> dict[str, str]:
    return {"kind": kind, "text": text}
