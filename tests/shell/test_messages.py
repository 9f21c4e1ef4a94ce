"""Results for people and for machines."""

import json

import numpy as np

from committee.shell.messages import Messages, columns

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


def test_words_stand_left_and_numbers_right():
    text = columns(("who", "kind", "w"), [("1", "tree", 0.5), ("22", "svm", 12.25)])
    assert text.splitlines() == [
        "who  kind      w",
        "1    tree    0.5",
        "22   svm   12.25",
    ]
