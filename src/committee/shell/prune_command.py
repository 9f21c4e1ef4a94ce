"""committee prune: a model and rows in, a small committee out."""

from __future__ import annotations

from typing import Any

from committee.pruning import prune as prune_ensemble
from committee.shell.choices import check_on_dask, make_combiner
from committee.shell.dask_client import refuse_jobs, watched, workers
from committee.shell.dask_tables import labelled_rows
from committee.shell.errors import USAGE, ShellError
from committee.shell.file_parts import files_of, is_for_dask, naming_files, parts_of
from committee.shell.options import Prune
from committee.shell.table_model import (
    TableModel,
    read_model,
    write_model,
)
from committee.shell.table_output import check_output

_LIMITS = ("max_members", "max_bytes", "max_seconds", "within_se")


def prune(options: Prune) -> None:
    """Keep the members of a saved ensemble that matter, and save them."""
    on_dask = is_for_dask(options.data, options.scheduler)
    files = files_of(options.data) if on_dask else [options.data]
    # Onto its own file a model may go: the old one stays whole until then.
    check_output(options.output, inputs=files)
    make_combiner(options.combiner)  # a wrong name should not wait for the model
    if on_dask:
        _refuse_options(options)
    model = read_model(options.model, options.target, labelled=True)
    weigh = _on_workers if on_dask else _in_memory
    small, n_rows = weigh(options, model, files)
    summary = small.summary()
    small.set_params(n_jobs=None)
    kept = TableModel(small, model.columns, model.target, model.source)
    n_bytes = write_model(kept, options.output)
    options.messages.result(
        {
            "model": options.output,
            "task": model.task,
            "rows": n_rows,
            "members": small.n_members_,
            "bytes": n_bytes,
            "summary": summary.to_dict(),
        },
        str(summary),
    )


def _chosen(options: Prune, small: Any) -> Any:
    """Return the committee within the limits, measured while its rows are there.

    A file holds what was measured before: its page shows the summary and the path.
    """
    limits = {name: getattr(options, name) for name in _LIMITS}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if given:
        small = small.path_.choose(**given)
    _ = small.summary(), small.path_.error, small.path_.n_bytes
    return small


def _in_memory(options: Prune, model: TableModel, files: list[str]) -> tuple[Any, int]:
    """Return the small committee, and the number of rows."""
    X, y = model.read_labelled(files[0], options.messages)
    small = prune_ensemble(
        model.estimator,
        X,
        y,
        combiner=make_combiner(options.combiner, options.seed),
        oob=options.oob,
        n_jobs=options.jobs,
        verbose=not options.quiet,
    )
    return _chosen(options, small), len(y)


def _on_workers(options: Prune, model: TableModel, files: list[str]) -> tuple[Any, int]:
    """Return the small committee that Dask's workers found, and the number of rows."""
    n_classes = None if model.classes is None else len(model.classes)
    check_on_dask(options.combiner, n_classes)
    combiner = make_combiner(options.combiner, options.seed)
    parts, messages = parts_of(files), options.messages
    with workers(options.scheduler, messages) as client:
        with watched(client, "reading", messages):
            rows = labelled_rows(model, parts, messages)
        with naming_files(rows.parts), watched(client, "pruning", messages):
            small = prune_ensemble(model.estimator, rows.X, rows.y, combiner=combiner)
            small = _chosen(options, small)
    return small, rows.n_rows


def _refuse_options(options: Prune) -> None:
    """Refuse what is for a table in memory."""
    refuse_jobs(options.jobs)
    if options.oob:
        raise ShellError(
            "--oob is for a table in memory, the one that the model was trained on. On "
            "Dask, give rows that the model has not seen, without --oob.",
            USAGE,
        )
