"""The members of an ensemble, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.displays.sources import core_of
from committee.ensembles import Roster
from committee.members import Pool
from committee.pruning.costs import MemberBytes, few_rows, member_seconds
from committee.reporting.evaluation import Hearing
from committee.reporting.pathway import numbers_of


@dataclass(frozen=True, eq=False)
class Roll:
    """The members one by one.

    Attributes
    ----------
    numbers : array of shape (M,)
        In the ensemble that they come from.
    names, kinds : list of str
    weights : array of shape (M,)
    costs : MemberBytes
        Of the pickled members.
    seconds : array of shape (M,)
        To predict a row.
    n_before : int
        Members of the ensemble that they come from.
    """

    numbers: IntArray
    names: list[str]
    kinds: list[str]
    weights: FloatArray
    costs: MemberBytes
    seconds: FloatArray
    n_before: int

    @property
    def bytes(self) -> FloatArray:
        """Bytes of each member for itself, (M,)."""
        return self.costs.alone

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
        MemberBytes.of(list(roster.members)),
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
