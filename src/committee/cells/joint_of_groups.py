"""The joint system of cells in groups: gathered where it is small, else exchanged.

An iteration of conjugate gradients that exchanges sends each group the values at its
border points, and gets its terms of the product back. All blocks S together are as many
bytes as some tens of iterations send: up to a size they are sent once instead.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.borders import BorderPoints, GroupBorders
from committee.cells.groups import Solved, borders_alone
from committee.cells.joint import JointSystem
from committee.cells.machine import Border
from committee.distributed import Chunks, InMemory, each

#: Up to so many bytes S is gathered: that of some 8,000 cells, of ten million rows.
_GATHERED_BYTES = 2**28


def joint_system(
    solved: Chunks, points: BorderPoints, borders: Sequence[GroupBorders], alpha: float
) -> GatheredJoint | ExchangedJoint:
    """Return the joint system of all cells."""
    if isinstance(solved, InMemory):
        return GatheredJoint(solved, points, borders, alpha)
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
        self.groups, self.each = borders, solved.each

    def precisions(self, cells: Sequence[Sequence[int]], coupling: float) -> Chunks:
        """Return G of some cells of each group, by their numbers in it."""
        return self.each(
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


class Meeting(NamedTuple):
    """S of one cell on the points where it meets a cell of another group.

    Attributes
    ----------
    cell, other : int
    numbers : array of shape (b,)
        Of the points.
    S : array of shape (b, b)
    """

    cell: int
    other: int
    numbers: IntArray
    S: FloatArray


def meetings(borders: GroupBorders, own: Sequence[Border | None]) -> list[Meeting]:
    """Return S of the cells of a group where they meet cells of other groups."""
    found = []
    for c, border in enumerate(own):
        if border is None:
            continue
        at, sign = borders.points.of_cell(c)
        # One of the two cells of a point is c.
        other = borders.points.owner[at] + borders.points.other[at] - c
        for outside in np.unique(other[other >= borders.n_own]):
            use = other == outside
            S = sign[use, None] * border.covariance[np.ix_(use, use)] * sign[use]
            pair = int(borders.cells[c]), int(borders.cells[outside])
            found.append(Meeting(*pair, borders.numbers[at[use]], S))
    return found


def group_system(
    borders: GroupBorders,
    own: Sequence[Border | None],
    met: Sequence[Meeting],
    alpha: float,
) -> JointSystem:
    """Return the terms of a group in the joint system of all.

    Products are those of its own cells. For the points of one of them, blocks need
    cells outside only between points of the same two, and that is what these met.
    """
    T = next(border.values.shape[1] for border in own if border is not None)
    outside = [
        _border_outside(borders, c, met, T)
        for c in range(borders.n_own, len(borders.cells))
    ]
    return JointSystem(borders.points, own, alpha, outside)


def _border_outside(
    borders: GroupBorders, c: int, met: Sequence[Meeting], T: int
) -> Border:
    """Return a cell outside as its meetings with the own cells show it."""
    at, sign = borders.points.of_cell(c)
    place = np.full(len(borders.numbers), -1)
    place[at] = np.arange(len(at))
    S = np.zeros((len(at), len(at)))
    for meeting in met:
        if meeting.cell == borders.cells[c]:
            use = place[np.searchsorted(borders.numbers, meeting.numbers)]
            S[np.ix_(use, use)] = meeting.S
    empty = np.zeros((len(at), T))
    return Border(empty, sign[:, None] * S * sign, np.zeros((0, len(at))))


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
    return meetings(borders, [fit.border for fit in solved.fits])


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
