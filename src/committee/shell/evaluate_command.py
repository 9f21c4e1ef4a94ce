"""committee evaluate: a model and rows with the target in, scores with errors out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from committee._format import change, figures, text_table
from committee.losses import (
    Score,
    classification_scores,
    differences,
    regression_scores,
)
from committee.pruning.summary import summary_of
from committee.shell.inspect_command import n_members
from committee.shell.messages import ShellError, UsageError
from committee.shell.options import CLASSIFICATION, Evaluate
from committee.shell.table_model import TableModel, read_model, source_name
from committee.shell.tables import check_one_file

Scores = dict[str, Score]


def evaluate(options: Evaluate) -> None:
    """Print the scores of a model on the rows of a table, beside a baseline."""
    check_one_file(options.data, "evaluate")
    if options.against is not None and options.data == "-":
        raise UsageError(
            "Standard input can be read only once, and --against reads the rows twice: "
            "give a file."
        )
    model = read_model(options.model, options.target, labelled=True)
    X, y = model.read_labelled(options.data, options.messages, options.encoding)
    model.note_known_rows(options.data, len(y), options.messages)
    summary = summary_of(model.last)
    before = None if summary is None else summary.n_members_before
    if before is not None and options.against is None:
        options.messages.note(
            f"pruned from {before:,} members; --against MODEL compares it with the "
            "file before pruning, on these rows."
        )
    own, constant = _scores(model, X, y, options.jobs), _baseline(model, y)
    report: dict[str, Any] = {
        "model": options.model,
        "data": source_name(options.data),
        "task": model.task,
        "target": model.target,
        "rows": len(y),
        "members": n_members(model.last),
        "pruned_from": before,
        **model.training_errors,
        "scores": _plain(own),
        "baseline": _plain(constant),
    }
    columns, gaps = {Path(options.model).name: own}, None
    if options.against is not None:
        other = _other(options, model, X, y)
        gaps = differences(own, other)
        columns[f"against {Path(options.against).name}"] = other
        report["against"] = {
            "model": options.against,
            "scores": _plain(other),
            "differences": _plain(gaps),
        }
    table = _table(columns, gaps, constant, len(y))
    options.messages.result(report, f"{table}\nbaseline: {_constant(model, y)}")


def _scores(model: TableModel, X: Any, y: Any, jobs: int) -> Scores:
    """Return the scores of a model on X and y."""
    estimator = model.estimator
    model.use_jobs(jobs)
    predicted = estimator.predict(X)
    if model.task != CLASSIFICATION:
        return regression_scores(y, np.ravel(predicted))
    p = None
    if hasattr(estimator, "predict_proba"):
        p = np.asarray(estimator.predict_proba(X))
    codes = np.searchsorted(model.classes, y)
    return classification_scores(codes, np.searchsorted(model.classes, predicted), p)


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


def _baseline(model: TableModel, y: Any) -> Scores:
    """Return the scores of the best constant: class shares, or the mean."""
    if model.task != CLASSIFICATION:
        return regression_scores(y, np.full(len(y), y.mean()))
    codes = np.searchsorted(model.classes, y)
    shares = np.bincount(codes, minlength=len(model.classes)) / len(y)
    most = np.full(len(y), shares.argmax())
    return classification_scores(codes, most, np.tile(shares, (len(y), 1)))


def _table(
    columns: Mapping[str, Scores], gaps: Scores | None, constant: Scores, n_rows: int
) -> str:
    """Return a line for each score, and a column for each model and the baseline."""
    lines = [["", *columns, *(["difference"] if gaps else []), "baseline"]]
    for name in next(iter(columns.values())):
        cells = [_cell(scores.get(name), name, n_rows) for scores in columns.values()]
        if gaps:
            gap = gaps.get(name)
            cells.append("-" if gap is None else change(gap.value, gap.se))
        lines.append([name, *cells, figures(constant[name].value, 4)])
    paired = "; differences are paired by rows" if gaps else ""
    return (
        f"{text_table(lines)}\n\n"
        f"± is one standard error over the {n_rows:,} rows (delta method){paired}"
    )


def _constant(model: TableModel, y: Any) -> str:
    """Return a description of the baseline."""
    if model.task != CLASSIFICATION:
        return f"always the mean of {model.target!r} on these rows"
    labels, counts = np.unique(y, return_counts=True)
    most = str(labels[counts.argmax()])
    return f"always {most!r}, the shares of classes on these rows as probabilities"


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
        name.lower().replace(" ", "_").replace("-", "_"): {
            "value": score.value,
            "se": score.se,
        }
        for name, score in scores.items()
    }
