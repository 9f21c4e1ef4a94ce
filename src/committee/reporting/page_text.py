"""Text of the page: verdict, headlines, tables of members and errors, settings."""

from __future__ import annotations

import datetime
import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy
import sklearn
from sklearn.base import BaseEstimator

import committee
from committee._format import (
    LEAVE_ONE_OUT,
    NumberFormat,
    byte_size,
    count,
    duration,
    error_name,
    figures,
    percent,
)
from committee._typing import FloatArray, IntArray
from committee.displays.sources import core_of, known_names
from committee.held_out import as_shares
from committee.pruning.costs import MemberBytes, few_rows, member_seconds
from committee.pruning.summary import summary_of
from committee.reporting.evaluation import ComparedError, EvaluatedMembers

#: Largest numbers of rows in the table of members, and of listed columns.
_MOST_MEMBERS, _MOST_NAMES = 1000, 200
#: Largest number of characters of a constructor.
_LONGEST = 10_000


@dataclass(frozen=True, eq=False)
class MemberTable:
    """The M members one by one, with their bytes and their seconds for a row.

    Attributes
    ----------
    numbers : array of shape (M,)
        Their numbers in the ensemble that was pruned.
    names, kinds : lists of str
    weights : array of shape (M,)
        Shares, which sum to one, where no weight is negative.
    costs : MemberBytes
    seconds : array of shape (M,)
        Seconds to predict a row.
    n_before : int
        Number of members of the ensemble that was pruned.
    """

    numbers: IntArray
    names: list[str]
    kinds: list[str]
    weights: FloatArray
    costs: MemberBytes
    seconds: FloatArray
    n_before: int

    @property
    def bytes(self) -> FloatArray:
        """Bytes of each member alone, (M,)."""
        return self.costs.alone

    @property
    def kept(self) -> IntArray:
        """Positions of the members with a nonzero weight."""
        return np.flatnonzero(self.weights)


def member_table(core: Any, evaluated: EvaluatedMembers) -> MemberTable:
    """Return names, kinds, weights and costs of every member."""
    roster = evaluated.roster
    M = len(roster)
    numbers = evaluated.numbers
    kinds = [type(core_of(member)).__name__ for member in roster.members]
    combiner = getattr(core, "combiner_", None)
    known = known_names(core)
    if known is not None:
        labels = [known[m] for m in numbers]
    else:  # kinds are used as names only if they differ
        labels = kinds if len(set(kinds)) > 1 else [""] * M
    names = [
        f"#{number} {label}".rstrip()
        for number, label in zip(numbers.tolist(), labels, strict=True)
    ]
    return MemberTable(
        numbers,
        names,
        kinds,
        np.full(M, 1.0 / M) if roster.weights is None else as_shares(roster.weights),
        MemberBytes.of(list(roster.members)),
        # The first member predicts twice, since the first call also converts X.
        member_seconds(
            replace(roster, members=[roster.members[0], *roster.members]),
            few_rows(evaluated.X),
        )[1:],
        M if combiner is None else len(combiner.weights_),
    )


def headlines(
    core: Any, evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, str]]:
    """Return the cards on top: members, error, bytes and time."""
    kept, summary, M = table.kept, summary_of(core), table.n_before
    own = evaluated.comparisons["committee"]
    written = NumberFormat.of(evaluated.measure, own.error)
    left_out = percent(1 - len(kept) / M) if len(kept) < M else "none"
    if summary is not None:
        label, of = "bytes, pickled", "before"
        before, after = summary.bytes_before, summary.bytes_after
        slow, fast = summary.seconds_before, summary.seconds_after
    else:
        label, of = "bytes of its members", "of all"
        before = table.costs.total(np.arange(len(table.numbers)))
        after = table.costs.total(kept)
        slow, fast = table.seconds.sum(), table.seconds[kept].sum()
    share, speed = "", "when up to 1,000 rows are predicted at once"
    if summary is not None or len(kept) < len(table.numbers):
        share = f"{percent(after / before)} of the {byte_size(before)} {of}"
        speed = f"{figures(slow / fast)} times as fast as all members"
    interval = f"95 % interval {written.interval(own.low, own.high)}"
    rows = f"{evaluated.measure} on {count(len(evaluated.y), 'row')}"
    cards = [
        ("members", f"{len(kept):,} of {M:,}", f"{left_out} left out"),
        (rows, written.text(own.error), interval),
        (label, byte_size(after), share),
        ("time to predict a row", duration(fast), speed),
    ]
    return [{"label": a, "value": b, "note": c} for a, b, c in cards]


