"""Errors of committees on other rows, measured as those of a pruning path are."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_class_codes, check_predictions, check_targets
from committee.combiners.objectives import row_score
from committee.losses import OF_CLASSES, OF_NUMBERS, Measure
from committee.path import Path
from committee.predictions import weighted_sum
from committee.probabilities import pooled_terms
from committee.votes import Votes

#: What `prune` may measure, by the names that are shown.
_MEASURES = {m.name: m for m in (*OF_CLASSES.values(), *OF_NUMBERS.values())}
#: Numbers that are predicted in one product: 32 MB.
_BLOCK = 2**22


def split_measure(measure: str) -> tuple[str, str]:
    """Return what the errors of a path are, and how or on which rows they were found."""
    for how in ("leave-one-out", "cross-fitted"):
        if measure.startswith(how):
            return measure.removeprefix(how).strip(), how
    return measure, "on the weighing rows"


def error_of(
    output: FloatArray,
    y: FloatArray | IntArray,
    *,
    squared: bool = False,
    sample_weight: FloatArray | None = None,
) -> float:
    """Return the share of wrong rows of (N, K) scores, or the mean squared error.

    With `squared` that of scores is their squared distance from the one-hot targets.
    """
    if output.ndim == 1:
        losses = (output - y) ** 2
    else:
        codes = check_class_codes(y, output.shape[1])
        if squared:
            losses = ((output - np.eye(output.shape[1])[codes]) ** 2).sum(axis=1)
        else:
            losses = output.argmax(axis=1) != codes
    return float(np.average(losses, weights=sample_weight))


def error_name(F: FloatArray) -> str:
    """Return what `error_of` measures."""
    return "share of wrong rows" if F.ndim == 3 else "mean squared error"


def path_errors(
    path: Path,
    F: Any,
    y: Any,
    *,
    members: IntArray | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the error of every committee of a path on other rows, (S,).

    It is of the kind that the path's own error is. F is of the given members of the path,
    of all unless given; NaN stands for committees with others, and for scores that are
    not known.
    """
    F = check_predictions(F)
    y = check_targets(F, y)
    n_members = path.weights.shape[1]
    if members is None:
        members = np.arange(F.shape[1])
        if F.shape[1] != n_members:
            raise ValueError(
                f"The path goes through {n_members} members, and the test error needs "
                f"the predictions of all of them. Got those of {F.shape[1]}: pass "
                "F_test of the whole ensemble to from_path."
            )
    F = pooled_terms(F, path.floor)
    missing = np.setdiff1d(np.arange(n_members), members)
    W = path.weights[:, members]
    known = ~path.weights[:, missing].any(axis=1)
    errors = np.full(len(W), np.nan)
    if path.scoring is not None and path.measure == path.own_measure:
        try:
            score = row_score(Votes(F, y, None, sample_weight), path.scoring)
            errors[known] = [score.error(w) for w in W[known]]
        except ValueError:  # some scores are not known on rows of one class
            return errors
        return errors
    name, _ = split_measure(path.measure)
    measure = _MEASURES.get(name)
    if measure is not None and measure.losses is not None:
        s = np.ones(len(y)) if sample_weight is None else sample_weight
        try:
            errors[known] = [
                _mean_loss(measure, p, y, s)
                for p in _predicted(path, np.flatnonzero(known), F, members)
            ]
        except ValueError:  # no AUC on rows of one class
            return errors
        return errors
    squared = "squared" in path.measure
    errors[known] = [
        error_of(output, y, squared=squared, sample_weight=sample_weight)
        for output in _outputs(F, W[known])
    ]
    return np.sqrt(errors) if measure is not None and measure.root else errors


def _mean_loss(measure: Measure, p: FloatArray, y: Any, s: FloatArray) -> float:
    assert measure.losses is not None
    return float(np.average(measure.losses(p, y, s), weights=s))


def _predicted(
    path: Path, steps: IntArray, F: FloatArray, members: IntArray
) -> Iterator[FloatArray]:
    """Yield probabilities, or numbers, of the committees of some steps."""
    available = path.available
    for step in steps:
        if F.ndim == 2:
            at = np.flatnonzero(path.weights[step, members])
            yield weighted_sum(F[:, at], path.weights[step, members[at]])
        elif available[step]:
            # How a committee makes probabilities is its own affair.
            made = path.assessment.committee(step)  # type: ignore[union-attr]
            at = np.searchsorted(members, made.support_)
            yield made._probabilities(weighted_sum(F[:, at], made.weights_))
        else:
            yield np.full((len(F), F.shape[2]), np.nan)


def _outputs(F: FloatArray, W: FloatArray) -> Iterator[FloatArray]:
    """Yield the weighted sums of many committees, W of shape (S, M)."""
    slabs = np.ascontiguousarray(np.moveaxis(F, 1, 0))  # (M, N) or (M, N, K)
    at_once = max(1, _BLOCK * slabs.shape[0] // slabs.size)
    for start in range(0, len(W), at_once):
        yield from np.tensordot(W[start : start + at_once], slabs, axes=(1, 0))
