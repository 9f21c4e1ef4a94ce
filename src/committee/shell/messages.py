"""Output of a command: one result, notes, and one sentence with a status on errors.

The result is on standard output, notes and errors are on standard error. Nothing here
imports NumPy, because help and errors of usage come before it.
"""

from __future__ import annotations

import _thread
import json
import math
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from committee._format import figures, printable, text_table

#: Status of an error in the data or the model, of a wrong call, and of Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130

#: Seconds after which a lost Ctrl-C is sent again.
_AGAIN = 0.05

#: Parts of messages that only help callers from Python.
_FOR_PYTHON = re.compile(r" \([^()]*'members' attribute of this exception\.\)")

#: Options of the shell that arguments of the library stand for.
_OPTIONS = {"oob=True": "--oob", "oob=False": "--no-oob"}


class ShellError(Exception):
    """Error message for the user about the data or the model."""

    status = FAILED


class UsageError(ShellError):
    """Error message for the user about the call."""

    status = USAGE


@dataclass(frozen=True)
class Messages:
    """Prints notes and results.

    Parameters
    ----------
    quiet : bool, default=False
        Print no notes and no progress.
    as_json : bool, default=False
        Print the result as one JSON object instead of a table.

    Examples
    --------
    >>> from committee.shell.messages import Messages
    >>> Messages(as_json=True).result({"members": 3, "task": "regression"})
    {"members": 3, "task": "regression"}
    """

    quiet: bool = False
    as_json: bool = False

    def note(self, text: str) -> None:
        """Print a note on standard error."""
        if not self.quiet:
            print(f"Note: {printable(text)}", file=sys.stderr)

    def result(self, report: Mapping[str, Any], tables: str = "") -> None:
        """Print the result: JSON, or a line for each plain entry and then the tables.

        Parameters
        ----------
        report : mapping
            Lists and mappings in it are printed in the JSON only. Errors are named by
            the "measure", as in `summary()`: "held-out error rate".
        tables : str, default=""
            Printed instead of the lists and mappings, unless as JSON.
        """
        if self.as_json:
            print(json.dumps(_plain(report)))
            return
        measure = report.get("measure")
        lines = [
            (_label(key, measure), _cell(value))
            for key, value in report.items()
            if value is not None
            and not isinstance(value, (list, dict))
            and key != "measure"
        ]
        if lines:
            print(text_table(lines, "<"))
        if tables:
            print(f"\n{tables}")


def listed(names: Sequence[str], limit: int = 10) -> str:
    """Return the first few names in quotes, and the number of the others.

    Examples
    --------
    >>> from committee.shell.messages import listed
    >>> listed(["a", "b", "c"], limit=2)
    "'a', 'b' and 1 more"
    """
    text = ", ".join(map(repr, names[:limit]))
    return text + (f" and {len(names) - limit} more" if len(names) > limit else "")


def shortened(names: Sequence[str], limit: int = 10) -> str:
    """Return the first few names, and how many there are.

    Examples
    --------
    >>> from committee.shell.messages import shortened
    >>> shortened(["a", "b", "c"], limit=2)
    'a, b, ... (3)'
    """
    more = f", ... ({len(names)})" if len(names) > limit else ""
    return ", ".join(printable(str(name)) for name in names[:limit]) + more


def _label(key: str, measure: str | None) -> str:
    words = key.replace("_", " ")
    if measure is not None and key.endswith("_error"):
        words = words.removesuffix("error") + measure
    return words.replace("held out", "held-out")


