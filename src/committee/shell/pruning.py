"""committee prune: a model and rows in, a small committee out."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.pruning import prune as pruned
from committee.shell.choices import make_combiner
from committee.shell.errors import USAGE, ShellError, listed
from committee.shell.models import Model, check_model_output, read_model, write_model
from committee.shell.output import Voice
from committee.shell.predicting import read_rows
from committee.shell.tables import read_table
from committee.shell.target import CLASSIFICATION, as_target, split_target


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
    voice : Voice
    """
    # Onto its own file a model may go: the old one stays whole until then.
    check_model_output(output, inputs=[data])
    weigher = make_combiner(combiner, seed)
    loaded = read_model(model)
    target = target_of(loaded, target, model)
    X, y = labelled_rows(loaded, data, target, voice)
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
            "rows": len(y),
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


def labelled_rows(
    model: Model, data: str, target: str, voice: Voice
) -> tuple[Any, Any]:
    """Return the rows of a table as a model takes them, and their targets."""
    frame = read_table(data, words=_words(model, target))
    frame, column = split_target(frame, target)
    y = _known_labels(model, as_target(column, model.task), target)
    X, _ = read_rows(model, data, voice, frame)
    return X, y


def _words(model: Model, target: str) -> list[str]:
    """Return the columns to read as text: the target too where labels are text."""
    words = [] if model.columns is None else list(model.columns.words)
    classes = getattr(model.estimator, "classes_", None)
    if classes is not None and classes.dtype.kind in "UO":
        words.append(target)
    return words


def _known_labels(model: Model, y: Any, target: str) -> Any:
    """Refuse labels that the model does not know."""
    if model.task != CLASSIFICATION:
        return y
    classes = model.estimator.classes_
    strange = sorted({str(label) for label in y[~np.isin(y, classes)]})
    if strange:
        raise ShellError(
            f"The target {target!r} has {listed(strange)}, which the model does not "
            f"know. Its classes are {listed([str(label) for label in classes])}."
        )
    return y
