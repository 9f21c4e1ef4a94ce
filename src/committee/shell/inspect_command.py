"""committee inspect: what a model file holds."""

from __future__ import annotations

import os
from typing import Any

import numpy as np

from committee.shell.model_files import Model, read_model
from committee.shell.output import Voice, columns

#: Members shown in the table of weights; --json has them all.
_SHOWN = 10

_VERSIONS = ("committee", "scikit-learn", "numpy", "python")


def inspect(model: str, *, voice: Voice) -> None:
    """Say what a model file holds; nothing in it is run.

    Parameters
    ----------
    model : str
    voice : Voice
    """
    loaded = read_model(model)
    report = {"model": model, **described(loaded), "bytes": os.path.getsize(model)}
    voice.result(report, "\n\n".join(tables_of(report, loaded)))


def described(model: Model) -> dict[str, Any]:
    """Return the facts about a model, ready for JSON.

    Parameters
    ----------
    model : Model

    Examples
    --------
    >>> from committee import Bagging, CommitteeRegressor
    >>> from committee.shell.inspect_command import described
    >>> from committee.shell.model_files import Model
    >>> committee = CommitteeRegressor(generator=Bagging(3), random_state=0)
    >>> facts = described(Model(committee.fit([[0.0], [1.0]], [0.0, 1.0])))
    >>> facts["task"], facts["members"], facts["columns"]
    ('regression', 3, 1)
    """
    last, description = model.last, model.description or {}
    weights = getattr(last, "weights_", None)
    classes = getattr(model.estimator, "classes_", None)
    summary = _summary(last)
    return {
        "kind": type(last).__name__,
        "task": model.task,
        "target": model.target,
        "members": _n_members(last),
        "members_with_a_weight": None if weights is None else np.count_nonzero(weights),
        "pruned_from": None if summary is None else summary.n_members_before,
        "combiner": _name(getattr(last, "combiner_", None)),
        "columns": getattr(model.estimator, "n_features_in_", None),
        "trained_on": _origin(model),
        "saved_with": ", ".join(
            f"{name} {description[name]}" for name in _VERSIONS if name in description
        )
        or None,
        "created": description.get("created"),
        "classes": None if classes is None else classes.tolist(),
        "numbers": _features(model, words=False),
        "words": _features(model, words=True),
        "weights": None if weights is None else weights.tolist(),
        "summary": None if summary is None else summary.to_dict(),
    }


def tables_of(report: dict[str, Any], model: Model) -> list[str]:
    """Return what a reader sees of the lists."""
    tables = []
    for label in ("classes", "numbers", "words"):
        names = report[label]
        if names:
            more = f", ... ({len(names)})" if len(names) > _SHOWN else ""
            tables.append(f"{label}: {', '.join(map(str, names[:_SHOWN]))}{more}")
    if tables:
        tables = ["\n".join(tables)]
    if report["members_with_a_weight"] and hasattr(model.last, "members_"):
        tables.append(_weights_table(model.last))
    summary = _summary(model.last)
    if summary is not None:
        tables.append(str(summary))
    return tables


def _weights_table(committee: Any) -> str:
    """Return the members with the largest weights."""
    w = committee.weights_
    kept = np.count_nonzero(w)
    order = np.argsort(-np.abs(w), kind="stable")[: min(_SHOWN, kept)]
    numbers = getattr(committee, "support_", np.arange(len(w)))
    rows = [
        (str(numbers[m]), type(committee.members_[m]).__name__, float(w[m]))
        for m in order
    ]
    table = columns(("member", "kind", "weight"), rows)
    rest = kept - len(order)
    return table + (f"\nand {rest} more" if rest else "")


def _summary(committee: Any) -> Any:
    """Return what pruning cost and gained, None for a model that was not pruned."""
    if getattr(committee, "path_", None) is None or not hasattr(committee, "summary"):
        return None
    return committee.summary()


def _n_members(committee: Any) -> int | None:
    for name in ("members_", "estimators_"):
        if hasattr(committee, name):
            return len(getattr(committee, name))
    return None


def _name(combiner: Any) -> str | None:
    return None if combiner is None else type(combiner).__name__


def _origin(model: Model) -> str | None:
    if not model.source:
        return None
    return f"{model.source['file']}, {model.source['rows']:,} rows"


def _features(model: Model, *, words: bool) -> list[str] | None:
    """Return the names of the columns of one kind."""
    if model.columns is not None:
        held = set(model.columns.words)
        return [name for name in model.columns.names if (name in held) == words]
    names = getattr(model.estimator, "feature_names_in_", None)
    return None if words or names is None else [str(name) for name in names]
