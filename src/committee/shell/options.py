"""The arguments and options of the commands, with their help and completion."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

import typer

from committee.shell.choices import COMBINERS, ESTIMATORS, GENERATORS
from committee.shell.target import TASKS


def _completer(names: Iterable[str]) -> Callable[[str], list[str]]:
    """Return a function that completes one of the names."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in names if name.startswith(incomplete)]

    return complete


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet, plain or as .gz, .bz2, .xz, .zst; - for standard input.",
    ),
]
ManyData = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="CSV or Parquet, plain or as .gz, .bz2, .xz, .zst; - for standard input. "
        "A pattern in quotes, such as 'rows/*.parquet', or a folder of Parquet files "
        "is read by Dask's workers.",
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
Model = Annotated[
    str,
    typer.Argument(metavar="MODEL", help="A file of train, prune or committee.save."),
]
Target = Annotated[str, typer.Option(help="The column to predict.")]
OwnTarget = Annotated[
    str | None,
    typer.Option(help="The column to predict; the model's own unless given."),
]
ModelOutput = Annotated[
    str, typer.Option("--output", "-o", help="File of the model, such as m.skops.")
]
TableOutput = Annotated[
    str,
    typer.Option(
        "--output",
        "-o",
        help="A table: .csv, .tsv, .parquet, .csv.gz, ...; - for CSV on standard "
        "output.",
    ),
]
Members = Annotated[int, typer.Option(min=1, help="How many to train.")]
Generator = Annotated[
    str,
    typer.Option(
        help=f"How members are made: {', '.join(GENERATORS)}.",
        autocompletion=_completer(GENERATORS),
    ),
]
Combiner = Annotated[
    str,
    typer.Option(
        help=f"How members are weighed: {', '.join(COMBINERS)}.",
        autocompletion=_completer(COMBINERS),
    ),
]
Estimator = Annotated[
    str,
    typer.Option(
        help=f"What members are: {', '.join(ESTIMATORS)}.",
        autocompletion=_completer(ESTIMATORS),
    ),
]
Task = Annotated[
    str | None,
    typer.Option(
        help=f"{' or '.join(TASKS)}; guessed from the target unless given.",
        autocompletion=_completer(TASKS),
    ),
]
Oob = Annotated[
    bool,
    typer.Option(
        "--oob",
        help="DATA are the rows the model was trained on: members speak only on those "
        "they did not see.",
    ),
]
MaxMembers = Annotated[int | None, typer.Option(min=1, help="Members at most.")]
MaxBytes = Annotated[
    float | None, typer.Option(min=0, help="Bytes of the members at most.")
]
MaxSeconds = Annotated[
    float | None, typer.Option(min=0, help="Seconds to predict a row at most.")
]
WithinSe = Annotated[
    float | None,
    typer.Option(
        min=0,
        help="Take the smallest committee within so many standard errors of the best.",
    ),
]
PageOutput = Annotated[
    str, typer.Option("--output", "-o", help="File of the page, such as report.html.")
]
Proba = Annotated[
    bool, typer.Option("--proba", help="A column for the probability of each class.")
]
Seed = Annotated[int, typer.Option(min=0, help="Seed of all that is random.")]
Jobs = Annotated[
    int, typer.Option(help="Members at work at the same time; -1 for all cores.")
]
Json = Annotated[bool, typer.Option("--json", help="The result as one JSON object.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress and no notes.")]
Debug = Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")]
