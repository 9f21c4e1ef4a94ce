"""committee export: a model in, a file for other tools out."""

from __future__ import annotations

import copy
import os
import re
from dataclasses import replace
from typing import Any

from sklearn.pipeline import Pipeline

from committee.export import to_c, to_onnx, to_sklearn
from committee.persistence import save
from committee.shell.messages import ShellError, shortened
from committee.shell.options import Export
from committee.shell.table_model import TableModel, read_model
from committee.shell.tables import check_output

#: Format of each ending.
FORMATS = {".onnx": "ONNX", ".h": "C", ".skops": "scikit-learn"}


def export(options: Export) -> None:
    """Write a model in a format of other tools."""
    path = options.output
    check_output(path, inputs=[options.model], endings=tuple(FORMATS))
    model = read_model(options.model)
    committee = _committee(model, options.model)
    kind = FORMATS[os.path.splitext(path)[1].lower()]
    if kind == "ONNX":
        written = to_onnx(committee, path, X=_example(model))
        inputs = [put.name for put in written.graph.input]
        outputs = [put.name for put in written.graph.output]
    elif kind == "C":
        header = to_c(committee, path)
        inputs = model.schema.names
        outputs = re.findall(r"^static inline .*?(\w+\(.*\))$", header, re.MULTILINE)
    else:
        native = to_sklearn(committee)
        save(native, path)
        inputs, outputs = model.schema.names, [type(native).__name__]
    report = {
        "output": path,
        "format": kind,
        "members": committee.n_members_,
        "file_bytes": os.path.getsize(path),
        "inputs": inputs,
        "outputs": outputs,
    }
    shown = f"inputs: {shortened(inputs)}\noutputs: {shortened(outputs)}"
    options.messages.result(report, shown)


def _committee(model: TableModel, path: str) -> Any:
    """Return the committee, with the steps before it in a pipeline inside."""
    last = model.last
    if not hasattr(last, "roster_"):
        raise ShellError(
            f"'{path}' contains a {type(last).__name__}, not a committee: make one with "
            "committee prune. (skl2onnx writes plain models.)"
        )
    if not isinstance(model.estimator, Pipeline):
        return last
    committee = copy.copy(last)
    committee.roster_ = replace(last.roster_, transformer=model.estimator[:-1])
    return committee


def _example(model: TableModel) -> Any:
    """Return a row with the names and types of the columns, None if it has no names."""
    if model.schema.words is None:
        return None
    from pandas import DataFrame

    words = set(model.schema.words)
    return DataFrame({n: [""] if n in words else [0.0] for n in model.schema.names})
