"""Finished runs in one SQLite file: short transactions, nothing is lost by a kill."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from committee import __version__
from studies.study import Job, Numbers, Outcome, Results

#: What the file is, and the layout of its table.
APPLICATION, LAYOUT = 0x636F6D6D, 1

_SCHEMA = """
CREATE TABLE runs (
    study TEXT NOT NULL,
    protocol TEXT NOT NULL,
    cell TEXT NOT NULL,
    run INTEGER NOT NULL,
    seed INTEGER NOT NULL,
    numbers TEXT NOT NULL,
    versions TEXT NOT NULL,
    seconds REAL NOT NULL,
    peak_mb REAL,
    finished TEXT NOT NULL,
    PRIMARY KEY (study, protocol, cell, run)
) WITHOUT ROWID
"""


@dataclass(frozen=True)
class Finished:
    """A run that is done, and where its data came from, if they were not drawn."""

    job: Job
    outcome: Outcome
    seconds: float
    peak_mb: float | None
    source: str = ""


class Store:
    """The runs of all studies in one file; several processes may share it."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def add(self, finished: Finished) -> None:
        """Write a run, all protocols in one transaction; one that is there stays."""
        job = finished.job
        made_by = versions() | ({"data": finished.source} if finished.source else {})
        now = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        rows = [
            (
                job.study,
                protocol,
                job.cell,
                job.run,
                job.seed,
                json.dumps(numbers, default=lambda array: array.tolist()),
                json.dumps(made_by),
                finished.seconds,
                finished.peak_mb,
                now,
            )
            for protocol, numbers in finished.outcome.items()
        ]
        with self._open() as connection:
            connection.executemany(
                f"INSERT OR IGNORE INTO runs VALUES ({', '.join('?' * 10)})", rows
            )

    def done(self, study: str, protocols: tuple[str, ...]) -> set[tuple[str, int]]:
        """Return (cell, run) of the runs that are there under all protocols."""
        query = f"""SELECT cell, run FROM runs
                    WHERE study = ? AND protocol IN ({", ".join("?" * len(protocols))})
                    GROUP BY cell, run HAVING COUNT(*) = ?"""
        with self._open() as connection:
            return set(connection.execute(query, (study, *protocols, len(protocols))))

    def results(self, study: str) -> Results:
        """Return all numbers of a study."""
        query = "SELECT protocol, cell, run, numbers FROM runs WHERE study = ?"
        rows: defaultdict[tuple[str, str], dict[int, Numbers]] = defaultdict(dict)
        with self._open() as connection:
            for protocol, cell, run, numbers in connection.execute(query, (study,)):
                rows[protocol, cell][run] = json.loads(numbers)
        return Results(rows, self.results)

    def costs(self, study: str) -> pd.DataFrame:
        """Return seconds, peak_mb, finished and versions of every run of a study."""
        query = "SELECT cell, run, seconds, peak_mb, finished, versions FROM runs"
        with self._open() as connection:
            costs = pd.read_sql(f"{query} WHERE study = ?", connection, params=(study,))
        return costs.drop_duplicates(["cell", "run"])

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one transaction, in whatever thread."""
        try:
            with closing(sqlite3.connect(self.path, timeout=60.0)) as connection:
                # A writer from the start: two processes never make the table at once.
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    self._prepare(connection)
                    yield connection
        except sqlite3.OperationalError as error:
            raise ValueError(
                f"The store {self.path} cannot be used ({error}): see that its folder "
                "exists and may be written to, that the disk has room and that no "
                "other program holds the file, and start again."
            ) from None
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} is not a sound store of studies ({error}): move it away, "
                "or name another file."
            ) from None

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; refuse a file of another kind or layout."""
        kind, layout, tables = (
            connection.execute(query).fetchone()[0]
            for query in (
                "PRAGMA application_id",
                "PRAGMA user_version",
                "SELECT COUNT(*) FROM sqlite_master",
            )
        )
        if kind == APPLICATION and layout != LAYOUT:
            raise ValueError(
                f"The store {self.path} has layout {layout}; this version of committee "
                f"writes layout {LAYOUT}. Move it away, or name another file."
            )
        if kind not in (0, APPLICATION) or (kind == 0 and tables):
            raise ValueError(
                f"{self.path} is a database of something else than studies. Name "
                "another file."
            )
        if not tables:
            connection.execute(_SCHEMA)
            connection.execute(f"PRAGMA application_id = {APPLICATION}")
            connection.execute(f"PRAGMA user_version = {LAYOUT}")


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on."""
    ours = {"committee": __version__, "python": platform.python_version()}
    return ours | {name: version(name) for name in ("numpy", "scipy", "scikit-learn")}
