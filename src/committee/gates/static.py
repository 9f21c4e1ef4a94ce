"""Static weights that a gate is shrunk to."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from committee._typing import FloatArray
from committee.combiners import Combiner, SimplexWeights
from committee.combiners.problem import Problem


def static_weights(combiner: Combiner | None, problem: Problem) -> FloatArray:
    """Return the weights of a combiner, `SimplexWeights` unless given, with sum one."""
    combiner = clone(SimplexWeights() if combiner is None else combiner)
    combiner.fit(
        problem.F,
        problem.y,
        held_out=problem.held_out,
        sample_weight=problem.sample_weight,
    )
    w: FloatArray = combiner.weights_
    if np.any(w < 0) or not np.any(w > 0):
        raise ValueError(
            "A gate shrinks to weights that are not negative, and not all zero. Those of "
            f"{type(combiner).__name__} are not: take static=SimplexWeights() or "
            "Average()."
        )
    shares: FloatArray = w / w.sum()
    return shares
