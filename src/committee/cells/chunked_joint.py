"""The joint system of cells in groups: gathered where it is small, else exchanged.

An iteration of conjugate gradients that exchanges sends each group the values at its
border points, and gets its terms of the product back. All blocks S together are as many
bytes as some tens of iterations send: up to a size they are sent once instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.borders import BorderPoints
from committee.cells.group_system import GroupBorders, Meeting, group_system
from committee.cells.groups import Solved, borders_alone
from committee.cells.joint import JointSystem
from committee.distributed import Chunks, each

#: Up to so many bytes S is gathered: that of some 8,000 cells, of ten million rows.
_GATHERED_BYTES = 2**28


def joint_system(
    solved: Chunks, points: BorderPoints, borders: Sequence[GroupBorders], alpha: float
) -> GatheredJoint | ExchangedJoint:
    """Return the joint system of all cells."""
    per_cell = np.bincount(np.concatenate([points.owner, points.other]))
    if 8 * np.sum(per_cell**2) > _GATHERED_BYTES:
        return ExchangedJoint(solved, points, borders, alpha)
    return GatheredJoint(solved, points, borders, alpha)


class GatheredJoint(JointSystem):
    """The joint system in one place."""

    def __init__(
        self,
        solved: Chunks,
        points: BorderPoints,
        borders: Sequence[GroupBorders],
        alpha: float,
    ) -> None:
        found = solved.map(borders_alone).values()
        super().__init__(points, [cell for group in found for cell in group], alpha)
        self.groups = borders

    def precisions(self, cells: Sequence[Sequence[int]], coupling: float) -> Chunks:
        """Return G of some cells of each group, by their numbers in it."""
        return each(
            [
                [self.precision(int(group.cells[c]), coupling) for c in own]
                for group, own in zip(self.groups, cells, strict=True)
            ]
        )


class ExchangedJoint(JointSystem):
    """The joint system in groups, each of which keeps its own terms.

    (S v)_p = sum_g (S_g v)_p,    g = the groups of the two cells of point p
    """

    def __init__(
        self,
        solved: Chunks,
        points: BorderPoints,
        borders: Sequence[GroupBorders],
        alpha: float,
    ) -> None:
        self.points, self.alpha, self.groups = points, alpha, borders
        met = solved.map(_meetings, each(borders)).values()
        arrived = each(_delivered(met, borders))
        self.systems = solved.map(_system, each(borders), arrived, alpha).kept()
        self.difference = self._added(self.systems.map(_difference))

    def product(self, v: FloatArray) -> FloatArray:
        """Return S v."""
        return self._added(self.systems.map(JointSystem.product, self._sent(v)))

    def preconditioner(self, c: float) -> Callable[[FloatArray], FloatArray]:
        """Return the solution by blocks, each where its cell is."""
        blocks = self.systems.map(JointSystem.preconditioner, c).kept()
        # A group has zeros for the points of others.
        return lambda r: self._added(blocks.map(_called, self._sent(r)))

    def precisions(self, cells: Sequence[Sequence[int]], coupling: float) -> Chunks:
        """Return G of some cells of each group, by their numbers in it."""
        return self.systems.map(_precisions, each(cells), coupling)

    def _sent(self, v: FloatArray) -> Chunks:
        return each([v[group.numbers] for group in self.groups])

    def _added(self, parts: Chunks) -> FloatArray:
        """Return the sum of what groups have for their points, (P, T)."""
        values = parts.values()
        total = np.zeros((len(self.points.owner), values[0].shape[1]))
        for group, part in zip(self.groups, values, strict=True):
            total[group.numbers] += part
        return total


def _delivered(
    met: Sequence[Sequence[Meeting]], borders: Sequence[GroupBorders]
) -> list[list[Meeting]]:
    """Return for each group the meetings of cells of others with its own."""
    firsts: IntArray = np.array([group.cells[0] for group in borders])
    arrived: list[list[Meeting]] = [[] for _ in borders]
    for meeting in (meeting for group in met for meeting in group):
        home = int(np.searchsorted(firsts, meeting.other, side="right")) - 1
        arrived[home].append(meeting)
    return arrived


def _meetings(solved: Solved, borders: GroupBorders) -> list[Meeting]:
    return borders.meetings([fit.border for fit in solved.fits])


def _system(
    solved: Solved, borders: GroupBorders, met: list[Meeting], alpha: float
) -> JointSystem:
    return group_system(borders, [fit.border for fit in solved.fits], met, alpha)


def _difference(system: JointSystem) -> FloatArray:
    return system.difference


def _called(blocks: Callable[[FloatArray], FloatArray], r: FloatArray) -> FloatArray:
    return blocks(r)


def _precisions(
    system: JointSystem, cells: Sequence[int], coupling: float
) -> list[FloatArray]:
    return [system.precision(c, coupling) for c in cells]
