"""How a command ends: one sentence and a status, never a traceback by surprise."""

from __future__ import annotations

import _thread
import os
import re
import signal
import sys
import threading
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from committee._format import printable

#: An error in the data or the model; a command that was called wrongly; Ctrl-C.
FAILED, USAGE, INTERRUPTED = 1, 2, 130

#: Seconds after which a Ctrl-C that was lost comes again.
_AGAIN = 0.05

#: What an exception has to offer to a program that catches it.
_FOR_PYTHON = re.compile(r" \([^()]*'members' attribute of this exception\.\)")


#: What Python calls an option, and what the shell calls it.
_OPTIONS = {"oob=True": "--oob", "oob=False": "--no-oob"}


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
        # Whoever reads us has seen enough. What is left in the buffer goes nowhere,
        # or the interpreter would complain about it on its way out.
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
    """Refuse to read a standard input that is closed."""
    if data == "-" and sys.stdin is None:
        raise ShellError("Standard input is closed: give a file instead of -.", USAGE)


def sentence(error: BaseException) -> str:
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
    message = _FOR_PYTHON.sub("", in_words_of_the_shell(first_paragraph))
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


def in_words_of_the_shell(text: str) -> str:
    """Return a message of the library in one line, with the options' names here.

    Examples
    --------
    >>> from committee.shell.errors import in_words_of_the_shell
    >>> in_words_of_the_shell("oob=False takes them as they are.")
    '--no-oob takes them as they are.'
    """
    for there, here in _OPTIONS.items():
        text = text.replace(there, here)
    return " ".join(text.split())


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
        text = in_words_of_the_shell(str(message))
        if not quiet and text not in printed:
            printed.add(text)
            print(f"Note: {printable(text)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.simplefilter("default")
        # Of libraries, about how they are called: nothing a user could change.
        for kind in (DeprecationWarning, FutureWarning, PendingDeprecationWarning):
            warnings.simplefilter("ignore", kind)
        warnings.showwarning = show
        yield


@contextmanager
def _no_interrupt_lost() -> Iterator[None]:
    """Repeat a Ctrl-C that came in a destructor or a callback, which cannot raise.

    Python would print it there, and go on with a training that was to end.
    """
    usual = sys.unraisablehook

    def show(lost: Any) -> None:
        if isinstance(lost.exc_value, KeyboardInterrupt):
            # Later: here it would be lost once more.
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
        signal.pthread_kill(main, signal.SIGINT)  # ends its waiting, too
    else:
        _thread.interrupt_main()


def _check_streams() -> None:
    """Refuse to run without standard output; be silent without standard error."""
    if sys.stderr is None:  # print would take standard output instead
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
    """Whether it is Ctrl-C, or what a library made of it."""
    while error is not None and not isinstance(error, KeyboardInterrupt):
        error = error.__cause__ or error.__context__
    return error is not None


def _drop_output() -> None:
    """Send what is still to be written to standard output nowhere."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError, AttributeError):
        return  # not a file: a test's buffer
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, number)
    os.close(nowhere)
