"""The pruning path: one committee for each size, and its members."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from committee._format import count, figures
from committee._typing import FloatArray, IntArray

from committee.displays.measures import Measure, measure_of

CommitteePath = Step = step_of = steps_of = GreedyPath = None
from committee.reporting.evaluation import Hearing

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
        One entry for each size: size, error, error_se (None where it has none), here
        (the same error on the rows of the hearing, None where members of the step are
        not at hand), bytes, members and weights (largest first), more (members that
        are not listed); and measure, note, chosen (a position), alt.
    """
    route = _route(core)
    if route is None:
        return None
    steps, chosen = route.steps, _position(route.steps, core)
    stops = _one_for_each_size(steps, chosen)
    se = route.error_se[stops]
    columns: dict[str, Any] = {
        "size": [len(steps[i].members) for i in stops],
        "error": route.error[stops].tolist(),
        "error_se": se.tolist() if np.isfinite(se).any() else None,
        "here": _errors_here(route, stops, core, hearing).tolist(),
        "bytes": None if route.n_bytes is None else route.n_bytes[stops].tolist(),
        "members": [_largest(steps[i])[0].tolist() for i in stops],
        "weights": [_largest(steps[i])[1].tolist() for i in stops],
        "more": [max(0, len(steps[i].members) - _MOST_MEMBERS) for i in stops],
        "measure": route.measure.name,
        "note": route.measure.note,
        "chosen": None if chosen is None else stops.index(chosen),
    }
    return {**columns, "alt": _alt(columns)}


@dataclass(frozen=True, eq=False)
class _Route:
    """The steps of a path, and what is known of each.

    The error of a step itself is the pruner's own, by which one of each size is
    shown; `error` is what is drawn. None of them comes from the rows of the page.
    """

    steps: list[Step]
    error: FloatArray
    error_se: FloatArray
    measure: Measure
    n_bytes: FloatArray | None = None


def _route(core: Any) -> _Route | None:
    """Return the path of a pruned committee, or of its combiner."""
    combiner: Any = getattr(core, "combiner_", None)
    path = getattr(core, "path_", None)
    if isinstance(path, CommitteePath):
        measure = measure_of(path, combiner)
        return _Route(path.steps, path.error, path.error_se, measure, path.n_bytes)
    path = getattr(combiner, "path_", None)
    if path is None:
        return None
    if isinstance(path, GreedyPath):
        pairs = zip(path.weights, path.error, strict=True)
        steps = [step_of(w, error) for w, error in pairs]
    else:
        steps = steps_of(combiner, lambda _: (np.nan, np.nan))
    error, error_se = np.array([(s.error, s.error_se) for s in steps]).T
    return _Route(steps, error, error_se, measure_of(path, combiner))


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
    route: _Route, stops: list[int], core: Any, hearing: Hearing
) -> FloatArray:
    """Return the errors on the rows of the hearing, NaN where members are missing.

    They are of the kind that the path has.
    """
    column = {int(number): m for m, number in enumerate(numbers_of(core))}
    W = np.full((len(stops), len(column)), np.nan)
    for row, i in enumerate(stops):
        step = route.steps[i]
        if all(int(m) in column for m in step.members):
            W[row] = 0.0
            W[row, [column[int(m)] for m in step.members]] = step.weights
    known = ~np.isnan(W[:, 0])
    errors = np.full(len(stops), np.nan)
    if known.any():
        errors[known] = hearing.step_errors(
            W[known], squared=route.measure.squared, scoring=route.measure.scoring
        )
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
    note: str = path["note"]
    return f"{text} {note[0].upper()}{note[1:]}." if note else text
