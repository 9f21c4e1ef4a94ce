"""The file around a model: a zip archive, and nothing that can run code."""

from __future__ import annotations

import io
import os
import pickletools
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from zipfile import BadZipFile, ZipFile

from committee._format import printable

#: Where skops describes the model.
SCHEMA = "schema.json"

_ZIP = b"PK\x03\x04"
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
#: So many opcodes in a row are no accident.
_MANY = 1000


class ModelFileError(ValueError):
    """A model file could not be written, or was not safe or sound enough to read.

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
        # Names out of a file may hold what a terminal would obey.
        super().__init__(printable(message, keep="\n"))


def read_archive(path: str | os.PathLike[str]) -> bytes:
    """Return the bytes of a model file; refuse another with what it is instead."""
    if Path(path).is_dir():
        raise ModelFileError(f"{path} is a folder; a model is one file.")
    data = Path(path).read_bytes()
    if not data.startswith(_ZIP):
        raise ModelFileError(f"{path} {_what_it_is(data)}")
    try:
        with explained(path, but=(BadZipFile, NotImplementedError)):
            names = ZipFile(io.BytesIO(data)).namelist()
    except BadZipFile as error:
        raise ModelFileError(
            f"{path} is cut short or damaged ({error}): copy or save it again."
        ) from error
    except NotImplementedError as error:
        raise ModelFileError(
            f"{path} needs a newer version of zip than there is here ({error}): files "
            "of committee.save do not, so it is damaged, or was not written by it."
        ) from error
    if SCHEMA not in names:
        raise ModelFileError(
            f"{path} is a zip archive without a model in it: there is no {SCHEMA}. "
            "Files of committee.save and skops.io.dump have one."
        )
    return data


def read_member(data: bytes, name: str) -> bytes | None:
    """Return one file of the archive, None where there is none of that name."""
    with ZipFile(io.BytesIO(data)) as archive:
        return archive.read(name) if name in archive.namelist() else None


@contextmanager
def explained(
    path: str | os.PathLike[str], but: tuple[type[Exception], ...] = ()
) -> Iterator[None]:
    """Turn whatever a broken archive raises into one sentence, but for some kinds.

    What is wrong in an archive shows in zipfile, json, NumPy, skops or the classes
    of the model, with exceptions of any kind.
    """
    passed: tuple[type[Exception], ...] = (ModelFileError, *but)
    try:
        yield
    except passed:
        raise
    except ImportError as error:
        raise ModelFileError(
            f"{path} needs a module that is not here: {error}."
        ) from error
    except Exception as error:
        raise ModelFileError(
            f"{path} is damaged, or made for other versions of its classes: "
            f"{type(error).__name__}: {error}"
        ) from error


def _what_it_is(data: bytes) -> str:
    """Return what a file without the mark of a zip archive is."""
    if not data:
        return "is empty."
    kinds = [kind for mark, kind in _PICKLES.items() if data.startswith(mark)]
    if not kinds and _is_old_pickle(data):
        kinds = [_PICKLES[b"\x80"]]
    if kinds:
        return (
            f"is {kinds[0]}. Reading one can run any code that was put into it, so it "
            "is refused unread: load it with the library that wrote it, where you "
            "trust it, and write it again with committee.save."
        )
    return (
        f"is not a model file of committee.save or skops.io.dump: it begins with "
        f"{data[:12]!r}."
    )


def _is_old_pickle(data: bytes) -> bool:
    """Whether this is a pickle of protocol 0 or 1, which have no mark.

    Its opcodes are looked at, not run. They must name something to import and, in a
    short file, add up: nothing is taken from an empty stack.
    """
    try:
        opcodes = list(islice(pickletools.genops(data), _MANY))
        if len(opcodes) < _MANY:
            pickletools.dis(data.rstrip(), out=io.StringIO())
    except (ValueError, IndexError):
        return False
    last, _, end = opcodes[-1]
    whole = last.name == "STOP" and end == len(data.rstrip()) - 1
    return (whole or len(opcodes) == _MANY) and any(
        opcode.name in ("GLOBAL", "INST") for opcode, _, _ in opcodes
    )
