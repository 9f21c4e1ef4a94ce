"""The training loop: steps of Adam, epochs, and members that stop one by one.

Members stop on rows of their own, and are trained in blocks that fit into the cache.
"""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from committee._parallel import one_thread
from committee._typing import IntArray
from committee.networks.layers import (
    Activation,
    Layout,
    SeparateLayers,
    SharedLayers,
    Tensor,
    initial_weights,
)
from committee.networks.training_arrays import TrainingArrays

#: Decay rates of the moments and the constant under the root, as in the paper.
_BETA_1, _BETA_2, _EPSILON = 0.9, 0.999, 1e-8
#: Called after every epoch: its number, number of running members, their mean loss.
Report = Callable[[int, int, float], None]


@dataclass(frozen=True)
class TrainingSettings:
    """Layers and options of training; `NetworkRegressor` documents them."""

    layout: Layout
    activation: Activation
    dropout: float
    batch_size: int
    learning_rate: float
    weight_decay: float
    max_epochs: int
    #: None: no early stopping, all epochs are run.
    patience: int | None
    coupling: float = 0.0
    #: False: rows were drawn in proportion to their weights, so the loss has none.
    weighted: bool = True


@dataclass(frozen=True)
class Trained:
    """Weights of the best epochs.

    Attributes
    ----------
    theta : array of shape (M, P)
    halves : list of two arrays of shape (M, P)
        Weights of the epochs with the smallest loss on each half of the validation rows;
        empty without validation rows.
    n_epochs : array of shape (M,)
        Number of epochs run.
    losses : array of shape (M,)
        Smallest loss on the validation rows; NaN without such rows.
    finished : bool
        False after an interruption.
    """

    theta: Tensor
    halves: list[Tensor]
    n_epochs: IntArray
    losses: Tensor
    finished: bool


class Adam:
    """Steps of Adam (Kingma and Ba 2015) with decoupled decay (Loshchilov, Hutter 2019).

        m <- b1 m + (1 - b1) g,       v <- b2 v + (1 - b2) g^2
        theta <- theta (1 - lr decay) - lr mhat / (sqrt(vhat) + eps)
        mhat = m / (1 - b1^t),        vhat = v / (1 - b2^t)

    The code stores m / (1 - b1) and v / (1 - b2): each moment then takes one product and
    one sum, and all scalars go into the last step.

    Parameters
    ----------
    theta : array of weights
    learning_rate, decay : float
    decayed : array that broadcasts to theta
        1 where weights decay, 0 elsewhere.
    """

    def __init__(
        self, theta: Tensor, *, learning_rate: float, decay: float, decayed: Tensor
    ) -> None:
        self.m, self.v = np.zeros_like(theta), np.zeros_like(theta)
        self.step = np.empty_like(theta)
        self.learning_rate = learning_rate
        self.shrink = None
        if decay:
            self.shrink = (1.0 - learning_rate * decay * decayed).astype(theta.dtype)
        self.t = 0

    def update(self, theta: Tensor, g: Tensor) -> None:
        """Change theta by one step; overwrites g."""
        self.t += 1
        m, v, step = self.m, self.v, self.step
        first = (1 - _BETA_1) / (1 - _BETA_1**self.t)
        root = np.sqrt((1 - _BETA_2) / (1 - _BETA_2**self.t))
        m *= _BETA_1
        m += g
        g *= g
        v *= _BETA_2
        v += g
        np.sqrt(v, out=step)
        step += float(_EPSILON / root)
        np.divide(m, step, out=step)
        step *= float(self.learning_rate * first / root)
        if self.shrink is not None:
            theta *= self.shrink
        theta -= step

    def keep(self, members: Any) -> None:
        """Drop all members but these."""
        self.m, self.v = self.m[members], self.v[members]
        self.step = np.empty_like(self.m)


@dataclass
class Interruption:
    """True after Ctrl-C: running epochs end, and no others begin."""

    asked: bool = False


@contextmanager
def interruptible() -> Iterator[Interruption]:
    """Yield a flag that the first Ctrl-C sets; the second raises KeyboardInterrupt.

    Signals are handled in the main thread only, and not in commands that run in the
    background, where Ctrl-C is ignored: the flag is never set there.
    """
    interruption, before = Interruption(), signal.getsignal(signal.SIGINT)
    main = threading.current_thread() is threading.main_thread()
    if not main or before is signal.SIG_IGN:
        yield interruption
        return

    def ask(*_: Any) -> None:
        interruption.asked = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, ask)
    try:
        yield interruption
    finally:
        signal.signal(signal.SIGINT, before)


