"""The options of every command: a record of each, with defaults and help texts.

A command NAME is a record here and a function NAME; `COMMANDS` has their modules. Help and shell
completion are made from the records; nothing here imports a learner until it is made.
Annotations are objects, not strings, because `cli.py` makes options of them.
"""

import math
import re
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import partial
from pkgutil import resolve_name
from typing import Any

from typer import Argument, BadParameter, Option

from committee._hints import close_to
from committee.combiner_names import COMBINERS
from committee.shell.messages import Messages, UsageError

CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")

#: Measure of the error of each task.
MEASURES = {CLASSIFICATION: "error rate", REGRESSION: "RMSE"}

#: Number of random splits made by cross-splits and mini-batches.
N_SPLITS = 10

#: Classes of `committee.members`.
GENERATORS = {
    "bagging": "Bagging",
    "cross-splits": "CrossSplits",
    "mini-batches": "MiniBatches",
    "random-inits": "RandomInits",
    "adaboost": "AdaBoost",
    "arcing": "Arcing",
    "lpboost": "LPBoost",
    "random-subspaces": "RandomSubspaces",
    "rotations": "Rotations",
}
#: Different learners instead of many members of one estimator; the learners of a preset.
POOL = "pool"

#: Learners of each preset, the most valuable first. CatBoost and XGBoost take part where
#: they are installed.
_FAST = ("catboost", "boosting", "shallow-boosting", "extra-trees", "linear", "network")
_MORE = ("neighbours", "xgboost", "slow-boosting", "forest")
PRESETS = {"fast": _FAST, "best": (*_FAST, *_MORE)}
#: Default time budget of each preset, in minutes.
MINUTES = {"fast": 10.0, "best": 60.0}

