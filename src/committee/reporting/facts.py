"""What stands on the page in words: headlines, tables, settings."""

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
from committee._format import byte_size, change, count, duration, figures, percent
from committee.displays.measures import UNHEARD
from committee.reporting.evaluation import Hearing, Score
from committee.reporting.member_table import Roll, summary_of

#: Rows of the members' table, and names of columns that are listed.
_MOST_MEMBERS = 1000
_MOST_NAMES = 200
#: Letters of a constructor.
_LONGEST = 10_000
#: Share of the error below which a difference is rounding.
_ROUNDING = 1e-9


def headlines(core: Any, hearing: Hearing, roll: Roll) -> list[dict[str, str]]:
    """Return what a person wants to know at a glance."""
    return [
        _members_card(roll),
        _error_card(hearing),
        _gain_card(core, hearing),
        *_cost_cards(core, roll),
    ]


def _cost_cards(core: Any, roll: Roll) -> list[dict[str, str]]:
    """Return bytes and time, beside those of the ensemble before pruning."""
    summary, kept = summary_of(core), roll.kept
    mine, all_ = roll.costs.total(kept), roll.costs.total(np.arange(len(roll.numbers)))
    share = f"{percent(mine / all_)} of the {byte_size(all_)} of all"
    slow, fast = roll.seconds.sum(), roll.seconds[kept].sum()
    if summary is not None:
        before, after = summary.bytes_before, summary.bytes_after
        slow, fast = summary.seconds_before, summary.seconds_after
        share = (
            f"the whole model: {percent(after / before)} of {byte_size(before)} before"
        )
    speed = f"{figures(slow / fast)} times as fast as all members"
    if len(kept) == roll.n_before:
        share, speed = "", "when up to 1,000 rows are asked at once"
    return [
        {"label": "bytes of its members", "value": byte_size(mine), "note": share},
        {"label": "time to predict a row", "value": duration(fast), "note": speed},
    ]


def _members_card(roll: Roll) -> dict[str, str]:
    kept = len(roll.kept)
    return {
        "label": "members",
        "value": f"{kept:,} of {roll.n_before:,}",
        "note": "none left out"
        if kept == roll.n_before
        else f"{percent(1 - kept / roll.n_before)} left out",
    }


def _error_card(hearing: Hearing) -> dict[str, str]:
    own = hearing.scores()[0]
    return {
        "label": f"{hearing.measure} on {count(len(hearing.rows.y), 'row')}",
        "value": shown(own.error, hearing),
        "note": f"95 % interval {_interval(own, hearing)}",
    }


def _gain_card(core: Any, hearing: Hearing) -> dict[str, str]:
    """Compare with the ensemble before pruning, or with equal votes."""
    _, equal, _ = hearing.scores()
    summary = summary_of(core)
    if summary is not None:
        before, after = summary.error_before, summary.error_after
        how = "cross-fitted on" if summary.cross_fitted else "on"
        rows = f"{how} the {count(summary.n_rows, 'row')} it was pruned on"
        return {
            "label": f"{hearing.measure} before and after pruning",
            "value": f"{shown(before, hearing)} → {shown(after, hearing)}",
            "note": f"{_pruning_gap(summary)}, {rows}",
        }
    scale, unit = _unit(hearing)
    label = f"{hearing.measure} against equal votes"
    if _is_rounding(equal):
        return {"label": label, "value": "the same", "note": ""}
    value = change(-scale * equal.gap, np.nan, unit)
    known = not np.isnan(equal.gap_se)
    se = f"± {figures(scale * equal.gap_se, 2)}, the standard error by rows"
    return {"label": label, "value": value, "note": se if known else ""}


def _is_rounding(score: Score) -> bool:
    """Whether two errors differ, on any row, by no more than floats do."""
    least = _ROUNDING * score.error
    return abs(score.gap) <= least and not score.gap_se > least


def _pruning_gap(s: Any) -> str:
    """Return what pruning cost, with its standard error."""
    scale, unit = (100, "points") if s.measure == "error rate" else (1, "")
    if not s.difference and not s.difference_se:
        return "the same on every row"
    return change(scale * s.difference, scale * s.difference_se, unit)


