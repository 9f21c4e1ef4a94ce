"""A model file: a zip archive with a readable description, and the check of versions."""

from __future__ import annotations

import datetime
import hashlib
import io
import json
import os
import platform
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import numpy as np
import sklearn
from sklearn.base import is_classifier, is_regressor
from sklearn.pipeline import Pipeline

import committee
from committee._format import printable
from committee.persistence.registry import public_name

#: Where skops describes the model, and a compact file its trees; the numbers of these.
SCHEMA, TREES, PAYLOAD = "schema.json", "trees.json", "trees.bin"

#: Bytes of a description in the archive that are read in any case, and the largest ratio
#: to its compressed bytes for more: descriptions are compressed 10 to 30 times.
_JSON_BYTES, _JSON_RATIO = 2**24, 100

_ZIP = b"PK\x03\x04"
#: First bytes of pickles, and of files that joblib compressed.
_PICKLES = {
    b"\x80": "a pickle, or a joblib file",
    b"\x1f\x8b": "compressed by gzip, as joblib files are",
    **dict.fromkeys(
        (b"x\x01", b"x\x5e", b"x\x9c", b"x\xda"),
        "compressed by zlib, as joblib files are",
    ),
    b"BZh": "compressed by bzip2, as joblib files are",
    b"\xfd7zXZ": "compressed by xz, as joblib files are",
    b"]\x00\x00": "compressed by lzma, as joblib files are",
    b"\x04\x22\x4d\x18": "compressed by lz4, as joblib files are",
}


class ModelFileError(ValueError):
    """A model file could not be written, or is not safe to read.

    Examples
    --------
    >>> import pickle, tempfile
    >>> from pathlib import Path
    >>> from committee import ModelFileError, load
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "model.pkl"
    ...     _ = path.write_bytes(pickle.dumps({}))
    ...     try:
    ...         load(path)
    ...     except ModelFileError as error:
    ...         print(str(error).replace(folder, "")[1:])
    model.pkl is a pickle, or a joblib file. Reading one can run any code that was put
    into it, so it is refused unread: load it with the library that wrote it, where
    you trust it, and write it again with committee.save.
    """

    def __init__(self, message: str) -> None:
        # Names in a file may contain control sequences of terminals.
        super().__init__(printable(message, keep="\n"))


