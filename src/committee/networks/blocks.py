"""Members that are trained side by side, in blocks of the cache's size, or as one."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.utils.parallel import delayed

from committee._parallel import results_of
from committee._typing import IntArray
from committee.networks.adapters import SharedLayers
from committee.networks.interruption import Interruption
from committee.networks.layers import SeparateLayers
from committee.networks.layout import Layout, Tensor, initial_weights
from committee.networks.rows import STOP_CHUNK, MemberRows, Problem
from committee.networks.training import Report, Settings, train

#: Bytes of the arrays of a step: larger blocks leave the cache, and smaller ones pay
#: for every call of NumPy. With 1 MiB of L2 for a core, blocks of 16 to 100 members of
#: 50 units take the same time for a step, within a tenth.
_CACHE = 4 * 2**20


@dataclass(frozen=True)
class Kind:
    """What networks of one kind have in common."""

    layout: Layout
    activation: Any
    dropout: float
    settings: Settings


@dataclass(frozen=True)
class Block:
    """Members that are trained as one tensor, by their numbers, rows and seeds."""

    members: IntArray
    rows: list[MemberRows]
    seeds: list[np.random.SeedSequence]


@dataclass(frozen=True)
class TrainedNetwork:
    """One plain network: matrices (in + 1, out), for standardised rows.

    `halves` are the same after the epochs with the least loss on each half of the rows to
    be stopped on. `finished` is False where Ctrl-C came before its end.
    """

    matrices: list[Tensor]
    halves: list[list[Tensor]]
    n_epochs: int
    loss: float
    finished: bool


def bytes_of_row(kind: Kind) -> int:
    """Return the bytes of one member's arrays for one row of a training step."""
    sizes = kind.layout.sizes
    hidden = (4 if kind.dropout else 3) * sum(sizes[1:-1])
    return 4 * (sizes[0] + 1 + hidden + 3 * sizes[-1])


def bytes_of_weights(kind: Kind) -> int:
    """Return the bytes of one member's weights, gradient, moments and copies."""
    return 4 * 9 * kind.layout.n_parameters


def blocks_of(
    kind: Kind,
    rows: Sequence[MemberRows],
    seeds: Sequence[np.random.SeedSequence],
    *,
    max_bytes: int,
    n_jobs: int | None,
) -> list[Block]:
    """Return blocks of members with equally many training rows each."""
    longest = max(len(each.train) for each in rows)
    batch = max(STOP_CHUNK, min(kind.settings.batch_size, longest))
    step = batch * bytes_of_row(kind) + bytes_of_weights(kind)
    of_rows = max(8 * len(each.train) + 12 * len(each.stop) for each in rows)
    most = max(1, min(_CACHE // step, max_bytes // (step + of_rows)))
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
    kind: Kind,
    problem: Problem,
    block: Block,
    interruption: Interruption | None = None,
    report: Report | None = None,
) -> list[TrainedNetwork | None]:
    """Return the networks of a block, None for each where it did not begin."""
    if interruption is not None and interruption.asked:
        return [None] * len(block.rows)
    randoms = [np.random.default_rng(seed) for seed in block.seeds]
    theta = np.stack([initial_weights(kind.layout, random) for random in randoms])
    layers = SeparateLayers(kind.layout, theta, kind.activation, kind.dropout)
    given = layers, problem, block.rows, randoms, kind.settings
    return _trained(*given, interruption, report)


def _trained(layers: Any, *args: Any) -> list[TrainedNetwork | None]:
    """Train layers, and return their networks one by one."""
    trained = train(layers, *args)
    # (M, in + 1, out) of each layer
    matrices, *halves = map(layers.plain, (trained.theta, *trained.halves))
    M = len(matrices[0])
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


def train_blocks(
    kind: Kind,
    problem: Problem,
    blocks: Sequence[Block],
    *,
    n_jobs: int | None,
    interruption: Interruption,
    report: Report | None,
) -> Iterator[list[TrainedNetwork | None]]:
    """Yield the networks of all blocks, in order: threads run NumPy side by side."""
    calls = (
        delayed(train_block)(kind, problem, block, interruption, report)
        for block in blocks
    )
    return results_of(calls, n_jobs, prefer="threads")


def train_jointly(
    kind: Kind,
    problem: Problem,
    rows: MemberRows,
    seeds: Sequence[np.random.SeedSequence],
    *,
    share: bool,
    max_bytes: int,
    interruption: Interruption | None = None,
    report: Report | None = None,
) -> list[TrainedNetwork | None]:
    """Train M networks on the same rows, to stop on the mean of their predictions.

    Where the arrays of a step would take more than `max_bytes`, the gradient is summed
    up over parts of the batch.
    """
    randoms = [np.random.default_rng(seed) for seed in seeds]
    layers: SeparateLayers | SharedLayers
    if share:
        layers = SharedLayers(kind.layout, randoms, kind.activation, kind.dropout)
    else:
        theta = np.stack([initial_weights(kind.layout, random) for random in randoms])
        layers = SeparateLayers(kind.layout, theta, kind.activation, kind.dropout)
    at_once = rows_at_once(kind, len(seeds), share=share, max_bytes=max_bytes)
    settings = kind.settings
    if at_once < settings.batch_size:
        settings = replace(settings, rows_at_once=at_once)
    given = layers, problem, [rows], randoms, settings
    return _trained(*given, interruption, report)


def rows_at_once(kind: Kind, n_members: int, *, share: bool, max_bytes: int) -> int:
    """Return how many rows of a batch fit into the memory, and refuse fewer than those.

    Rows to be stopped on come in chunks of their own.
    """
    of_row = n_members * bytes_of_row(kind) * (2 if share else 1)
    of_weights = bytes_of_weights(kind) * (1 if share else n_members)
    n = (max_bytes - of_weights) // of_row
    if n < STOP_CHUNK:
        raise ValueError(
            f"{n_members} members that are trained as one need max_bytes of at least "
            f"{of_weights + STOP_CHUNK * of_row}. Got {max_bytes}; take fewer members or "
            "smaller layers otherwise."
        )
    return int(n)
