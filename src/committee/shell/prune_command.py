"""committee prune: a model and rows in, a small committee out."""

from __future__ import annotations

from typing import Any

from committee.ensembles import roster_of
from committee.members import Pool
from committee.pruning import prune as prune_ensemble
from committee.shell.messages import ShellError
from committee.shell.options import Prune, make_combiner
from committee.shell.table_model import TableModel, read_model, write_model
from committee.shell.tables import check_output

_LIMITS = ("max_members", "max_bytes", "max_seconds", "within_se")


def prune(options: Prune) -> None:
    """Select the members of a saved ensemble that matter, and save them."""
    check_output(options.output, inputs=[options.data])
    if not options.force:
        advice = ", or --force to replace the model by the pruned one"
        check_output(options.output, inputs=[options.model], advice=advice)
    # Raise for unknown names before the model is loaded.
    combiner = make_combiner(options.combiner or "ep", options.seed)
    model = read_model(options.model, options.target, labelled=True)
    X, y = model.read_labelled(options.data, options.messages, options.encoding)
    _check_rows(options, model, X)
    small = prune_ensemble(
        model.estimator,
        X,
        y,
        combiner=combiner,
        # By default, the library detects whether these are training rows.
        oob="auto" if options.oob is None else options.oob,
        n_jobs=options.jobs,
        verbose=not options.quiet,
    )
    small = _chosen(options, small)
    summary = small.summary()
    small.set_params(n_jobs=None)
    kept = TableModel(small, model.schema, model.target, model.source)
    n_bytes = write_model(kept, options.output)
    options.messages.result(
        {
            "model": options.output,
            "task": model.task,
            "rows": len(y),
            "members": small.n_members_,
            "file_bytes": n_bytes,
            "summary": summary.to_dict(),
        },
        str(summary),
    )


def _chosen(options: Prune, small: Any) -> Any:
    """Return the committee within the limits, with summary and path measured.

    The rows are not in the file, so its page can only show what was measured before.
    """
    limits = {name: getattr(options, name) for name in _LIMITS}
    given = {name: limit for name, limit in limits.items() if limit is not None}
    if given:
        small = small.path_.choose(**given)
    _ = small.summary(), small.path_.error, small.path_.n_bytes
    return small


def _check_rows(options: Prune, model: TableModel, X: Any) -> None:
    """Raise ShellError for the training rows of a pool; note what look like others'."""
    if isinstance(getattr(model.last, "generator", None), Pool):
        if options.oob or (options.oob is None and _recognised(model, X) == "same"):
            raise ShellError(
                f"The learners of '{options.model}' were trained on all rows of their "
                "table, and train has already selected and weighed them by "
                "cross-fitting. Use rows that the model was not trained on, without "
                "--oob; or train trees with --generator bagging, which can be pruned "
                "on their training rows."
            )
        return
    if options.oob or not model.is_source(options.data, len(X)):
        return
    if options.oob is False or _recognised(model, X) is None:
        options.messages.note(
            f"'{options.data}' has the name and the number of rows of the table that "
            "the model was trained on: if these are its rows, give --oob, because the "
            "members were fitted to them."
        )


def _recognised(model: TableModel, X: Any) -> str | None:
    """Return "same", "another order" or "others"; None if members cannot tell."""
    roster = roster_of(model.estimator)
    return None if roster.recognise is None else roster.recognise(roster.prepared(X))
