"""The description in a model file, readable without the model."""

from __future__ import annotations

import datetime
import json
import os
import platform
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import sklearn
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

import committee
from committee.persistence.archive import (
    ModelFileError,
    explained,
    read_archive,
    read_member,
)
from committee.persistence.registry import public_name

#: The number of the file format that this library writes. Files of format 1 named
#: modules of a library that had not been released.
FORMAT = 2

#: The file of the archive that holds the description.
MEMBER = "committee.json"


_JSON_NAMES: dict[type, str] = {
    str: "text",
    int: "a whole number",
    float: "a number",
    bool: "true or false",
    list: "a list",
    dict: "an object",
    type(None): "null",
}
_NULL = type(None)
#: What a description may hold of each entry that is read; `format` has its own check.
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("committee", "scikit-learn", "numpy", "python"), (str,)),
    **dict.fromkeys(("created", "kind", "class"), (str,)),
    **dict.fromkeys(("n_members", "n_features"), (int, _NULL)),
    **dict.fromkeys(("feature_names", "classes"), (list, _NULL)),
    "metadata": (dict, _NULL),
}


def describe(model: Any, metadata: Mapping[str, Any] | None) -> bytes:
    """Return the description of a fitted model as JSON."""
    names = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    width = getattr(model, "n_features_in_", None)
    description = {
        "format": FORMAT,
        "committee": committee.__version__,
        "scikit-learn": sklearn.__version__,
        "numpy": np.__version__,
        "python": platform.python_version(),
        "created": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
        "kind": _kind(model),
        "class": public_name(type(model)),
        "n_members": _n_members(model),
        "n_features": None if width is None else int(width),
        "feature_names": None if names is None else [str(name) for name in names],
        "classes": None if classes is None else [str(label) for label in classes],
        "metadata": dict(metadata or {}),
    }
    try:
        text = json.dumps(description, indent=1, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "metadata must hold JSON values: text, finite numbers, True, False, None, "
            f"and lists and dicts of these. Got one that is not: {error}."
        ) from None
    return text.encode()


def read_metadata(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description in a model file; the model is not loaded.

    Parameters
    ----------
    path : path
        A file of `committee.save`.

    Returns
    -------
    description : dict
        format, committee, scikit-learn, numpy, python (versions), created (UTC),
        kind, class, n_members, n_features, feature_names, classes (as text) and
        metadata (as given to `save`). Empty for a file that skops wrote by itself.
        It is what the writer of the file claims, and was not checked.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from committee import Bagging, CommitteeRegressor, save
    >>> from committee.persistence import read_metadata
    >>> model = CommitteeRegressor(generator=Bagging(3), random_state=0)
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.skops"
    ...     save(model, path, metadata={"data": "a line"})
    ...     description = read_metadata(path)
    >>> description["kind"], description["n_members"], description["metadata"]
    ('regressor', 3, {'data': 'a line'})
    """
    return description_of(read_archive(path), path)


def description_of(data: bytes, path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the description in an archive, empty where there is none."""
    with explained(path):
        text = read_member(data, MEMBER)
        if text is None:
            return {}
        description = json.loads(text)
    if not isinstance(description, dict):
        raise ModelFileError(f"{path} is damaged: {MEMBER} must hold a JSON object.")
    for name, kinds in _TYPES.items():
        value = description.get(name)
        if name in description and type(value) not in kinds:
            raise ModelFileError(
                f"{path} is damaged: in {MEMBER} {name!r} must be "
                f"{' or '.join(_JSON_NAMES[kind] for kind in kinds)}. Got "
                f"{_JSON_NAMES.get(type(value), 'another type')}."
            )
    return description


def check_versions(
    description: Mapping[str, Any], path: str | os.PathLike[str]
) -> None:
    """Refuse other formats; warn of another scikit-learn."""
    if not description:
        return
    number = description.get("format")
    if not isinstance(number, int) or number < 1:
        raise ModelFileError(
            f"{path} is damaged: its format must be a whole number from 1. Got "
            f"{number!r}."
        )
    if number > FORMAT:
        raise ModelFileError(
            f"{path} was written by committee {description.get('committee')}, format "
            f"{number}; this is committee {committee.__version__}, which reads up to "
            f"format {FORMAT}: upgrade committee to read it."
        )
    if number < FORMAT:
        raise ModelFileError(
            f"{path} was written before the first release of committee, in a format "
            "that is no longer read: fit and save the model again."
        )
    theirs, ours = str(description.get("scikit-learn")), sklearn.__version__
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {theirs}; this is {ours}. Members may "
            "predict otherwise, or fail: check them, or fit and save again.",
            stacklevel=3,
        )


def _kind(model: Any) -> str:
    """Return classifier, regressor or other."""
    if is_classifier(model):
        return "classifier"
    return "regressor" if is_regressor(model) else "other"


def _n_members(model: Any) -> int | None:
    """Return how many members have a weight, None for what is no ensemble."""
    if isinstance(model, Pipeline):
        model = model[-1]
    if hasattr(model, "weights_"):
        return int(np.count_nonzero(model.weights_))
    members = getattr(model, "estimators_", None)
    return None if members is None else len(members)
