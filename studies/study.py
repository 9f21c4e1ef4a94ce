"""What a study is: cells to run, tables beside print, and claims."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray
from studies.claims import Claim

#: In the order in which they are reported; `get_study` imports the module of a name.
STUDIES = (
    "chen-regression",
    "chen-classification",
    "chen-ranks",
    "chen-mcmc",
    "chen-stability",
    "chen-synthetic",
    "chen-poker",
    "hamers-sine",
    "hamers-boston",
    "hamers-coupling",
    "hamers-chain",
    "hamers-classification",
    "chapter-generators",
)
#: Weights from the training rows, and from rows that the members did not see.
PAPER, HELD_OUT = "paper", "held-out"
BOTH = (PAPER, HELD_OUT)

#: Numbers of one finished run, by name; a list is a curve. Names that end in
#: "seconds" are measured, all others are decided by the seed.
Numbers = dict[str, Any]
#: What a run returns: its numbers under every protocol.
Outcome = dict[str, Numbers]


@dataclass(frozen=True)
class Job:
    """One run of one cell; runs count from 0, `data` is the folder of data sets."""

    study: str
    cell: str
    run: int
    data: str | None = None

    @property
    def seed(self) -> int:
        """A number that depends on study, cell and run, and on nothing else."""
        name = hashlib.sha256(f"{self.study}/{self.cell}".encode()).digest()
        entropy = [int.from_bytes(name[:8], "big"), self.run]
        return int(np.random.SeedSequence(entropy).generate_state(1)[0])


@dataclass(frozen=True)
class Results:
    """The numbers of all finished runs of one study.

    Attributes
    ----------
    rows : mapping
        Numbers by (protocol, cell), then by run.
    of : callable
        Returns the results of another study by its name.
    """

    rows: Mapping[tuple[str, str], Mapping[int, Numbers]]
    of: Callable[[str], Results]

    def values(self, protocol: str, cell: str, name: str) -> FloatArray:
        """Return one number of every run, (runs,) or (runs, points), in order."""
        runs = self.rows.get((protocol, cell), {})
        found = [runs[run][name] for run in sorted(runs) if name in runs[run]]
        return np.array(found, dtype=np.float64)

    def pair(
        self, protocol: str, cell: str, name: str, rival: str
    ) -> tuple[FloatArray, FloatArray]:
        """Return two numbers of every run."""
        return self.values(protocol, cell, name), self.values(protocol, cell, rival)

    def entries(
        self,
        cells: Sequence[str],
        columns: Mapping[str, str],
        printed: Callable[[str, str], float | None] = lambda cell, name: None,
    ) -> list[Entry]:
        """Return a line for each cell, from labels of columns and the names of numbers.

        `printed` returns what is in print for a cell and the name of a number.
        """
        return [
            Entry(
                cell,
                label,
                protocol,
                self.values(protocol, cell, name),
                printed(cell, name),
            )
            for protocol in BOTH
            for cell in cells
            for label, name in columns.items()
        ]

    def n_runs(self, study: Study) -> dict[str, int]:
        """Return the runs of each cell of a study that are there in all protocols."""
        return {
            cell: min(len(self.rows.get((key, cell), {})) for key in study.protocols)
            for cell in study.cells
        }


@dataclass(frozen=True)
class Entry:
    """One place of a table: the runs of ours, and mean and spread in print."""

    line: str
    column: str
    protocol: str
    values: FloatArray
    printed: float | None = None
    printed_sd: float | None = None

    @property
    def mean(self) -> float:
        """Ours; NaN where nothing has been run."""
        return float(self.values.mean()) if len(self.values) else np.nan

    @property
    def sd(self) -> float:
        """The standard deviation of runs; NaN for fewer than two."""
        return float(self.values.std(ddof=1)) if len(self.values) > 1 else np.nan

    @property
    def difference(self) -> float:
        """Ours minus the printed one."""
        return np.nan if self.printed is None else self.mean - self.printed


@dataclass(frozen=True)
class Table:
    """Entries under a title; means have so many digits after the point."""

    title: str
    entries: Sequence[Entry]
    digits: int = 2
    note: str = ""
    #: Whether quartiles of the runs are kept, for a box plot.
    box: bool = False


class Why(NamedTuple):
    """A claim of the paper in a sentence, what came out in another, and details.

    The details say how far an explanation was tested, or that it is a guess.
    """

    claim: str
    found: str
    more: str = ""


@dataclass(frozen=True)
class Study:
    """An experiment of a paper.

    Attributes
    ----------
    name, title : str
    reruns : str
        Tables and figures of the paper.
    cells : tuple of str
        Empty for a study that is made of the results of others.
    run : callable
        Job -> Outcome, with the paper's sizes as keyword defaults.
    report : callable
        Results -> tables and claims.
    setup : str
        What was done, in a sentence or two.
    protocols : tuple of str
    datasets : mapping
        Cells to the data sets that are not drawn from a formula.
    runs : int
        As many as the paper has.
    why : mapping
        Parts of claims' texts to what the paper says, and our best explanation of what
        came out. A claim has the first whose part is in its text.
    """

    name: str
    title: str
    reruns: str
    cells: tuple[str, ...]
    run: Callable[..., Outcome]
    report: Callable[[Results], list[Table | Claim]]
    setup: str
    protocols: tuple[str, ...] = BOTH
    datasets: Mapping[str, str] = field(default_factory=dict)
    runs: int = 100
    why: Mapping[str, Why] = field(default_factory=dict)


def get_study(name: str) -> Study:
    """Return one of `STUDIES`."""
    study: Study = import_module(f"studies.{name.replace('-', '_')}").STUDY
    return study
