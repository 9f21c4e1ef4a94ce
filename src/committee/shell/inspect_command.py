"""committee inspect: the contents of a model file."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from committee._format import figures, text_table
from committee.held_out import as_shares
from committee.pruning.summary import summary_of
from committee.shell.messages import shortened
from committee.shell.options import MEASURES, Inspect
from committee.shell.table_model import TableModel, read_model

#: Rows of the table of weights; --json has them all.
_SHOWN = 10

_VERSIONS = ("committee", "scikit-learn", "numpy", "python")


def inspect(options: Inspect) -> None:
    """Print the contents of a model file; no code in it is run."""
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
    # The columns of other models are not known.
    words = model.schema.words or []
    numbers = [name for name in model.schema.names if name not in words]
    versions = [f"{n} {description[n]}" for n in _VERSIONS if n in description]
    return {
        "kind": type(last).__name__,
        "task": model.task,
        "target": model.target,
        "members": n_members(last),
        "chosen_from": None if summary is not None else _chosen_from(last),
        "pruned_from": None if summary is None else summary.n_members_before,
        "combiner": None if combiner is None else type(combiner).__name__,
        "columns": getattr(model.estimator, "n_features_in_", None),
        "trained_on": source and f"{source['file']}, {source['rows']:,} rows",
        "measure": MEASURES[model.task],
        "held_out_error": model.training_error,
        "saved_with": ", ".join(versions) or None,
        "created": description.get("created"),
        "classes": None if model.classes is None else model.classes.tolist(),
        "numbers": numbers or None,
        "words": words or None,
        "weights": None if weights is None else weights.tolist(),
        "summary": None if summary is None else summary.to_dict(),
    }


def _tables(report: dict[str, Any], model: TableModel) -> list[str]:
    """Return the lists and tables that are printed below the facts."""
    lists = [
        f"{label}: {shortened(report[label], _SHOWN)}"
        for label in ("classes", "numbers", "words")
        if report[label]
    ]
    tables = ["\n".join(lists)] if lists else []
    if report["weights"] and hasattr(model.last, "members_"):
        tables.append(_weights_table(model.last))
    if report["summary"] is not None:
        tables.append(str(summary_of(model.last)))
    return tables


def _weights_table(committee: Any) -> str:
    """Return the members with the largest weights, as shares where none is negative."""
    w = as_shares(committee.weights_)
    kept = np.count_nonzero(w)
    order = np.argsort(-np.abs(w), kind="stable")[: min(_SHOWN, kept)]
    names = getattr(getattr(committee, "roster_", None), "names", None)
    if names is None:  # numbers among all members that were trained
        names = map(str, getattr(committee, "support_", range(len(w))))
    names = list(names)
    kinds = [type(member).__name__ for member in committee.members_]
    rows = [(names[m], kinds[m], figures(w[m], 4)) for m in order]
    table = text_table([("member", "kind", "weight"), *rows], "<<>")
    rest = kept - len(order)
    return table + (f"\nand {rest} more" if rest else "")


def _chosen_from(committee: Any) -> int | None:
    """Return the number of trained members, None if all of them were kept."""
    weights = getattr(getattr(committee, "combiner_", None), "weights_", ())
    return len(weights) if len(weights) > (n_members(committee) or 0) else None


def n_members(committee: Any) -> int | None:
    """Return the number of members, None for a model without members."""
    for name in ("members_", "estimators_"):
        if hasattr(committee, name):
            return len(getattr(committee, name))
    return None
