"""Atomic replacement of files."""

from __future__ import annotations

import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from errno import EISDIR, ENOENT
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced_atomically(path: str | os.PathLike[str]) -> Iterator[BinaryIO]:
    """Yield a binary file that replaces `path` when the block ends without an error.

    Data are written to `.NAME.XXXXXXXX.partial` in the same folder, flushed to the disk,
    and the file is then renamed. After an error the existing file is unchanged and the
    partial file is removed; only a killed process leaves a partial file.

    Parameters
    ----------
    path : path
        A new file, one to replace (its permissions are kept), or a symbolic link
        to either (the link stays).

    Yields
    ------
    file : binary file, open for writing

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from committee._files import replaced_atomically
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "numbers.txt"
    ...     with replaced_atomically(path) as file:
    ...         _ = file.write(b"1 2 3")
    ...     path.read_bytes()
    b'1 2 3'
    """
    target = Path(os.path.realpath(path))
    mode = _checked_mode(target)
    # A name may have the maximum length already, so only a part of it is used.
    partial = target.with_name(f".{target.name[:40]}.{secrets.token_hex(4)}.partial")
    try:
        with open(partial, "xb") as file:
            try:
                if mode is not None:
                    os.chmod(partial, mode)
                yield file
                file.flush()
                os.fsync(file.fileno())
                file.close()
                os.replace(partial, target)
            except BaseException:
                # Closing writes the rest of the buffer, and may fail like any write.
                with suppress(OSError):
                    file.close()
                partial.unlink(missing_ok=True)
                raise
    except OSError as error:
        if error.filename == str(partial):
            error.filename = str(target)  # the file that was asked for
        raise
    _sync_folder(target.parent)


def _checked_mode(target: Path) -> int | None:
    """Return the permissions of the file to replace; None if it does not exist."""
    if not target.parent.is_dir():
        raise FileNotFoundError(ENOENT, "there is no such folder", str(target.parent))
    try:
        mode = target.stat().st_mode
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(mode):
        raise IsADirectoryError(EISDIR, "expected a file, got a folder", str(target))
    if not stat.S_ISREG(mode):
        raise OSError(f"{target} is not a regular file.")
    if not os.access(target, os.W_OK):
        raise PermissionError(f"{target} is write-protected.")
    return stat.S_IMODE(mode)


def _sync_folder(folder: Path) -> None:
    """Flush the folder to the disk, if the system supports it."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
