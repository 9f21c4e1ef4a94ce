"""EP pruning beside its rivals: test errors and sizes, resumable.

Each finished cell is appended to the file given by --out; a second run with the same
file computes what is missing and prints the tables of everything in it.
"""

import argparse
import csv
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from joblib import Parallel, delayed

from benchmarks._committees import ENSEMBLES, run_cell
from benchmarks._data import RAETSCH, raetsch
from benchmarks._ep_tables import show_all
from benchmarks._pools import BINARY, MULTICLASS, run_pool

FIELDS = ("part", "set", "ensemble", "split", "method", "error", "size", "log_loss")

Job = tuple[Callable, tuple]


def main(argv: list[str]) -> None:
    options = parse(argv)
    out = Path(options.out)
    done = {key(row) for row in read(out)}
    jobs = [job for cell, job in cells(options) if cell not in done]
    stream = Parallel(options.jobs, return_as="generator_unordered")(
        delayed(function)(*arguments) for function, arguments in jobs
    )
    append(out, stream)
    show_all(read(out))


def parse(argv: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks ep-quality")
    parser.add_argument("--splits", type=int, default=20, help="of each Raetsch set")
    parser.add_argument("--sets", nargs="*", default=list(RAETSCH))
    parser.add_argument("--ensembles", nargs="*", default=list(ENSEMBLES))
    parser.add_argument("--pools", nargs="*", default=[*BINARY, *MULTICLASS])
    parser.add_argument("--runs", type=int, default=3, help="of each pool")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--out", default="ep-quality.csv", help="appended to")
    parser.add_argument(
        "--variants", type=int, default=0, help="splits on which to try variants too"
    )
    return parser.parse_args(argv)


def cells(options) -> Iterator[tuple[tuple, Job]]:
    for split in range(options.splits):
        for name in options.sets:
            for ensemble in options.ensembles:
                cell = ("raetsch", name, ensemble, str(split))
                job = (name, ensemble, split, split < options.variants)
                yield cell, (tree_cell, job)
    for run in range(options.runs):
        for name in options.pools:
            part = "pool" if name in BINARY else "multiclass"
            yield (part, name, "pool", str(run)), (run_pool, (name, run))


def tree_cell(name, ensemble, split, variants):
    return run_cell(name, ensemble, split, raetsch(name, split), variants)


def key(row: dict[str, str]) -> tuple:
    return row["part"], row["set"], row["ensemble"], row["split"]


def read(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def append(path: Path, stream: Iterable[list[dict]]) -> None:
    """Write every cell as soon as it is there, in one piece."""
    new = not path.exists()
    with path.open("a", newline="") as file:
        writer = csv.DictWriter(file, FIELDS, restval="nan")
        if new:
            writer.writeheader()
        for rows in stream:
            writer.writerows(rows)
            file.flush()
