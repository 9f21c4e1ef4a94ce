"""The members of an ensemble, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from committee._typing import FloatArray, IntArray
from committee.ensembles import Roster
from committee.members import Pool
from committee.pruning.costs import few_rows, member_seconds, stored_bytes
from committee.reporting.hearing import Hearing
from committee.reporting.pathway import numbers_of


def core_of(ensemble: Any) -> Any:
    """Return the ensemble itself, without the pipeline or the search around it."""
    while True:
        if isinstance(ensemble, Pipeline):
            ensemble = ensemble[-1]
        elif hasattr(ensemble, "best_estimator_"):
            ensemble = ensemble.best_estimator_
        else:
            return ensemble


@dataclass(frozen=True, eq=False)
class Roll:
    """The members one by one.

    Attributes
    ----------
    numbers : array of shape (M,)
        In the ensemble that they come from.
    names, kinds : list of str
    weights : array of shape (M,)
    bytes, seconds : array of shape (M,)
        Of the pickled member, and to predict a row.
    n_before : int
        Members of the ensemble that they come from.
    """

    numbers: IntArray
    names: list[str]
    kinds: list[str]
    weights: FloatArray
    bytes: FloatArray
    seconds: FloatArray
    n_before: int

    @property
    def kept(self) -> IntArray:
        """Positions of the members with a weight."""
        return np.flatnonzero(self.weights)


def call_the_roll(core: Any, hearing: Hearing) -> Roll:
    """Look at every member of an ensemble."""
    roster = hearing.roster
    M = len(roster)
    numbers = numbers_of(core) if hasattr(core, "members_") else np.arange(M)
    kinds = [_kind(member) for member in roster.members]
    generator = getattr(core, "generator", None)
    called = generator.names if isinstance(generator, Pool) else kinds
    if len(set(called)) == 1:
        called = [""] * M  # what is the same for all tells nothing
    names = [
        f"#{number} {name}".rstrip()
        for number, name in zip(numbers.tolist(), called, strict=True)
    ]
    summary = summary_of(core)
    return Roll(
        numbers,
        names,
        kinds,
        np.full(M, 1.0 / M) if roster.weights is None else roster.weights,
        np.array([stored_bytes(member) for member in roster.members]),
        _seconds(roster, few_rows(hearing.X)),
        M if summary is None else summary.n_members_before,
    )


def summary_of(core: Any) -> Any:
    """Return what pruning cost and gained, None for what was not made by prune()."""
    return core.summary() if getattr(core, "_summary", None) is not None else None


def _seconds(roster: Roster, X: Any) -> FloatArray:
    """Return the time of each member for a row of X.

    The first is asked twice, since at first X is made ready for all of them.
    """
    asked = replace(roster, members=[roster.members[0], *roster.members])
    return member_seconds(asked, X)[1:]


def _kind(member: Any) -> str:
    """Return the class of a member, of the last step for a pipeline."""
    return type(core_of(member)).__name__
