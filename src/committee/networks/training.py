"""The training loop: epochs of steps, and members that stop one by one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._parallel import one_thread
from committee._typing import IntArray
from committee.networks.adam import Adam
from committee.networks.interruption import Interruption
from committee.networks.layout import Tensor
from committee.networks.rows import MemberRows, Problem, RowOrders, StoppingRows

#: Called after every epoch with its number, the members still trained, their mean loss.
Report = Callable[[int, int, float], None]


@dataclass(frozen=True)
class Settings:
    """How networks are trained; `NetworkRegressor` explains them."""

    batch_size: int
    learning_rate: float
    weight_decay: float
    max_epochs: int
    #: None: no rows are looked at, and all epochs are run.
    patience: int | None
    coupling: float = 0.0
    #: Rows of a batch whose arrays are in memory at once; None for all.
    rows_at_once: int | None = None
    #: False where rows were drawn in proportion to their weights.
    weighted: bool = True


@dataclass(frozen=True)
class Trained:
    """Weights of the best epochs.

    Attributes
    ----------
    theta : array of shape (M, P)
    halves : list of two arrays of shape (M, P)
        Those of the epochs with the least loss on each half of the rows to be stopped
        on; none without such rows.
    n_epochs : array of shape (M,)
        How many were run.
    losses : array of shape (M,)
        The least on the rows to be stopped on; NaN without such rows.
    finished : bool
        False after an interruption.
    """

    theta: Tensor
    halves: list[Tensor]
    n_epochs: IntArray
    losses: Tensor
    finished: bool


class _Least:
    """The weights with the least loss of U members, or of one committee of all."""

    def __init__(self, theta: Tensor, n_units: int) -> None:
        self.theta = theta.copy()
        self.losses = np.full(n_units, np.inf)

    def update(self, units: IntArray, theta: Tensor, losses: Tensor) -> Any:
        """Keep what is better; return where it is, a mask of the units that run."""
        better = losses < self.losses[units]
        if len(self.losses) == 1:
            if better[0]:
                self.theta[...] = theta
        else:
            self.theta[units[better]] = theta[better]
        self.losses[units[better]] = losses[better]
        return better


class _Best:
    """What is kept of the epochs, and who goes on."""

    def __init__(self, theta: Tensor, n_units: int, patience: int | None) -> None:
        self.patience = np.inf if patience is None else patience
        self.of_all = _Least(theta, n_units)
        n_halves = 0 if patience is None else 2
        self.of_halves = [_Least(theta, n_units) for _ in range(n_halves)]
        #: Members that are still trained, by their first numbers.
        self.running = np.arange(n_units)
        self.waited = np.zeros(n_units, dtype=np.intp)
        self.n_epochs = np.zeros(n_units, dtype=np.intp)

    def update(self, theta: Tensor, losses: Tensor) -> Any:
        """Keep what is better; return which of those that run go on, a mask.

        Losses (3, U) are those of all rows, and of their halves.
        """
        running = self.running
        better = self.of_all.update(running, theta, losses[0])
        for least, half in zip(self.of_halves, losses[1:], strict=True):
            least.update(running, theta, half)
        self.waited[running] = np.where(better, 0, self.waited[running] + 1)
        on = self.waited[running] < self.patience
        self.running = running[on]
        return on


@one_thread()
def train(
    layers: Any,
    problem: Problem,
    rows: Sequence[MemberRows],
    randoms: Sequence[np.random.Generator],
    settings: Settings,
    interruption: Interruption | None = None,
    report: Report | None = None,
) -> Trained:
    """Train networks by Adam until each stops, or `max_epochs` are over.

    With as many `rows` as members these are independent: each has its own rows, and is
    taken out of the tensor once `patience` epochs in a row brought it no lower loss on
    its stopping rows. With one for several members they share batches, and the mean
    of their predictions decides for all.

    Parameters
    ----------
    layers : SeparateLayers or SharedLayers
        With the first weights.
    problem : Problem
    rows : list of MemberRows
        All with the same number of training rows.
    randoms : list of Generator
        One for each member: the order of its rows, and what it drops.
    settings : Settings
    interruption : Interruption, optional
    report : callable, optional

    Returns
    -------
    Trained
    """
    randoms = list(randoms)
    joint = len(rows) < layers.n_members
    orders = RowOrders(rows, settings.batch_size)
    stopping = None
    if settings.patience is not None:
        stopping = StoppingRows(rows, problem)
    adam = Adam(
        layers.theta,
        learning_rate=settings.learning_rate,
        decay=settings.weight_decay,
        decayed=layers.decayed(),
    )
    best = _Best(layers.theta, len(rows), settings.patience)
    stopped = False
    # Weights that grow without bounds are found at the end.
    with np.errstate(over="ignore", invalid="ignore"):
        for epoch in range(settings.max_epochs):
            for index in orders.batches(randoms[: len(rows)]):
                _step(layers, problem, index, randoms, settings, adam)
            best.n_epochs[best.running] += 1
            losses = np.full(len(best.running), np.nan)
            if stopping is not None:
                found = stopping.losses(layers, problem, joint=joint)
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
    problem: Problem,
    index: IntArray,
    randoms: list[np.random.Generator],
    settings: Settings,
    adam: Adam,
) -> None:
    """Change the weights by one batch of rows, whose numbers are (R, B)."""
    n = index.shape[1]
    at_once = settings.rows_at_once or n
    g = _gradient(layers, problem, index[:, :at_once], n, randoms, settings)
    if at_once < n:
        g = g.copy()
    for start in range(at_once, n, at_once):
        part = index[:, start : start + at_once]
        g += _gradient(layers, problem, part, n, randoms, settings)
    adam.update(layers.theta, g)


def _gradient(
    layers: Any,
    problem: Problem,
    index: IntArray,
    n: int,
    randoms: list[np.random.Generator],
    settings: Settings,
) -> Tensor:
    """Return the gradient of the sum of losses over some rows, divided by n."""
    X = layers.buffers.take("X", (*index.shape, problem.X.shape[1]))
    np.take(problem.X, index, axis=0, out=X, mode="clip")
    out = layers.forward(X, randoms)
    Y = problem.Y.take(index, axis=0)
    D = problem.loss.gradient(out, Y, settings.coupling)
    if problem.s is None or not settings.weighted:
        D *= 1.0 / n
    else:
        D *= (problem.s[index] / n)[:, :, None]
    g: Tensor = layers.backward(D)
    return g


def _checked(best: _Best, last: Tensor | None, stopped: bool) -> Trained:
    """Return the best weights, or the last where no rows were looked at."""
    theta = best.of_all.theta if last is None else last
    losses = best.of_all.losses
    losses = np.where(np.isfinite(losses), losses, np.nan)
    diverged = last is None and np.isnan(losses).any()
    if diverged or not np.isfinite(theta).all():
        raise ValueError(
            "The weights of a network grew beyond all bounds. Take a smaller "
            "learning_rate."
        )
    halves = [least.theta for least in best.of_halves]
    return Trained(theta, halves, best.n_epochs, losses, not stopped)
