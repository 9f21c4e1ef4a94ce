"""All weights of a network in one row of numbers, and the matrices in it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

#: Arrays in single precision while networks are trained, in double in the oracles.
Tensor = npt.NDArray[Any]


@dataclass(frozen=True)
class Layout:
    """Where the matrices of a network lie in its row of P weights.

    Layer l has W_l of shape (in + 1, out); its last row are the intercepts.
    """

    #: Columns of X, hidden units of each layer, outputs.
    sizes: tuple[int, ...]

    @property
    def shapes(self) -> list[tuple[int, int]]:
        """(in + 1, out) of every layer."""
        return [(a + 1, b) for a, b in pairwise(self.sizes)]

    @property
    def n_parameters(self) -> int:
        """P."""
        return sum(a * b for a, b in self.shapes)

    def matrices(self, theta: Tensor) -> list[Tensor]:
        """Return views of theta (M, P) as matrices (M, in + 1, out).

        They lie there transposed: BLAS makes the gradient of few columns quicker so.
        """
        ends = np.cumsum([0, *(a * b for a, b in self.shapes)])
        return [
            theta[:, start:end].reshape(len(theta), *shape[::-1]).swapaxes(1, 2)
            for start, end, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]

    def decayed(self) -> Tensor:
        """Return 1 for weights and 0 for intercepts, (P,)."""
        ones = np.ones((1, self.n_parameters), dtype=np.float32)
        for W in self.matrices(ones):
            W[:, -1] = 0.0
        decayed: Tensor = ones[0]
        return decayed


def initial_weights(layout: Layout, random: np.random.Generator) -> Tensor:
    """Return the first weights of one network, (P,), uniform as scikit-learn's.

    |W| <= sqrt(6 / (in + out))     (Glorot and Bengio 2010), intercepts too
    """
    parts: Sequence[Tensor] = [
        random.uniform(-1.0, 1.0, rows * out) * np.sqrt(6.0 / (rows - 1 + out))
        for rows, out in layout.shapes
    ]
    return np.concatenate(parts).astype(np.float32)
