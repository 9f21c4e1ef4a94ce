"""The shell: what it prints where, and its exit status."""

import json
import os
import pickle
import re
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest
from typer.testing import CliRunner

import committee
from committee.cli import app
from committee.combiner_names import COMBINERS
from committee.shell.options import (
    ESTIMATORS,
    GENERATORS,
    POOL,
    PRESETS,
    TASKS,
)
from tests.shell.conftest import folder as plain_folder  # noqa: F401
from tests.shell.conftest import make_table, refused, run, trained  # noqa: F401

runner = CliRunner()


def test_version():
    result = runner.invoke(app, ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"committee {committee.__version__}\n"


@pytest.mark.parametrize("words", [("--version",), ("--help",), ("train", "--help")])
def test_version_and_help_wait_for_nothing_heavy(words):
    heavy = {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "joblib", "skops"}
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('loaded', *sys.modules))\n"
        "from committee.cli import main; main()"
    )
    out, err = python(("-c", code), *words).communicate()
    assert err == ""
    assert not heavy & set(out.splitlines()[-1].split())


@pytest.mark.parametrize("words", [["nonsense"], ["demo", "--jobs", "many"]])
def test_usage_errors_have_status_2(words):
    result = runner.invoke(app, words)
    assert result.exit_code == 2
    assert words[0 if len(words) == 1 else 1] in result.stderr
    assert result.stdout == ""


def test_without_a_command_the_help_is_shown():
    assert "demo" in runner.invoke(app, []).output


@pytest.fixture
def folder(plain_folder):  # noqa: F811
    """A working folder with models and tables, good and bad."""
    table = make_table()
    texts = {
        "empty.csv": "",
        "header.csv": "size,grade\n",
        "ragged.csv": "size,grade\n1,yes\n2,no,maybe\n",
        "short.csv": "size,grade\n1,yes\n2\n",
        "constant.csv": "size,grade\n1,yes\n2,yes\n",
        "gaps.csv": "size,grade\n1,\n2,\n3,\n",
        "short.skops": "",
    }
    for name, text in texts.items():
        Path(name).write_text(text)
    table[["size", "town"]].to_csv("narrow.csv", index=False)
    table.assign(price=table["town"].fillna("?!"), size="big").to_csv(
        "words.csv", index=False
    )
    model = Path("classifier.skops").read_bytes()
    Path("short.skops").write_bytes(model[: len(model) // 2])
    Path("hostile.skops").write_bytes(pickle.dumps(Hostile()))
    Path("text.skops").write_text("size,grade\n")
    return plain_folder


class Hostile:
    """Makes a folder when it is unpickled."""

    def __reduce__(self):
        return os.mkdir, ("owned",)


def python(code, *words, **options):
    """Run Python in another process, as the shell would run `committee`."""
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *code, *words], **pipes | options)


def test_the_whole_way_through_pipes(folder):
    """train, prune, predict and inspect, from standard input to standard output."""
    table = Path("grades.csv").read_text()
    train = run(
        *("train", "-", "--target", "grade", "-o", "m.skops", "--members", 8),
        *("--json", "--quiet"),
        input=table,
    )
    assert train.stderr == ""
    assert json.loads(train.stdout)["members"] == 8
    prune = run(
        *("prune", "m.skops", "-", "--target", "grade", "-o", "small.skops"),
        *("--oob", "--max-members", 3, "--json"),
        input=table,
    )
    assert json.loads(prune.stdout)["members"] <= 3
    assert "predicting" in prune.stderr
    predict = run("predict", "small.skops", "-", "--proba", input=table)
    lines = predict.stdout.splitlines()
    assert lines[0] == "prediction,p_no,p_yes"
    assert len(lines) == 1 + len(table.splitlines()) - 1
    inspect = json.loads(run("inspect", "small.skops", "--json").stdout)
    assert 3 <= inspect["pruned_from"] <= 8
    assert inspect["trained_on"] == "-, 120 rows"


def test_results_go_to_standard_output_and_the_rest_to_standard_error(folder):
    result = run("train", "grades.csv", "--target", "grade", "-o", "m.skops")
    assert re.search(r"^members +[1-9]", result.stdout, re.MULTILINE)
    assert "classification, since the target 'grade'" in result.stderr
    assert "training" in result.stderr


TRAIN = ("-o", "new.skops", "--target", "grade", "--members", "4")
PRUNE = ("-o", "new.skops", "--target")

