"""committee train: a table in, a pipeline with a committee out."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee._format import figures, text_table
from committee.combiners import ARDPruner, EPPruner, RidgeWeights
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.shell.encoding import TableEncoding
from committee.shell.messages import UsageError
from committee.shell.options import (
    CLASSIFICATION,
    GENERATORS,
    MEASURES,
    MINUTES,
    POOL,
    PRESETS,
    TASKS,
    Train,
    known,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.schema import asked_columns
from committee.shell.table_model import TableModel, source_name, write_model
from committee.shell.tables import check_output, read_table


def train(options: Train) -> None:
    """Train a committee on a table and save it."""
    start = time.monotonic()
    check_output(options.output, inputs=[options.data])
    options = settled(options)
    # Raise for unknown names before a long table is read.
    _committee(options, options.task or CLASSIFICATION)
    encoding, committee = _fitted(options, start)
    n_rows, error = len(encoding.y), committee.held_out_error_
    # Settings of this run are not stored in the file.
    committee.set_params(n_jobs=None, verbose=False)
    pipeline = Pipeline([("columns", encoding.transformer), ("committee", committee)])
    name = source_name(options.data)
    source = {"file": name, "rows": n_rows, "held_out_error": error}
    model = TableModel(pipeline, encoding.schema, options.target, source)
    n_bytes = write_model(model, options.output)
    weights = np.abs(committee.combiner_.weights_)
    boosting, shares, table = None, None, ""
    if options.generator == POOL:
        from committee.shell.learners import boosting_by

        boosting = boosting_by(committee.generator.members)
        of_sum = (weights / weights.sum()).tolist()
        shares = dict(zip(committee.generator.names, of_sum, strict=True))
        cells = [(name, figures(share, 4)) for name, share in shares.items()]
        table = text_table([("learner", "share"), *cells])
    options.messages.result(
        {
            "model": options.output,
            "task": encoding.task,
            "target": options.target,
            "rows": n_rows,
            "columns": len(encoding.schema.names),
            "boosting_by": boosting,
            "members": len(weights),
            "members_with_a_weight": committee.n_members_,
            "measure": MEASURES[encoding.task],
            "held_out_error": error,
            "file_bytes": n_bytes,
            "seconds": time.monotonic() - start,
            "learners": shares,
        },
        table,
    )


def settled(options: Train) -> Train:
    """Return the options with defaults filled in; raise for those that conflict."""
    one, of_pool = (
        next((n for n in names if getattr(options, n) is not None), None)
        for names in (("members", "estimator"), ("preset", "minutes"))
    )
    generator = options.generator or ("bagging" if one else POOL)
    known(generator, (POOL, *GENERATORS), "--generator")
    if generator == POOL and one:
        raise UsageError(
            f"--{one} is for many members of one estimator, but --generator {POOL} "
            "trains the learners of a preset: leave out one of the two."
        )
    if generator != POOL and of_pool:
        instead = f"--{one}" if one else f"--generator {generator}"
        raise UsageError(
            f"--{of_pool} is for the learners of --generator {POOL}, but {instead} "
            "trains many members of one estimator: leave out one of the two."
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
    """Return the unfitted committee for a task; raise ShellError for unknown names.

    With --generator pool it has no generator yet, since learners depend on the rows.
    """
    known(task, TASKS, "--task")
    kind = CommitteeClassifier if task == CLASSIFICATION else CommitteeRegressor
    committee = kind(
        combiner=_combiner(options, task),
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


def _combiner(options: Train, task: str) -> Any:
    """Return the combiner; the learners of a preset have defaults of their own.

    On generated and small tables that no benchmark reports, before any calibration,
    relevance determination on log-odds had 0.95 of the log-loss of EP on votes and 0.98
    of its errors, `LogPool` 0.96 and 1.09; ridge weights and relevance determination had
    0.98 of the RMSE of EP.
    """
    if options.combiner is not None:
        return make_combiner(options.combiner, options.seed)
    if options.generator != POOL:
        return EPPruner()
    return ARDPruner() if task == CLASSIFICATION else RidgeWeights()


def _fitted(options: Train, start: float) -> tuple[TableEncoding, Any]:
    """Return the encoding of the table, and the fitted committee."""
    table = read_table(options.data, options.categorical or [], options.encoding)
    encoding = TableEncoding.fit(asked_columns(table, options), options)
    committee = _committee(options, encoding.task, verbose=not options.quiet)
    # `fit` cross-fits the combiner once for intervals, sets, calibration and the error.
    if options.generator == POOL or committee.generator.leaves_rows_out:
        committee.uncertainty = True
        if encoding.n_classes is not None:
            committee.calibration = "slope"
    if options.generator == POOL:
        from committee.shell.learners import fit_pool

        fit_pool(committee, encoding, options, start)
    else:
        committee.fit(encoding.X, encoding.y)
    return encoding, committee