class RowOrders:
    """Batches of the n training rows of each of R members, each in its own order.

    Networks that are trained on the same rows share one order: then R is 1.
    """

    def __init__(self, rows: Sequence[MemberRows], batch_size: int) -> None:
        self.order = np.stack([each.train for each in rows])
        self.batch_size = batch_size

    def batches(self, randoms: Sequence[np.random.Generator]) -> Iterator[IntArray]:
        """Yield row numbers (R, B) of one epoch; the last batch may have fewer rows."""
        for order, random in zip(self.order, randoms, strict=True):
            random.shuffle(order)
        for start in range(0, self.order.shape[1], self.batch_size):
            yield self.order[:, start : start + self.batch_size]

    def keep(self, members: Any) -> None:
        """Drop all members but these."""
        self.order = self.order[members]


@one_thread()
def train(
    layers: Any,
    arrays: TrainingArrays,
    rows: Sequence[MemberRows],
    randoms: Sequence[np.random.Generator],
    settings: TrainingSettings,
    interruption: Interruption | None = None,
    report: Report | None = None,
) -> Trained:
    """Train networks by Adam until each stops, or for `max_epochs` epochs.

    With one entry of `rows` for each member, members are independent: a member is taken
    out of the tensor after `patience` epochs without a lower loss on its validation
    rows. With one entry for several members, all share batches, and stop together by the
    loss of the mean of their predictions.

    Parameters
    ----------
    layers : SeparateLayers or SharedLayers
        Holds the initial weights.
    arrays : TrainingArrays
    rows : list of MemberRows
        Each has the same number of training rows.
    randoms : list of Generator
        One for each member, for the order of its rows and for dropout.
    settings : TrainingSettings
    interruption : Interruption, default=None
    report : callable, default=None

    Returns
    -------
    Trained
    """
    randoms = list(randoms)
    joint = len(rows) < layers.n_members
    orders = RowOrders(rows, settings.batch_size)
    stopping = None
    if settings.patience is not None:
        stopping = StoppingRows(rows, arrays)
    adam = Adam(
        layers.theta,
        learning_rate=settings.learning_rate,
        decay=settings.weight_decay,
        decayed=layers.decayed(),
    )
    best = BestEpochs(layers.theta, len(rows), settings.patience)
    stopped = False
    # Weights that overflow are reported at the end, by _checked.
    with np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(settings.max_epochs):
            for index in orders.batches(randoms[: len(rows)]):
                _step(layers, arrays, index, randoms, settings, adam)
            best.n_epochs[best.running] += 1
            losses = np.full(len(best.running), np.nan)
            if stopping is not None:
                found = stopping.losses(layers, arrays, joint=joint)
                on, losses = best.update(layers.theta, found), found[0]
                if not on.any():
                    break
                if not on.all():
                    for part in (layers, adam, orders, stopping):
                        part.keep(on)
                    randoms = [r for r, kept in zip(randoms, on, strict=True) if kept]
            if report is not None:
                report(epoch + 1, len(best.running), float(np.mean(losses)))
            if interruption is not None and interruption.asked:
                stopped = True
                break
    return _checked(best, layers.theta if stopping is None else None, stopped)


def _step(
    layers: Any,
    arrays: TrainingArrays,
    index: IntArray,
    randoms: list[np.random.Generator],
    settings: TrainingSettings,
    adam: Adam,
) -> None:
    """Change the weights by the mean gradient of one batch of rows, numbers (R, B)."""
    n = index.shape[1]
    X = layers.buffers.take("X", (*index.shape, arrays.X.shape[1]))
    np.take(arrays.X, index, axis=0, out=X, mode="clip")
    out = layers.forward(X, randoms)
    Y = arrays.Y.take(index, axis=0)
    D = arrays.loss.gradient(out, Y, settings.coupling)
    if arrays.s is None or not settings.weighted:
        D *= 1.0 / n
    else:
        D *= (arrays.s[index] / n)[:, :, None]
    adam.update(layers.theta, layers.backward(D))


def _checked(best: BestEpochs, last: Tensor | None, stopped: bool) -> Trained:
    """Return the best weights, or `last` without early stopping.

    Raise ValueError if weights are not finite.
    """
    theta = best.theta[0] if last is None else last
    losses = np.where(np.isfinite(best.losses[0]), best.losses[0], np.nan)
    diverged = last is None and np.isnan(losses).any()
    if diverged or not np.isfinite(theta).all():
        raise ValueError(
            "The weights of a network overflowed during training. Use a smaller "
            "learning_rate."
        )
    halves = list(best.theta[1:])
    return Trained(theta, halves, best.n_epochs, losses, not stopped)


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
        #: Weights with the smallest loss on all validation rows, and on each half of them.
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