BAD_INPUT = {
    "missing file": (("train", "none.csv", *TRAIN), 1, "'none.csv': no such file"),
    "missing model": (("inspect", "none.skops"), 1, "'none.skops': no such file"),
    "empty file": (("train", "empty.csv", *TRAIN), 1, "is empty"),
    "only a header": (("train", "header.csv", *TRAIN), 1, "no rows"),
    "ragged CSV": (("train", "ragged.csv", *TRAIN), 1, "Expected 2 columns, got 3"),
    "short row": (("train", "short.csv", *TRAIN), 1, "Expected 2 columns, got 1"),
    "unknown target": (
        ("train", "grades.csv", "-o", "new.skops", "--target", "Grades"),
        2,
        "Did you mean 'grade'?",
    ),
    "one value": (("train", "constant.csv", *TRAIN), 1, "All 2 rows have 'yes'"),
    "no target in any row": (("train", "gaps.csv", *TRAIN), 1, "no value in any"),
    "unknown combiner": (
        ("train", "grades.csv", *TRAIN, "--combiner", "epp"),
        2,
        "one of ep, ard",
    ),
    "words for regression": (
        ("train", "grades.csv", *TRAIN, "--task", "regression"),
        1,
        "must be numbers",
    ),
    "no such folder": (
        ("train", "grades.csv", "--target", "grade", "-o", "none/m.skops"),
        2,
        "no folder 'none'",
    ),
    "a model to standard output": (
        ("train", "grades.csv", "--target", "grade", "-o", "-"),
        2,
        "output file is missing",
    ),
    "missing columns": (
        ("predict", "classifier.skops", "narrow.csv"),
        1,
        "lacks 3 columns that the model was trained on: 'age', 'code', 'member'",
    ),
    "words for numbers": (
        ("predict", "classifier.skops", "words.csv"),
        1,
        "'size' must contain finite numbers",
    ),
    "proba of a regressor": (
        ("predict", "regressor.skops", "prices.csv", "--proba"),
        1,
        "is a regressor",
    ),
    "strange output": (
        ("predict", "regressor.skops", "prices.csv", "-o", "out.xlsx"),
        2,
        "must end in .csv",
    ),
    "prune a regressor with words": (
        ("prune", "regressor.skops", "words.csv", *PRUNE, "price"),
        1,
        "must be numbers for regression",
    ),
    "prune another task": (
        ("prune", "classifier.skops", "prices.csv", *PRUNE, "member"),
        1,
        "which the model was not trained on",
    ),
    "oob on other rows": (
        ("prune", "classifier.skops", "narrower.csv", *PRUNE, "grade", "--oob"),
        1,
        "--oob needs the rows that the ensemble was trained on",
    ),
    "cut model": (("inspect", "short.skops"), 1, "cut short or damaged"),
    "no model": (("inspect", "text.skops"), 1, "is not a model file"),
    "a folder": (("inspect", "."), 1, "is a folder"),
}


@pytest.mark.parametrize("name", BAD_INPUT)
def test_bad_input_is_one_sentence_and_a_status(name, folder):
    make_table(50).to_csv("narrower.csv", index=False)
    before = {p.name: p.read_bytes() for p in folder.iterdir()}
    words, status, sentence = BAD_INPUT[name]
    assert sentence in refused(*words, status=status)
    assert {p.name: p.read_bytes() for p in folder.iterdir()} == before


@pytest.mark.parametrize(
    "words",
    [
        ("inspect", "hostile.skops"),
        ("predict", "hostile.skops", "grades.csv"),
        ("prune", "hostile.skops", "grades.csv", *PRUNE, "grade"),
    ],
    ids=lambda words: words[0],
)
def test_a_hostile_pickle_does_not_run(words, folder):
    result = run(*words, status=1)
    assert "is a pickle" in result.stderr
    assert not Path("owned").exists()
    pickle.loads(Path("hostile.skops").read_bytes())
    assert Path("owned").exists()  # it would have


def test_debug_shows_where(folder):
    result = runner.invoke(app, ["inspect", "short.skops", "--debug"])
    assert result.exit_code == 1
    assert "committee.persistence.file_format.ModelFileError" in result.stderr


TRAIN_OVER = ("train", "grades.csv", "--target", "grade", "--members", "4")


@pytest.mark.slow
def test_a_kill_while_saving_leaves_the_old_model_whole(folder):
    old = Path("classifier.skops").read_bytes()
    code = (
        "import os, signal; os.replace = lambda *_: os.kill(os.getpid(), 9); "
        "from committee.cli import main; main()"
    )
    process = python(("-c", code), *TRAIN_OVER, "-o", "classifier.skops")
    process.communicate()
    assert process.returncode == -signal.SIGKILL
    assert Path("classifier.skops").read_bytes() == old
    run("inspect", "classifier.skops")


