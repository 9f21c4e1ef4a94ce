"""Early stopping: the rows that each member is stopped on, and the best epochs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._typing import IntArray
from committee.networks.layers import Tensor
from committee.networks.training_arrays import TrainingArrays

#: Validation rows of one matrix product. It is the same for all members, so that the
#: rounding of one does not depend on the others. It is even, so that `stop[::2]` takes
#: every other row of each chunk.
STOP_CHUNK = 128


@dataclass(frozen=True)
class MemberRows:
    """Row numbers of one member: training rows, maybe repeated, and validation rows."""

    train: IntArray
    stop: IntArray

    @property
    def halves(self) -> tuple[IntArray, IntArray]:
        """The validation rows with even and with odd positions."""
        return self.stop[::2], self.stop[1::2]


def split_for_stopping(
    rows: IntArray, fraction: float, random: np.random.Generator
) -> MemberRows:
    """Split off a fraction of the rows for validation: at least one, and not all."""
    n = min(max(1, round(fraction * len(rows))), len(rows) - 1)
    order = random.permutation(rows)
    return MemberRows(np.sort(order[n:]), np.sort(order[:n]))


def stopping_sample(
    left_out: IntArray, n_train: int, random: np.random.Generator
) -> IntArray:
    """Return validation rows among those left out: at most max(100, n_train / 2).

    The loss on them is computed after every epoch, so more rows would cost time.
    """
    most = max(100, n_train // 2)
    if len(left_out) <= most:
        return left_out
    return np.sort(random.choice(left_out, most, replace=False))


class StoppingRows:
    """Validation rows of R members, in chunks; the last one is padded with zeros."""

    def __init__(self, rows: Sequence[MemberRows], arrays: TrainingArrays) -> None:
        longest = max(len(each.stop) for each in rows)
        n_chunks = -(-longest // STOP_CHUNK)
        self.index = np.zeros((len(rows), n_chunks, STOP_CHUNK), dtype=np.intp)
        self.weight = np.zeros(self.index.shape, dtype=arrays.X.dtype)
        for m, each in enumerate(rows):
            n = len(each.stop)
            self.index[m].reshape(-1)[:n] = each.stop
            s = 1.0 if arrays.s is None else arrays.s[each.stop]
            self.weight[m].reshape(-1)[:n] = s

    def losses(self, layers: Any, arrays: TrainingArrays, *, joint: bool) -> Tensor:
        """Return mean losses (3, M): on all rows, and on the two `halves` of them.

        The shape is (3, 1) for a `joint` committee. A half without rows gets the loss
        on all rows.
        """
        total: Any = 0.0
        for c in range(self.index.shape[1]):
            index, s = self.index[:, c], self.weight[:, c]
            f = arrays.loss.predictions(layers.forward(arrays.X[index]))
            if joint:
                f = f.mean(axis=0, keepdims=True)
            total = total + _sums(arrays.loss.values(f, arrays.Y[index]) * s)
        weights = sum(_sums(self.weight[:, c]) for c in range(self.index.shape[1]))
        losses: Tensor = total / np.where(weights > 0, weights, 1.0)
        return np.where(weights > 0, losses, losses[0])

    def keep(self, members: Any) -> None:
        """Drop all members but these."""
        self.index, self.weight = self.index[members], self.weight[members]


def _sums(values: Tensor) -> Tensor:
    """Return sums (3, R) over a chunk (R, n): all rows, and its two halves."""
    halves = values[:, ::2].sum(axis=1), values[:, 1::2].sum(axis=1)
    return np.stack([values.sum(axis=1), *halves])


class BestEpochs:
    """Weights of the best epochs, and the members that are still training.

    Each of U members has its own best epochs; with U = 1, all members share them.
    """

    def __init__(self, theta: Tensor, n_units: int, patience: int | None) -> None:
        self.patience = np.inf if patience is None else patience
        n_sets = 1 if patience is None else 3
        #: Weights with the least loss on all validation rows, and on each half of them.
        self.theta = [theta.copy() for _ in range(n_sets)]
        self.losses = np.full((n_sets, n_units), np.inf)
        #: Numbers of the members that are still training.
        self.running = np.arange(n_units)
        self.waited = np.zeros(n_units, dtype=np.intp)
        self.n_epochs = np.zeros(n_units, dtype=np.intp)

    def update(self, theta: Tensor, losses: Tensor) -> Any:
        """Store better weights; return a mask of the members that go on.

        Losses have shape (3, U): on all validation rows, and on their halves.
        """
        running = self.running
        better = losses < self.losses[:, running]
        for best, improved in zip(self.theta, better, strict=True):
            if len(self.n_epochs) > 1:
                best[running[improved]] = theta[improved]
            elif improved[0]:
                best[...] = theta
        self.losses[:, running] = np.where(better, losses, self.losses[:, running])
        self.waited[running] = np.where(better[0], 0, self.waited[running] + 1)
        on = self.waited[running] < self.patience
        self.running = running[on]
        return on
