"""committee inspect: what a model file holds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from committee._format import printable
from committee.pruning.summary import summary_of
from committee.shell.choices import MEASURES
from committee.shell.messages import columns
from committee.shell.options import Inspect
from committee.shell.table_model import TableModel, read_model

#: Members shown in the table of weights; --json has them all.
_SHOWN = 10

_VERSIONS = ("committee", "scikit-learn", "numpy", "python")


def inspect(options: Inspect) -> None:
    """Say what a model file holds; nothing in it is run."""
    model = read_model(options.model)
    n_bytes = os.path.getsize(options.model)
    report = {"model": options.model, **_described(model), "file_bytes": n_bytes}
    options.messages.result(report, "\n\n".join(_tables(report, model)))


def _described(model: TableModel) -> dict[str, Any]:
    """Return the facts about a model, ready for JSON."""
    last, description, source = model.last, model.description, model.source
    weights = getattr(last, "weights_", None)
    combiner = getattr(last, "combiner_", None)
    summary = summary_of(last)
    error = training_error(model)
    # Where the shell did not train the model, nothing is known about its columns.
    words = model.columns.words or []
    numbers = [name for name in model.columns.names if name not in words]
    return {
        "kind": type(last).__name__,
        "task": model.task,
        "target": model.target,
        "members": n_members(last),
        "chosen_from": None if summary is not None else chosen_from(last),
        "pruned_from": None if summary is None else summary.n_members_before,
        "combiner": None if combiner is None else type(combiner).__name__,
        "columns": getattr(model.estimator, "n_features_in_", None),
        "trained_on": source and f"{source['file']}, {source['rows']:,} rows",
        "measure": None if error is None else MEASURES[model.task],
        "held_out_error": error,
        "saved_with": ", ".join(
            f"{name} {description[name]}" for name in _VERSIONS if name in description
        )
        or None,
        "created": description.get("created"),
        "classes": None if model.classes is None else model.classes.tolist(),
        "numbers": numbers or None,
        "words": words or None,
        "weights": None if weights is None else weights.tolist(),
        "summary": None if summary is None else summary.to_dict(),
    }


def _tables(report: dict[str, Any], model: TableModel) -> list[str]:
    """Return what a reader sees of the lists."""
    tables = []
    for label in ("classes", "numbers", "words"):
        names = report[label]
        if names:
            more = f", ... ({len(names)})" if len(names) > _SHOWN else ""
            shown = ", ".join(printable(str(name)) for name in names[:_SHOWN])
            tables.append(f"{label}: {shown}{more}")
    if tables:
        tables = ["\n".join(tables)]
    if report["weights"] and hasattr(model.last, "members_"):
        tables.append(_weights_table(model.last))
    summary = summary_of(model.last)
    if summary is not None:
        tables.append(str(summary))
    return tables


def _weights_table(committee: Any) -> str:
    """Return the members with the largest weights."""
    w = committee.weights_
    kept = np.count_nonzero(w)
    order = np.argsort(-np.abs(w), kind="stable")[: min(_SHOWN, kept)]
    names = _member_names(committee)
    rows = [
        (names[m], type(committee.members_[m]).__name__, float(w[m])) for m in order
    ]
    table = columns(("member", "kind", "weight"), rows)
    rest = kept - len(order)
    return table + (f"\nand {rest} more" if rest else "")


def _member_names(committee: Any) -> list[str]:
    """Return the members' names, or their numbers among all that were trained."""
    names = getattr(getattr(committee, "roster_", None), "names", None)
    if names is not None:
        return [printable(name) for name in names]
    numbers = getattr(committee, "support_", np.arange(len(committee.weights_)))
    return [str(m) for m in numbers]


def training_error(model: TableModel) -> float | None:
    """Return the held-out error that training printed, None where there is none.

    That of a model which was pruned since is not its own.
    """
    error = (model.source or {}).get("held_out_error")
    known = isinstance(error, float) and summary_of(model.last) is None
    return error if known else None


def chosen_from(committee: Any) -> int | None:
    """Return how many members were trained, where some of them were left out."""
    weights = getattr(getattr(committee, "combiner_", None), "weights_", ())
    return len(weights) if len(weights) > (n_members(committee) or 0) else None


def n_members(committee: Any) -> int | None:
    """Return the number of members, None for a model without any."""
    for name in ("members_", "estimators_"):
        if hasattr(committee, name):
            return len(getattr(committee, name))
    return None
