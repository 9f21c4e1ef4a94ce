"""A model of cells that stays in groups: rows go to the groups that they ask."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.cells.model import CellModel, base_of, groups
from committee.cells.tree import CellTree, Shares
from committee.cells.trend import Trend
from committee.cells.variance import CellVariance, std_of
from committee.distributed import Chunks, deferred, shared
from committee.kernels import Kernel


class Question(NamedTuple):
    """The rows that a group is asked about, and which of its cells about which.

    Attributes
    ----------
    X : array of shape (n, d)
    numbers : array of shape (n,)
        Of these rows among all.
    shares : Shares
        Rows of X, and cells numbered from the first of the group.
    """

    X: FloatArray
    numbers: IntArray
    shares: Shares


@dataclass(frozen=True, eq=False)
class PartitionedModel:
    """What `CellModel` is in one place, in groups of cells.

    Attributes
    ----------
    kernel, tree, width, offset, trend :
        As for `CellModel`.
    parts : Chunks of CellModel
        One for each group, whose cells have numbers of the group.
    firsts : int array of shape (n_groups + 1,)
        The number of the first cell of each group.
    """

    kernel: Kernel
    tree: CellTree
    width: float
    offset: FloatArray
    parts: Chunks
    firsts: IntArray
    trend: Trend | None = None

    @property
    def n_cells(self) -> int:
        """M."""
        return self.tree.n_cells

    def predict(self, X: FloatArray, n_jobs: int | None = None) -> FloatArray:
        """Return f, (N, T), of rows in one place; groups work at the same time."""
        f = base_of(X, self.offset, self.trend)
        for numbers, found in self.asked(X, answer):
            f[numbers] += found
        return f

    def asked(
        self, X: FloatArray, function: Callable[..., FloatArray], *others: Chunks
    ) -> Iterator[tuple[IntArray, FloatArray]]:
        """Yield numbers of rows, and function(part, question, ...) of a group on these.

        Others have one more value for each group.
        """
        parts = zip(self.parts.parts, *(other.parts for other in others), strict=True)
        every = questions(X, self.tree, self.width, self.firsts)
        tasks = [
            (question.numbers, deferred(function, part, shared(question), *more))
            for question, (part, *more) in zip(every, parts, strict=True)
            if len(question.X)
        ]
        found = Chunks([task for _, task in tasks]).values()
        yield from zip((numbers for numbers, _ in tasks), found, strict=True)

    def answers(self, blocks: Chunks) -> Chunks:
        """Return f of every block of rows, not yet computed.

        A block sends each group the rows that ask it, and no others.
        """
        asked = blocks.map(questions, self.tree, self.width, self.firsts)
        found = []
        for X, questions_of_X in zip(blocks.parts, asked.parts, strict=True):
            answers = [
                deferred(answer, part, deferred(_asked_of, questions_of_X, g))
                for g, part in enumerate(self.parts.parts)
            ]
            found.append(
                deferred(_added, X, self.offset, self.trend, questions_of_X, *answers)
            )
        return Chunks(found)

    def gathered(self) -> CellModel:
        """Return the model in one place."""
        parts: list[CellModel] = self.parts.values()
        sizes = np.concatenate([np.diff(part.starts) for part in parts])
        return CellModel(
            self.kernel,
            self.tree,
            self.width,
            np.concatenate([part.points for part in parts]),
            np.concatenate([part.coef for part in parts]),
            np.concatenate([[0], np.cumsum(sizes)]),
            np.concatenate([part.n_rows for part in parts]),
            self.offset,
            self.trend,
        )

    @property
    def n_bytes(self) -> int:
        """Bytes of points and coefficients in all groups."""
        return int(self.parts.sum(_n_bytes))


@dataclass(frozen=True, eq=False)
class PartitionedVariance:
    """What `CellVariance` is in one place, in groups of cells.

    Attributes
    ----------
    scale, noise :
        As for `CellVariance`.
    parts : Chunks of CellVariance or None
        One for each group; None where only scale and noise are at hand.
    whole : PartitionedModel, optional
        The cells with all their points, where the model has a reduced set of them.
    """

    scale: FloatArray
    noise: FloatArray
    parts: Chunks | None
    whole: PartitionedModel | None = None

    def kept(self) -> PartitionedVariance:
        """Return the same, computed."""
        assert self.parts is not None
        return replace(self, parts=self.parts.kept())

    def std(
        self, model: PartitionedModel, X: FloatArray, n_jobs: int | None = None
    ) -> FloatArray:
        """Return the standard deviation of f, (N, T), of rows in one place."""
        if self.parts is None:
            raise ValueError(
                "Standard deviations of Dask collections need the cells in one place: "
                "call gather() first."
            )
        s = np.zeros(len(X))
        for numbers, found in (self.whole or model).asked(X, _spread, self.parts):
            s[numbers] += found
        return std_of(s, X, self.scale, model.trend)

    def gathered(self) -> CellVariance:
        """Return it in one place."""
        assert self.parts is not None
        found: list[CellVariance] = self.parts.values()
        ridge = np.concatenate([part.ridge for part in found])
        precision = [G for part in found for G in part.precision]
        whole = None if self.whole is None else self.whole.gathered()
        return CellVariance(ridge, precision, self.scale, self.noise, whole)


def questions(
    X: FloatArray, tree: CellTree, width: float, firsts: IntArray
) -> list[Question]:
    """Return for each group the rows that ask one of its cells."""
    shares = tree.shares(X, width)
    cuts = np.searchsorted(shares.cells, firsts)
    found = []
    for start, stop, first in zip(cuts[:-1], cuts[1:], firsts[:-1], strict=True):
        numbers, at = np.unique(shares.rows[start:stop], return_inverse=True)
        cells = shares.cells[start:stop] - first
        own = Shares(at, cells, shares.weights[start:stop])
        found.append(Question(X[numbers], numbers, own))
    return found


def answer(part: CellModel, question: Question) -> FloatArray:
    """Return sum_c g_c(x) f_c(x), (n, T), over the cells of one group."""
    f = np.zeros((len(question.X), part.coef.shape[1]))
    with one_thread():
        for c, rows, g in groups(question.shares):
            f[rows] += g[:, None] * part.cell_values(c, question.X[rows])
    return f


def _spread(part: CellModel, question: Question, variance: CellVariance) -> FloatArray:
    return variance.spread(part, question.X, question.shares)


def _asked_of(asked: list[Question], g: int) -> Question:
    return asked[g]


def _added(
    X: FloatArray,
    offset: FloatArray,
    trend: Trend | None,
    asked: list[Question],
    *answers: FloatArray,
) -> FloatArray:
    f = base_of(X, offset, trend)
    for question, found in zip(asked, answers, strict=True):
        f[question.numbers] += found
    return f


def _n_bytes(part: CellModel) -> int:
    return part.points.nbytes + part.coef.nbytes
