"""committee export: a model in, a file for other tools out."""

from __future__ import annotations

import copy
import os
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from committee.export import to_onnx, to_sklearn
from committee.persistence import save
from committee.shell.errors import ShellError
from committee.shell.options import Export
from committee.shell.table_model import TableModel, read_model
from committee.shell.table_output import check_output

#: What an ending asks for.
FORMATS = {".onnx": "ONNX", ".skops": "scikit-learn"}


def export(options: Export) -> None:
    """Write a model as other tools read it."""
    path = options.output
    check_output(path, inputs=[options.model], endings=tuple(FORMATS))
    model = read_model(options.model)
    committee = _committee(model, options.model)
    kind = FORMATS[os.path.splitext(path)[1].lower()]
    if kind == "ONNX":
        written = to_onnx(committee, path, X=_example(model))
        inputs = [put.name for put in written.graph.input]
        outputs = [put.name for put in written.graph.output]
    else:
        native = to_sklearn(committee)
        save(native, path)
        inputs, outputs = model.columns.names, [type(native).__name__]
    report = {
        "output": path,
        "format": kind,
        "members": committee.n_members_,
        "file_bytes": os.path.getsize(path),
        "inputs": inputs,
        "outputs": outputs,
    }
    shown = f"inputs: {_few(inputs)}\noutputs: {_few(outputs)}"
    if kind != "ONNX" and _loses_calibration(committee):
        shown += (
            "\nprobabilities: weighted means of the members'; a plain model has no place "
            "for the calibration of a pruned committee"
        )
    options.messages.result(report, shown)


def _loses_calibration(committee: Any) -> bool:
    """Whether a plain model has other probabilities."""
    if getattr(committee, "calibration_", None) is not None:
        return bool(committee.roster_.link != "combiner")
    return committee.__dict__.get("_slope") is not None


def _committee(model: TableModel, path: str) -> Any:
    """Return the committee, with what stands before it in a pipeline inside."""
    last = model.last
    if not hasattr(last, "roster_"):
        raise ShellError(
            f"'{path}' holds a {type(last).__name__}, which is no committee: "
            "committee prune makes one of it. (skl2onnx writes plain models.)"
        )
    if not isinstance(model.estimator, Pipeline):
        return last
    committee = copy.copy(last)
    committee.roster_ = replace(last.roster_, transformer=model.estimator[:-1])
    return committee


def _example(model: TableModel) -> Any:
    """Return a row with the names and types of the columns, None if it has no names."""
    if model.columns.words is None:
        return None
    from pandas import DataFrame

    words = set(model.columns.words)
    return DataFrame({n: [""] if n in words else [0.0] for n in model.columns.names})


def _few(names: list[str], most: int = 10) -> str:
    more = f", ... ({len(names)})" if len(names) > most else ""
    return f"{', '.join(names[:most])}{more}"
