"""The guide's session is true: its commands run and print what it shows."""

import doctest
import re
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from committee.cli import app

GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "shell.md"
BLOCKS = re.findall(
    r"^```(python|console)\n(.*?)^```",
    GUIDE.read_text(encoding="utf-8"),
    flags=re.DOTALL | re.MULTILINE,
)
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def session(block):
    """Yield each command of a console block, and the lines below it."""
    for part in re.split(r"^\$ ", block.replace("\\\n", " "), flags=re.MULTILINE)[1:]:
        command, _, shown = part.partition("\n")
        yield command, shown


def check(command, shown):
    """Run a command: notes and errors are on standard error, the rest is not."""
    command, _, source = command.partition(" < ")
    text = Path(source.strip()).read_text() if source else None
    result = CliRunner().invoke(app, shlex.split(command)[1:], input=text)
    lines = shown.splitlines(keepends=True)
    said = [line for line in lines if line.startswith(("Note: ", "Error: "))]
    assert bool(result.exit_code) == any(line.startswith("Error") for line in said)
    for line in said:
        assert line in result.stderr
    results = "".join(line for line in lines if line not in said)
    checker = doctest.OutputChecker()
    assert checker.check_output(results, result.stdout, FLAGS), result.stdout


def test_the_session_of_the_guide(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    commands = 0
    for kind, block in BLOCKS:
        if kind == "python":
            exec(compile(block, str(GUIDE), "exec"), {"__name__": "guide"})  # noqa: S102
            continue
        for command, shown in session(block):
            assert command.startswith("committee ")
            check(command, shown)
            commands += 1
    assert commands >= 6


@pytest.mark.parametrize(
    "command", ["train", "evaluate", "prune", "predict", "inspect", "report", "export"]
)
def test_the_guide_shows_every_command(command):
    assert f"$ committee {command} " in "".join(block for _, block in BLOCKS)
