"""One sentence and one status; results for people and for machines."""

import errno
import json
import signal
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from committee.shell.messages import (
    Messages,
    ShellError,
    UsageError,
    explained,
    leaving_at_once,
    listed,
    sentence,
)


@pytest.mark.parametrize(
    ("error", "status", "words"),
    [
        (ShellError("The table has no rows."), 1, "Error: The table has no rows."),
        (UsageError("No."), 2, "Error: No."),
        (ValueError("Wrong.\nStill wrong.\n\nEpilogue"), 1, "Wrong. Still wrong."),
        (OSError(errno.ENOSPC, "No space left", "m.skops"), 1, "'m.skops': no space"),
        (ImportError("pip install 'committee[io]'"), 1, "pip install"),
        (
            ValueError(
                "Member 2 (Tree) failed: no. (2 finished members are kept in the "
                "'members' attribute of this exception.)"
            ),
            1,
            "Error: Member 2 (Tree) failed: no.\n",
        ),
        (MemoryError(), 1, "not enough memory"),
        (ZeroDivisionError("oh"), 1, "unexpected ZeroDivisionError: oh."),
        (KeyboardInterrupt(), 130, "Interrupted"),
    ],
)
def test_an_error_is_one_line_and_a_status(error, status, words, capsys):
    with pytest.raises(SystemExit) as stop, explained():
        raise error
    out, err = capsys.readouterr()
    assert stop.value.code == status
    assert words in err
    assert len(err.splitlines()) == 1
    assert out == ""


@pytest.mark.parametrize(
    ("error", "status"), [(UsageError("No."), 2), (KeyboardInterrupt(), 130)]
)
def test_debug_shows_where_and_leaves_with_the_same_status(error, status, capsys):
    with pytest.raises(SystemExit) as stop, explained(debug=True):
        raise error
    err = capsys.readouterr().err
    assert stop.value.code == status
    assert err.startswith("Traceback")
    assert "in test_debug_shows_where_and_leaves" in err


def test_ctrl_c_that_a_library_made_an_import_error_of_is_still_ctrl_c(capsys):
    error = ImportError("numpy._core.multiarray failed to import")
    error.__context__ = KeyboardInterrupt()
    with pytest.raises(SystemExit) as stop, explained():
        raise error
    assert stop.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


class Deaf:
    """Ctrl-C comes while it is destroyed, where nothing can be raised."""

    def __del__(self):
        signal.raise_signal(signal.SIGINT)


def work_until_a_signal_comes():
    Deaf()
    signal.sigtimedwait([], 60)


def test_ctrl_c_in_a_destructor_is_not_lost(capsys):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with pytest.raises(SystemExit) as stop, explained():
            work_until_a_signal_comes()
    finally:
        signal.signal(signal.SIGINT, before)
    assert stop.value.code == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_ctrl_c_is_left_alone_where_it_is_not_ours():
    """In a background job it is ignored, in another thread it cannot be changed."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with leaving_at_once():
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        # The tests themselves may run in the background.
        usual = signal.default_int_handler
        signal.signal(signal.SIGINT, usual)
        with ThreadPoolExecutor(1) as other, leaving_at_once():
            ours = signal.getsignal(signal.SIGINT)
            other.submit(leaving_at_once().__enter__).result()
            assert signal.getsignal(signal.SIGINT) == ours != usual
        assert signal.getsignal(signal.SIGINT) == usual
    finally:
        signal.signal(signal.SIGINT, before)


def test_without_standard_error_notes_do_not_go_to_standard_output(monkeypatch, capsys):
    monkeypatch.setattr(sys, "stderr", None)
    with explained():
        warnings.warn("It did not converge.", stacklevel=1)
        print("prediction")
    sys.stderr.close()
    assert capsys.readouterr().out == "prediction\n"


def test_a_reader_that_has_seen_enough_gets_no_message(capsys):
    with pytest.raises(SystemExit) as stop, explained():
        raise BrokenPipeError(errno.EPIPE, "Broken pipe")
    assert stop.value.code == 1
    assert capsys.readouterr().err == ""


def test_output_that_cannot_be_written_is_noticed(monkeypatch, capsys):
    class Full:
        def flush(self):
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sys, "stdout", Full())
    with pytest.raises(SystemExit) as stop, explained():
        pass
    assert stop.value.code == 1
    assert "no space left on device." in capsys.readouterr().err


@pytest.mark.parametrize("quiet", [False, True])
def test_a_warning_is_a_note_said_once(quiet, capsys):
    with explained(quiet=quiet):
        for _ in range(3):
            warnings.warn("It did not\nconverge.", stacklevel=1)
        warnings.warn("Old.", DeprecationWarning, stacklevel=1)
    assert capsys.readouterr().err == ("" if quiet else "Note: It did not converge.\n")


def test_success_says_nothing(capsys):
    with explained():
        pass
    assert capsys.readouterr() == ("", "")


def test_names_are_listed():
    assert listed(["a"]) == "'a'"


def test_a_system_error_without_a_file_keeps_its_words():
    assert sentence(OSError("a device")) == "a device"


REPORT = {
    "model": "m.skops",
    "members_with_a_weight": 1234,
    "error": 0.123456,
    "nothing": None,
    "oob": True,
    "classes": ["a", "b"],
}


def test_a_reader_gets_a_line_for_each_plain_entry(capsys):
    Messages().result(REPORT, "a table")
    assert capsys.readouterr().out.splitlines() == [
        "model                  m.skops",
        "members with a weight  1,234",
        "error                  0.1235",
        "oob                    yes",
        "",
        "a table",
    ]


def test_a_machine_gets_everything(capsys):
    values = {"w": np.float64(0.5), "v": np.arange(2), "s": {"loo": float("nan")}}
    Messages(as_json=True).result(REPORT | values, "a table")
    plain = {"w": 0.5, "v": [0, 1], "s": {"loo": None}}
    assert json.loads(capsys.readouterr().out) == REPORT | plain


def test_notes_go_to_standard_error_unless_quiet(capsys):
    Messages().note("hello")
    Messages(quiet=True).note("hello")
    assert capsys.readouterr() == ("", "Note: hello\n")
