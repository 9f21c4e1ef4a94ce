"""The pruning path: one committee for each size, and its members."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._format import count, figures
from committee._typing import FloatArray, IntArray
from committee.displays import PruningPathDisplay
from committee.displays.sources import numbers_of
from committee.displays.style import thin
from committee.path import Path
from committee.reporting.evaluation import EvaluatedMembers

#: Sizes on the slider, and members listed at each of them.
_MOST_SIZES = 150
_MOST_MEMBERS = 40


def path_chart(core: Any, evaluated: EvaluatedMembers) -> dict[str, Any] | None:
    """Return the committees that a pruner went through, None where there is no path.

    Parameters
    ----------
    core : fitted ensemble
        Without the pipeline around it.
    evaluated : EvaluatedMembers

    Returns
    -------
    path : dict of lists
        One entry for each size: size, error, error_se (None where it has none), here
        (the same error on the rows of the page, None where members of the step are
        not at hand), bytes, members and weights (largest first), more (members that
        are not listed); and measure, note, chosen (a position), alt.
    """
    path = getattr(core, "path_", None)
    if path is None:
        path = getattr(getattr(core, "combiner_", None), "path_", None)
    if path is None:
        return None
    members = numbers_of(core, len(evaluated.errors))
    display = PruningPathDisplay.compute(
        path,
        F_test=evaluated.F,
        y_test=evaluated.drawn_y,
        members=members,
        sample_weight=evaluated.drawn_weight,
    )
    chosen = _chosen_step(path, members, core.weights_)
    steps = _one_for_each_size(display, chosen)
    largest = [_largest(path.weights[step]) for step in steps]
    se, here = display.error_se, display.test_error
    on_rows = display.error_label.startswith("on ")
    columns: dict[str, Any] = {
        "size": path.size[steps].tolist(),
        "error": display.error[steps].tolist(),
        "error_se": None if se is None else se[steps].tolist(),
        "here": None if here is None else here[steps].tolist(),
        "bytes": None if path.n_bytes is None else path.n_bytes[steps].tolist(),
        "members": [m.tolist() for m, _ in largest],
        "weights": [w.tolist() for _, w in largest],
        "more": [max(0, int(n) - _MOST_MEMBERS) for n in path.size[steps]],
        "measure": path.measure + (f" {display.error_label}" if on_rows else ""),
        "note": display.note,
        "chosen": None if chosen is None else steps.index(chosen),
    }
    return {**columns, "alt": _alt(columns)}


def _chosen_step(path: Path, members: IntArray, w: FloatArray) -> int | None:
    """Return the step of the path that is the committee itself."""
    own = np.zeros(path.weights.shape[1])
    own[members] = w
    same = np.flatnonzero(((path.weights != 0) == (own != 0)).all(axis=1))
    close = [step for step in same if np.allclose(path.weights[step], own)]
    return int([*close, *same][0]) if len(same) else None


def _one_for_each_size(display: PruningPathDisplay, chosen: int | None) -> list[int]:
    """Return the best step of each size, or the chosen one, in rising order."""
    steps = display.best.tolist()
    if chosen is not None:
        sizes = display.size[display.best].tolist()
        steps[sizes.index(display.size[chosen])] = chosen
    shown = thin(len(steps), _MOST_SIZES)
    return [step for i, step in enumerate(steps) if i in shown or step == chosen]


def _largest(w: FloatArray) -> tuple[IntArray, FloatArray]:
    """Return the members with the largest weights, largest first, and the weights."""
    order = np.argsort(-np.abs(w), kind="stable")
    order = order[: min(_MOST_MEMBERS, np.count_nonzero(w))]
    return order, w[order]


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