#: Module, classifier and regressor of scikit-learn.
ESTIMATORS = {
    "tree": ("tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
    "random-tree": ("tree", "ExtraTreeClassifier", "ExtraTreeRegressor"),
    "stump": ("tree", "DecisionTreeClassifier", "DecisionTreeRegressor"),
    "linear": ("linear_model", "LogisticRegression", "Ridge"),
    "neighbours": ("neighbors", "KNeighborsClassifier", "KNeighborsRegressor"),
    "svm": ("svm", "SVC", "SVR"),
    "network": ("neural_network", "MLPClassifier", "MLPRegressor"),
}
_SETTINGS = {"stump": {"max_depth": 1}, "linear": {"max_iter": 1000}}
#: Estimators that split on one column at a time: no scaling, missing values allowed.
TREES = ("tree", "random-tree", "stump")


# --- from names and numbers to objects --------------------------------------------------


def known(name: str, names: Collection[str], option: str) -> str:
    """Return the name if it is one of `names`; raise ShellError otherwise.

    Examples
    --------
    >>> from committee.shell.options import ESTIMATORS, known
    >>> known("tree", ESTIMATORS, "--estimator")
    'tree'
    """
    if name not in names:
        raise UsageError(
            f"{option} must be one of {', '.join(names)}. Got {name!r}."
            f"{close_to(name, list(names))}"
        )
    return name


def make_estimator(name: str, task: str) -> Any:
    """Return the unfitted learner of a name and task."""
    module, *pair = ESTIMATORS[known(name, ESTIMATORS, "--estimator")]
    kind = resolve_name(f"sklearn.{module}:{pair[task == REGRESSION]}")
    return kind(**_SETTINGS.get(name, {}))


def make_generator(name: str, n_members: int, task: str) -> Any:
    """Return the generator of a name.

    Examples
    --------
    >>> from committee.shell.options import make_generator
    >>> make_generator("cross-splits", 30, "regression").repeats
    3
    """
    kind = GENERATORS[known(name, GENERATORS, "--generator")]
    if name in ("adaboost", "arcing", "lpboost") and task != CLASSIFICATION:
        raise UsageError(f"--generator {name} is for classification only.")
    counts: tuple[int, ...] = (n_members,)
    if name in ("cross-splits", "mini-batches"):
        counts = (N_SPLITS, n_members // N_SPLITS)
        if n_members % N_SPLITS:
            raise UsageError(
                f"--generator {name} trains {N_SPLITS} members on each split: --members "
                f"must be a multiple of {N_SPLITS}. Got {n_members}."
            )
    return resolve_name(f"committee.members:{kind}")(*counts)


def make_combiner(name: str, seed: int | None = None) -> Any:
    """Return the combiner of a name, with the seed if it draws random numbers.

    Examples
    --------
    >>> from committee.shell.options import make_combiner
    >>> make_combiner("random", seed=3)
    OrderPruner(criterion='random', random_state=3)
    """
    from committee.combiner_names import as_combiner

    return as_combiner(known(name, COMBINERS, "--combiner"), seed)


def number_of_bytes(text: str) -> float:
    """Return the number of bytes in a size such as 5MB.

    Examples
    --------
    >>> from committee.shell.options import number_of_bytes
    >>> number_of_bytes("800kB"), number_of_bytes("5 MiB"), number_of_bytes("1e6")
    (800000.0, 5242880.0, 1000000.0)
    """
    pattern = r"([\d.]+(?:e\d+)?)\s*(?:([kmgt]?)(i?)b)?"
    found = re.fullmatch(pattern, text.strip().lower())
    try:
        number, prefix, binary = found.groups() if found else ("", None, None)
        power = "kmgt".index(prefix) + 1 if prefix else 0
        return float(number) * math.pow(1024.0 if binary else 1000.0, power)
    except ValueError:
        raise BadParameter(
            f"{text!r} is not a size: give a number of bytes, or a number with kB, MB, "
            "GB, KiB, MiB or GiB."
        ) from None


def number_of_jobs(value: int) -> int:
    """Return the number of jobs; raise BadParameter for 0, which joblib rejects."""
    if value == 0:
        raise BadParameter("--jobs must not be 0: use 1 or more, or -1 for all cores.")
    return value


# --- options that several commands take -------------------------------------------------


def option(
    default: Any, text: str, *flags: str, names: Collection[str] = (), **settings: Any
) -> Any:
    """Return a field of a record that is an option of a command.

    Parameters
    ----------
    default : object
        Default value; ... for a required option.
    text : str
        Its help.
    *flags : str
        Spellings. None means the name of the field.
    names : collection of str
        Names that it completes.
    **settings
        Other arguments of `typer.Option`.
    """

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    if names:
        settings["autocompletion"] = complete
    info: Any = Option(*flags, help=text, **settings)
    if default is ...:
        return field(metadata={"typer": info})
    return field(default=default, metadata={"typer": info})


def _argument(name: str, text: str) -> Any:
    return field(metadata={"typer": Argument(metavar=name, help=text)})


_TABLE = (
    "CSV, Parquet or JSON lines, optionally compressed (.gz, .bz2, .zst); - for "
    "standard input."
)
_model = partial(_argument, "MODEL", "File of train, prune or committee.save.")
_data = partial(_argument, "DATA", _TABLE)
_own_target = partial(option, None, "Column to predict. Default: the target of MODEL.")
_model_output = partial(
    option, ..., "Model file to write, for example m.skops.", "--output", "-o"
)
_PAGE = "HTML file to write, for example report.html.", "--output", "-o"
_COMBINER = f"How members are weighed: {', '.join(COMBINERS)}."
_encoding = partial(
    option,
    None,
    "Text encoding of DATA, for example latin-1. Default: UTF-8 (UTF-16 if it has a "
    "byte-order mark).",
    metavar="NAME",
)
_column = partial(option, None, metavar="COLUMN")
_seed = partial(option, 0, "Random seed.", min=0, max=2**32 - 1)
#: More threads than the system allows would be an error deep inside joblib.
_jobs = partial(
    option,
    text="Number of members trained or evaluated in parallel; -1 for all cores.",
    max=1024,
    callback=number_of_jobs,
)
# --- the commands -----------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class Options:
    """Options that all commands take."""

    as_json: bool = option(False, "Print the result as one JSON object.", "--json")
    quiet: bool = option(False, "Hide progress bars and notes.", "--quiet", "-q")
    debug: bool = option(False, "Show the traceback of an error.", "--debug")

    @property
    def messages(self) -> Messages:
        """Printer of notes and results."""
        return Messages(quiet=self.quiet, as_json=self.as_json)


@dataclass(frozen=True, kw_only=True)
class Train(Options):
    """Train a committee on a table, and save it with the encoding of the columns."""

    data: str = _data()
    target: str = option(..., "Column to predict.")
    output: str = _model_output()
    preset: str | None = option(
        None,
        f"Learners to train: {' or '.join(PRESETS)}. Default: fast.",
        names=PRESETS,
    )
    minutes: float | None = option(
        None,
        "Time budget in minutes. Learners that would exceed it are skipped; the first is "
        "always trained. Default: "
        f"{', '.join(f'{m:g} for {name}' for name, m in MINUTES.items())}.",
        min=0,
    )
    generator: str | None = option(
        None,
        f"How members are made: {POOL} (the learners of --preset, the default), or many "
        f"members of one estimator: {', '.join(GENERATORS)}.",
        names=(POOL, *GENERATORS),
    )
    members: int | None = option(
        None, "Number of members of one estimator. Default: 100.", min=1
    )
    estimator: str | None = option(
        None,
        f"Estimator of all members: {', '.join(ESTIMATORS)}. Default: tree.",
        names=ESTIMATORS,
    )
    combiner: str | None = option(
        None,
        f"{_COMBINER} Default: for {POOL}, ridge for numbers and ard on log-odds for "
        "classes; otherwise ep.",
        names=COMBINERS,
    )
    task: str | None = option(
        None, f"{' or '.join(TASKS)}. Default: guessed from the target.", names=TASKS
    )
    drop: list[str] | None = _column("Column to leave out; repeatable.")
    keep: list[str] | None = _column(
        "Column to keep although its values all differ, or are nearly all missing; "
        "repeatable."
    )
    categorical: list[str] | None = _column(
        "Column to read as text, whatever it looks like; repeatable."
    )
    encoding: str | None = _encoding()
    seed: int = _seed()
    jobs: int = _jobs(1)


@dataclass(frozen=True, kw_only=True)
class Prune(Options):
    """Select the members that matter, and report what that changes."""

    model: str = _model()
    data: str = _data()
    output: str = _model_output()
    target: str | None = _own_target()
    oob: bool | None = option(
        None,
        "Whether DATA are the training rows of MODEL. If they are, each member votes only "
        "on rows it was not trained on. Default: detected.",
        "--oob/--no-oob",
        show_default=False,
    )
    max_members: int | None = option(None, "Maximum number of members.", min=1)
    max_bytes: float | None = option(
        None,
        "Maximum size of the pickled committee: bytes, or 800kB, 5MB, 1GB, 5MiB.",
        parser=number_of_bytes,
        metavar="SIZE",
    )
    max_seconds: float | None = option(
        None, "Maximum time to predict a row, in seconds.", min=0
    )
    within_se: float | None = option(
        None,
        "Take the smallest committee whose error is within this many standard errors of "
        "the best.",
        min=0,
    )
    combiner: str | None = option(None, f"{_COMBINER} Default: ep.", names=COMBINERS)
    force: bool = option(False, "Allow the output to replace MODEL.", "--force")
    encoding: str | None = _encoding()
    seed: int = _seed()
    jobs: int = _jobs(1)


@dataclass(frozen=True, kw_only=True)
class Predict(Options):
    """Predict the rows of a table; columns are found by name, in any order."""

    model: str = _model()
    data: str = _data()
    output: str = option(
        "-",
        "Table to write: .csv, .tsv, .parquet, .csv.gz, ...; - for CSV on standard output.",
        *("--output", "-o"),
    )
    proba: bool = option(False, "Add a column p_CLASS for each class.", "--proba")
    interval: float | None = option(
        None,
        "Add columns lower and upper that contain this share of all targets, for example "
        "0.9. Regression only.",
        metavar="COVERAGE",
    )
    classes: float | None = option(
        None,
        "Add columns in_CLASS: a set of classes that contains the true one for this share "
        "of rows, for example 0.9. Classification only.",
        "--set",
        metavar="COVERAGE",
    )
    encoding: str | None = _encoding()
    jobs: int = _jobs(1)


@dataclass(frozen=True, kw_only=True)
class Evaluate(Options):
    """Score a model on rows with the target: error rate, log-loss, AUC, RMSE, R2 ..."""

    model: str = _model()
    data: str = _data()
    against: str | None = option(
        None,
        "Second model, for example the one before pruning. Prints paired differences.",
        metavar="MODEL",
    )
    target: str | None = _own_target()
    encoding: str | None = _encoding()
    jobs: int = _jobs(1)


@dataclass(frozen=True, kw_only=True)
class Export(Options):
    """Write a committee for other tools: .onnx, .h for C, or .skops as a scikit-learn model."""

    model: str = _model()
    output: str = option(..., "File to write: .onnx, .h or .skops.", "--output", "-o")


@dataclass(frozen=True, kw_only=True)
class Merge(Options):
    """Write several LightGBM, XGBoost or CatBoost files as one model of that library."""

    models: list[str] = _argument(
        "MODEL", "Files of one library: .txt (LightGBM), .json, .ubj or .cbm."
    )
    output: str = option(..., "File to write, for example one.txt.", "--output", "-o")
    weight: list[float] | None = option(
        None,
        "Weight of the raw scores of a file; once for each. Default: their mean.",
        metavar="NUMBER",
    )


@dataclass(frozen=True, kw_only=True)
class Inspect(Options):
    """Show what a model file contains: members, weights, columns, versions."""

    model: str = _model()


@dataclass(frozen=True, kw_only=True)
class Report(Options):
    """Write an HTML page about a model on rows that it has not seen."""

    model: str = _model()
    data: str = _data()
    output: str = option(..., *_PAGE)
    target: str | None = _own_target()
    encoding: str | None = _encoding()
    jobs: int = _jobs(1)


@dataclass(frozen=True, kw_only=True)
class Demo(Options):
    """Combine ten models, shrink a forest, check intervals; print three tables."""

    output: str = option("committee-demo.html", *_PAGE)
    seed: int = _seed()
    jobs: int = _jobs(-1)


#: The module of each command, without `_command`.
COMMANDS = {
    Train: "train",
    Evaluate: "evaluate",
    Prune: "prune",
    Predict: "predict",
    Inspect: "evaluate",
    Report: "evaluate",
    Export: "export",
    Merge: "export",
    Demo: "demo",
}
