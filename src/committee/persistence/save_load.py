"""save and load: models in files that cannot run code."""

from __future__ import annotations

import copy
import io
import os
import sys
import warnings
from collections.abc import Iterable, Mapping
from contextlib import suppress
from types import FunctionType
from typing import Any
from zipfile import ZIP_DEFLATED, ZIP_LZMA, ZipFile

from sklearn.base import BaseEstimator
from sklearn.exceptions import InconsistentVersionWarning
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from committee._files import replaced_atomically
from committee.ensembles.tree_sum import TreeSum
from committee.export.tree_sums import tree_sum
from committee.path import WHOLE_PATH
from committee.persistence.compact import packed, unpacked
from committee.persistence.file_format import (
    MEMBER,
    PAYLOAD,
    SCHEMA,
    TREES,
    ModelFileError,
    check_digest,
    check_versions,
    describe,
    description_of,
    explained,
    read_archive,
    read_members,
    signed,
)
from committee.persistence.nodes import build, read_nodes, untrusted_types
from committee.persistence.registry import type_names, with_registered_names
from committee.persistence.soundness import NAMED, attributes, check_sound, walk
from committee.persistence.trial import check_answers, try_out


def save(
    committee: BaseEstimator,
    path: str | os.PathLike[str],
    *,
    metadata: Mapping[str, Any] | None = None,
    whole_path: bool = False,
    compact: bool = False,
    tolerance: float | None = None,
) -> None:
    """Write a fitted model to a file that cannot run code.

    The file is a zip archive in the format of skops: public names of classes, and
    arrays, but no pickles. It is read back before it replaces an existing file, which
    stays unchanged if anything fails. If `load` will need `trusted`, as for LightGBM,
    XGBoost and CatBoost, a warning contains the list.

    Parameters
    ----------
    committee : estimator
        A fitted committee, a pipeline with one, or any fitted scikit-learn estimator.
    path : path
        Usually it ends in `.skops`.
    metadata : dict of JSON values, default=None
        Stored in the file for `committee.persistence.read_metadata`, with versions, time,
        classes and features.
    whole_path : bool, default=False
        For a committee made by `prune`: also save all other members of its path. Then
        `path_.choose` has every size after `load`; otherwise only the sizes whose members
        are all in the committee.
    compact : bool, default=False
        For a committee of trees on the columns of X, or a forest or booster: write its
        sum of trees only, as flat arrays. It takes the same branches for all X in single
        precision. `load` returns a `TreeSum` with `predict` and `predict_proba`.
    tolerance : float, default=None
        For a compact file: leaf values are rounded so that predictions, and with them
        the error, change by this many standard errors of the held-out error. 0 means no
        rounding. None means 0.1 after `prune` and `refine`, and 0 if the held-out error
        is not known.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from committee import Bagging, CommitteeRegressor, load, save
    >>> model = CommitteeRegressor(generator=Bagging(3), random_state=0)
    >>> _ = model.fit([[0.0], [1.0], [2.0]], [0.0, 1.0, 2.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(model, Path(folder) / "model.skops")
    ...     again = load(Path(folder) / "model.skops")
    >>> bool((again.predict([[1.0], [1.5]]) == model.predict([[1.0], [1.5]])).all())
    True
    """
    if not isinstance(committee, BaseEstimator):
        raise TypeError(
            "save() takes a fitted scikit-learn estimator, such as a committee. Got "
            f"{type(committee).__name__}."
        )
    check_is_fitted(committee)
    _measure(committee)
    description = describe(committee, metadata)
    foreign: list[str] = []
    if compact or isinstance(committee, TreeSum):
        archive = _pack_compact(committee, description, tolerance)
    else:
        archive, foreign = _pack(
            _with_whole_path(committee) if whole_path else committee, description
        )
    with replaced_atomically(path) as target:
        target.write(archive)
    if foreign:
        warnings.warn(
            f"{path} is written. It contains types of other libraries: read it with "
            f"load({os.fspath(path)!r}, trusted={foreign!r}).",
            UserWarning,
            stacklevel=2,
        )


def _measure(model: Any) -> None:
    """Compute summary and bytes of a pruned committee: a file has no rows for them."""
    core = model[-1] if isinstance(model, Pipeline) else model
    if hasattr(core, "path_") and hasattr(core, "summary"):
        _ = core.path_.n_bytes
        # A copy has no rows to measure on, and is saved without a summary.
        with suppress(ValueError):
            core.summary()


def _with_whole_path(model: Any) -> Any:
    """Return a copy of a model, or its pipeline, that keeps all members of its path."""
    if isinstance(model, Pipeline):
        *before, (name, core) = model.steps
        model = copy.copy(model)
        model.steps = [*before, (name, _with_whole_path(core))]
        return model
    if not hasattr(model, "path_"):
        raise ValueError(
            "whole_path=True is for a committee that prune() returned, which has a "
            f"path_. Got a {type(model).__name__} without one."
        )
    model = copy.copy(model)
    setattr(model, WHOLE_PATH, True)
    return model