def read_archive(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a model file; raise ModelFileError for any other file."""
    if Path(path).is_dir():
        raise ModelFileError(f"{path} is a folder, not a model file.")
    data = Path(path).read_bytes()
    if not data.startswith(_ZIP):
        raise ModelFileError(f"{path} {_described(data)}")
    with explained(path):
        names = ZipFile(io.BytesIO(data)).namelist()
    if SCHEMA not in names and TREES not in names:
        raise ModelFileError(
            f"{path} is a zip archive without a model: it has no {SCHEMA}, which files "
            "written by committee.save and skops.io.dump have."
        )
    return data


def read_member(data: bytes, name: str) -> bytes | None:
    """Return one file of the archive; None if it does not contain that name."""
    with ZipFile(io.BytesIO(data)) as archive:
        return _content(archive, name) if name in archive.namelist() else None


def read_members(data: bytes) -> dict[str, bytes]:
    """Return the content of every file of the archive, by name."""
    with ZipFile(io.BytesIO(data)) as archive:
        return {name: _content(archive, name) for name in archive.namelist()}


def _content(archive: ZipFile, name: str) -> bytes:
    """Return the content of a file; raise ModelFileError for one of an absurd size."""
    size, packed = archive.getinfo(name).file_size, archive.getinfo(name).compress_size
    bounded = name in (SCHEMA, MEMBER, TREES, PAYLOAD)
    if bounded and size > max(_JSON_BYTES, _JSON_RATIO * packed):
        raise ModelFileError(
            f"{name} has {size:,} bytes, which {packed:,} compressed bytes cannot "
            f"describe: at most {_JSON_RATIO} times as many are read, or {_JSON_BYTES:,}."
        )
    return archive.read(name)


@contextmanager
def explained(path: str | os.PathLike[str]) -> Iterator[None]:
    """Turn the exceptions of a broken archive into ModelFileError.

    A broken archive can raise any exception, in zipfile, json, NumPy, skops or the
    classes of the model.
    """
    try:
        yield
    except ModelFileError:
        raise
    except ImportError as error:
        raise ModelFileError(
            f"{path} needs a module that is not installed: {error}."
        ) from error
    except Exception as error:
        raise ModelFileError(
            f"{path} is cut short or damaged, or made for other versions of its "
            f"classes: {type(error).__name__}: {error}"
        ) from error


def _described(data: bytes) -> str:
    """Describe a file that is not a zip archive."""
    if not data:
        return "is empty."
    for mark, kind in _PICKLES.items():
        if data.startswith(mark):
            return (
                f"is {kind}. Reading one can run any code that was put into it, so it "
                "is refused unread: load it with the library that wrote it, where you "
                "trust it, and write it again with committee.save."
            )
    return (
        f"is not a model file of committee.save or skops.io.dump: it begins with "
        f"{data[:12]!r}."
    )


#: The number of the file format that this library writes and reads.
FORMAT = 4

#: The file of the archive that holds the description.
MEMBER = "committee.json"


_NULL = type(None)
#: Allowed types of each entry of a description; `format` is checked separately.
_TYPES: dict[str, tuple[type, ...]] = {
    **dict.fromkeys(("committee", "scikit-learn", "numpy", "python"), (str,)),
    **dict.fromkeys(("created", "kind", "class"), (str,)),
    **dict.fromkeys(("n_members", "n_features"), (int, _NULL)),
    **dict.fromkeys(("feature_names", "classes"), (list, _NULL)),
    "metadata": (dict, _NULL),
    "answers": (dict,),
    "sha256": (str,),
}


def describe(model: Any, metadata: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the description of a fitted model, without the digest of its file."""
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
        text = json.dumps(description, allow_nan=False)
    except (TypeError, ValueError) as error:
        raise ValueError(
            "metadata must contain JSON values: text, finite numbers, True, False, "
            f"None, and lists and dicts of these. Got one that is not: {error}."
        ) from None
    read_back: dict[str, Any] = json.loads(text)  # keys that were numbers are text
    return read_back


def signed(members: Mapping[str, bytes], description: Mapping[str, Any]) -> bytes:
    """Return the description as JSON, with the digest of the file."""
    whole = {**description, "sha256": _digest(members, description)}
    return json.dumps(whole, indent=1).encode()


def _digest(members: Mapping[str, bytes], description: Mapping[str, Any]) -> str:
    """Return the SHA-256 of all files of an archive; a description has its own in it."""
    without = {key: value for key, value in description.items() if key != "sha256"}
    content = {**members, MEMBER: json.dumps(without, sort_keys=True).encode()}
    digest = hashlib.sha256()
    for name in sorted(content):
        digest.update(f"{name} {len(content[name])} ".encode())
        digest.update(content[name])
    return digest.hexdigest()


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
        kind, class, n_members, n_features, feature_names, classes (as text), metadata
        (as given to `save`), answers (shapes, see `persistence.trial`) and sha256. Empty
        for a file written by skops.
        The description was written with the file, and is not verified.

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
    """Return the description in an archive; an empty one if there is none."""
    with explained(path):
        text = read_member(data, MEMBER)
        if text is None:
            return {}
        description = json.loads(text)
    if not isinstance(description, dict):
        raise ModelFileError(f"{path} is damaged: {MEMBER} must contain a JSON object.")
    for name, kinds in _TYPES.items():
        value = description.get(name)
        if name in description and type(value) not in kinds:
            raise ModelFileError(
                f"{path} is damaged: in {MEMBER} {name!r} must be of type "
                f"{' or '.join(kind.__name__ for kind in kinds)}. Got {value!r}."
            )
    return description


def check_digest(
    members: Mapping[str, bytes],
    description: Mapping[str, Any],
    path: str | os.PathLike[str],
) -> None:
    """Raise ModelFileError if a file of `save` was changed after it was written."""
    if description and description.get("sha256") != _digest(members, description):
        raise ModelFileError(
            f"{path} has changed since it was saved: its content does not have the "
            f"SHA-256 in its {MEMBER}. Use another copy of the file, or save the model "
            "again."
        )


def check_versions(
    description: Mapping[str, Any], path: str | os.PathLike[str]
) -> None:
    """Raise ModelFileError for another format; warn about another scikit-learn version."""
    if not description:
        return
    number = description.get("format")
    if number != FORMAT:
        raise ModelFileError(
            f"{path} was written by committee {description.get('committee')} in format "
            f"{number!r}; committee {committee.__version__} reads format {FORMAT} only: "
            "load it with the version that wrote it, or fit and save the model again."
        )
    theirs, ours = str(description.get("scikit-learn")), sklearn.__version__
    if theirs.split(".")[:2] != ours.split(".")[:2]:
        warnings.warn(
            f"{path} was saved with scikit-learn {theirs}; this is {ours}. Members may "
            "predict differently, or fail: check them, or fit and save again.",
            stacklevel=3,
        )


def _kind(model: Any) -> str:
    """Return classifier, regressor or other."""
    if is_classifier(model):
        return "classifier"
    return "regressor" if is_regressor(model) else "other"


def _n_members(model: Any) -> int | None:
    """Return the number of members with a weight; None for other models."""
    if isinstance(model, Pipeline):
        model = model[-1]
    if hasattr(model, "weights_"):
        return int(np.count_nonzero(model.weights_))
    members = getattr(model, "estimators_", None)
    return None if members is None else len(members)
