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
from committee.pruning.weighing_rows import checked_rows
from committee.shell.choices import (
    TREES,
    check_on_dask,
    known,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.dask_client import refuse_jobs, watched, workers
from committee.shell.model_files import (
    Model,
    check_model_output,
    source_of,
    write_model,
)
from committee.shell.output import Voice
from committee.shell.parts import files_of, is_spread, naming_files, parts_of
from committee.shell.tables import read_table
from committee.shell.target import CLASSIFICATION, REGRESSION, TASKS
from committee.shell.training_rows import Lesson, in_memory, in_parts

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
    >>> from committee.shell.train_command import Recipe
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

    def reading(self) -> dict[str, Any]:
        """Return how a table is to be read for these members."""
        return {"task": self.task, "for_trees": self.estimator in TREES}

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
    data: str,
    *,
    target: str,
    output: str,
    recipe: Recipe | None = None,
    scheduler: str | None = None,
    voice: Voice,
) -> None:
    """Train a committee on a table and save it.

    Parameters
    ----------
    data, target, output : str
        Table, column to predict, file of the model.
    recipe : Recipe, optional
    scheduler : str, optional
        Address of the Dask scheduler whose workers read the table.
    voice : Voice
    """
    start, recipe = time.perf_counter(), recipe or Recipe()
    spread = is_spread(data, scheduler)
    files = files_of(data) if spread else [data]
    check_model_output(output, inputs=files)
    # Wrong names should not wait for a long table.
    recipe.committee(recipe.task or CLASSIFICATION)
    if spread:
        lesson, committee = _on_workers(files, target, recipe, scheduler, voice)
        errors = {"leave_one_out_error": _leave_one_out_error(committee)}
    else:
        lesson = in_memory(read_table(data), target, **recipe.reading(), voice=voice)
        committee = recipe.committee(lesson.task, verbose=voice.progress)
        committee.fit(lesson.X, lesson.y)
        errors = {"held_out_error": held_out_error(committee, lesson.X, lesson.y)}
    # Whoever loads it has cores, and ears, of their own.
    committee.set_params(n_jobs=None, verbose=False)
    pipeline = Pipeline([("columns", lesson.reader), ("committee", committee)])
    source = source_of(data, lesson.n_rows)
    model = Model(pipeline, columns=lesson.columns, target=target, source=source)
    n_bytes = write_model(model, output)
    voice.result(
        {
            "model": output,
            "task": lesson.task,
            "target": target,
            "rows": lesson.n_rows,
            "columns": len(lesson.columns.names),
            "members": len(committee.members_),
            "members_with_a_weight": committee.n_members_,
            "measure": None if None in errors.values() else MEASURES[lesson.task],
            **errors,
            "bytes": n_bytes,
            "seconds": time.perf_counter() - start,
        }
    )


def _on_workers(
    files: list[str], target: str, recipe: Recipe, scheduler: str | None, voice: Voice
) -> tuple[Lesson, Any]:
    """Return the rows of files, and who learned from them on Dask's workers."""
    _refuse_what_sees_all_rows(recipe)
    parts, shown = parts_of(files), voice.progress
    with workers(scheduler, voice) as client:
        with watched(client, "reading", shown=shown):
            lesson = in_parts(parts, target, **recipe.reading(), voice=voice)
        check_on_dask(recipe.combiner, lesson.n_classes)
        committee = recipe.committee(lesson.task)
        with naming_files(lesson.parts), watched(client, "training", shown=shown):
            committee.fit(lesson.X, lesson.y)
    return lesson, committee


def _refuse_what_sees_all_rows(recipe: Recipe) -> None:
    """Refuse, before workers are started, what cannot be done by chunks."""
    refuse_jobs(recipe.jobs)
    known(recipe.generator, ("bagging", "mini-batches"), "On Dask, --generator")
    check_on_dask(recipe.combiner)


def _leave_one_out_error(committee: Any) -> float | None:
    """Return the error of the combiner's own path, None where it has none.

    There is none to trust with three or more classes: weights come from moments of
    held-out rows there, and the error that these give is far off.
    """
    error: float | None = getattr(committee.combiner_, "loo_", None)
    classes = getattr(committee, "classes_", None)
    if error is None or classes is None:
        return None if error is None else float(np.sqrt(error))
    return error if len(classes) == 2 else None


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
