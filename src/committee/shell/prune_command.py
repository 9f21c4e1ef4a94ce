"""committee prune: a model and rows in, a small committee out."""

from __future__ import annotations

from typing import Any

from committee.ensembles import roster_of
from committee.members import Pool
from committee.pruning import prune as prune_ensemble
from committee.shell.choices import (
    SCORES,
    check_on_dask,
    known,
    make_combiner,
    scorer_name,
)
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
    check_output(options.output, inputs=files)
    if not options.force:
        advice = ", or --force to replace the model by what is left of it"
        check_output(options.output, inputs=[options.model], advice=advice)
    _combiner(options)  # a wrong name should not wait for the model
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
            "file_bytes": n_bytes,
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
    X, y = model.read_labelled(files[0], options.messages, options.encoding)
    if isinstance(getattr(model.last, "generator", None), Pool):
        _refuse_rows_of_pool(options, model, X)
    else:
        _note_known_rows(options, model, X)
    small = prune_ensemble(
        model.estimator,
        X,
        y,
        combiner=_combiner(options, model),
        # Unless told, the library finds out whether members have seen these rows.
        oob="auto" if options.oob is None else options.oob,
        n_jobs=options.jobs,
        verbose=not options.quiet,
    )
    return _chosen(options, small), len(y)


def _on_workers(options: Prune, model: TableModel, files: list[str]) -> tuple[Any, int]:
    """Return the small committee that Dask's workers found, and the number of rows."""
    n_classes = None if model.classes is None else len(model.classes)
    check_on_dask(_combiner_name(options), n_classes)
    combiner = _combiner(options, model)
    parts, messages = parts_of(files, options.encoding), options.messages
    with workers(options.scheduler, messages) as client:
        with watched(client, "reading", messages):
            rows = labelled_rows(model, parts, messages)
        with naming_files(rows.parts), watched(client, "pruning", messages):
            small = prune_ensemble(model.estimator, rows.X, rows.y, combiner=combiner)
            small = _chosen(options, small)
    return small, rows.n_rows


def _combiner_name(options: Prune) -> str:
    """Return the combiner that was asked for, or the one that can do what was."""
    if options.scoring is None:
        return options.combiner or "ep"
    if options.combiner not in (None, "greedy"):
        raise ShellError(
            f"--scoring is what --combiner greedy maximises, and {options.combiner} "
            "has a criterion of its own: leave out one of the two.",
            USAGE,
        )
    return "greedy"


def _combiner(options: Prune, model: TableModel | None = None) -> Any:
    """Return the combiner, which for --scoring has to know the task."""
    combiner = make_combiner(_combiner_name(options), options.seed)
    if options.scoring is not None:
        known(options.scoring, SCORES, "--scoring")
        if model is not None:
            n_classes = None if model.classes is None else len(model.classes)
            combiner.set_params(scoring=scorer_name(options.scoring, n_classes))
    return combiner


def _refuse_rows_of_pool(options: Prune, model: TableModel, X: Any) -> None:
    """Refuse the training rows of unlike learners: all of them have seen all rows."""
    if options.oob or (options.oob is None and _recognised(model, X) == "same"):
        raise ShellError(
            f"The learners of '{options.model}' have seen all rows of their table, and "
            "train has chosen and weighed them already, on predictions of rows that "
            "each had not seen. Give rows that the model was not trained on, without "
            "--oob; or train trees that can be pruned by their own rows, with "
            "--generator bagging."
        )


def _note_known_rows(options: Prune, model: TableModel, X: Any) -> None:
    """Say that these look like training rows, unless the library finds out."""
    if options.oob or not model.is_source(options.data, len(X)):
        return
    if options.oob is None and _recognised(model, X) is not None:
        return
    options.messages.note(
        f"'{options.data}' has the name and the number of rows of the table that the "
        "model was trained on: if these are its rows, give --oob, for members know "
        "them by heart."
    )


def _recognised(model: TableModel, X: Any) -> str | None:
    """Return "same", "another order" or "others"; None where members cannot tell."""
    roster = roster_of(model.estimator)
    return None if roster.recognise is None else roster.recognise(roster.prepared(X))


def _refuse_options(options: Prune) -> None:
    """Refuse what is for a table in memory."""
    refuse_jobs(options.jobs)
    if options.oob:
        raise ShellError(
            "--oob is for a table in memory, the one that the model was trained on. On "
            "Dask, give rows that the model has not seen, without --oob.",
            USAGE,
        )
