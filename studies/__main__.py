"""python -m studies: the papers' experiments, with the printed figures beside ours."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from pathlib import Path

import pandas as pd

from studies.kept import KEPT, Summary, read, summarise, write
from studies.page import FORMATS, show
from studies.pages import DOCS, write_pages
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
        runs = name in ("list", "run", "keep")
        sub.add_argument(
            "--store", type=Path, metavar="FILE",
            default=Path("studies.sqlite") if runs else None,
            help="the file of all finished runs (default: "
            + ("%(default)s)" if runs else "the means that are kept in studies/kept)"),
        )  # fmt: skip
        added[name] = sub
    for name in ("run", "show", "keep"):
        added[name].add_argument(
            "names", nargs="+", choices=(*STUDIES, "all"), metavar="NAME"
        )
    for name in ("run", "pages"):
        added[name].add_argument(
            "--data", metavar="DIR", help="data sets; COMMITTEE_DATA unless given"
        )
    added["run"].add_argument(
        "--runs", type=_at_least_one, help="of each cell; the paper's"
    )
    added["run"].add_argument("--jobs", type=int, default=2, help="-1 for all cores")
    added["show"].add_argument("--format", choices=FORMATS, default="table")
    added["keep"].add_argument("--output", type=Path, default=KEPT, metavar="DIR")
    added["pages"].add_argument(
        "--docs", type=Path, default=DOCS, metavar="DIR", help="default: docs/"
    )
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
    print(show(_summaries(options), options.format).rstrip("\n"))


def _keep(options: Namespace) -> None:
    """Keep the means and verdicts of a store in studies/kept, for `show` and `pages`."""
    for name, summary in _summaries(options).items():
        write(name, summary, options.output)


def _pages(options: Namespace) -> None:
    """Write docs/studies/ and its figures."""
    options.names = list(STUDIES)
    for path in write_pages(_summaries(options), options.docs, options.data):
        print(path)


COMMANDS = {
    "list": _list, "run": _run, "show": _show, "keep": _keep, "pages": _pages,
}  # fmt: skip


def _summaries(options: Namespace) -> dict[str, Summary]:
    """Return the summaries that are kept, or those of a store."""
    if options.store is None:
        return {name: read(name) for name in options.names}
    if not options.store.exists():
        raise FileNotFoundError(
            f"There is no store {str(options.store)!r}: `python -m studies run` makes "
            "one, and --store names another."
        )
    store = Store(options.store)
    return {name: summarise(name, store) for name in options.names}


if __name__ == "__main__":
    sys.exit(main())