def load(
    path: str | os.PathLike[str], *, trusted: Iterable[str | type] = ()
) -> BaseEstimator:
    """Load a model from a file written by `save` or by skops.

    No code in the file is run. Raises ModelFileError for types outside this library,
    scikit-learn and NumPy that are not in `trusted`.

    Parameters
    ----------
    path : path
    trusted : list of str or type, default=()
        Additional types that the file may contain. Check each one: skops calls these
        types with the contents of the file.

    Returns
    -------
    model : estimator
        The saved model, or a `TreeSum` for a compact file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import load, save
    >>> forest = RandomForestClassifier(n_estimators=3, random_state=0)
    >>> _ = forest.fit([[0.0], [1.0]], ["no", "yes"])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     save(forest, Path(folder) / "forest.skops")
    ...     print(load(Path(folder) / "forest.skops"))
    RandomForestClassifier(n_estimators=3, random_state=0)
    """
    allowed = type_names(trusted)
    data = read_archive(path)
    description = description_of(data, path)
    check_versions(description, path)
    with explained(path):
        members = read_members(data)
    check_digest(members, description, path)
    if TREES in members:
        with explained(path):
            trees = unpacked(members)
            check_answers(trees, description)
        return trees
    with explained(path):
        nodes = read_nodes(members)
        unknown = untrusted_types(nodes)
    _refuse(path, [name for name in unknown if name not in allowed])
    with explained(path), warnings.catch_warnings():
        if description:  # then check_versions has warned, once for all members
            warnings.simplefilter("ignore", InconsistentVersionWarning)
        model = build(nodes)
        check_sound(model)
        check_answers(model, description)
    if not isinstance(model, BaseEstimator):
        raise ModelFileError(
            f"{path} must contain a scikit-learn estimator. Got a "
            f"{type(model).__name__}."
        )
    return model


def _refuse(path: str | os.PathLike[str], names: list[str]) -> None:
    """Raise ModelFileError if there are types that are not trusted."""
    if names:
        raise ModelFileError(
            f"{path} contains types that are not known to be safe: {', '.join(names)}. "
            "If you know each of them and where the file comes from, pass "
            f"trusted={names!r}."
        )


def _pack(
    model: BaseEstimator, description: Mapping[str, Any]
) -> tuple[bytes, list[str]]:
    """Return the archive of a model, and the types that `load` refuses in it.

    Raise ModelFileError if the archive cannot be read back.
    """
    import skops.io

    _refuse_nameless(model)
    try:
        members = read_members(skops.io.dumps(model))
        members[SCHEMA] = with_registered_names(members[SCHEMA]).encode()
        nodes = read_nodes(members)
        foreign = untrusted_types(nodes)
        again = build(nodes)
        check_sound(again)
        answers = try_out(again, description["n_features"])
        data = _zipped(members, {**description, "answers": answers})
        read_members(data)
    except Exception as error:
        raise ModelFileError(
            f"{type(model).__name__} cannot be saved, because part of it cannot be "
            f"written and read back: {type(error).__name__}: {error}"
        ) from error
    return data, foreign


def _pack_compact(
    model: BaseEstimator, description: Mapping[str, Any], tolerance: float | None
) -> bytes:
    """Return the compact archive of a model; it can be read back."""
    members, rounding = packed(tree_sum(model), tolerance)
    answers = try_out(unpacked(members), description["n_features"])
    data = _zipped(members, {**description, "rounding": rounding, "answers": answers})
    read_members(data)
    return data


def _zipped(members: Mapping[str, bytes], description: Mapping[str, Any]) -> bytes:
    """Return the compressed archive of these files and the description."""
    buffer = io.BytesIO()
    with ZipFile(buffer, "w", ZIP_DEFLATED) as archive:
        for name, content in members.items():
            kind = ZIP_LZMA if name == PAYLOAD else ZIP_DEFLATED
            archive.writestr(name, content, compress_type=kind)
        archive.writestr(MEMBER, signed(members, description))
    return buffer.getvalue()


def _refuse_nameless(model: BaseEstimator) -> None:
    """Raise ModelFileError for functions and classes that a file cannot name.

    A file contains names of objects at the top level of a module.
    """
    for place, value in walk(model, _saved_attributes):
        named = value if isinstance(value, (FunctionType, type)) else type(value)
        is_instance = hasattr(value, "__dict__") and not isinstance(value, NAMED)
        if named is value or is_instance:
            module = sys.modules.get(named.__module__)
            if getattr(module, named.__name__, None) is not named:
                raise ModelFileError(
                    f"{place} cannot be saved: {named.__module__}.{named.__qualname__} "
                    "is not at the top level of a module, and a safe file holds names "
                    "instead of code. Define it there (def or class, no lambda), and "
                    "fit again."
                )


def _saved_attributes(value: Any) -> dict[str, Any]:
    """Return the attributes that `__getstate__` puts into the file."""
    state = value.__getstate__() if hasattr(value, "__dict__") else None
    return state if isinstance(state, dict) else attributes(value)
