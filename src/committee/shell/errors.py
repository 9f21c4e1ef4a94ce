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
    """One sentence for the user, and the status to leave with: 1, or 2 for usage."""

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
        Print no warnings.
    """
    try:
        with _warnings_as_notes(quiet):
            yield
            sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads us has seen enough. What is left in the buffer goes nowhere,
        # or the interpreter would complain about it on its way out.
        _drop_output()
        raise SystemExit(FAILED) from None
    except KeyboardInterrupt:
        if debug:
            raise
        print("Interrupted.", file=sys.stderr)
        raise SystemExit(INTERRUPTED) from None
    except Exception as error:
        if debug:
            raise
        if isinstance(error, OSError) and not error.filename:
            _drop_output()  # it may have been standard output that failed
        print(f"Error: {sentence(error)}", file=sys.stderr)
        raise SystemExit(getattr(error, "status", FAILED)) from None


def sentence(error: Exception) -> str:
    """Return what happened in one line.

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


@contextmanager
def _warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each warning once, without the place in the source."""
    printed: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if not quiet and text not in printed:
            printed.add(text)
            print(f"Note: {text}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # Of libraries, about how they are called: nothing a user could change.
        for kind in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = show
        yield


def _drop_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return  # not a file: a test's buffer
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
