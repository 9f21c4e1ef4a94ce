"""committee study: the papers' experiments, with the printed figures beside ours."""

from __future__ import annotations

import os
from typing import Annotated

import typer

from committee.shell import options as opt
from committee.shell.errors import USAGE, ShellError, explained
from committee.shell.messages import Messages, columns

app = typer.Typer(
    help="Rerun the papers' experiments, and read ours beside what is in print.",
    no_args_is_help=True,
)

#: Where runs go unless told otherwise.
STORE = "studies.sqlite"


def _complete(incomplete: str) -> list[str]:
    """Complete the name of a study."""
    from committee.studies.catalogue import STUDIES

    return [name for name in STUDIES if name.startswith(incomplete)]


Names = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="NAME...", help="Studies, as listed.", autocompletion=_complete
    ),
]
Name = Annotated[
    str,
    typer.Argument(
        metavar="NAME", help="A study, as listed.", autocompletion=_complete
    ),
]
Every = Annotated[bool, typer.Option("--all", help="All studies.")]
Runs = Annotated[
    int | None,
    typer.Option(min=1, help="Runs of each cell; those of the paper unless given."),
]
Jobs = Annotated[int, typer.Option(help="Runs at the same time; -1 for all cores.")]
Data = Annotated[
    str | None,
    typer.Option(
        help="The folder of data sets; COMMITTEE_DATA unless given.", metavar="DIR"
    ),
]
File = Annotated[
    str, typer.Option("--store", help="The file of all finished runs.", metavar="FILE")
]
Format = Annotated[
    str,
    typer.Option(
        "--format",
        help="table, md, csv or html.",
    ),
]
Output = Annotated[
    str | None,
    typer.Option(
        "--output", "-o", help="File of the figure: .svg, .png or .pdf; NAME.svg."
    ),
]


@app.command("list")
def list_studies(
    store: File = STORE, quiet: opt.Quiet = False, debug: opt.Debug = False
) -> None:
    """List the studies, and how many runs of each cell there are."""
    from committee.studies.catalogue import STUDIES, get_study
    from committee.studies.store import Store

    with explained(debug=debug, quiet=quiet):
        found = Store(store)
        there, rows = found.exists(), []
        for name in STUDIES:
            study = get_study(name)
            counts = found.results(name).n_runs(study).values() if there else [0]
            least, most = min(counts, default=0), max(counts, default=0)
            runs = f"{least}" if least == most else f"{least}-{most}"
            cells = str(len(study.cells))
            rows.append((name, study.reruns, cells, runs if study.cells else ""))
        print(columns(("study", "reruns", "cells", "runs"), rows))


@app.command()
def run(
    names: Names = None,
    every: Every = False,
    runs: Runs = None,
    jobs: Jobs = 2,
    data: Data = None,
    store: File = STORE,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Run what is not yet in the store; stop and start again at any time."""
    from committee.studies.catalogue import get_study
    from committee.studies.runner import FailedRunsError, run_study
    from committee.studies.store import Store

    with explained(debug=debug, quiet=quiet):
        if jobs == 0:
            raise ShellError("--jobs is a number of processes, or -1 for all.", USAGE)
        messages = Messages(quiet=quiet)
        studies = [get_study(name) for name in _chosen(names, every)]
        count, wrong = 0, []
        for study in studies:
            if not study.cells:
                messages.note(f"{study.name} is made of the results of other studies.")
                continue
            try:
                count += run_study(
                    study, Store(store), runs=runs, jobs=jobs, data=data,
                    shown=not quiet, note=lambda text: messages.note(_shell(text)),
                )  # fmt: skip
            except (FileNotFoundError, FailedRunsError) as error:
                wrong.append(_shell(str(error)))
        if wrong:
            raise ShellError(" ".join(wrong))
        messages.result({"runs": count, "store": store})


@app.command()
def show(
    names: Names = None,
    every: Every = False,
    form: Format = "table",
    store: File = STORE,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Print tables and verdicts: ours, the paper's and the difference."""
    from committee.studies.catalogue import get_study
    from committee.studies.store import Store
    from committee.studies.tables import show as text_of
    from committee.studies.writers import FORMS

    with explained(debug=debug, quiet=quiet):
        if form not in FORMS:
            known = ", ".join(FORMS)
            raise ShellError(f"--format is one of {known}. Got {form!r}.", USAGE)
        chosen = _chosen(names, every)
        needs_runs = any(get_study(name).cells for name in chosen)
        if needs_runs:
            _check_store(store)
        found = Store(store if os.path.exists(store) else ":memory:")
        print(text_of(chosen, found, form).rstrip("\n"))


@app.command()
def figure(
    name: Name,
    output: Output = None,
    data: Data = None,
    store: File = STORE,
    quiet: opt.Quiet = False,
    debug: opt.Debug = False,
) -> None:
    """Draw the figures of a study into a file."""
    from committee.studies.catalogue import get_study
    from committee.studies.figures import draw
    from committee.studies.store import Store

    with explained(debug=debug, quiet=quiet):
        _chosen([name], False)
        study = get_study(name)
        if study.cells:
            _check_store(store)
        found = Store(store if os.path.exists(store) else ":memory:")
        if study.cells and not found.results(name):
            raise ShellError(
                f"There are no runs of {name} in {store!r}: `committee study run {name}` "
                "makes them."
            )
        Messages(quiet=quiet).result(
            {"figure": str(draw(name, found, output, data=data))}
        )


def _chosen(names: list[str] | None, every: bool) -> list[str]:
    """Return the names of studies that exist; refuse both none and all with names."""
    from committee.studies.catalogue import STUDIES, get_study

    if every == bool(names):
        raise ShellError("Name studies, or ask for --all of them.", USAGE)
    for name in names or ():
        try:
            get_study(name)
        except ValueError as error:
            raise ShellError(str(error), USAGE) from None
    return list(STUDIES) if every else list(names or ())


def _shell(text: str) -> str:
    """Return a sentence of the library with the option of the shell in it."""
    return text.replace("pass data= with", "give --data DIR,")


def _check_store(path: str) -> None:
    """Refuse a store that is not there, before an empty one is made."""
    if not os.path.exists(path):
        raise ShellError(
            f"There is no store {path!r}: `committee study run` makes one, and --store "
            "names another."
        )
