"""What a study is: squares to run, and what to make of the numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from committee._typing import FloatArray

#: Numbers of one finished run, by name; a list is a curve. Names that end in
#: "seconds" are measured, all others are decided by the seed.
Numbers = dict[str, Any]
#: What a run returns: its numbers under every protocol.
Outcome = dict[str, Numbers]

PAPER, HELD_OUT = "paper", "held-out"


@dataclass(frozen=True)
class Job:
    """One run of one cell.

    Attributes
    ----------
    study, cell : str
    run : int
        Counts from 0; where a data set comes with splits, the split.
    data : str or None
        The folder of data sets.

    Examples
    --------
    >>> from committee.studies.study import Job
    >>> Job("chen-regression", "bagging/sinc", 0).seed
    584381073
    """

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


class Results:
    """The numbers of all finished runs of one study.

    Parameters
    ----------
    study : str
    rows : mapping
        Numbers by (protocol, cell), then by run.

    Examples
    --------
    >>> from committee.studies.study import Results
    >>> results = Results("toy", {("paper", "a"): {1: {"x": 3.0}, 0: {"x": 2.0}}})
    >>> results.values("paper", "a", "x").tolist()
    [2.0, 3.0]
    """

    def __init__(
        self, study: str, rows: Mapping[tuple[str, str], Mapping[int, Numbers]]
    ) -> None:
        self.study = study
        self.rows = rows

    def __bool__(self) -> bool:
        """Whether there is anything."""
        return any(self.rows.values())

    def values(self, protocol: str, cell: str, name: str) -> FloatArray:
        """Return one number of every run, (runs,) or (runs, points), in order."""
        runs = self.rows.get((protocol, cell), {})
        found = [runs[run][name] for run in sorted(runs) if name in runs[run]]
        return np.array(found, dtype=np.float64)

    def n_runs(self, study: Study) -> dict[str, int]:
        """Return the runs of each cell of a study that are there in all protocols."""
        return {
            cell: min(len(self.rows.get((key, cell), {})) for key in study.protocols)
            for cell in study.cells
        }


#: Looks up the results of a study by its name.
Shelf = Callable[[str], Results]


@dataclass(frozen=True)
class Entry:
    """One place of a table: ours, and what is in print.

    Attributes
    ----------
    line, column : str
    protocol : str
    values : array of shape (runs,)
    printed, printed_sd : float or None
    """

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
    """Entries under a title.

    Attributes
    ----------
    title : str
    entries : sequence of Entry
    digits : int
        Decimals of the means.
    note : str
    """

    title: str
    entries: Sequence[Entry]
    digits: int = 2
    note: str = ""


Verdict = Literal["reproduced", "partly", "not", "undecided"]


@dataclass(frozen=True)
class Claim:
    """What a paper says, how it is decided here, and what came out.

    Attributes
    ----------
    text : str
    rule : str
    protocol : str
    found : str
    verdict : {"reproduced", "partly", "not", "undecided"}
    """

    text: str
    rule: str
    protocol: str
    found: str
    verdict: Verdict


@dataclass(frozen=True)
class Study:
    """An experiment of a paper.

    Attributes
    ----------
    name : str
    title : str
    reruns : str
        Tables and figures of the paper.
    cells : tuple of str
        Empty for a study that is made of the results of others.
    run : callable
        Job -> Outcome, with the paper's sizes as keyword defaults.
    report : callable
        Shelf -> tables and claims.
    figure : callable
        (Shelf, folder of data) -> matplotlib Figure.
    setup : str
        What was done, in a sentence or two.
    protocols : tuple of str
    datasets : mapping
        Cells to the data sets that are not drawn from a formula.
    runs : int
        As many as the paper has.
    why : str
        Where ours is not theirs: what is known of the reason, and what is a guess.
    """

    name: str
    title: str
    reruns: str
    cells: tuple[str, ...]
    run: Callable[..., Outcome]
    report: Callable[[Shelf], list[Table | Claim]]
    figure: Callable[[Shelf, str | None], Any]
    setup: str
    protocols: tuple[str, ...] = (PAPER, HELD_OUT)
    datasets: Mapping[str, str] = field(default_factory=dict)
    runs: int = 100
    why: str = ""
