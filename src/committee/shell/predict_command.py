"""committee predict: a model and a table in, a table of predictions out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.pipeline import Pipeline

from committee._progress import track
from committee.shell.choices import CLASSIFICATION
from committee.shell.dask_client import refuse_jobs, workers
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.file_parts import Part, as_chunks, files_of, is_for_dask, parts_of
from committee.shell.options import Predict
from committee.shell.table_model import Findings, TableModel, read_model
from committee.shell.table_output import check_output, write_tables
from committee.shell.tables import read_table


def predict(options: Predict) -> None:
    """Write a prediction for every row of a table."""
    output = options.output
    if options.as_json and output == "-":
        raise ShellError(
            "--json is about the run, and standard output has the predictions: give a "
            "file for them with -o.",
            USAGE,
        )
    on_dask = is_for_dask(options.data, options.scheduler)
    files = files_of(options.data) if on_dask else [options.data]
    check_output(output, table=True, inputs=[options.model, *files])
    if on_dask:
        refuse_jobs(options.jobs)
    model = read_model(options.model)
    if options.proba:
        _check_proba(model, options.model)
    if options.interval is not None:
        _check_interval(model, options)
    if options.classes is not None:
        _check_set(model, options)
    if "n_jobs" in model.last.get_params(deep=False):
        model.last.set_params(n_jobs=options.jobs)
    if on_dask:
        findings = _on_workers(options, model, files)
        findings.note(options.messages)
    else:
        X, findings = model.take(
            read_table(options.data, model.words, options.encoding)
        )
        findings.note(options.messages)
        table = predictions(model.estimator, X, **_wanted(options))
        write_tables([table], output)
    if output != "-":
        options.messages.result(
            {
                "output": output,
                "rows": findings.n_rows,
                "unseen_values": dict(findings.unseen),
            }
        )


def _on_workers(options: Predict, model: TableModel, files: list[str]) -> Findings:
    """Let Dask's workers predict files, and write the tables in their order."""
    parts, findings = parts_of(files, options.encoding), [Findings()]
    # A bar would take standard output for itself.
    shown = not options.quiet and options.output != "-"

    def tables(futures: list[Any]) -> Iterator[Any]:
        for _ in track(parts, len(parts), "predicting", shown):
            table, found = futures.pop(0).result()  # workers forget it then
            if found.n_rows:
                findings[0] = findings[0].plus(found)
                yield table
        if not findings[0].n_rows:
            raise ShellError(f"{listed(files)} have no rows.")

    with workers(options.scheduler, options.messages) as client:
        predicted = as_chunks(parts).map(_predicted, model, _wanted(options))
        write_tables(tables(client.compute(predicted.parts)), options.output)
    return findings[0]


def _wanted(options: Predict) -> dict[str, Any]:
    """Return what a table is to hold beside the prediction."""
    return {
        "proba": options.proba,
        "interval": options.interval,
        "classes": options.classes,
    }


def _predicted(
    part: Part, model: TableModel, wanted: dict[str, Any]
) -> tuple[Any, Findings]:
    """Return the predictions of one part, None without rows."""
    frame = part.read(model.words)
    if not len(frame):
        return None, Findings()
    with part.named():
        X, findings = model.take(frame)
        return predictions(model.estimator, X, **wanted), findings


def predictions(
    estimator: Any,
    X: Any,
    *,
    proba: bool = False,
    interval: float | None = None,
    classes: float | None = None,
) -> Any:
    """Return a table with the column `prediction`, and `p_CLASS` for every class.

    For a coverage, as `interval`, there are also the columns `lower` and `upper`; as
    `classes`, the columns `in_CLASS`, True for the classes of the row's set.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.shell.predict_command import predictions
    >>> model = GaussianNB().fit([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> predictions(model, [[0.5]], proba=True).columns.tolist()
    ['prediction', 'p_a', 'p_b']
    """
    from pandas import DataFrame

    table = {"prediction": estimator.predict(X)}
    if proba:
        p = estimator.predict_proba(X)
        table |= {f"p_{label}": p[:, k] for k, label in enumerate(estimator.classes_)}
    if interval is not None or classes is not None:
        is_pipeline = isinstance(estimator, Pipeline)
        committee = estimator[-1] if is_pipeline else estimator
        rows = estimator[:-1].transform(X) if is_pipeline else X
    if interval is not None:
        table["lower"], table["upper"] = committee.predict_interval(rows, interval).T
    if classes is not None:
        sets = committee.predict_set(rows, classes)
        labels = estimator.classes_
        table |= {f"in_{label}": sets[:, k] for k, label in enumerate(labels)}
    return DataFrame(table)


def _check_interval(model: TableModel, options: Predict) -> None:
    """Refuse intervals of a model that has none, before rows are read."""
    if model.task == CLASSIFICATION:
        raise ShellError(
            f"'{options.model}' is a classifier: --interval is for numbers, --set and "
            "--proba for classes."
        )
    _check_held_out(model, options, "interval", options.interval)


def _check_set(model: TableModel, options: Predict) -> None:
    """Refuse sets of a model that has none, before rows are read."""
    if model.task != CLASSIFICATION:
        raise ShellError(
            f"'{options.model}' is a regressor: --set is for classes, --interval for "
            "numbers."
        )
    _check_held_out(model, options, "set", options.classes)


def _check_held_out(
    model: TableModel, options: Predict, name: str, coverage: float | None
) -> None:
    """Refuse a coverage that is none, and models without rows to measure it by."""
    kind = "classifier" if name == "set" else "regressor"
    if not hasattr(model.last, f"predict_{name}"):
        raise ShellError(
            f"The {kind} in '{options.model}' is no committee: --{name} needs one "
            "of `committee train` or `committee prune`."
        )
    if not 0 < float(coverage or 0) < 1:
        raise ShellError(
            f"--{name} must be a share above 0 and below 1, such as 0.9. Got "
            f"{coverage:g}.",
            USAGE,
        )
    if not model.last.has_held_out_rows:
        raise ShellError(
            f"'{options.model}' keeps no rows that its members have not seen: train it "
            "from one table, with another generator than adaboost, or prune it."
        )


def _check_proba(model: TableModel, path: str) -> None:
    """Refuse probabilities of a model that has none."""
    if model.task != CLASSIFICATION:
        raise ShellError(f"'{path}' is a regressor: --proba is for classifiers.")
    if not hasattr(model.estimator, "predict_proba"):
        raise ShellError(f"The classifier in '{path}' gives no probabilities.")
