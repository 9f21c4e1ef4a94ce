"""Rows that are split off to weigh the members on."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from committee._typing import IntArray
from committee._validation import index_params, safe_indexing
from committee.members.base import TrainingData, draw_seeds


def split_apart(
    data: TrainingData, fraction: float, rng: np.random.RandomState
) -> tuple[TrainingData, TrainingData]:
    """Return the training rows, and a fraction of all rows to weigh on."""
    check_fraction(fraction, len(data))
    train, apart = split_rows(data, fraction, int(draw_seeds(rng, 1)[0]))
    return take(data, train), take(data, apart)


def check_fraction(fraction: float, n_rows: int) -> None:
    """Refuse a fraction that leaves no rows on one side."""
    if not 1 <= round(fraction * n_rows) <= n_rows - 1:
        raise ValueError(
            f"weigh_on={fraction:g} of {n_rows} rows (n_samples={n_rows}) leaves "
            "nothing to weigh on, or nothing to train on."
        )


def split_rows(
    data: TrainingData, fraction: float, seed: int
) -> tuple[IntArray, IntArray]:
    """Return the numbers of the rows to train on, and of those to weigh on."""
    K, smaller_part = data.n_classes, min(fraction, 1 - fraction) * len(data)
    few = K is None or np.bincount(data.y).min() < 2 or smaller_part < K
    train, apart = train_test_split(
        np.arange(len(data)),
        test_size=float(fraction),
        random_state=seed,
        stratify=None if few else data.y,
    )
    return np.sort(train), np.sort(apart)


def take(data: TrainingData, rows: IntArray) -> TrainingData:
    """Return the data of some rows, in their order."""
    s = data.sample_weight
    return TrainingData(
        safe_indexing(data.X, rows),
        data.y[rows],
        data.n_classes,
        None if s is None else s[rows],
        index_params(data.X, data.fit_params, indices=rows),
    )