def comparison(hearing: Hearing, roll: Roll) -> list[dict[str, str]]:
    """Return the committee beside simpler answers, all on the same rows."""
    names = (
        "this committee",
        f"equal votes of {count(len(roll.numbers), 'member')}",
        f"best member, {roll.names[hearing.best]} (picked on these rows)",
    )
    return [
        {
            "name": name,
            "error": shown(score.error, hearing),
            "interval": _interval(score, hearing),
            "gap": "" if not i else _gap(score, hearing),
        }
        for i, (name, score) in enumerate(zip(names, hearing.scores(), strict=True))
    ]


def pruning(core: Any) -> list[tuple[str, str, str, str]]:
    """Return what pruning cost and gained on its own rows, by lines."""
    s = summary_of(core)
    if s is None:
        return []
    halves = s.oob and s.loo is not None and s.loo_measure == "error rate"
    return [
        ("members", f"{s.n_members_before:,}", f"{s.n_members_after:,}", ""),
        (
            f"{s.measure}, cross-fitted" if s.cross_fitted else s.measure,
            _as(s.measure, s.error_before),
            _as(s.measure, s.error_after),
            _pruning_gap(s),
        ),
        (
            f"leave-one-out {s.loo_measure}",
            "",
            "-" if s.loo is None else _as(s.loo_measure, s.loo),
            UNHEARD if halves else "",
        ),
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


def members_table(hearing: Hearing, roll: Roll) -> list[dict[str, Any]]:
    """Return a line for each member, largest weights first."""
    order = np.argsort(-np.abs(roll.weights), kind="stable")[:_MOST_MEMBERS]
    return [
        {
            "number": int(roll.numbers[m]),
            "name": roll.names[m],
            "kind": roll.kinds[m],
            "weight": (float(roll.weights[m]), figures(roll.weights[m])),
            "error": (float(hearing.errors[m]), shown(hearing.errors[m], hearing)),
            "bytes": (float(roll.bytes[m]), byte_size(roll.bytes[m])),
            "seconds": (float(roll.seconds[m]), duration(roll.seconds[m])),
        }
        for m in order
    ]


def settings(
    ensemble: Any, core: Any, hearing: Hearing, notes: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return what is needed to do it again, by lines."""
    now = datetime.datetime.now(datetime.UTC)
    combiner = getattr(core, "combiner_", None)
    lines = {
        **notes,
        "model": _written(ensemble),
        "combiner": None if combiner is None else _written(combiner),
        "rows of this page": f"{len(hearing.rows.y):,}",
        "classes": _listed(hearing.roster.classes),
        "columns": _columns(ensemble, core),
        "written": now.isoformat(sep=" ", timespec="seconds"),
        "versions": f"committee {committee.__version__}, scikit-learn "
        f"{sklearn.__version__}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"Python {platform.python_version()}",
    }
    return [(name, str(text)) for name, text in lines.items() if text is not None]


def shown(error: float, hearing: Hearing) -> str:
    """Return an error in percent, or in the squared units of y."""
    return _as(hearing.measure, error)


def _as(measure: str, error: float) -> str:
    return percent(error) if measure == "error rate" else figures(error, 4)


def _interval(score: Score, hearing: Hearing) -> str:
    if np.isnan(score.low):
        return "-"
    return f"{shown(score.low, hearing)} to {shown(score.high, hearing)}"


def _gap(score: Score, hearing: Hearing) -> str:
    if _is_rounding(score):
        return "the same"
    scale, unit = _unit(hearing)
    return change(scale * score.gap, scale * score.gap_se, unit)


def _unit(hearing: Hearing) -> tuple[int, str]:
    """Return what differences of errors are counted in."""
    return (100, "points") if hearing.together.ndim == 2 else (1, "")


def _written(model: Any) -> str:
    """Return the constructor of a model in one line."""
    if isinstance(model, (list, tuple)):
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
