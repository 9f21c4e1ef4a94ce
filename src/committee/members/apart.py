"""Rows that are split off to weigh the members on."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split

from committee._typing import IntArray
from committee._validation import index_params, safe_indexing
from committee.members.base import TrainingData


def split_apart(
    data: TrainingData, fraction: float, rng: np.random.RandomState
) -> tuple[TrainingData, TrainingData]:
    """Return the training rows, and a fraction of all rows to weigh on."""
    fraction = float(fraction)
    if not 1 <= round(fraction * len(data)) <= len(data) - 1:
        raise ValueError(
            f"weigh_on={fraction:g} of {len(data)} rows (n_samples={len(data)}) leaves "
            "nothing to weigh on, or nothing to train on."
        )
    K, smaller_part = data.n_classes, min(fraction, 1 - fraction) * len(data)
    few = K is None or np.bincount(data.y).min() < 2 or smaller_part < K
    train, apart = train_test_split(
        np.arange(len(data)),
        test_size=fraction,
        random_state=rng,
        stratify=None if few else data.y,
    )
    return _take(data, np.sort(train)), _take(data, np.sort(apart))


def _take(data: TrainingData, rows: IntArray) -> TrainingData:
    """Return the data of some rows, in their order."""
    s = data.sample_weight
    return TrainingData(
        safe_indexing(data.X, rows),
        data.y[rows],
        data.n_classes,
        None if s is None else s[rows],
        index_params(data.X, data.fit_params, indices=rows),
    )