def _cell(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return figures(value, 4)
    return f"{value:,}" if isinstance(value, int) else str(value)


def _plain(value: Any) -> Any:
    """Convert to JSON-serialisable Python types; NaN becomes null."""
    if isinstance(value, Mapping):
        return {str(key): _plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, (list, tuple)):
        return [_plain(entry) for entry in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


# --- errors, warnings and Ctrl-C --------------------------------------------------------


@contextmanager
def explained(*, debug: bool = False, quiet: bool = False) -> Iterator[None]:
    """Run a command; if it fails, print one sentence and raise SystemExit.

    Parameters
    ----------
    debug : bool, default=False
        Print the traceback before the sentence.
    quiet : bool, default=False
        Print no warnings.
    """
    _check_streams()
    try:
        with _warnings_as_notes(quiet), _no_interrupt_lost():
            try:
                yield
            except SystemExit:
                sys.stdout.flush()
                raise
            sys.stdout.flush()
    except BrokenPipeError:
        # The reader has closed the pipe. Drop the rest of the buffer, or the
        # interpreter would complain about it when it exits.
        _drop_output()
        raise SystemExit(FAILED) from None
    except BaseException as error:
        if isinstance(error, SystemExit):
            raise
        if debug:
            traceback.print_exc()
        if isinstance(error, OSError) and not error.filename:
            _drop_output()  # it may have been standard output that failed
        interrupted = _is_interrupt(error)
        _say("Interrupted." if interrupted else f"Error: {printable(sentence(error))}")
        status = INTERRUPTED if interrupted else getattr(error, "status", FAILED)
        raise SystemExit(status) from None


@contextmanager
def leaving_at_once() -> Iterator[None]:
    """Let Ctrl-C end the process while modules are imported.

    There is nothing to clean up then, and a compiled module in the middle of its
    import would print the exception, or turn it into an ImportError.
    """
    here = threading.current_thread() is threading.main_thread()
    if not here or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def check_input(data: str | None) -> None:
    """Raise ShellError if data is "-" and standard input is closed."""
    if data == "-" and sys.stdin is None:
        raise UsageError("Standard input is closed: give a file instead of -.")


def sentence(error: BaseException) -> str:
    """Return the message of an error in one line.

    Examples
    --------
    >>> from committee.shell.messages import sentence
    >>> sentence(FileNotFoundError(2, "No such file or directory", "a.csv"))
    "'a.csv': no such file or directory."
    >>> sentence(KeyError("x"))
    "unexpected KeyError: 'x'. Run again with --debug to see where."
    """
    first_paragraph = str(error).strip().split("\n\n")[0]
    message = _FOR_PYTHON.sub("", with_options(first_paragraph))
    if isinstance(error, OSError) and error.strerror:
        reason = error.strerror[:1].lower() + error.strerror[1:]
        return f"'{error.filename}': {reason}." if error.filename else f"{reason}."
    if isinstance(error, MemoryError):
        return f"there is not enough memory. {message}".strip()
    if isinstance(error, (ShellError, ValueError, TypeError, ImportError, OSError)):
        return message or type(error).__name__
    name = type(error).__name__
    return f"unexpected {name}: {message}. Run again with --debug to see where."


def with_options(text: str) -> str:
    """Return a message of the library in one line, with the shell's option names.

    Examples
    --------
    >>> from committee.shell.messages import with_options
    >>> with_options("oob=False takes them as they are.")
    '--no-oob takes them as they are.'
    """
    for argument, option in _OPTIONS.items():
        text = text.replace(argument, option)
    return " ".join(text.split())


@contextmanager
def _warnings_as_notes(quiet: bool) -> Iterator[None]:
    """Print each warning once, without its place in the source."""
    printed: set[str] = set()

    def show(message: Any, *_: Any, **__: Any) -> None:
        text = with_options(str(message))
        if text not in printed:
            printed.add(text)
            Messages(quiet).note(text)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # About how libraries call each other: users cannot change that.
        for kind in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = show
        yield


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Repeat a Ctrl-C that came in a destructor or a callback, which cannot raise.

    Python would print it there, and continue the training.
    """
    usual = sys.unraisablehook

    def show(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            # Not now: it would be lost again.
            _thread.start_new_thread(_interrupt_again, ())
        else:
            usual(lost)

    sys.unraisablehook = show
    try:
        yield
    finally:
        sys.unraisablehook = usual


def _interrupt_again() -> None:
    time.sleep(_AGAIN)
    main = threading.main_thread().ident
    if sys.platform != "win32" and main is not None:
        signal.pthread_kill(main, signal.SIGINT)  # also ends a wait
    else:
        _thread.interrupt_main()


def _check_streams() -> None:
    """Exit if standard output is closed; discard messages if standard error is."""
    if sys.stderr is None:  # print would use standard output instead
        sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    if sys.stdout is None:
        _say("Error: Standard output is closed: send it to a file or to /dev/null.")
        raise SystemExit(USAGE)


def _say(text: str) -> None:
    with suppress(OSError):
        print(text, file=sys.stderr)


def _leave(*_: object) -> None:
    _say("Interrupted.")
    os._exit(INTERRUPTED)


def _is_interrupt(error: BaseException | None) -> bool:
    """Return True for Ctrl-C, and for errors that a library made of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _drop_output() -> None:
    """Redirect buffered standard output to the null device."""
    with suppress(OSError, ValueError, AttributeError):  # not a file: a test's buffer
        number = sys.stdout.fileno()
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, number)
        os.close(nowhere)
