"""The pruning path: one committee for each size, and its members."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.pruning.path import CommitteePath, Step, steps_of
from committee.reporting.hearing import Hearing
from committee.reporting.words import count, figures

#: Sizes on the slider, and members listed at each of them.
_MOST_SIZES = 150
_MOST_MEMBERS = 40


def pathway(core: Any, hearing: Hearing) -> dict[str, Any] | None:
    """Return the committees that a pruner went through, None where there is no path.

    Parameters
    ----------
    core : fitted ensemble
        Without the pipeline around it.
    hearing : Hearing

    Returns
    -------
    path : dict of lists
        One entry for each size: size, error, error_se, here (the error on the rows
        of the hearing, None where members of the step are not at hand), bytes,
        members and weights (largest first), more (members that are not listed);
        and measure, chosen (a position), alt.
    """
    found = _steps(core, hearing)
    if found is None:
        return None
    steps, n_bytes = found
    chosen = _position(steps, core)
    stops = _one_for_each_size(steps, chosen)
    measure = steps[0].measure or f"{hearing.measure} while pruning"
    here = _errors_here(steps, stops, core, hearing, squared="squared" in measure)
    columns: dict[str, Any] = {
        "size": [len(steps[i].members) for i in stops],
        "error": [steps[i].error for i in stops],
        "error_se": [steps[i].error_se for i in stops],
        "here": here.tolist(),
        "bytes": None if n_bytes is None else [float(n_bytes[i]) for i in stops],
        "members": [_largest(steps[i])[0].tolist() for i in stops],
        "weights": [_largest(steps[i])[1].tolist() for i in stops],
        "more": [max(0, len(steps[i].members) - _MOST_MEMBERS) for i in stops],
        "measure": measure,
        "chosen": None if chosen is None else stops.index(chosen),
    }
    return {**columns, "alt": _alt(columns)}


def _steps(core: Any, hearing: Hearing) -> tuple[list[Step], FloatArray | None] | None:
    """Return the steps of a pruned committee or of its combiner, and their bytes."""
    path = getattr(core, "path_", None)
    if isinstance(path, CommitteePath):
        return path.steps, path.n_bytes
    combiner: Any = getattr(core, "combiner_", None)
    if getattr(combiner, "path_", None) is None:
        return None

    def losses(w: FloatArray) -> tuple[float, float]:
        return float(hearing.step_errors(w[None])[0]), float("nan")

    return steps_of(combiner, losses), None


def _position(steps: list[Step], core: Any) -> int | None:
    """Return where the committee itself stands among the steps."""
    members = numbers_of(core)[np.flatnonzero(core.weights_)]
    w = core.weights_[core.weights_ != 0]
    same = [i for i, s in enumerate(steps) if np.array_equal(s.members, members)]
    for i in same:
        if np.allclose(steps[i].weights, w):
            return i
    return same[0] if same else None


def numbers_of(core: Any) -> IntArray:
    """Return the numbers that members have in the ensemble they come from."""
    numbers: IntArray = getattr(core, "support_", np.arange(len(core.members_)))
    return numbers


def _one_for_each_size(steps: list[Step], chosen: int | None) -> list[int]:
    """Return the step of least error for each size; the chosen one comes first."""
    best: dict[int, int] = {}
    for i, step in enumerate(steps):
        size = len(step.members)
        known = best.get(size)
        better = known is None or step.error < steps[known].error
        if i == chosen or (known != chosen and better):
            best[size] = i
    order = [best[size] for size in sorted(best)]
    if len(order) <= _MOST_SIZES:
        return order
    kept = set(np.linspace(0, len(order) - 1, _MOST_SIZES).round().astype(int))
    return [i for at, i in enumerate(order) if at in kept or i == chosen]


def _errors_here(
    steps: list[Step],
    stops: list[int],
    core: Any,
    hearing: Hearing,
    *,
    squared: bool,
) -> FloatArray:
    """Return the errors on the rows of the hearing, NaN where members are missing.

    They are of the kind that the path has: squared or not.
    """
    column = {int(number): m for m, number in enumerate(numbers_of(core))}
    W = np.full((len(stops), len(column)), np.nan)
    for row, i in enumerate(stops):
        if all(int(m) in column for m in steps[i].members):
            W[row] = 0.0
            W[row, [column[int(m)] for m in steps[i].members]] = steps[i].weights
    known = ~np.isnan(W[:, 0])
    errors = np.full(len(stops), np.nan)
    if known.any():
        errors[known] = hearing.step_errors(W[known], squared=squared)
    return errors


def _largest(step: Step) -> tuple[IntArray, FloatArray]:
    """Return the members of a step with the largest weights, largest first."""
    order = np.argsort(-np.abs(step.weights), kind="stable")[:_MOST_MEMBERS]
    return step.members[order], step.weights[order]


def _alt(path: dict[str, Any]) -> str:
    """Return the picture in words."""
    error, sizes = np.array(path["error"]), path["size"]
    least = int(np.nanargmin(error)) if np.isfinite(error).any() else 0
    text = (
        f"Line chart of the {path['measure']} against the number of members: "
        f"{figures(error[0])} with {count(sizes[0], 'member')}, least "
        f"{figures(error[least])} with {sizes[least]}, {figures(error[-1])} with "
        f"{sizes[-1]}."
    )
    if path["chosen"] is not None:
        at = path["chosen"]
        text += f" Chosen: {sizes[at]} members at {figures(error[at])}."
    return text
