"""The members of an ensemble, one by one."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.displays.sources import core_of, known_names
from committee.pruning.costs import MemberBytes, few_rows, member_seconds
from committee.reporting.evaluation import EvaluatedMembers


@dataclass(frozen=True, eq=False)
class MemberTable:
    """The M members one by one, with their bytes and their seconds for a row.

    They are numbered in the ensemble of `n_before` members that they come from.
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


def member_table(core: Any, evaluated: EvaluatedMembers) -> MemberTable:
    """Return what is known of every member of an ensemble."""
    roster = evaluated.roster
    M = len(roster)
    numbers = evaluated.numbers
    kinds = [type(core_of(member)).__name__ for member in roster.members]
    combiner = getattr(core, "combiner_", None)
    known = known_names(core)
    if known is not None:
        labels = [known[m] for m in numbers]
    else:  # a kind that all members share would only repeat itself
        labels = kinds if len(set(kinds)) > 1 else [""] * M
    names = [
        f"#{number} {label}".rstrip()
        for number, label in zip(numbers.tolist(), labels, strict=True)
    ]
    return MemberTable(
        numbers,
        names,
        kinds,
        np.full(M, 1.0 / M) if roster.weights is None else roster.weights,
        MemberBytes.of(list(roster.members)),
        # The first predicts twice: its first call also converts X for all of them.
        member_seconds(
            replace(roster, members=[roster.members[0], *roster.members]),
            few_rows(evaluated.X),
        )[1:],
        M if combiner is None else len(combiner.weights_),
    )
