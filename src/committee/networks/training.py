"""The training loop: steps of Adam, epochs, and members that stop one by one."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._parallel import one_thread
from committee._typing import IntArray
from committee.networks.early_stopping import BestEpochs, MemberRows, StoppingRows
from committee.networks.layers import Activation, Layout, Tensor
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
        Weights of the epochs with the least loss on each half of the validation rows;
        empty without validation rows.
    n_epochs : array of shape (M,)
        Number of epochs run.
    losses : array of shape (M,)
        Least loss on the validation rows; NaN without such rows.
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
