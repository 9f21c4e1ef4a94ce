"""committee prune: a model and rows in, a small committee out."""

from __future__ import annotations

from typing import Any

from committee.pruning import prune as pruned
from committee.shell.choices import check_on_dask, make_combiner
from committee.shell.dask_client import refuse_jobs, watched, workers
from committee.shell.errors import USAGE, ShellError
from committee.shell.model_files import (
    Model,
    check_model_output,
    read_model,
    write_model,
)
from committee.shell.output import Voice
from committee.shell.parts import files_of, is_spread, naming_files, parts_of
from committee.shell.scoring_rows import labelled_parts, labelled_rows


def prune(
    model: str,
    data: str,
    *,
    output: str,
    target: str | None = None,
    combiner: str = "ep",
    oob: bool = False,
    limits: dict[str, Any] | None = None,
    seed: int = 0,
    jobs: int = 1,
    scheduler: str | None = None,
    voice: Voice,
) -> None:
    """Keep the members of a saved ensemble that matter, and save them.

    Parameters
    ----------
    model, data, output : str
        File of the ensemble, table with its target, file of the small committee.
    target : str, optional
        The column to predict; the one the model was trained for unless given.
    combiner : str, default="ep"
        A name of `committee.shell.choices`.
    oob : bool, default=False
        The rows are those the ensemble was trained on.
    limits : dict, optional
        For `path_.choose`.
    seed, jobs : int
    scheduler : str, optional
        Address of the Dask scheduler whose workers read the table.
    voice : Voice
    """
    spread = is_spread(data, scheduler)
    files = files_of(data) if spread else [data]
    # Onto its own file a model may go: the old one stays whole until then.
    check_model_output(output, inputs=files)
    weigher = make_combiner(combiner, seed)
    if spread:
        _refuse_options(oob, jobs)
    loaded = read_model(model)
    if spread:
        check_on_dask(combiner, _n_classes(loaded))
    target = target_of(loaded, target, model)
    if spread:
        small, n_rows = _on_workers(loaded, files, target, weigher, scheduler, voice)
    else:
        X, y = labelled_rows(loaded, data, target, voice)
        n_rows = len(y)
        small = pruned(
            loaded.estimator,
            X,
            y,
            combiner=weigher,
            oob=oob,
            n_jobs=jobs,
            verbose=voice.progress,
        )
    given = {name: value for name, value in (limits or {}).items() if value is not None}
    if given:
        small = small.path_.choose(**given)
    small.set_params(n_jobs=None)
    kept = Model(small, columns=loaded.columns, target=target, source=loaded.source)
    n_bytes = write_model(kept, output)
    summary = small.summary()
    voice.result(
        {
            "model": output,
            "task": loaded.task,
            "rows": n_rows,
            "members": small.n_members_,
            "bytes": n_bytes,
            "summary": summary.to_dict(),
        },
        str(summary),
    )


def target_of(model: Model, given: str | None, path: str) -> str:
    """Return the column to predict: the given one, or the model's own."""
    target = given or model.target
    if target is None:
        raise ShellError(f"'{path}' does not name its target: give --target.", USAGE)
    return target


def _on_workers(
    model: Model,
    files: list[str],
    target: str,
    combiner: Any,
    scheduler: str | None,
    voice: Voice,
) -> tuple[Any, int]:
    """Return the small committee that Dask's workers found, and the number of rows."""
    parts = parts_of(files)
    with workers(scheduler, voice) as client:
        with watched(client, "reading", shown=voice.progress):
            rows = labelled_parts(model, parts, target)
        rows.findings.tell(voice)
        shown = voice.progress
        with naming_files(rows.parts), watched(client, "pruning", shown=shown):
            small = pruned(model.estimator, rows.X, rows.y, combiner=combiner)
    return small, rows.findings.n_rows


def _n_classes(model: Model) -> int | None:
    classes = getattr(model.estimator, "classes_", None)
    return None if classes is None else len(classes)


def _refuse_options(oob: bool, jobs: int) -> None:
    """Refuse what is for a table in memory."""
    refuse_jobs(jobs)
    if oob:
        raise ShellError(
            "--oob is for a table in memory, the one that the model was trained on. On "
            "Dask, give rows that the model has not seen, without --oob.",
            USAGE,
        )
