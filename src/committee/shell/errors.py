"""How a command ends: one sentence and a status, never a traceback by surprise."""

from __future__ import annotations

import os
import re
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

#: An error in the data or the model; a command that was called wrongly; Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130


#: What an exception has to offer to a program that catches it.
_FOR_PYTHON = re.compile(r" \([^()]*'members' attribute of this exception\.\)")


class ShellError(Exception):
    """One sentence for the user, and the status to leave with.

    Parameters
    ----------
    message : str
    status : int, default=1
        1 for an error in the data or the model, 2 for one in the call.

    Examples
    --------
    >>> from committee.shell.errors import ShellError
    >>> ShellError("No such column.", status=2).status
    2
    """

    def __init__(self, message: str, status: int = FAILED) -> None:
        super().__init__(message)
        self.status = status


@contextmanager
def explained(*, debug: bool = False, quiet: bool = False) -> Iterator[None]:
    """Run a command: leave by SystemExit with a sentence where it fails.

    Parameters
    ----------
    debug : bool, default=False
        Let the exception through, with its traceback.
    quiet : bool, default=False
        Say nothing about warnings.

    Examples
    --------
    >>> from committee.shell.errors import ShellError, explained
    >>> with explained():  # doctest: +SKIP
    ...     raise ShellError("The table has no rows.")
    """
    try:
        with _warnings_as_notes(quiet):
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever read us has seen enough. What is left in the buffer goes nowhere,
        # or the interpreter would complain about it on its way out.
        _drop_output()
        raise SystemExit(FAILED) from None
    except KeyboardInterrupt:
        if debug:
            raise
        _say("Interrupted.")
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        _drop_output_if_full(error)
        _say(f"Error: {sentence(error)}")
        raise SystemExit(getattr(error, "status", FAILED)) from None


def sentence(error: Exception) -> str:
    """Return what happened in one line.

    Parameters
    ----------
    error : exception
        Of this library, a reader of files, or anything unforeseen.

    Examples
    --------
    >>> from committee.shell.errors import sentence
    >>> sentence(FileNotFoundError(2, "No such file or directory", "a.csv"))
    "'a.csv': no such file or directory."
    >>> sentence(KeyError("x"))
    "unexpected KeyError: 'x'. Run again with --debug to see where."
    """
    first_paragraph = str(error).strip().split("\n\n")[0]
    message = _FOR_PYTHON.sub("", " ".join(first_paragraph.split()))
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[:1].lower() + error.strerror[1:]
        return f"'{error.filename}': {reason}." if error.filename else f"{reason}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {message}".strip()
    if isinstance(error, (ShellError, ValueError, TypeError, ImportError, OSError)):
        return message or type(error).__name__
    return (
        f"unexpected {type(error).__name__}: {message}. Run again with --debug to see "
        "where."
    )


def close_to(word: str, known: list[str]) -> str:
    """Return a question that suggests a known word, or nothing.

    Examples
    --------
    >>> from committee.shell.errors import close_to
    >>> close_to("specis", ["petal", "species"])
    " Did you mean 'species'?"
    """
    close = get_close_matches(word, known, n=1) or [
        name for name in known if name.lower() == word.lower()
    ]
    return f" Did you mean {close[0]!r}?" if close else ""


def listed(names: list[str], limit: int = 10) -> str:
    """Return names in quotes, the first few of them.

    Examples
    --------
    >>> from committee.shell.errors import listed
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(map(repr, names[:limit]))
    return text + (f" and {len(names) - limit} more" if len(names) > limit else "")


def _say(line: str) -> None:
    print(line, file=sys.stderr)


@contextmanager
def _warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each warning once, without the place in the source."""
    said: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if not quiet and text not in said:
            said.add(text)
            _say(f"Note: {text}")

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # Of libraries, about how they are called: nothing a user could change.
        for kind in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = show
        yield


def _drop_output_if_full(error: Exception) -> None:
    """Drop what waits for standard output where it was that which failed."""
    if isinstance(error, OSError) and not error.filename:
        _drop_output()


def _drop_output() -> None:
    """Send what is still to be written nowhere."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return  # not a file: a test's buffer
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
