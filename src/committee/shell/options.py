"""The options of each command: one record, from which help and completion are made.

A command NAME is the record of its options here and the function of `NAME_command.py`.
Annotations are objects, not text, since typer reads them off the records.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated

import typer

from committee.combiner_names import COMBINERS
from committee.shell.choices import (
    ESTIMATORS,
    GENERATORS,
    MINUTES,
    POOL,
    PRESETS,
    SCORES,
    TASKS,
)
from committee.shell.messages import Messages
from committee.shell.quantities import MOST_JOBS, number_of_bytes, number_of_jobs


def _names(help_text: str, names: Iterable[str]) -> typer.models.OptionInfo:
    """Return an option that is one of some names, and completes them."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    option: Callable[..., typer.models.OptionInfo] = typer.Option
    return option(help=help_text, autocompletion=complete)


_TABLE = "CSV, Parquet or JSON lines, plain or as .gz, .bz2, .xz, .zst; - for standard input."
_PAGE = typer.Option("--output", "-o", help="File of the page, such as report.html.")

Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A file of train, prune or committee.save."),
]
Data = Annotated[str, typer.Argument(metavar="DATA", help=_TABLE)]
ManyData = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help=f"{_TABLE} A pattern in quotes, such as 'rows/*.parquet', or a folder of "
        "Parquet files is read by Dask's workers.",
    ),
]
OwnTarget = Annotated[
    str | None,
    typer.Option(help="The column to predict; the model's own unless given."),
]
ModelOutput = Annotated[
    str, typer.Option("--output", "-o", help="File of the model, such as m.skops.")
]
Combiner = Annotated[
    str, _names(f"How members are weighed: {', '.join(COMBINERS)}.", COMBINERS)
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Of text in DATA, such as latin-1, cp1252, utf-16-le; UTF-8, or UTF-16 "
        "with its mark, unless given.",
    ),
]
Drop = Annotated[
    list[str] | None,
    typer.Option(metavar="COLUMN", help="Leave out a column; may be given repeatedly."),
]
Keep = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Look at a column that is different in every row, which would be left "
        "out; may be given repeatedly.",
    ),
]
Categorical = Annotated[
    list[str] | None,
    typer.Option(
        metavar="COLUMN",
        help="Take a column for text, whatever it looks like; may be given repeatedly.",
    ),
]
Seed = Annotated[
    int, typer.Option(min=0, max=2**32 - 1, help="Seed of all that is random.")
]
Jobs = Annotated[
    int,
    typer.Option(
        max=MOST_JOBS,
        callback=number_of_jobs,
        help="Members at work at the same time; -1 for all cores.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        metavar="ADDRESS",
        help="Dask scheduler, such as tcp://10.0.0.1:8786. Many files have a worker on "
        "each core of this machine unless given.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class Options:
    """What all commands take."""

    as_json: Annotated[
        bool, typer.Option("--json", help="The result as one JSON object.")
    ] = False
    quiet: Quiet = False
    debug: Debug = False

    @property
    def messages(self) -> Messages:
        """How notes and results are printed."""
        return Messages(quiet=self.quiet, as_json=self.as_json)


@dataclass(frozen=True, kw_only=True)
class Train(Options):
    """Train a committee on a table, and save it with its reading of the columns."""

    data: ManyData
    target: Annotated[str, typer.Option(help="The column to predict.")]
    output: ModelOutput
    preset: Annotated[
        str | None,
        _names(
            f"Which unlike learners are trained: {' or '.join(PRESETS)}; fast unless "
            "given.",
            PRESETS,
        ),
    ] = None
    minutes: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="What would take longer is left out. "
            f"{' and '.join(f'{m:g} for {name}' for name, m in MINUTES.items())} "
            "unless given.",
        ),
    ] = None
    generator: Annotated[
        str | None,
        _names(
            f"How members are made: {POOL} (the unlike learners of --preset) unless "
            f"given; or many of one estimator: {', '.join(GENERATORS)}.",
            (POOL, *GENERATORS),
        ),
    ] = None
    members: Annotated[
        int | None,
        typer.Option(
            min=1, help="How many of one estimator to train: 100 unless given."
        ),
    ] = None
    estimator: Annotated[
        str | None,
        _names(
            f"The one estimator: {', '.join(ESTIMATORS)}. tree unless given.",
            ESTIMATORS,
        ),
    ] = None
    combiner: Combiner = "ep"
    task: Annotated[
        str | None,
        _names(f"{' or '.join(TASKS)}; guessed from the target unless given.", TASKS),
    ] = None
    drop: Drop = None
    keep: Keep = None
    categorical: Categorical = None
    encoding: Encoding = None
    seed: Seed = 0
    jobs: Jobs = 1
    scheduler: Scheduler = None


