"""committee train: a table in, a pipeline with a committee out."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee.estimators import CommitteeClassifier, CommitteeRegressor
from committee.shell.choices import (
    TREES,
    known,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.columns import Columns, encoder
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

#: Rows that all members are asked about at a time.
_BLOCK = 10_000


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
    check_model_output(output)
    # Wrong names should not wait for a long table.
    recipe.committee(recipe.task or CLASSIFICATION)
    frame, y = split_target(read_table(data), target)
    task = recipe.task or _guessed(y, voice)
    columns = Columns.of(frame)
    if columns.left_out:
        voice.note(
            f"{listed(columns.left_out)} left out: text that is different in every row."
        )
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


def held_out_error(committee: Any, X: Any, y: Any) -> float | None:
    """Return the error when members speak only on rows that they did not see.

        p(n) = sum_m w_m h_nm F_nm,   h_nm = 1 where m did not see n

    The weights have seen all rows, so that it is a little too good.

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
    losses = []
    for first in range(0, len(y), _BLOCK):
        rows = slice(first, first + _BLOCK)
        w = mask[rows] * committee.weights_
        heard = w.sum(axis=1) > 0
        F = committee.member_predictions(X[rows])[heard]
        losses.append(_losses(committee, F, w[heard], y[rows][heard]))
    loss = np.concatenate(losses)
    if not len(loss):
        return None
    root = 1.0 if hasattr(committee, "classes_") else 0.5
    return float(loss.mean() ** root)


def _losses(committee: Any, F: Any, w: Any, y: Any) -> Any:
    """Return for each row whether it is wrong, or its squared error."""
    if F.ndim == 3:
        votes = np.einsum("nm,nmk->nk", w, F)
        return committee.classes_[votes.argmax(axis=1)] != y
    # Those who are heard stand in for those who are not.
    share = w.sum(axis=1) / committee.weights_.sum()
    return ((w * F).sum(axis=1) / share - y) ** 2


def _guessed(y: Any, voice: Voice) -> str:
    """Return the task that the target sets, and say so."""
    task = guess_task(y)
    voice.note(
        f"{task}, since the target {y.name!r} has {y.nunique()} distinct values such "
        f"as {y.tolist()[0]!r}; --task to say otherwise."
    )
    return task
