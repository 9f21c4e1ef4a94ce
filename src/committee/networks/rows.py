"""The rows that each member trains on, in its own order, and those it is stopped on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import IntArray
from committee.networks.layout import Tensor
from committee.networks.losses import Loss

#: Rows that are looked at together to decide whether to stop. The products of a member
#: have this many rows whatever the others have, so that its rounding is its own. Even,
#: so that every other row is every other row of each chunk.
STOP_CHUNK = 128


@dataclass(frozen=True)
class Problem:
    """Inputs and targets as networks take them.

    Attributes
    ----------
    X : array of shape (N, d + 1)
        Standardised, with a last column of ones.
    Y : array of shape (N, out)
        Standardised numbers, or one-hot classes.
    s : array of shape (N,) or None
        Weights of the rows, of mean one.
    loss : Loss
    """

    X: Tensor
    Y: Tensor
    s: Tensor | None
    loss: Loss


@dataclass(frozen=True)
class MemberRows:
    """Row numbers of one member: to train on, maybe repeated, and to be stopped on."""

    train: IntArray
    stop: IntArray

    @property
    def halves(self) -> tuple[IntArray, IntArray]:
        """Every other row of those to be stopped on, and the rest."""
        return self.stop[::2], self.stop[1::2]


class RowOrders:
    """The training rows of R members with n each, in batches of an order of their own.

    Networks that are trained on the same rows share one order: R is 1 then.
    """

    def __init__(self, rows: Sequence[MemberRows], batch_size: int) -> None:
        self.order = np.stack([each.train for each in rows])
        self.batch_size = batch_size

    def batches(self, randoms: Sequence[np.random.Generator]) -> Iterator[IntArray]:
        """Yield row numbers (R, B) of one epoch, the last of fewer rows."""
        for order, random in zip(self.order, randoms, strict=True):
            random.shuffle(order)
        for start in range(0, self.order.shape[1], self.batch_size):
            yield self.order[:, start : start + self.batch_size]

    def keep(self, members: Any) -> None:
        """Go on with some of the members."""
        self.order = self.order[members]


class StoppingRows:
    """The rows that R members are stopped on, in chunks with zeros behind the last."""

    def __init__(self, rows: Sequence[MemberRows], problem: Problem) -> None:
        longest = max(len(each.stop) for each in rows)
        n_chunks = -(-longest // STOP_CHUNK)
        self.index = np.zeros((len(rows), n_chunks, STOP_CHUNK), dtype=np.intp)
        self.weight = np.zeros(self.index.shape, dtype=problem.X.dtype)
        for m, each in enumerate(rows):
            n = len(each.stop)
            self.index[m].reshape(-1)[:n] = each.stop
            s = 1.0 if problem.s is None else problem.s[each.stop]
            self.weight[m].reshape(-1)[:n] = s

    def losses(self, layers: Any, problem: Problem, *, joint: bool) -> Tensor:
        """Return mean losses (3, M): on all rows, and on the two `halves` of them.

        Of a `joint` committee (3, 1). A half without rows has the loss of all.
        """
        total: Any = 0.0
        for c in range(self.index.shape[1]):
            index, s = self.index[:, c], self.weight[:, c]
            f = problem.loss.predictions(layers.forward(problem.X[index]))
            if joint:
                f = f.mean(axis=0, keepdims=True)
            total = total + _sums(problem.loss.values(f, problem.Y[index]) * s)
        weights = sum(_sums(self.weight[:, c]) for c in range(self.index.shape[1]))
        losses: Tensor = total / np.where(weights > 0, weights, 1.0)
        return np.where(weights > 0, losses, losses[0])

    def keep(self, members: Any) -> None:
        """Go on with some of the members."""
        self.index, self.weight = self.index[members], self.weight[members]


def _sums(values: Tensor) -> Tensor:
    """Return sums (3, R) of a chunk (R, n): of all rows, and of its two halves."""
    halves = values[:, ::2].sum(axis=1), values[:, 1::2].sum(axis=1)
    return np.stack([values.sum(axis=1), *halves])


def split_for_stopping(
    rows: IntArray, fraction: float, random: np.random.Generator
) -> MemberRows:
    """Put a share of the rows aside to be stopped on, at least one of two and more."""
    n = min(max(1, round(fraction * len(rows))), len(rows) - 1)
    order = random.permutation(rows)
    return MemberRows(np.sort(order[n:]), np.sort(order[:n]))


def stopping_sample(
    left_out: IntArray, n_train: int, random: np.random.Generator
) -> IntArray:
    """Return rows to be stopped on among those left out: no more than half of `n_train`.

    They are looked at after every epoch, and a hundred tell enough.
    """
    most = max(100, n_train // 2)
    if len(left_out) <= most:
        return left_out
    return np.sort(random.choice(left_out, most, replace=False))
