"""committee predict: a model and a table in, a table of predictions out."""

from __future__ import annotations

from typing import Any

from committee.shell.columns import ROW_NUMBERS, row_numbers, unseen
from committee.shell.errors import USAGE, ShellError
from committee.shell.models import Model, read_model
from committee.shell.output import Voice
from committee.shell.parsing import pandas
from committee.shell.tables import check_output, read_table, write_table
from committee.shell.target import CLASSIFICATION


def predict(
    model: str,
    data: str,
    *,
    output: str = "-",
    proba: bool = False,
    jobs: int = 1,
    voice: Voice,
) -> None:
    """Write a prediction for every row of a table.

    Parameters
    ----------
    model, data : str
        File of the model, table; further columns of the table are ignored.
    output : str, default="-"
    proba : bool, default=False
        A column `p_CLASS` for every class as well.
    jobs : int, default=1
        Members asked at the same time.
    voice : Voice
    """
    if voice.as_json and output == "-":
        raise ShellError(
            "--json is about the run, and standard output has the predictions: give a "
            "file for them with -o.",
            USAGE,
        )
    check_output(output, table=True, inputs=[model, data])
    loaded = read_model(model)
    if proba:
        _check_proba(loaded, model)
    X, strange = read_rows(loaded, data, voice)
    if "n_jobs" in loaded.last.get_params(deep=False):
        loaded.last.set_params(n_jobs=jobs)
    write_table(predictions(loaded.estimator, X, proba=proba), output)
    if output != "-":
        voice.result({"output": output, "rows": len(X), "unseen_values": strange})


def read_rows(
    model: Model, data: str, voice: Voice, frame: Any = None
) -> tuple[Any, dict[str, int]]:
    """Return the rows of a table for a model, and how many words are new to it.

    Parameters
    ----------
    model : Model
    data : str
    voice : Voice
        Told about every column with unseen values, and about row numbers.
    frame : DataFrame, optional
        The table, where it has been read already.
    """
    if frame is None:
        frame = read_table(data, words=() if not model.columns else model.columns.words)
    numbers = [name for name in row_numbers(frame) if name not in model.names]
    if numbers:
        voice.note(ROW_NUMBERS)
    X = model.rows(frame.drop(columns=numbers))
    strange = unseen(model.encoder, X)
    for name, count in strange.items():
        rows = "row" if count == 1 else "rows"
        voice.note(
            f"the column {name!r} has values in {count} {rows} that were not there in "
            "training; they count as none of the known ones."
        )
    return X, strange


def predictions(estimator: Any, X: Any, *, proba: bool = False) -> Any:
    """Return a table with the column `prediction`, and one for every class.

    Parameters
    ----------
    estimator : fitted estimator
    X : array-like of shape (N, n_features)
    proba : bool, default=False

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from committee.shell.predicting import predictions
    >>> model = GaussianNB().fit([[0.0], [1.0], [9.0], [10.0]], ["a", "a", "b", "b"])
    >>> predictions(model, [[0.5]], proba=True).columns.tolist()
    ['prediction', 'p_a', 'p_b']
    """
    table = {"prediction": estimator.predict(X)}
    if proba:
        p = estimator.predict_proba(X)
        table |= {f"p_{label}": p[:, k] for k, label in enumerate(estimator.classes_)}
    return pandas().DataFrame(table)


def _check_proba(model: Model, path: str) -> None:
    """Refuse probabilities of a model that has none."""
    if model.task != CLASSIFICATION:
        raise ShellError(f"'{path}' is a regressor: --proba is for classifiers.")
    if not hasattr(model.estimator, "predict_proba"):
        raise ShellError(f"The classifier in '{path}' gives no probabilities.")