#: Bytes of the arrays of a step. Larger blocks do not fit into the cache; smaller blocks
#: need more calls of NumPy. With 1 MiB of L2 cache for each core, blocks of 16 to 100
#: members with 50 units take the same time for a step, within a tenth.
_CACHE = 4 * 2**20
#: Bytes of these arrays and of the row numbers of all members of a block.
_MEMORY = 2**28


@dataclass(frozen=True)
class Block:
    """Members trained as one tensor: their numbers, rows and seeds.

    With one entry of `rows` for several members they are trained jointly on these rows,
    and the loss of their mean prediction decides when to stop.
    """

    members: IntArray
    rows: list[MemberRows]
    seeds: list[np.random.SeedSequence]
    #: Whether the members share the weights of the hidden layers.
    share: bool = False


@dataclass(frozen=True)
class TrainedNetwork:
    """One plain network: matrices (in + 1, out), for standardised rows.

    `halves` holds the matrices after the epochs with the smallest loss on each half of the
    validation rows. `finished` is False if Ctrl-C ended the training early.
    """

    matrices: list[Tensor]
    halves: list[list[Tensor]]
    n_epochs: int
    loss: float
    finished: bool


def bytes_of_row(settings: TrainingSettings) -> int:
    """Return the bytes of one member's arrays for one row of a training step."""
    sizes = settings.layout.sizes
    hidden = (4 if settings.dropout else 3) * sum(sizes[1:-1])
    return 4 * (sizes[0] + 1 + hidden + 3 * sizes[-1])


def bytes_of_weights(settings: TrainingSettings) -> int:
    """Return the bytes of one member's weights, gradient, moments and copies."""
    return 4 * 9 * settings.layout.n_parameters


def blocks_of(
    settings: TrainingSettings,
    rows: Sequence[MemberRows],
    seeds: Sequence[np.random.SeedSequence],
    *,
    n_jobs: int | None,
) -> list[Block]:
    """Return blocks of members; all in a block have the same number of training rows."""
    longest = max(len(each.train) for each in rows)
    batch = max(STOP_CHUNK, min(settings.batch_size, longest))
    step = batch * bytes_of_row(settings) + bytes_of_weights(settings)
    of_rows = max(8 * len(each.train) + 12 * len(each.stop) for each in rows)
    most = max(1, min(_CACHE // step, _MEMORY // (step + of_rows)))
    counts = np.array([len(each.train) for each in rows])
    jobs = effective_n_jobs(n_jobs)
    blocks = []
    for count in np.unique(counts):
        members = np.flatnonzero(counts == count)
        n_blocks = -(-len(members) // most)
        n_blocks = min(len(members), -(-n_blocks // jobs) * jobs)
        blocks += [
            Block(part, [rows[m] for m in part], [seeds[m] for m in part])
            for part in np.array_split(members, n_blocks)
        ]
    return blocks


def train_block(
    settings: TrainingSettings,
    arrays: TrainingArrays,
    block: Block,
    interruption: Interruption | None = None,
    report: Report | None = None,
) -> list[TrainedNetwork]:
    """Return the networks of a block; none if Ctrl-C came before it."""
    if interruption is not None and interruption.asked:
        return []
    randoms = [np.random.default_rng(seed) for seed in block.seeds]
    layout, options = settings.layout, (settings.activation, settings.dropout)
    layers: SeparateLayers | SharedLayers
    if block.share:
        layers = SharedLayers(layout, randoms, *options)
    else:
        theta = np.stack([initial_weights(layout, random) for random in randoms])
        layers = SeparateLayers(layout, theta, *options)
    trained = train(layers, arrays, block.rows, randoms, settings, interruption, report)
    # (M, in + 1, out) of each layer
    matrices, *halves = map(layers.plain, (trained.theta, *trained.halves))
    M = len(randoms)
    n_epochs = np.broadcast_to(trained.n_epochs, M)
    losses = np.broadcast_to(trained.losses, M)
    return [
        TrainedNetwork(
            [W[m] for W in matrices],
            [[W[m] for W in half] for half in halves],
            int(n_epochs[m]),
            float(losses[m]),
            trained.finished,
        )
        for m in range(M)
    ]
