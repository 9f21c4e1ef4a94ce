"""Networks that are trained as one committee: with shared weights, or coupled."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from committee.networks.adapters import SharedLayers
from committee.networks.blocks import (
    Kind,
    TrainedNetwork,
    as_networks,
    bytes_of_row,
    bytes_of_weights,
)
from committee.networks.interruption import Interruption
from committee.networks.layers import SeparateLayers
from committee.networks.layout import initial_weights
from committee.networks.rows import STOP_CHUNK, MemberRows, Problem
from committee.networks.training import Report, train


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
    trained = train(
        layers,
        problem,
        [rows],
        randoms,
        settings,
        interruption=interruption,
        report=report,
    )
    return as_networks(layers, trained)


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