@dataclass(frozen=True, kw_only=True)
class Prune(Options):
    """Keep the members that matter, and say what that costs and gains."""

    model: Model
    data: ManyData
    output: ModelOutput
    target: OwnTarget = None
    oob: Annotated[
        bool | None,
        typer.Option(
            "--oob/--no-oob",
            help="Whether DATA are the rows the model was trained on: members count "
            "only on those they did not see then. Found out unless given.",
            show_default=False,
        ),
    ] = None
    max_members: Annotated[int | None, typer.Option(min=1, help="Members at most.")] = (
        None
    )
    max_bytes: Annotated[
        float | None,
        typer.Option(
            parser=number_of_bytes,
            metavar="SIZE",
            help="Size of the members at most: bytes, or 800kB, 5MB, 1GB, 5MiB.",
        ),
    ] = None
    max_seconds: Annotated[
        float | None, typer.Option(min=0, help="Seconds to predict a row at most.")
    ] = None
    within_se: Annotated[
        float | None,
        typer.Option(
            min=0,
            help="Take the smallest committee within so many standard errors of the "
            "best.",
        ),
    ] = None
    combiner: Annotated[
        str | None,
        _names(
            f"How members are weighed: {', '.join(COMBINERS)}. ep unless given.",
            COMBINERS,
        ),
    ] = None
    scoring: Annotated[
        str | None,
        _names(
            f"Choose members by a score, with --combiner greedy: {', '.join(SCORES)}.",
            SCORES,
        ),
    ] = None
    force: Annotated[
        bool, typer.Option("--force", help="Let the output replace MODEL.")
    ] = False
    encoding: Encoding = None
    seed: Seed = 0
    jobs: Jobs = 1
    scheduler: Scheduler = None


@dataclass(frozen=True, kw_only=True)
class Predict(Options):
    """Predict the rows of a table; its columns may stand in any order."""

    model: Model
    data: ManyData
    output: Annotated[
        str,
        typer.Option(
            "--output",
            "-o",
            help="A table: .csv, .tsv, .parquet, .csv.gz, ...; - for CSV on standard "
            "output.",
        ),
    ] = "-"
    proba: Annotated[
        bool,
        typer.Option("--proba", help="A column for the probability of each class."),
    ] = False
    interval: Annotated[
        float | None,
        typer.Option(
            metavar="COVERAGE",
            help="Columns `lower` and `upper` that hold this share of all targets, such "
            "as 0.9; for numbers.",
        ),
    ] = None
    classes: Annotated[
        float | None,
        typer.Option(
            "--set",
            metavar="COVERAGE",
            help="Columns `in_CLASS`: the classes that a row may well have, its own among "
            "them in this share of all rows, such as 0.9; for classifiers.",
        ),
    ] = None
    encoding: Encoding = None
    jobs: Jobs = 1
    scheduler: Scheduler = None


@dataclass(frozen=True, kw_only=True)
class Evaluate(Options):
    """Score a model on rows with the target: error rate, log-loss, AUC, RMSE, R2 ..."""

    model: Model
    data: Data
    against: Annotated[
        str | None,
        typer.Option(
            metavar="MODEL",
            help="Another model, such as the one before pruning: paired differences.",
        ),
    ] = None
    target: OwnTarget = None
    encoding: Encoding = None
    jobs: Jobs = 1


@dataclass(frozen=True, kw_only=True)
class Export(Options):
    """Write a committee for other tools: .onnx, or .skops as a plain scikit-learn model."""

    model: Model
    output: Annotated[
        str,
        typer.Option("--output", "-o", help="Such as m.onnx; its ending decides."),
    ]


@dataclass(frozen=True, kw_only=True)
class Inspect(Options):
    """Say what a model file holds: members, weights, columns, versions."""

    model: Model


@dataclass(frozen=True, kw_only=True)
class Report(Options):
    """Write a page about a model on rows it has not seen: one HTML file."""

    model: Model
    data: Data
    output: Annotated[str, _PAGE]
    target: OwnTarget = None
    encoding: Encoding = None
    jobs: Jobs = 1


@dataclass(frozen=True, kw_only=True)
class Demo(Options):
    """Prune 25 unlike models and 100 trees on digits: a table, and a page."""

    output: Annotated[str, _PAGE] = "committee-demo.html"
    seed: Seed = 0
    jobs: Jobs = -1


COMMANDS: tuple[type[Options], ...] = (
    Train,
    Evaluate,
    Prune,
    Predict,
    Inspect,
    Report,
    Export,
    Demo,
)
