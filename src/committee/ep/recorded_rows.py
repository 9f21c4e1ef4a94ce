"""A record of all sums over rows: an interrupted fit on votes can be resumed."""

from __future__ import annotations

import os
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np

from committee._files import replaced_atomically
from committee._typing import FloatArray, IntArray
from committee.ep.chunked_rows import ChunkedProbitRows
from committee.ep.loo import ScoreSums
from committee.ep.probit_rows import Messages, ProbitRows, SweepSums
from committee.ep.sites import Normal

Record = dict[str, Any]


class _Sites:
    """The sites after a sweep: in memory, or in the folder until they are needed."""

    def __init__(self, number: int, value: Any = None) -> None:
        self.number = number
        self.value = value


class RecordedRows:
    """Rows of votes with a record of all their sums: a fit can be interrupted and resumed.

    The control loop depends on the rows only through sums. They are recorded in order: a
    new start reads them instead of sweeping, makes the same decisions, and continues
    with the sites of the last sweep, which are saved beside the sums.

    Parameters
    ----------
    rows : ProbitRows or ChunkedProbitRows
        The rows themselves, the same in every start.
    folder : path
        Created if it does not exist. All workers of a cluster must have access to it.
    """

    def __init__(self, rows: Any, folder: str | os.PathLike[str]) -> None:
        self.rows = rows
        self.n_members, self.n_rows = rows.n_members, rows.n_rows
        # Workers may have been started in another directory.
        self.folder = Path(folder).absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._n_records = 0
        self._released: set[int] = set()

    def initial_sites(self) -> _Sites:
        """Return the sites of a posterior without weights."""
        return self._tracked(0)

    def messages(self, sites: _Sites) -> Messages:
        """Return the messages, once they agree with the record."""
        messages: Messages = self.rows.messages(self._value(sites))
        known = self._recall({"sites": sites.number})
        if known is None:
            self._record({"sites": sites.number, **messages._asdict()})
        elif not np.allclose(known["diagonal"], messages.diagonal, rtol=1e-9, atol=0.0):
            raise self._other_rows()
        return messages

    def products(self, sites: _Sites, members: IntArray) -> FloatArray:
        """Return the part of L among some members."""
        request = {"sites": sites.number, "members": members}
        known = self._recall(request)
        if known is not None:
            return np.asarray(known["products"])
        products: FloatArray = self.rows.products(self._value(sites), members)
        self._record({**request, "products": products})
        return products

    def sweep(
        self, sites: _Sites, active: IntArray, q: Normal, step: float
    ) -> tuple[_Sites, SweepSums]:
        """Sweep, unless the outcome is known."""
        request = {"sites": sites.number, "members": active, "mean": q.mean}
        number = self._n_records + 1
        known = self._recall(request)
        if known is not None:
            return self._tracked(number), _sums_of(known)
        value, sums = self.rows.sweep(self._value(sites), active, q, step)
        self.rows.save(value, self._place(number))
        self._record({**request, **_record_of(sums)})
        return self._tracked(number, value), sums

    def _tracked(self, number: int, value: Any = None) -> _Sites:
        """Return sites that are released when nothing refers to them."""
        sites = _Sites(number, value)
        weakref.finalize(sites, self._released.add, number).atexit = False
        return sites

    def _value(self, sites: _Sites) -> Any:
        if sites.value is None:
            if sites.number == 0:
                sites.value = self.rows.initial_sites()
            else:
                sites.value = self.rows.load(self._place(sites.number))
        return sites.value

    def _place(self, number: int) -> Path:
        return self.folder / f"sites-{number:05d}"

    def _recall(self, request: Record) -> Record | None:
        """Return the next record if there is one, of the same request."""
        file = self.folder / f"{self._n_records:05d}.npz"
        if not file.exists():
            return None
        with np.load(file) as stored:
            record = dict(stored)
        for name, value in request.items():
            if name not in record or not _equal(record[name], value):
                raise self._other_rows()
        self._n_records += 1
        return record

    def _record(self, record: Record) -> None:
        """Write a record; then remove the sites that were released."""
        with replaced_atomically(self.folder / f"{self._n_records:05d}.npz") as file:
            np.savez(file, **record)
        self._n_records += 1
        while self._released:
            shutil.rmtree(self._place(self._released.pop()), ignore_errors=True)

    def _other_rows(self) -> ValueError:
        return ValueError(
            f"The checkpoint in {self.folder} is of other rows or other options: give "
            "another folder, or remove this one."
        )


def _equal(known: Any, value: Any) -> bool:
    known, value = np.asarray(known), np.asarray(value)
    return known.shape == value.shape and np.allclose(known, value, rtol=1e-6)


def _record_of(sums: SweepSums) -> Record:
    """Return the sums as arrays."""
    measures = [sums.log_scales, sums.mismatch, *sums.scores]
    return {**sums.messages._asdict(), "measures": np.array(measures)}


def _sums_of(record: Record) -> SweepSums:
    log_scales, mismatch, *scores = record["measures"].tolist()
    messages = Messages(record["L"], record["h"], record["diagonal"])
    return SweepSums(messages, log_scales, mismatch, ScoreSums(*scores))


#: Signed rows that can be swept over; the type of their sites is their own.
SweptRows = ProbitRows | ChunkedProbitRows | RecordedRows
