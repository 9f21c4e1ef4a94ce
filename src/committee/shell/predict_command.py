"""committee predict: a model and a table in, a table of predictions out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from committee._progress import track
from committee.shell.dask_client import refuse_jobs, workers
from committee.shell.encoding import ROW_NUMBERS, unseen
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.model_files import Model, read_model
from committee.shell.output import Voice
from committee.shell.parsing import pandas
from committee.shell.parts import Part, as_chunks, files_of, is_spread, parts_of
from committee.shell.tables import check_output, read_table, write_table, write_tables
from committee.shell.target import CLASSIFICATION


def predict(
    model: str,
    data: str,
    *,
    output: str = "-",
    proba: bool = False,
    jobs: int = 1,
    scheduler: str | None = None,
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
    scheduler : str, optional
        Address of the Dask scheduler whose workers read the table.
    voice : Voice
    """
    if voice.as_json and output == "-":
        raise ShellError(
            "--json is about the run, and standard output has the predictions: give a "
            "file for them with -o.",
            USAGE,
        )
    spread = is_spread(data, scheduler)
    files = files_of(data) if spread else [data]
    check_output(output, table=True, inputs=[model, *files])
    if spread:
        refuse_jobs(jobs)
    loaded = read_model(model)
    if proba:
        _check_proba(loaded, model)
    if "n_jobs" in loaded.last.get_params(deep=False):
        loaded.last.set_params(n_jobs=jobs)
    if spread:
        findings = _on_workers(loaded, files, output, proba, scheduler, voice)
        findings.tell(voice)
    else:
        X, findings = read_rows(loaded, data)
        findings.tell(voice)
        write_table(predictions(loaded.estimator, X, proba=proba), output)
    if output != "-":
        voice.result(
            {
                "output": output,
                "rows": findings.n_rows,
                "unseen_values": dict(findings.unseen),
            }
        )


@dataclass(frozen=True)
class Findings:
    """What is good to know about rows that a model is asked about.

    Attributes
    ----------
    n_rows : int
    numbered : bool
        Whether a column of row numbers is left out.
    unseen : Counter
        Rows of each text column with values that were not there in training.
    """

    n_rows: int = 0
    numbered: bool = False
    unseen: Counter[str] = field(default_factory=Counter)

    def plus(self, other: Findings) -> Findings:
        """Return what is good to know about the rows of both."""
        return Findings(
            self.n_rows + other.n_rows,
            self.numbered or other.numbered,
            self.unseen + other.unseen,
        )

    def tell(self, voice: Voice) -> None:
        """Say it."""
        if self.numbered:
            voice.note(ROW_NUMBERS)
        for name, count in self.unseen.items():
            rows = "row" if count == 1 else "rows"
            voice.note(
                f"the column {name!r} has values in {count} {rows} that were not there "
                "in training; they count as none of the known ones."
            )


def read_rows(model: Model, data: str) -> tuple[Any, Findings]:
    """Return the rows of a table for a model, and what is good to know about them."""
    return rows_of(model, read_table(data, words=words_of(model)))


def rows_of(model: Model, frame: Any) -> tuple[Any, Findings]:
    """Return the rows of a DataFrame as a model takes them, and findings.

    Parameters
    ----------
    model : Model
    frame : DataFrame
        Further columns are ignored.
    """
    X = model.rows(frame)
    strange = Counter(unseen(model.encoder, X))
    return X, Findings(len(frame), bool(model.taking.numbers(frame)), strange)


def words_of(model: Model) -> list[str]:
    """Return the columns that the model reads as text."""
    return [] if model.columns is None else list(model.columns.words)


def _on_workers(
    model: Model,
    files: list[str],
    output: str,
    proba: bool,
    scheduler: str | None,
    voice: Voice,
) -> Findings:
    """Let Dask's workers predict files, and write what they say in order."""
    parts = parts_of(files)
    findings = [Findings()]
    # A bar would take standard output for itself.
    shown = voice.progress and output != "-"
    with workers(scheduler, voice) as client:
        said = as_chunks(parts).map(_predicted, model, proba)
        futures = client.compute(said.parts)
        answers = track(_results(futures), len(parts), "predicting", shown)
        write_tables(_tables(answers, findings, files), output)
    return findings[0]


def _results(futures: list[Any]) -> Iterator[Any]:
    """Yield results in order; workers forget each when it is here."""
    while futures:
        yield futures.pop(0).result()


def _tables(
    answers: Iterator[Any], findings: list[Findings], files: list[str]
) -> Iterator[Any]:
    """Yield the tables that have rows, and add up what was found."""
    for table, found in answers:
        if found.n_rows:
            findings[0] = findings[0].plus(found)
            yield table
    if not findings[0].n_rows:
        raise ShellError(f"{listed(files)} have no rows.")


def _predicted(part: Part, model: Model, proba: bool) -> tuple[Any, Findings]:
    """Return the predictions of one part, None without rows."""
    frame = part.read(words_of(model))
    if not len(frame):
        return None, Findings()
    with part.named():
        X, findings = rows_of(model, frame)
        return predictions(model.estimator, X, proba=proba), findings


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
    >>> from committee.shell.predict_command import predictions
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
