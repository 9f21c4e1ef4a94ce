"""The text of the page: headlines, tables, settings."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

import committee
from committee._format import (
    byte_size,
    count,
    duration,
    figures,
    percent,
)
from committee.pruning.summary import Summary, summary_of
from committee.reporting.evaluation import EvaluatedMembers
from committee.reporting.member_table import MemberTable
from committee.reporting.number_format import NumberFormat
from committee.reporting.verdict import same_by_rounding

#: Rows of the members' table, and names of columns that are listed.
_MOST_MEMBERS = 1000
_MOST_NAMES = 200
#: Letters of a constructor.
_LONGEST = 10_000


def headlines(
    core: Any, evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, str]]:
    """Return what a person wants to know at a glance."""
    kept, own = len(table.kept), evaluated.comparisons["committee"]
    written = NumberFormat.of(evaluated.measure, own.error)
    left_out = percent(1 - kept / table.n_before) if kept < table.n_before else "none"
    return [
        {
            "label": "members",
            "value": f"{kept:,} of {table.n_before:,}",
            "note": f"{left_out} left out",
        },
        {
            "label": f"{evaluated.measure} on {count(len(evaluated.y), 'row')}",
            "value": written.text(own.error),
            "note": f"95 % interval {written.interval(own.low, own.high)}",
        },
        _gain_card(core, evaluated, written),
        *_cost_cards(core, table),
    ]


def _cost_cards(core: Any, table: MemberTable) -> list[dict[str, str]]:
    """Return bytes and time, beside those of the ensemble before pruning."""
    summary, kept = summary_of(core), table.kept
    mine, all_ = (
        table.costs.total(kept),
        table.costs.total(np.arange(len(table.numbers))),
    )
    share, speed = "", "when up to 1,000 rows are predicted at once"
    slow, fast = table.seconds.sum(), table.seconds[kept].sum()
    if summary is not None:
        before, after = summary.bytes_before, summary.bytes_after
        slow, fast = summary.seconds_before, summary.seconds_after
        share = (
            f"the whole model: {percent(after / before)} of {byte_size(before)} before"
        )
    elif len(kept) < len(table.numbers):
        share = f"{percent(mine / all_)} of the {byte_size(all_)} of all"
    if share:
        speed = f"{figures(slow / fast)} times as fast as all members"
    return [
        {"label": "bytes of its members", "value": byte_size(mine), "note": share},
        {"label": "time to predict a row", "value": duration(fast), "note": speed},
    ]


def _gain_card(
    core: Any, evaluated: EvaluatedMembers, written: NumberFormat
) -> dict[str, str]:
    """Compare with the ensemble before pruning, or with equal votes."""
    summary = summary_of(core)
    if summary is not None:
        before, after = summary.error_before, summary.error_after
        how = "cross-fitted on" if summary.cross_fitted else "on"
        rows = f"{how} the {count(summary.n_rows, 'row')} it was pruned on"
        shown = NumberFormat.of(summary.measure, after)
        return {
            "label": f"{summary.measure} before and after pruning",
            "value": f"{shown.text(before)} → {shown.text(after)}",
            "note": f"{_pruning_gap(summary)}, {rows}",
        }
    equal = evaluated.comparisons["equal"]
    label = f"{evaluated.measure} against equal votes"
    if same_by_rounding(equal):
        return {"label": label, "value": "the same", "note": ""}
    known = not np.isnan(equal.gap_se)
    se = written.change(equal.gap_se, np.nan).removeprefix("+")
    return {
        "label": label,
        "value": written.change(-equal.gap, np.nan),
        "note": f"± {se}, the standard error by rows" if known else "",
    }


def _pruning_gap(s: Any) -> str:
    """Return what pruning cost, with its standard error."""
    if not s.difference and not s.difference_se:
        return "the same on every row"
    shown = NumberFormat.of(s.measure, s.error_after)
    return shown.change(s.difference, s.difference_se)


def comparison(evaluated: EvaluatedMembers, table: MemberTable) -> dict[str, Any]:
    """Return the committee beside other answers, all on the same rows.

    `columns` are names of scores, `lines` have a cell for each of them; the error has an
    interval and a gap as well.
    """
    names = {
        "committee": "this committee",
        "before": f"all {count(table.n_before, 'member')}, before pruning",
        "equal": f"equal votes of {count(len(table.kept), 'member')}",
        "best": f"best member, {table.names[evaluated.best]} (picked on these rows)",
        "constant": "the most frequent class, always"
        if evaluated.is_classifier
        else "the mean, always",
    }
    own = evaluated.scores["committee"]
    formats = {name: NumberFormat.of(name, score.value) for name, score in own.items()}
    columns = [name for name in own if name != evaluated.measure]
    written, lines = formats[evaluated.measure], []
    for key, scores in evaluated.scores.items():
        found = evaluated.comparisons[key]
        gap = written.change(found.gap, found.gap_se)
        lines.append(
            {
                "name": names[key],
                "error": written.text(found.error),
                "interval": written.interval(found.low, found.high),
                "gap": "the same" if same_by_rounding(found) else gap,
                "scores": [
                    formats[name].spread(scores[name].value, scores[name].se)
                    if name in scores
                    else "-"
                    for name in columns
                ],
            }
        )
    lines[0]["gap"] = ""
    return {"columns": columns, "lines": lines}


def pruning(core: Any) -> list[tuple[str, str, str, str]]:
    """Return what pruning cost and gained on its own rows, by lines."""
    s = summary_of(core)
    if s is None:
        return []
    shown = NumberFormat.of(s.measure, s.error_after)
    return [
        ("members", f"{s.n_members_before:,}", f"{s.n_members_after:,}", ""),
        *_refined(s),
        (
            f"{s.measure}, cross-fitted" if s.cross_fitted else s.measure,
            shown.text(s.error_before),
            shown.text(s.error_after),
            _pruning_gap(s),
        ),
        *_leave_one_out(core, s),
        (
            "bytes of the whole model",
            byte_size(s.bytes_before),
            byte_size(s.bytes_after),
            "",
        ),
        ("a row takes", duration(s.seconds_before), duration(s.seconds_after), ""),
        (
            "rows that change",
            "",
            percent(s.disagreement),
            f"below {percent(s.disagreement_upper)} at 95 %",
        ),
    ]


def _leave_one_out(core: Any, s: Any) -> list[tuple[str, str, str, str]]:
    """Return a line where the combiner has such an error."""
    if s.loo is None:
        return []
    text = NumberFormat.of(s.loo_measure, s.loo).text(s.loo)
    return [(f"leave-one-out {s.loo_measure}", "", text, core.path_.note)]


def _refined(s: Summary) -> list[tuple[str, str, str, str]]:
    """Return leaves and depth of refined trees, and the error of the same unrefined."""
    found = s.refinement
    if found is None:
        return []
    counts = {
        "leaves": (found.leaves_before, found.leaves_after),
        "deepest tree": (found.depth_before, found.depth_after),
    }
    lines = [
        (name, f"{before:,}", f"{after:,}", percent(after / before))
        for name, (before, after) in counts.items()
    ]
    plain = NumberFormat.of(s.measure, s.error_after).text(found.error_plain)
    return [*lines, (f"{s.measure} of as many trees, unrefined", "", plain, "")]


def members_table(
    evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, Any]]:
    """Return a line for each member, largest weights first."""
    order = np.argsort(-np.abs(table.weights), kind="stable")[:_MOST_MEMBERS]
    written = NumberFormat.of(evaluated.measure, float(evaluated.errors.min()))
    return [
        {
            "number": int(table.numbers[m]),
            "name": table.names[m],
            "kind": table.kinds[m],
            "weight": (float(table.weights[m]), figures(table.weights[m])),
            "error": (
                float(evaluated.errors[m]),
                written.text(evaluated.errors[m]),
            ),
            "bytes": (float(table.bytes[m]), byte_size(table.bytes[m])),
            "seconds": (float(table.seconds[m]), duration(table.seconds[m])),
        }
        for m in order
    ]


def settings(
    ensemble: Any, core: Any, evaluated: EvaluatedMembers, notes: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return what is needed to do it again, by lines."""
    now = datetime.datetime.now(datetime.UTC)
    combiner = getattr(core, "combiner_", None)
    lines = {
        **notes,
        "model": _written(ensemble),
        "combiner": None if combiner is None else _written(combiner),
        "rows of this page": f"{len(evaluated.y):,}",
        "classes": _listed(evaluated.roster.classes),
        "columns": _columns(ensemble, core),
        "written": now.isoformat(sep=" ", timespec="seconds"),
        "versions": f"committee {committee.__version__}, scikit-learn "
        f"{sklearn.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"Python {platform.python_version()}",
    }
    return [(name, str(text)) for name, text in lines.items() if text is not None]


def _written(model: Any) -> str:
    """Return the constructor of a model in one line."""
    if isinstance(model, (list, tuple, dict)):
        return f"a list of {count(len(model), 'estimator')}"
    if isinstance(model, BaseEstimator):
        return " ".join(model.__repr__(N_CHAR_MAX=_LONGEST).split())
    return repr(model)


def _columns(ensemble: Any, core: Any) -> str | None:
    """Return the names of the columns, or how many there are."""
    names = getattr(ensemble, "feature_names_in_", None)
    width = getattr(ensemble, "n_features_in_", getattr(core, "n_features_in_", None))
    return _listed(names) if names is not None else width and f"{width:,}"


def _listed(names: Any) -> str | None:
    if names is None:
        return None
    text = ", ".join(str(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{len(names):,}: {text}" + (f" and {more:,} more" if more > 0 else "")
