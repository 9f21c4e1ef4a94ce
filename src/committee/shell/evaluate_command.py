"""committee evaluate, inspect and report: a saved model and its errors, looked at."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from committee._format import change, figures, text_table
from committee.held_out import as_shares
from committee.losses import Score, differences
from committee.pruning.summary import summary_of
from committee.reporting import report as write_page
from committee.reporting.evaluation import Answer, constant
from committee.shell.messages import ShellError, UsageError, shortened
from committee.shell.options import CLASSIFICATION, MEASURES, Evaluate, Inspect, Report
from committee.shell.table_model import (
    TableModel,
    read_model,
    read_model_and_rows,
    source_name,
)
from committee.shell.tables import PAGE, check_output

Scores = dict[str, Score]


def evaluate(options: Evaluate) -> None:
    """Print the scores of a model on the rows of a table, beside a baseline."""
    if options.against is not None and options.data == "-":
        raise UsageError(
            "Standard input can be read only once, and --against reads the rows twice: "
            "give a file."
        )
    model, X, y = read_model_and_rows(options)
    summary = summary_of(model.last)
    before = None if summary is None else summary.n_members_before
    if before is not None and options.against is None:
        options.messages.note(
            f"pruned from {before:,} members; --against MODEL compares it with the "
            "file before pruning, on these rows."
        )
    own = _scores(model, X, y, options.jobs)
    targets = _targets(model, y)
    always = constant(targets, None, model.classes)
    baseline = always.scores(targets)
    facts: dict[str, Any] = {
        "model": options.model,
        "data": source_name(options.data),
        "task": model.task,
        "target": model.target,
        "rows": len(y),
        "members": n_members(model.last),
        "pruned_from": before,
        "measure": MEASURES[model.task],
        "held_out_error": model.training_error,
        "scores": _plain(own),
        "baseline": _plain(baseline),
    }
    columns, gaps = {Path(options.model).name: own}, None
    if options.against is not None:
        other = _other(options, model, X, y)
        gaps = differences(own, other)
        columns[f"against {Path(options.against).name}"] = other
        facts["against"] = {
            "model": options.against,
            "scores": _plain(other),
            "differences": _plain(gaps),
        }
    table = _table(columns, gaps, baseline, len(y))
    described = f"always the mean of {model.target!r} on these rows"
    if model.task == CLASSIFICATION:
        described = f"always {str(model.classes[always.predicted[0]])!r}, "
        described += "the shares of classes on these rows as probabilities"
    options.messages.result(facts, f"{table}\nbaseline: {described}")


def _scores(model: TableModel, X: Any, y: Any, jobs: int) -> Scores:
    """Return the scores of a model on X and y."""
    estimator = model.estimator
    model.use_jobs(jobs)
    predicted = estimator.predict(X)
    p = None
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X))
    return Answer(_targets(model, np.ravel(predicted)), p).scores(_targets(model, y))


def _targets(model: TableModel, y: Any) -> Any:
    """Return class codes for classification, and numbers unchanged."""
    return y if model.classes is None else np.searchsorted(model.classes, y)


def _other(options: Evaluate, model: TableModel, X: Any, y: Any) -> Scores:
    """Return the scores of the other model on the same rows."""
    path = str(options.against)
    other = read_model(path, model.target, labelled=True)
    if other.task != model.task or (
        model.classes is not None and other.classes.tolist() != model.classes.tolist()
    ):
        raise ShellError(
            f"'{path}' cannot be compared with '{options.model}': task and classes must "
            f"be the same ({model.task} and {other.task})."
        )
    if other.schema != model.schema:
        X, y = other.read_labelled(options.data, options.messages, options.encoding)
    return _scores(other, X, y, options.jobs)


def _table(
    columns: Mapping[str, Scores], gaps: Scores | None, baseline: Scores, n_rows: int
) -> str:
    """Return a line for each score, and a column for each model and the baseline."""
    lines = [["", *columns, *(["difference"] if gaps else []), "baseline"]]
    for name in next(iter(columns.values())):
        cells = [_cell(scores.get(name), name, n_rows) for scores in columns.values()]
        if gaps:
            gap = gaps.get(name)
            cells.append("-" if gap is None else change(gap.value, gap.se))
        lines.append([name, *cells, figures(baseline[name].value, 4)])
    paired = "; differences are paired by rows" if gaps else ""
    return (
        f"{text_table(lines)}\n\n"
        f"± is one standard error over the {n_rows:,} rows (delta method){paired}"
    )


def _cell(score: Score | None, name: str, n_rows: int) -> str:
    """Return a score and its standard error."""
    if score is None:
        return "-"
    if name == "error rate" and score.value == 0:  # its standard error would be zero
        return f"0, below {figures(1 - 0.05 ** (1 / n_rows), 2)} at 95 %"
    return f"{figures(score.value, 4)} ± {figures(score.se, 2)}"


def _plain(scores: Scores) -> dict[str, dict[str, float]]:
    """Return values and standard errors with names in snake case."""
    return {
        re.sub("[ -]", "_", name.lower()): {"value": score.value, "se": score.se}
        for name, score in scores.items()
    }


#: Rows of the table of weights; --json has them all.
_SHOWN = 10
_VERSIONS = ("committee", "scikit-learn", "numpy", "python")


def inspect(options: Inspect) -> None:
    """Print the contents of a model file; no code in it is run."""
    model = read_model(options.model)
    n_bytes = os.path.getsize(options.model)
    facts = {"model": options.model, **_described(model), "file_bytes": n_bytes}
    options.messages.result(facts, "\n\n".join(_tables(facts, model)))


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


def _tables(facts: dict[str, Any], model: TableModel) -> list[str]:
    """Return the lists and tables that are printed below the facts."""
    lists = [
        f"{label}: {shortened(facts[label], _SHOWN)}"
        for label in ("classes", "numbers", "words")
        if facts[label]
    ]
    tables = ["\n".join(lists)] if lists else []
    if facts["weights"] and hasattr(model.last, "members_"):
        tables.append(_weights_table(model.last))
    if facts["summary"] is not None:
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


def report(options: Report) -> None:
    """Write a page about a saved ensemble on the rows of a table."""
    check_output(options.output, inputs=[options.model, options.data], endings=PAGE)
    model, X, y = read_model_and_rows(options)
    file, data = Path(options.model).name, source_name(options.data)
    html = write_page(
        model.estimator,
        X,
        y,
        options.output,
        title=f"{file} on {data}",
        notes={"model file": file, "data": data, "target": str(model.target)},
        n_jobs=options.jobs,
    )
    options.messages.result(
        {"report": options.output, "rows": len(y), "file_bytes": len(html.encode())}
    )
