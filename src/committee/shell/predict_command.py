"""committee predict: a model and a table in, a table of predictions out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from sklearn.pipeline import Pipeline

from committee._progress import track
from committee.shell.messages import ShellError, UsageError, listed
from committee.shell.options import CLASSIFICATION, Predict
from committee.shell.table_model import Findings, TableModel, read_model
from committee.shell.tables import (
    check_output,
    input_files,
    read_table,
    write_tables,
)


def predict(options: Predict) -> None:
    """Write a prediction for every row of a table."""
    output = options.output
    if options.as_json and output == "-":
        raise UsageError(
            "--json describes the run, but predictions go to standard output: give a "
            "file for them with -o."
        )
    files, on_dask = input_files(options.data, options.scheduler, options.jobs)
    check_output(output, table=True, inputs=[options.model, *files])
    model = read_model(options.model)
    _check_columns(model, options)
    model.use_jobs(options.jobs)
    wanted = {n: getattr(options, n) for n in ("proba", "interval", "classes")}
    if on_dask:
        findings = _on_workers(options, model, files, wanted)
        findings.note(options.messages)
    else:
        frame = read_table(options.data, model.words, options.encoding)
        X, findings = model.take(frame)
        findings.note(options.messages)
        write_tables([predictions(model.estimator, X, **wanted)], output)
    if output != "-":
        unseen = dict(findings.unseen)
        options.messages.result(
            {"output": output, "rows": findings.n_rows, "unseen_values": unseen}
        )


def _on_workers(
    options: Predict, model: TableModel, files: list[str], wanted: dict[str, Any]
) -> Findings:
    """Predict files on Dask's workers, and write the tables in their order."""
    from committee.shell.dask_client import workers
    from committee.shell.dask_tables import as_chunks, parts_of

    parts, findings = parts_of(files, options.encoding), Findings()
    # A progress bar would use standard output itself.
    shown = not options.quiet and options.output != "-"

    def tables(futures: list[Any]) -> Iterator[Any]:
        nonlocal findings
        for _ in track(parts, len(parts), "predicting", shown):
            table, found = futures.pop(0).result()  # workers delete it then
            if found.n_rows:
                findings = findings.plus(found)
                yield table
        if not findings.n_rows:
            raise ShellError(f"{listed(files)} have no rows.")

    with workers(options.scheduler, options.messages) as client:
        predicted = as_chunks(parts).map(_predicted, model, wanted)
        write_tables(tables(client.compute(predicted.parts)), options.output)
    return findings


def _predicted(
    part: Any, model: TableModel, wanted: dict[str, Any]
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
    """Return a table with the column `prediction`.

    Parameters
    ----------
    estimator : fitted committee, pipeline or other model
    X : rows as it takes them
    proba : bool, default=False
        Add the column `p_CLASS` for every class.
    interval : float, default=None
        Coverage of the interval in the columns `lower` and `upper`. None: no columns.
    classes : float, default=None
        Coverage of the sets in the columns `in_CLASS`, True for the classes of a set.

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


def _check_columns(model: TableModel, options: Predict) -> None:
    """Raise ShellError, before rows are read, for columns that the model cannot give."""
    path, classifies = options.model, model.task == CLASSIFICATION
    if options.proba and not classifies:
        raise ShellError(f"'{path}' is a regressor: --proba is for classifiers.")
    if options.proba and not hasattr(model.estimator, "predict_proba"):
        raise ShellError(f"The classifier in '{path}' gives no probabilities.")
    if options.interval is not None:
        if classifies:
            raise ShellError(
                f"'{path}' is a classifier: --interval is for numbers, --set and "
                "--proba for classes."
            )
        _check_coverage(model, path, "interval", options.interval)
    if options.classes is not None:
        if not classifies:
            raise ShellError(
                f"'{path}' is a regressor: --set is for classes, --interval for numbers."
            )
        _check_coverage(model, path, "set", options.classes)


def _check_coverage(model: TableModel, path: str, name: str, coverage: float) -> None:
    """Raise ShellError for a model without held-out rows, and for other coverages."""
    if not hasattr(model.last, f"predict_{name}"):
        raise ShellError(
            f"The model in '{path}' is not a committee: --{name} needs one of "
            "`committee train` or `committee prune`."
        )
    if not 0 < coverage < 1:
        raise UsageError(
            f"--{name} must be a share above 0 and below 1, such as 0.9. Got "
            f"{coverage:g}."
        )
    if not model.last.has_held_out_rows:
        raise ShellError(
            f"'{path}' stores no rows that its members have not seen: train it from one "
            "table, with another generator than adaboost, or prune it."
        )
