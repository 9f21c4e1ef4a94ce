"""The borders of a group of cells: those inside, and those with other groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.cells.borders import BorderPoints
from committee.cells.joint import JointSystem
from committee.cells.machine import Border


class Meeting(NamedTuple):
    """S of one cell on the points where it meets another, of another group.

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


class GroupBorders(NamedTuple):
    """The border points of a group.

    Attributes
    ----------
    points : BorderPoints
        Cells have numbers of the group: its own from 0 on, then those outside.
    numbers : array of shape (P,)
        Of the points among those of all groups, increasing.
    cells : array
        The numbers of these cells among those of all groups.
    n_own : int
        Cells of the group.
    """

    points: BorderPoints
    numbers: IntArray
    cells: IntArray
    n_own: int

    def meetings(self, borders: Sequence[Border | None]) -> list[Meeting]:
        """Return what cells outside have to know, given the borders of the own ones."""
        found = []
        for c, border in enumerate(borders):
            if border is None:
                continue
            at, sign = self.points.of_cell(c)
            # One of the two cells of a point is c.
            other = self.points.owner[at] + self.points.other[at] - c
            for outside in np.unique(other[other >= self.n_own]):
                use = other == outside
                S = sign[use, None] * border.covariance[np.ix_(use, use)] * sign[use]
                pair = int(self.cells[c]), int(self.cells[outside])
                found.append(Meeting(*pair, self.numbers[at[use]], S))
        return found


def borders_of_groups(borders: BorderPoints, firsts: IntArray) -> list[GroupBorders]:
    """Return the points of every group; `firsts` are its first cells, and their number.

    A point between two groups is in both.
    """
    ends = np.stack([borders.owner, borders.other])
    groups = np.searchsorted(firsts, ends, side="right") - 1
    # A point inside a group counts once.
    twice = groups[0] == groups[1]
    numbers = np.concatenate([np.arange(len(twice)), np.flatnonzero(~twice)])
    home = np.concatenate([groups[0], groups[1][~twice]])
    order = np.lexsort((numbers, home))
    cuts = np.searchsorted(home[order], np.arange(len(firsts)))
    return [
        _group_borders(borders, numbers[order[start:stop]], int(first), int(end))
        for start, stop, first, end in zip(
            cuts[:-1], cuts[1:], firsts[:-1], firsts[1:], strict=True
        )
    ]


def _group_borders(
    borders: BorderPoints, numbers: IntArray, first: int, end: int
) -> GroupBorders:
    owner, other = borders.owner[numbers], borders.other[numbers]
    met = np.union1d(owner, other)
    outside = met[(met < first) | (met >= end)]
    cells = np.concatenate([np.arange(first, end), outside])
    n_own = end - first

    def renumbered(c: IntArray) -> IntArray:
        beyond = n_own + np.searchsorted(outside, c)
        return np.where((c >= first) & (c < end), c - first, beyond)

    points = BorderPoints(borders.points[numbers], renumbered(owner), renumbered(other))
    return GroupBorders(points, numbers, cells, n_own)


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
