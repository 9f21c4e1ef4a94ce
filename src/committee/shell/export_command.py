"""committee export and merge: models in, files for other tools out."""

from __future__ import annotations

import copy
import os
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sklearn.pipeline import Pipeline

from committee._files import replaced_atomically
from committee.ensembles import roster_of
from committee.export import merge as merged
from committee.export import to_c, to_onnx, to_sklearn
from committee.persistence import save
from committee.shell.messages import ShellError, UsageError, shortened
from committee.shell.options import Export, Merge
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


def merge(options: Merge) -> None:
    """Write the weighted sum of some boosters as one."""
    path = options.output
    check_output(path, inputs=options.models, endings=tuple(LIBRARIES))
    used = LIBRARIES[_ending(path)][0]
    for one in options.models:
        if LIBRARIES.get(_ending(one), ("",))[0] != used:
            raise UsageError(
                "All files must belong to one library: .txt to LightGBM, .json or .ubj to "
                f"XGBoost, .cbm to CatBoost. The output '{path}' belongs to {used}, "
                f"'{one}' does not."
            )
    models = [_read(one) for one in options.models]
    weights = options.weight or None
    if weights is not None and len(weights) != len(models):
        raise UsageError(
            f"Give --weight once for each of the {len(models)} files. Got {len(weights)}."
        )
    one = merged(models, weights)
    with TemporaryDirectory() as folder:
        written = Path(folder, f"model{_ending(path)}")
        one.save_model(str(written))
        with replaced_atomically(path) as file:
            file.write(written.read_bytes())
    report = {
        "output": path,
        "library": used,
        "models": len(models),
        "rounds": len(roster_of(one)),
        "file_bytes": os.path.getsize(path),
    }
    options.messages.result(report)


def _ending(path: str) -> str:
    return Path(path).suffix.lower()


def _read(path: str) -> Any:
    """Return the booster in a file; raise ShellError if its library cannot read it."""
    Path(path).open("rb").close()  # the libraries' own errors name no file
    library, read = LIBRARIES[_ending(path)]
    try:
        return read(path)
    except ImportError as error:
        raise ShellError(
            f"'{path}' needs the package {error.name}, which is not installed."
        ) from error
    except Exception as error:
        reason = str(error).strip().splitlines()[-1]
        raise ShellError(f"'{path}' is not a {library} model file: {reason}") from error


def _of_lightgbm(path: str) -> Any:
    from lightgbm import Booster

    return Booster(model_file=path)


def _of_xgboost(path: str) -> Any:
    """Return the rounds up to the best one, as `XGBClassifier` and others use them."""
    from xgboost import Booster

    booster = Booster(model_file=path)
    best = booster.attr("best_iteration")
    return booster if best is None else booster[: int(best) + 1]


def _of_catboost(path: str) -> Any:
    """Return a regressor, or a classifier for a model with classes."""
    from catboost import CatBoostClassifier, CatBoostRegressor

    model = CatBoostClassifier().load_model(path)
    if len(model.classes_):
        return model
    return CatBoostRegressor().load_model(path)


#: Library and reader of each ending.
LIBRARIES: dict[str, tuple[str, Callable[[str], Any]]] = {
    ".txt": ("LightGBM", _of_lightgbm),
    ".json": ("XGBoost", _of_xgboost),
    ".ubj": ("XGBoost", _of_xgboost),
    ".cbm": ("CatBoost", _of_catboost),
}
