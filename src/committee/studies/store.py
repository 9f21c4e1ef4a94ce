"""Finished runs in one SQLite file: short transactions, nothing is lost by a kill."""

from __future__ import annotations

import json
import os
import platform
import sqlite3
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import isnan
from pathlib import Path
from typing import Any

from committee.studies.study import Job, Numbers, Outcome, Results

#: What the file is, and the layout of its table.
APPLICATION, LAYOUT = 0x636F6D6D, 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS runs (
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
    """A run that is done.

    Attributes
    ----------
    job : Job
    outcome : Outcome
    seconds : float
    peak_mb : float or None
        The most memory that the process had held by then.
    source : str
        Where its data came from, where they were not drawn.
    """

    job: Job
    outcome: Outcome
    seconds: float
    peak_mb: float | None
    source: str = ""


class Store:
    """The runs of all studies in one file; several processes may share it.

    Parameters
    ----------
    path : path
        Made at the first use.

    Examples
    --------
    >>> import tempfile
    >>> from committee.studies.store import Finished, Store
    >>> from committee.studies.study import Job
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     store = Store(f"{folder}/studies.sqlite")
    ...     job = Job("toy", "a", 0)
    ...     store.add(Finished(job, {"paper": {"x": 1.5}}, 0.1, None))
    ...     store.done("toy", ("paper",)) == {("a", 0)}
    ...     store.results("toy").values("paper", "a", "x").tolist()
    True
    [1.5]
    """

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)

    def exists(self) -> bool:
        """Whether the file is there."""
        return self.path.exists()

    def add(self, finished: Finished) -> None:
        """Write a run, all protocols in one transaction; one that is there stays."""
        job = finished.job
        made_by = versions() | ({"data": finished.source} if finished.source else {})
        rows = [
            (
                job.study,
                protocol,
                job.cell,
                job.run,
                job.seed,
                json.dumps(_plain(numbers)),
                json.dumps(made_by),
                finished.seconds,
                finished.peak_mb,
                time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            )
            for protocol, numbers in finished.outcome.items()
        ]
        with self._open() as connection, connection:
            places = ", ".join("?" * len(rows[0]))
            connection.executemany(
                f"INSERT OR IGNORE INTO runs VALUES ({places})", rows
            )

    def done(self, study: str, protocols: tuple[str, ...]) -> set[tuple[str, int]]:
        """Return (cell, run) of the runs that are there under all protocols."""
        places = ", ".join("?" * len(protocols))
        query = f"""SELECT cell, run FROM runs
                    WHERE study = ? AND protocol IN ({places})
                    GROUP BY cell, run HAVING COUNT(*) = ?"""
        with self._open() as connection:
            found = connection.execute(query, (study, *protocols, len(protocols)))
            return set(found)

    def results(self, study: str) -> Results:
        """Return all numbers of a study."""
        query = "SELECT protocol, cell, run, numbers FROM runs WHERE study = ?"
        rows: defaultdict[tuple[str, str], dict[int, Numbers]] = defaultdict(dict)
        with self._open() as connection:
            for protocol, cell, run, numbers in connection.execute(query, (study,)):
                rows[protocol, cell][run] = json.loads(numbers)
        return Results(study, rows)

    def costs(self, study: str) -> dict[str, Any]:
        """Return seconds of all runs, peak memory, last date, versions and sources."""
        query = """SELECT TOTAL(seconds), MAX(peak_mb), MAX(finished), COUNT(*)
                   FROM (SELECT MAX(seconds) AS seconds, MAX(peak_mb) AS peak_mb,
                                MAX(finished) AS finished
                         FROM runs WHERE study = ? GROUP BY cell, run)"""
        with self._open() as connection:
            total, peak, last, count = connection.execute(query, (study,)).fetchone()
            used = connection.execute(
                "SELECT DISTINCT versions FROM runs WHERE study = ?", (study,)
            ).fetchall()
        made_by = [json.loads(text) for (text,) in used]
        sources = {entry.pop("data", "") for entry in made_by} - {""}
        return {
            "seconds": total,
            "peak_mb": peak,
            "finished": last,
            "runs": count,
            "versions": [v for k, v in enumerate(made_by) if v not in made_by[:k]],
            "sources": sorted(sources),
        }

    @contextmanager
    def _open(self) -> Iterator[sqlite3.Connection]:
        """Open the file for one short piece of work, in whatever thread."""
        try:
            connection = sqlite3.connect(self.path, timeout=60.0)
        except sqlite3.Error as error:
            raise ValueError(
                f"The store {self.path} cannot be opened ({error}): give the path of a "
                "file in a folder that exists and may be written to."
            ) from None
        try:
            self._prepare(connection)
            yield connection
        except sqlite3.OperationalError as error:
            raise ValueError(
                f"The store {self.path} cannot be used just now ({error}): see that it "
                "may be written to, that the disk has room and that no other program "
                "holds it, and start again."
            ) from None
        except sqlite3.DatabaseError as error:
            raise ValueError(
                f"{self.path} is not a sound store of studies ({error}): move it away, "
                "or name another file."
            ) from None
        finally:
            connection.close()

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Make the table in a new file; refuse a file of another kind or layout."""
        with connection:
            connection.execute("BEGIN")  # both questions see the same moment
            if self._is_ours(connection):
                return
        _in_wal_mode(connection)
        with connection:
            connection.execute("BEGIN IMMEDIATE")
            # Another process may have made the table a moment ago.
            if not self._is_ours(connection):
                connection.execute(_SCHEMA)
                connection.execute(f"PRAGMA application_id = {APPLICATION}")
                connection.execute(f"PRAGMA user_version = {LAYOUT}")

    def _is_ours(self, connection: sqlite3.Connection) -> bool:
        """Tell a store from an empty file; refuse all others."""
        kind, layout, tables = (
            connection.execute(question).fetchone()[0]
            for question in (
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
        return bool(kind == APPLICATION)


def _in_wal_mode(connection: sqlite3.Connection, tries: int = 100) -> None:
    """Switch to write-ahead mode; SQLite does not wait here for a lock by itself."""
    for left in reversed(range(tries)):
        try:
            connection.execute("PRAGMA journal_mode = WAL")
            return
        except sqlite3.OperationalError as error:
            if left == 0 or "locked" not in str(error):
                raise
            time.sleep(0.05)


def versions() -> dict[str, str]:
    """Return the versions that numbers may depend on.

    Examples
    --------
    >>> from committee.studies.store import versions
    >>> sorted(versions())
    ['committee', 'numpy', 'python', 'scikit-learn', 'scipy']
    """
    import numpy
    import scipy
    import sklearn

    import committee

    return {
        "committee": committee.__version__,
        "python": platform.python_version(),
        "numpy": numpy.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


def _plain(value: Any) -> Any:
    """Return Python's own numbers, which JSON keeps exactly; null for NaN."""
    if isinstance(value, dict):
        return {key: _plain(entry) for key, entry in value.items()}
    if hasattr(value, "tolist"):
        value = value.tolist()
    if isinstance(value, list):
        return [_plain(entry) for entry in value]
    return None if isinstance(value, float) and isnan(value) else value
