"""committee train: a table in, a pipeline with a committee out."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.shell.choices import (
    CLASSIFICATION,
    GENERATORS,
    MEASURES,
    MINUTES,
    POOL,
    PRESETS,
    TASKS,
    check_on_dask,
    known,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.dask_client import refuse_jobs, watched, workers
from committee.shell.dask_tables import training_rows
from committee.shell.encoding import TableEncoding
from committee.shell.errors import USAGE, ShellError
from committee.shell.file_parts import files_of, is_for_dask, naming_files, parts_of
from committee.shell.messages import columns
from committee.shell.options import Train
from committee.shell.pool_training import fit_pool, shares_of
from committee.shell.table_look import TableLook, asked_columns
from committee.shell.table_model import TableModel, source_name, write_model
from committee.shell.table_output import check_output
from committee.shell.tables import read_table
from committee.shell.target import split_target


def train(options: Train) -> None:
    """Train a committee on a table and save it."""
    start = time.monotonic()
    on_dask = is_for_dask(options.data, options.scheduler)
    files = files_of(options.data) if on_dask else [options.data]
    check_output(options.output, inputs=files)
    options = settled(options, on_dask=on_dask)
    # Wrong names should not wait for a long table.
    _committee(options, options.task or CLASSIFICATION)
    fit = _fit_on_workers if on_dask else _fit_in_memory
    encoding, committee, n_rows, errors = fit(options, files, start)
    # Whoever loads it has cores of their own.
    committee.set_params(n_jobs=None, verbose=False)
    pipeline = Pipeline([("columns", encoding.transformer), ("committee", committee)])
    source = {"file": source_name(options.data), "rows": n_rows, **errors}
    model = TableModel(pipeline, encoding.columns, options.target, source)
    n_bytes = write_model(model, options.output)
    shares = shares_of(committee)
    options.messages.result(
        {
            "model": options.output,
            "task": encoding.task,
            "target": options.target,
            "rows": n_rows,
            "columns": len(encoding.columns.names),
            "members": len(
                getattr(committee.combiner_, "weights_", committee.members_)
            ),
            "members_with_a_weight": committee.n_members_,
            "measure": None if None in errors.values() else MEASURES[encoding.task],
            **errors,
            "file_bytes": n_bytes,
            "seconds": time.monotonic() - start,
            "learners": shares,
        },
        columns(("learner", "share"), list(shares.items())) if shares else "",
    )


def settled(options: Train, *, on_dask: bool) -> Train:
    """Return the options with what was not given, or say which do not go together."""
    of_one = [n for n in ("members", "estimator") if getattr(options, n) is not None]
    of_pool = [n for n in ("preset", "minutes") if getattr(options, n) is not None]
    generator = options.generator
    if generator is None:
        generator = "bagging" if on_dask or of_one else POOL
    elif not on_dask:
        known(generator, (POOL, *GENERATORS), "--generator")
    if generator == POOL and of_one:
        raise ShellError(
            f"--{of_one[0]} is for many members of one estimator, and --generator "
            f"{POOL} trains the unlike learners of a preset: leave out one of the two.",
            USAGE,
        )
    if generator != POOL and of_pool:
        instead = f"--{of_one[0]}" if of_one else f"--generator {generator}"
        raise ShellError(
            f"--{of_pool[0]} is for the unlike learners of --generator {POOL}, in "
            f"memory, and {'Dask' if on_dask else instead} for many members of one "
            "estimator: leave out one of the two.",
            USAGE,
        )
    preset = known(options.preset or "fast", PRESETS, "--preset")
    return replace(
        options,
        generator=generator,
        preset=preset,
        minutes=MINUTES[preset] if options.minutes is None else options.minutes,
        members=options.members or 100,
        estimator=options.estimator or "tree",
    )


def _committee(options: Train, task: str, *, verbose: bool = False) -> Any:
    """Return the unfitted committee for a task, or say which name is wrong.

    That of a pool has no generator yet: its learners depend on the rows.
    """
    known(task, TASKS, "--task")
    kind = CommitteeClassifier if task == CLASSIFICATION else CommitteeRegressor
    committee = kind(
        combiner=make_combiner(options.combiner, options.seed),
        n_jobs=options.jobs,
        random_state=options.seed,
        verbose=verbose,
    )
    if options.generator == POOL:
        return committee
    return committee.set_params(
        estimator=make_estimator(str(options.estimator), task),
        generator=make_generator(str(options.generator), options.members or 0, task),
    )


#: The encoding, the committee, the number of rows and the errors that are known.
_Fit = tuple[TableEncoding, Any, int, dict[str, float | None]]


def _fit_in_memory(options: Train, files: list[str], start: float) -> _Fit:
    table = read_table(files[0], options.categorical or [], options.encoding)
    frame = asked_columns(table, options)
    look = TableLook.at(frame, options)
    rows, target = split_target(frame, options.target, look.reading)
    encoding = TableEncoding.fit(rows, target, options, look, n_rows=len(rows))
    X, y = encoding.X(frame), encoding.y(frame)
    committee = _committee(options, encoding.task, verbose=not options.quiet)
    # For intervals and sets: the file has what they need, or nobody has.
    if options.generator == POOL or committee.generator.leaves_rows_out:
        committee.uncertainty = True
        if encoding.n_classes is not None:
            committee.calibration = "slope"
    if options.generator == POOL:
        fit_pool(committee, X, y, encoding, options, start)
    else:
        committee.fit(X, y)
    return encoding, committee, len(y), {"held_out_error": committee.held_out_error_}


def _fit_on_workers(options: Train, files: list[str], start: float) -> _Fit:
    refuse_jobs(options.jobs)
    known(str(options.generator), ("bagging", "mini-batches"), "On Dask, --generator")
    check_on_dask(options.combiner)
    parts, messages = parts_of(files, options.encoding), options.messages
    with workers(options.scheduler, messages) as client:
        with watched(client, "reading", messages):
            rows, encoding = training_rows(parts, options)
        check_on_dask(options.combiner, encoding.n_classes)
        committee = _committee(options, encoding.task)
        with naming_files(rows.parts), watched(client, "training", messages):
            committee.fit(rows.X, rows.y)
    errors = {"leave_one_out_error": _leave_one_out_error(committee)}
    return encoding, committee, rows.n_rows, errors


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
