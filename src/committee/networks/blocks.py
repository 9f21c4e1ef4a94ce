"""Training of many members, in blocks that fit into the cache."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from joblib import effective_n_jobs

from committee._typing import IntArray
from committee.networks.early_stopping import STOP_CHUNK, MemberRows
from committee.networks.layers import (
    SeparateLayers,
    SharedLayers,
    Tensor,
    initial_weights,
)
from committee.networks.training import Interruption, Report, TrainingSettings, train
from committee.networks.training_arrays import TrainingArrays

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

    `halves` holds the matrices after the epochs with the least loss on each half of the
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
) -> list[TrainedNetwork | None]:
    """Return the networks of a block; None for each if it did not begin."""
    if interruption is not None and interruption.asked:
        return [None] * len(block.seeds)
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