@pytest.mark.slow
def test_a_disk_that_is_full_leaves_the_old_model_whole(folder):
    pytest.importorskip("resource", reason="limits of files are those of Unix")
    old = Path("classifier.skops").read_bytes()
    code = (
        "import resource as r; r.setrlimit(r.RLIMIT_FSIZE, (1000, 1000)); "
        "from committee.cli import main; main()"
    )
    process = python(("-c", code), *TRAIN_OVER, "-o", "classifier.skops", "--quiet")
    out, err = process.communicate()
    assert (process.returncode, out) == (1, "")
    assert err == "Error: file too large.\n"
    assert Path("classifier.skops").read_bytes() == old
    assert not list(folder.glob(".*partial"))


PREDICT = (("-m", "committee"), "predict", "classifier.skops", "grades.csv")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_standard_output_that_is_full_is_an_error(folder):
    with open("/dev/full", "w") as full:
        process = python(*PREDICT, stdout=full)
        _, err = process.communicate()
    assert process.returncode == 1
    assert err == "Error: no space left on device.\n"


@pytest.mark.slow
def test_a_reader_that_leaves_early_is_no_scandal(folder):
    process = python(*PREDICT)
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1


def test_ctrl_c_is_one_line_and_status_130(folder):
    words = ("--target", "grade", "--members", "1000000", "-o", "new.skops")
    # A shell's background jobs ignore the interrupt, and so would this process.
    code = (
        "import signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
        "from committee.cli import main; main()"
    )
    process = python(("-c", code), "train", "grades.csv", *words)
    assert "classification" in process.stderr.readline()  # now it is at work
    err = None
    while err is None:  # an interrupt inside a callback of compiled code is lost
        process.send_signal(signal.SIGINT)
        with suppress(subprocess.TimeoutExpired):
            _, err = process.communicate(timeout=10)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "Interrupted."
    assert "Traceback" not in err
    assert not Path("new.skops").exists()


INTERRUPTED_IMPORT = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "{}":
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from committee.__main__ import main
main()
"""


@pytest.mark.parametrize("module", ["typer", "numpy._core._exceptions", "sklearn"])
def test_ctrl_c_while_importing_is_one_line_and_status_130(module, folder):
    code = ("-c", INTERRUPTED_IMPORT.format(module))
    process = python(code, "inspect", "classifier.skops")
    assert process.communicate() == ("", "Interrupted.\n")
    assert process.returncode == 130


SHELL = f"{sys.executable} -m committee"

STREAMS = {
    "closed output": ("--version >&-", 2, "Standard output is closed"),
    "closed input": ("predict m.skops - <&-", 2, "Standard input is closed"),
    "full output": ("--version >/dev/full", 1, "no space left on device."),
    "full help": ("train --help >/dev/full", 1, "no space left on device."),
}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("name", STREAMS)
def test_streams_that_are_closed_or_full_are_one_sentence(name):
    words, status, sentence = STREAMS[name]
    done = subprocess.run(
        f"{SHELL} {words}", shell=True, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (status, "")
    assert done.stderr.startswith(f"Error: {sentence}")
    assert len(done.stderr.splitlines()) == 1


def test_a_reader_of_the_help_may_leave_early():
    """SIGPIPE is for pipes: the rest of the help goes nowhere."""
    process = python(("-m", "committee"), "train", "--help")
    process.stdout.close()
    assert process.stderr.read() == ""
    process.stderr.close()
    assert process.wait() == 1


WRONG_CALLS = {
    "seed": (("--seed", 2**32), "'--seed'"),
    "no jobs": (
        ("--jobs", 0),
        "--jobs must not be 0: use 1 or more, or -1 for all cores.",
    ),
    "jobs beyond reason": (("--jobs", 10**6), "'--jobs'"),
    "no number": (("--members", "many"), "'--members'"),
    "unknown option": (("--numbers", 3), "--numbers"),
}


@pytest.mark.parametrize("name", WRONG_CALLS)
def test_a_wrong_call_is_one_sentence_that_names_the_help(name, folder):
    words, sentence = WRONG_CALLS[name]
    error = refused("train", "grades.csv", *TRAIN, *words, status=2)
    assert sentence in error
    assert error.endswith("See 'committee train --help'.\n")


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("--combiner", COMBINERS),
        ("--estimator", ESTIMATORS),
        ("--generator", (POOL, *GENERATORS)),
        ("--preset", PRESETS),
        ("--task", TASKS),
    ],
)
def test_names_are_in_the_help_and_complete(option, names, monkeypatch):
    text = runner.invoke(app, ["train", "--help"]).output
    assert all(name in text for name in names)
    monkeypatch.setenv("_COMMITTEE_COMPLETE", "complete_bash")
    for start in ("", min(names)[:2], "zz"):
        monkeypatch.setenv("COMP_WORDS", f"committee train {option} {start}")
        monkeypatch.setenv("COMP_CWORD", "3")
        result = runner.invoke(app, [], prog_name="committee")
        assert result.stdout.split() == [n for n in names if n.startswith(start)]
