"""committee evaluate: a model and rows with the target in, scores with spreads out."""

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
from committee.shell.choices import CLASSIFICATION
from committee.shell.errors import USAGE, ShellError
from committee.shell.file_parts import is_for_dask
from committee.shell.inspect_command import n_members, training_error
from committee.shell.options import Evaluate
from committee.shell.table_model import TableModel, read_model, source_name

Scores = dict[str, Score]


def evaluate(options: Evaluate) -> None:
    """Print the scores of a model on the rows of a table, and what they compare with."""
    if is_for_dask(options.data):
        raise ShellError(
            f"Rows are scored in memory: give one file instead of '{options.data}'.",
            USAGE,
        )
    if options.against is not None and options.data == "-":
        raise ShellError(
            "Two models read the rows, and standard input can be read once: give a "
            "file.",
            USAGE,
        )
    model = read_model(options.model, options.target, labelled=True)
    X, y = model.read_labelled(options.data, options.messages, options.encoding)
    _note(options, model, len(y))
    own, constant = _scores(model, X, y, options.jobs), _baseline(model, y)
    report: dict[str, Any] = {
        "model": options.model,
        "data": source_name(options.data),
        "task": model.task,
        "target": model.target,
        "rows": len(y),
        "members": n_members(model.last),
        "pruned_from": _pruned_from(model),
        "error_held_out_in_training": training_error(model),
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
    """Return the scores of a model on rows that it takes."""
    estimator = model.estimator
    if "n_jobs" in model.last.get_params(deep=False):
        model.last.set_params(n_jobs=jobs)
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
            f"'{path}' answers another question than '{options.model}': task and "
            f"classes must be the same ({model.task} and {other.task})."
        )
    if other.columns != model.columns:
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


def _note(options: Evaluate, model: TableModel, n_rows: int) -> None:
    """Say what makes the scores look better than they are, and what is missing."""
    model.note_known_rows(options.data, n_rows, options.messages)
    before = _pruned_from(model)
    if before is not None and options.against is None:
        options.messages.note(
            f"pruned from {before:,} members; --against MODEL compares it with the "
            "file before pruning, on these rows."
        )


def _pruned_from(model: TableModel) -> int | None:
    summary = summary_of(model.last)
    return None if summary is None else summary.n_members_before


def _table(
    columns: Mapping[str, Scores], gaps: Scores | None, constant: Scores, n_rows: int
) -> str:
    """Return a line for each score, a column for each model and one for none."""
    header = ["", *columns, *(["difference"] if gaps else []), "baseline"]
    lines = [header]
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
    """Return what the baseline predicts."""
    if model.task != CLASSIFICATION:
        return f"always the mean of {model.target!r} on these rows"
    labels, counts = np.unique(y, return_counts=True)
    most = str(labels[counts.argmax()])
    return f"always {most!r}, the shares of classes on these rows as probabilities"


def _cell(score: Score | None, name: str, n_rows: int) -> str:
    """Return a score and its spread."""
    if score is None:
        return "-"
    if name == "error rate" and score.value == 0:  # no spread shows, and there is one
        return f"0, below {figures(1 - 0.05 ** (1 / n_rows), 2)} at 95 %"
    return f"{figures(score.value, 4)} ± {figures(score.se, 2)}"


def _plain(scores: Scores) -> dict[str, dict[str, float]]:
    """Return values and standard errors by names as a program likes them."""
    return {
        name.lower().replace(" ", "_").replace("-", "_"): {
            "value": score.value,
            "se": score.se,
        }
        for name, score in scores.items()
    }
