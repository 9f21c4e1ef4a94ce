"""python -m studies: the papers' experiments, with the printed figures beside ours."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

import pandas as pd

from studies.page import FORMATS, draw, show
from studies.runner import FailedRunsError, run_study
from studies.store import Store
from studies.study import STUDIES, get_study


def main(argv: list[str] | None = None) -> int:
    """Run one command; what goes wrong is one sentence and status 1."""
    options = _parser().parse_args(argv)
    if "all" in options.names:
        options.names = list(STUDIES)
    try:
        options.command(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader, such as head, has enough. Nothing is left to be flushed at the end.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except (ValueError, OSError, ImportError, FailedRunsError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("Stopped; finished runs are in the store.", file=sys.stderr)
        return 130
    return 0


def _parser() -> ArgumentParser:
    parser = ArgumentParser(prog="python -m studies", description=__doc__)
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    added = {}
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.__doc__)
        sub.set_defaults(command=command, names=[])
        sub.add_argument(
            "--store", type=Path, default=Path("studies.sqlite"), metavar="FILE",
            help="the file of all finished runs (default: %(default)s)",
        )  # fmt: skip
        added[name] = sub
    for name in ("run", "show"):
        added[name].add_argument(
            "names", nargs="+", choices=(*STUDIES, "all"), metavar="NAME"
        )
    added["figure"].add_argument("names", nargs=1, choices=STUDIES, metavar="NAME")
    for name in ("run", "figure"):
        added[name].add_argument(
            "--data", metavar="DIR", help="data sets; COMMITTEE_DATA unless given"
        )
    added["run"].add_argument(
        "--runs", type=_at_least_one, help="of each cell; the paper's"
    )
    added["run"].add_argument("--jobs", type=int, default=2, help="-1 for all cores")
    added["show"].add_argument("--format", choices=FORMATS, default="table")
    added["figure"].add_argument("-o", "--output", help=".svg, .png or .pdf")
    return parser


def _at_least_one(text: str) -> int:
    """Return a positive whole number."""
    if not text.isdecimal() or int(text) < 1:
        raise ArgumentTypeError(f"must be a whole number, at least 1. Got {text!r}")
    return int(text)


def _list(options: Namespace) -> None:
    """List the studies, and how many runs of each cell there are."""
    rows = []
    for study in map(get_study, STUDIES):
        counts = [0]
        if options.store.exists() and study.cells:
            results = Store(options.store).results(study.name)
            counts = list(results.n_runs(study).values())
        runs = "-".join(map(str, sorted({min(counts), max(counts)})))
        rows.append((study.name, study.reruns, len(study.cells), runs))
    table = pd.DataFrame(rows, columns=["study", "reruns", "cells", "runs"])
    print(table.to_string(index=False))


def _run(options: Namespace) -> None:
    """Run what is not yet in the store; stop and start again at any time."""
    count, failures = 0, []
    for name in options.names:
        try:
            count += run_study(
                get_study(name),
                Store(options.store),
                runs=options.runs,
                jobs=options.jobs,
                data=options.data,
                progress=sys.stderr.isatty(),
                note=lambda sentence: print(sentence, file=sys.stderr),
            )
        except (FileNotFoundError, FailedRunsError) as error:
            failures.append(str(error))  # the next study may still be run
    print(f"{count} new runs in {options.store}")
    if failures:
        raise FailedRunsError(" ".join(failures))


def _show(options: Namespace) -> None:
    """Print tables and verdicts: ours, the paper's and the difference."""
    print(show(options.names, _existing(options), options.format).rstrip("\n"))


def _figure(options: Namespace) -> None:
    """Draw the figures of a study into a file, NAME.svg unless given."""
    (name,) = options.names
    print(draw(name, _existing(options), options.output, data=options.data))


COMMANDS = {"list": _list, "run": _run, "show": _show, "figure": _figure}


def _existing(options: Namespace) -> Store:
    """Return the store, which must be there for studies that are made of runs."""
    if options.store.exists():
        return Store(options.store)
    if any(get_study(name).cells for name in options.names):
        raise FileNotFoundError(
            f"There is no store {str(options.store)!r}: `python -m studies run` makes "
            "one, and --store names another."
        )
    return Store(":memory:")


if __name__ == "__main__":
    sys.exit(main())
