"""committee train: a table in, a pipeline with a committee out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee.combiners import Average
from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.pruning.crossfit import CrossFit
from committee.pruning.rows import checked_rows
from committee.shell.choices import (
    TREES,
    known,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.columns import ROW_NUMBERS, Columns, encoder, row_numbers
from committee.shell.errors import listed
from committee.shell.models import Model, check_model_output, source_of, write_model
from committee.shell.output import Voice
from committee.shell.tables import read_table
from committee.shell.target import (
    CLASSIFICATION,
    REGRESSION,
    TASKS,
    as_target,
    guess_task,
    split_target,
)

#: What the error of a task is.
MEASURES = {CLASSIFICATION: "error rate", REGRESSION: "root mean squared error"}


@dataclass(frozen=True)
class Recipe:
    """What kind of committee to train; names are those of `committee.shell.choices`.

    Parameters
    ----------
    members : int, default=100
    generator, combiner, estimator : str
    task : {"classification", "regression"}, optional
        Guessed from the target unless given.
    seed : int, default=0
    jobs : int, default=1
        Members trained at the same time.

    Examples
    --------
    >>> from committee.shell.training import Recipe
    >>> Recipe(members=5, combiner="average").committee("regression").generator
    Bagging(n_members=5)
    """

    members: int = 100
    generator: str = "bagging"
    combiner: str = "ep"
    estimator: str = "tree"
    task: str | None = None
    seed: int = 0
    jobs: int = 1

    def committee(self, task: str, *, verbose: bool = False) -> Any:
        """Return the unfitted committee for a task, or say which name is wrong."""
        known(task, TASKS, "--task")
        kind = CommitteeClassifier if task == CLASSIFICATION else CommitteeRegressor
        return kind(
            make_estimator(self.estimator, task),
            generator=make_generator(self.generator, self.members, task),
            combiner=make_combiner(self.combiner, self.seed),
            n_jobs=self.jobs,
            random_state=self.seed,
            verbose=verbose,
        )


def train(
    data: str, *, target: str, output: str, recipe: Recipe | None = None, voice: Voice
) -> None:
    """Train a committee on a table and save it.

    Parameters
    ----------
    data, target, output : str
        Table, column to predict, file of the model.
    recipe : Recipe, optional
    voice : Voice
    """
    start, recipe = time.perf_counter(), recipe or Recipe()
    check_model_output(output, inputs=[data])
    # Wrong names should not wait for a long table.
    recipe.committee(recipe.task or CLASSIFICATION)
    frame, y = split_target(read_table(data), target)
    task = recipe.task or _guessed(y, voice)
    columns = Columns.of(frame)
    _say_what_is_left_out(columns, frame, voice)
    committee = recipe.committee(task, verbose=voice.progress)
    X, labels = columns.take(frame), as_target(y, task)
    reader = encoder(X, columns, for_trees=recipe.estimator in TREES)
    pipeline = Pipeline([("columns", reader), ("committee", committee)])
    pipeline.fit(X, labels)
    error = held_out_error(committee, reader.transform(X), labels)
    # Whoever loads it has cores, and ears, of their own.
    committee.set_params(n_jobs=None, verbose=False)
    source = source_of(data, len(frame))
    model = Model(pipeline, columns=columns, target=target, source=source)
    n_bytes = write_model(model, output)
    voice.result(
        {
            "model": output,
            "task": task,
            "target": target,
            "rows": len(frame),
            "columns": len(columns.names),
            "members": len(committee.members_),
            "members_with_a_weight": committee.n_members_,
            "measure": None if error is None else MEASURES[task],
            "held_out_error": error,
            "bytes": n_bytes,
            "seconds": time.perf_counter() - start,
        }
    )


def _say_what_is_left_out(columns: Columns, frame: Any, voice: Voice) -> None:
    """Say which columns the model will not look at, and why."""
    numbers = row_numbers(frame)
    if numbers:
        voice.note(ROW_NUMBERS)
    names = [name for name in columns.left_out if name not in numbers]
    if names:
        voice.note(f"{listed(names)} left out: text that is different in every row.")


def held_out_error(committee: Any, X: Any, y: Any) -> float | None:
    """Return the error on rows that neither members nor weights have seen.

    Members speak only on rows that they were not trained on, and they are chosen and
    weighed again without each fold of the rows.

    Parameters
    ----------
    committee : fitted CommitteeClassifier or CommitteeRegressor
    X : array of shape (N, n_features)
        Its training rows.
    y : array of shape (N,)

    Returns
    -------
    error : float or None
        The share of wrong rows, or the root mean squared error; None where members
        have seen all rows, or where weights are negative: then a member cannot
        stand in for another.
    """
    mask = committee.held_out_
    if mask is None or len(mask) != len(y) or committee.weights_.min() < 0:
        return None
    rows = checked_rows(committee._as_roster(), X, y, oob=True, sample_weight=None)
    F = committee.member_predictions(X)
    judged = CrossFit(committee.combiner_ or Average(), F, rows).own
    if judged is None or not judged.speaks.any():
        return None
    error = rows.mean(rows.losses(judged.said), judged.speaks)[0]
    return error if hasattr(committee, "classes_") else float(np.sqrt(error))


def _guessed(y: Any, voice: Voice) -> str:
    """Return the task that the target sets, and say so."""
    task = guess_task(y)
    voice.note(
        f"{task}, since the target {y.name!r} has {y.nunique()} distinct values such "
        f"as {y.tolist()[0]!r}; --task to say otherwise."
    )
    return task
