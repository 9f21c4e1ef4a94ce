"""Type aliases, the same letters and shapes as in the docs."""

from typing import Any, Literal

import numpy as np
import numpy.typing as npt

#: Predictions, targets, weights: float arrays of any shape.
FloatArray = npt.NDArray[np.float64]
#: Row numbers and class codes.
IntArray = npt.NDArray[np.intp]
#: The held-out mask, (N, M): True where the member did not train on the row.
BoolArray = npt.NDArray[np.bool_]
#: What scikit-learn takes as a seed.
RandomState = int | np.random.RandomState | None
#: Anything with scikit-learn's fit and predict.
Member = Any
#: What a classifier puts into F: its probabilities, one vote for one class, or (a round
#: of a booster) scores that add up.
Output = Literal["soft", "hard", "scores"]
#: What turns weighted sums into probabilities; see `Roster`.
Link = Literal["mean", "slope", "softmax", "combiner"]