def comparison(evaluated: EvaluatedMembers, table: MemberTable) -> dict[str, Any]:
    """Return the scores of the committee and of the predictions it is compared with.

    `columns` has the names of the scores, and each of `lines` a cell for each score, the
    error with its interval, and its difference from the committee's error.
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
                "gap": "the same" if found.is_same else gap,
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


def pruning(core: Any) -> dict[str, Any] | None:
    """Return the lines of the summary of pruning, and how its errors were measured.

    A line with the leave-one-out error is added if the combiner has one. None without a
    summary.
    """
    s = summary_of(core)
    if s is None:
        return None
    rows = s.rows()
    if s.loo is not None:
        text = NumberFormat.of(s.loo_measure, s.loo).text(s.loo)
        name = error_name(LEAVE_ONE_OUT, s.loo_measure)
        rows.append((name, "", text, core.path_.note))
    return {"rows": rows, "how": s.how()}


def members_table(
    evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, Any]]:
    """Return a line for each member, largest weights first.

    Numbers are pairs: to sort by, and as text.
    """
    order = np.argsort(-np.abs(table.weights), kind="stable")[:_MOST_MEMBERS]
    written = NumberFormat.of(evaluated.measure, float(evaluated.errors.min()))
    columns = {
        "weight": (table.weights, figures),
        "error": (evaluated.errors, written.text),
        "bytes": (table.bytes, byte_size),
        "seconds": (table.seconds, duration),
    }
    return [
        {
            "number": int(table.numbers[m]),
            "name": table.names[m],
            "kind": table.kinds[m],
            **{key: (float(x[m]), text(x[m])) for key, (x, text) in columns.items()},
        }
        for m in order
    ]


def settings(
    ensemble: Any, core: Any, evaluated: EvaluatedMembers, notes: Mapping[str, Any]
) -> list[tuple[str, str]]:
    """Return settings, columns, classes and versions, by lines."""
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
    """Return the names of the columns, or their number."""
    names = getattr(ensemble, "feature_names_in_", None)
    width = getattr(ensemble, "n_features_in_", getattr(core, "n_features_in_", None))
    return _listed(names) if names is not None else width and f"{width:,}"


def _listed(names: Any) -> str | None:
    if names is None:
        return None
    text = ", ".join(str(name) for name in names[:_MOST_NAMES])
    more = len(names) - _MOST_NAMES
    return f"{len(names):,}: {text}" + (f" and {more:,} more" if more > 0 else "")


# --- the verdict ----------------------------------------------------------------------

#: A difference of more standard errors than this is called clear.
_CLEAR = 2.0


def verdict(
    core: Any, evaluated: EvaluatedMembers, table: MemberTable
) -> list[dict[str, str]]:
    """Return sentences, each with a kind: "good", "plain" or "warning"."""
    own, sentences = evaluated.comparisons, [_main(core, evaluated, table)]
    if evaluated.is_training:
        text = "Members were trained on these rows: errors on this page are too small. "
        text += "Make the report with rows that no member was trained on."
        sentences.insert(0, _sentence("warning", text))
    if not own["constant"].gap > 0:
        text = f"It is not better than always predicting {_constant_name(evaluated)}: "
        text += "members do not help on these rows."
        sentences.append(_sentence("warning", text))
    if len(table.kept) > 1 and _direction(own["best"]) == "less":
        text = (
            f"One member alone, {table.names[evaluated.best]}, has a smaller error on "
        )
        text += "these rows, but it was picked on them."
        sentences.append(_sentence("warning", text))
    return sentences


def next_step(
    core: Any, evaluated: EvaluatedMembers, path: Mapping[str, Any] | None
) -> dict[str, str]:
    """Return the advice what to do next with this committee; `path` of `path_chart`."""
    own = evaluated.comparisons
    if evaluated.is_training:
        text = "make this page with rows that no member was trained on."
    elif not own["constant"].gap > 0:
        text = "look at the columns and the target before you look at the members."
    elif "before" in own and _direction(own["before"]) == "less":
        or_else = (
            "" if hasattr(core, "refined_") else ", or refine() them if they are trees"
        )
        text = f"keep more members, path_.choose(max_members=...){or_else}."
    elif (fewer := _fewer_within_se(path)) is not None:
        text = f"path_.choose(within_se=1) has {count(fewer, 'member')}, with an error "
        text += "that is within one standard error of the least."
    else:
        text = "keep it as it is, and save() or export it."
    return _sentence("next", f"Next: {text}")


def _fewer_within_se(path: Mapping[str, Any] | None) -> int | None:
    """Return the least size within one standard error, if it is below the chosen one."""
    if path is None or path["chosen"] is None or path["error_se"] is None:
        return None
    error, size = np.array(path["error"], dtype=float), np.array(path["size"])
    if not np.isfinite(error).any():
        return None
    least = int(np.nanargmin(error))
    within = error <= error[least] + path["error_se"][least]
    found = int(size[within].min())
    return found if found < size[path["chosen"]] else None


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
    others = evaluated.comparisons
    if "before" in others:
        name, other = f"the ensemble of {table.n_before:,} before pruning", "before"
    elif hasattr(core, "path_") or summary_of(core) is not None:
        why = "The ensemble before pruning is not available for comparison"
        return _sentence("plain", f"{text}. {why}.")
    elif not _is_average(evaluated):
        name, other = "equal votes of the same members", "equal"
    elif kept > 1:
        name, other = "the best of them alone, picked on these rows", "best"
    else:
        return _sentence("plain", f"{text}.")
    return _compared(text, name, others[other], written)


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


def _constant_name(evaluated: EvaluatedMembers) -> str:
    if not evaluated.is_classifier:
        return "the mean of the targets"
    code = int(evaluated.answers["constant"].predicted[0])
    return f"{str(evaluated.roster.classes[code])!r}"


def _sentence(kind: str, text: str) -> dict[str, str]:
    return {"kind": kind, "text": text}
