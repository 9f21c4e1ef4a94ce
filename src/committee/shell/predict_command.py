"""committee predict: a model and a table in, a table of predictions out."""

from __future__ import annotations

from typing import Any

from sklearn.pipeline import Pipeline

from committee.shell.messages import ShellError, UsageError
from committee.shell.options import CLASSIFICATION, Predict
from committee.shell.table_model import TableModel, read_model
from committee.shell.tables import check_output, read_table, write_table


def predict(options: Predict) -> None:
    """Write a prediction for every row of a table."""
    output = options.output
    if options.as_json and output == "-":
        raise UsageError(
            "--json describes the run, but predictions go to standard output: give a "
            "file for them with -o."
        )
    check_output(output, table=True, inputs=[options.model, options.data])
    model = read_model(options.model)
    _check_columns(model, options)
    model.use_jobs(options.jobs)
    X, findings = model.take(read_table(options.data, model.words, options.encoding))
    findings.note(options.messages)
    table = predictions(
        model.estimator,
        X,
        proba=options.proba,
        interval=options.interval,
        classes=options.classes,
    )
    write_table(table, output)
    if output != "-":
        facts = {"output": output, "rows": len(table), "unseen_values": findings.unseen}
        options.messages.result(facts)


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
        Coverage of the interval in the columns `lower` and `upper`. None means no columns.
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
    if (options.proba or options.classes is not None) and not classifies:
        raise ShellError(
            f"'{path}' is a regressor: --proba and --set are for classes, --interval for "
            "numbers."
        )
    if options.interval is not None and classifies:
        raise ShellError(
            f"'{path}' is a classifier: --interval is for numbers, --set and --proba for "
            "classes."
        )
    if options.proba and not hasattr(model.estimator, "predict_proba"):
        raise ShellError(f"The classifier in '{path}' gives no probabilities.")
    for name, coverage in (("interval", options.interval), ("set", options.classes)):
        if coverage is not None:
            _check_coverage(model, path, name, coverage)


def _check_coverage(model: TableModel, path: str, name: str, coverage: float) -> None:
    """Raise ShellError for a model without held-out rows, and for other coverages."""
    if not hasattr(model.last, f"predict_{name}"):
        raise ShellError(
            f"The model in '{path}' is not a committee: --{name} needs a model of "
            "`committee train` or `committee prune`."
        )
    if not 0 < coverage < 1:
        raise UsageError(
            f"--{name} must be a fraction above 0 and below 1, such as 0.9. Got "
            f"{coverage:g}."
        )
    if not model.last.has_held_out_rows:
        raise ShellError(
            f"'{path}' stores no held-out rows: train it on one table, with a "
            "generator other than adaboost, or prune it."
        )
