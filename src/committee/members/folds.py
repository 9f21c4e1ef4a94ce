"""Folds of a cross-fit: a number of them, any splitter, or the rows themselves."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping

from committee._typing import IntArray
from committee.members.base import TrainingData

Fold = tuple[IntArray, IntArray]


def folds_of(cv: Any, data: TrainingData, rng: np.random.RandomState) -> list[Fold]:
    """Return (train, test) rows of each fold.

    `cv` is a number of folds, shuffled and by class where every class has a row for
    each; a splitter; or a list of pairs.
    """
    if isinstance(cv, Integral):
        return _shuffled(int(cv), data, rng)
    pairs = cv
    if hasattr(cv, "split"):
        pairs = cv.split(data.X, data.y, **_params_of_split(cv, data.fit_params))
    folds = [(_row_numbers(a, data), _row_numbers(b, data)) for a, b in pairs]
    for i, (train, test) in enumerate(folds):
        if not len(train):
            raise ValueError(f"Fold {i} of cv has no rows to train on.")
        if len(np.intersect1d(train, test)):
            raise ValueError(
                f"Fold {i} of cv tests on rows that it trains on: members would be "
                "weighed on rows that they know by heart."
            )
    if not any(len(test) for _, test in folds):
        raise ValueError("cv leaves no rows to weigh members on.")
    return folds


def times_tested(folds: list[Fold], n_rows: int) -> IntArray:
    """Return in how many folds each row is tested, (N,)."""
    tested = [np.unique(test) for _, test in folds]
    return np.bincount(np.concatenate(tested), minlength=n_rows)


def _shuffled(
    n_splits: int, data: TrainingData, rng: np.random.RandomState
) -> list[Fold]:
    N = len(data)
    if n_splits > N:
        raise ValueError(
            f"Cannot cross-fit {n_splits} folds on {N} rows (n_samples={N}). Take "
            "fewer folds, or weigh_on='train'."
        )
    splitter = KFold
    if data.n_classes is not None and np.bincount(data.y).min() >= n_splits:
        splitter = StratifiedKFold
    splits = splitter(n_splits, shuffle=True, random_state=rng)
    return list(splits.split(np.zeros(N), data.y))


def _row_numbers(rows: Any, data: TrainingData) -> IntArray:
    """Return row numbers, also of a mask; refuse those of other rows."""
    rows = np.asarray(rows)
    if rows.dtype == bool and len(rows) == len(data):
        return np.flatnonzero(rows)
    if rows.size and not (rows.min() >= 0 and rows.max() < len(data)):
        raise ValueError(
            f"cv must number the {len(data)} rows from 0 on. Got rows from "
            f"{rows.min()} to {rows.max()}."
        )
    return np.unique(rows.astype(np.intp))


def _params_of_split(splitter: Any, given: dict[str, Any]) -> dict[str, Any]:
    """Return those of the metadata that the splitter asked for, such as groups."""
    if not given:
        return {}
    to_split = MethodMapping().add(caller="fit", callee="split")
    router = MetadataRouter(owner=splitter).add(
        splitter=splitter, method_mapping=to_split
    )
    return dict(router.route_params(caller="fit", params=given).splitter.split)
