"""committee evaluate: a model and rows with the target in, scores with errors out."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from committee._format import change, figures, text_table
from committee.losses import Score, differences
from committee.pruning.summary import summary_of
from committee.reporting.evaluation import Answer, constant
from committee.shell.inspect_command import n_members
from committee.shell.messages import ShellError, UsageError
from committee.shell.options import CLASSIFICATION, MEASURES, Evaluate
from committee.shell.table_model import (
    TableModel,
    read_model,
    read_model_and_rows,
    source_name,
)

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
    always = constant(_targets(model, y), None, model.classes)
    baseline = always.scores(_targets(model, y))
    report: dict[str, Any] = {
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
        report["against"] = {
            "model": options.against,
            "scores": _plain(other),
            "differences": _plain(gaps),
        }
    table = _table(columns, gaps, baseline, len(y))
    described = f"always the mean of {model.target!r} on these rows"
    if model.task == CLASSIFICATION:
        most = str(model.classes[always.predicted[0]])
        described = (
            f"always {most!r}, the shares of classes on these rows as probabilities"
        )
    options.messages.result(report, f"{table}\nbaseline: {described}")


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
        name.lower().replace(" ", "_").replace("-", "_"): {
            "value": score.value,
            "se": score.se,
        }
        for name, score in scores.items()
    }
