"""M networks at once: where their weights lie, their outputs and their gradients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

#: Single precision in training, double precision in the tests' oracles.
Tensor = npt.NDArray[Any]
Activation = Literal["relu", "tanh"]
#: Resolution of the dropout probability.
_LEVELS = 2**16


@dataclass(frozen=True)
class Layout:
    """Positions of a network's matrices in its row of P weights.

    Layer l has W_l of shape (in + 1, out); the last row holds the intercepts.
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

        They are stored transposed, because BLAS then computes gradients of few columns faster.
        """
        ends = np.cumsum([0, *(a * b for a, b in self.shapes)])
        return [
            theta[:, start:end].reshape(len(theta), *shape[::-1]).swapaxes(1, 2)
            for start, end, shape in zip(ends[:-1], ends[1:], self.shapes, strict=True)
        ]

    def decayed(self) -> Tensor:
        """Return 1 for weights and 0 for intercepts, shape (P,)."""
        ones = np.ones((1, self.n_parameters), dtype=np.float32)
        for W in self.matrices(ones):
            W[:, -1] = 0.0
        decayed: Tensor = ones[0]
        return decayed


def initial_weights(layout: Layout, random: np.random.Generator) -> Tensor:
    """Return initial weights (P,) of one network, uniform as in scikit-learn.

    |W| <= sqrt(6 / (in + out))     (Glorot and Bengio 2010), also for intercepts
    """
    parts: Sequence[Tensor] = [
        random.uniform(-1.0, 1.0, rows * out) * np.sqrt(6.0 / (rows - 1 + out))
        for rows, out in layout.shapes
    ]
    return np.concatenate(parts).astype(np.float32)


class Buffers:
    """Memory for the arrays of a step, allocated once and reused."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self._flat: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        """Return an uninitialised array of this shape."""
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.size < size:
            flat = self._flat[name] = np.empty(size, dtype or self.dtype)
        return flat[:size].reshape(shape)

    def zeros(self, shape: tuple[int, ...]) -> Tensor:
        """Return zeros; the caller must not write to them."""
        size = math.prod(shape)
        flat = self._flat.get("zeros")
        if flat is None or flat.size < size:
            flat = self._flat["zeros"] = np.zeros(size, self.dtype)
        return flat[:size].reshape(shape)


class SeparateLayers:
    """M networks of one layout, each with its own weights.

        h_0 = x,   h_l = g(h_{l-1} W_l + b_l),   f = h_{L-1} W_L + b_L

    Every product is one call of batched `np.matmul`, which calls BLAS once for each
    member, so the results of a member do not depend on the others in the tensor.

    Parameters
    ----------
    layout : Layout
    theta : array of shape (M, P)
        The training changes it in place.
    activation : {"relu", "tanh"}
        g.
    dropout : float
        Probability that a hidden unit is dropped in a training step.
    """

    def __init__(
        self,
        layout: Layout,
        theta: Tensor,
        activation: Activation,
        dropout: float = 0.0,
    ) -> None:
        self.layout = layout
        self.activation = activation
        self.dropout = dropout
        self.buffers = Buffers(theta.dtype)
        self._hold(theta)

    @property
    def n_members(self) -> int:
        """M."""
        return len(self.theta)

    def _hold(self, theta: Tensor) -> None:
        self.theta = theta
        self.gradient = np.empty_like(theta)
        self.W = self.layout.matrices(theta)
        self.G = self.layout.matrices(self.gradient)

    def keep(self, members: Any) -> None:
        """Drop all members but these."""
        self._hold(self.theta[members])

    def decayed(self) -> Tensor:
        """Return 1 for weights that decay and 0 for others; it broadcasts to theta."""
        return self.layout.decayed()

    def plain(self, theta: Tensor) -> list[Tensor]:
        """Return the matrices (M, in + 1, out) of networks with these weights."""
        return self.layout.matrices(theta)

    def forward(
        self, X: Tensor, randoms: Sequence[np.random.Generator] | None = None
    ) -> Tensor:
        """Return the outputs, (M, B, out).

        X has shape (M, B, in + 1), or (1, B, in + 1) if all members get the same rows;
        its last column is one. Units are dropped if `randoms`, one for each member, are
        given.
        """
        self.inputs = [X]
        self.kept: list[Tensor] = []
        last = len(self.W) - 1
        for i, W in enumerate(self.W):
            a = self.inputs[-1]
            shape = (self.n_members, a.shape[1], W.shape[2])
            h = self.buffers.take(f"h{i}", shape)
            np.matmul(a, W if i == 0 else W[:, :-1], out=h)
            if i:
                h += W[:, -1:]
            if i < last:
                activate(h, self.activation, self.buffers)
                if randoms is not None and self.dropout:
                    kept = self.buffers.take(f"kept{i}", h.shape)
                    self.kept.append(drop(h, kept, self.dropout, randoms))
                self.inputs.append(h)
        return h

    def backward(self, D: Tensor) -> Tensor:
        """Return the gradient (M, P) of a loss with gradient D in the last outputs.

        dW_l = h_{l-1}' D_l,   D_{l-1} = (D_l W_l') * g'
        """
        for i in range(len(self.W) - 1, -1, -1):
            a, W, G = self.inputs[i], self.W[i], self.G[i]
            if i == 0:
                np.matmul(a.swapaxes(1, 2), D, out=G)
                break
            np.matmul(a.swapaxes(1, 2), D, out=G[:, :-1])
            np.sum(D, axis=1, out=G[:, -1])
            back = self.buffers.take(f"d{i}", a.shape)
            W_t = W[:, :-1].swapaxes(1, 2)
            # An outer product is faster than BLAS with one column.
            (np.multiply if D.shape[2] == 1 else np.matmul)(D, W_t, out=back)
            kept = self.kept[i - 1] if self.kept else None
            slope(back, a, self.activation, kept, self.dropout, self.buffers)
            D = back
        return self.gradient


def activate(h: Tensor, activation: Activation, buffers: Buffers) -> None:
    """Replace h by g(h)."""
    if activation == "relu":
        # With an array of zeros NumPy takes a quarter of the time that a scalar takes.
        rows = h.reshape(len(h), -1)
        np.maximum(rows, buffers.zeros((1, rows.shape[1])), out=rows)
    else:
        np.tanh(h, out=h)


def drop(
    h: Tensor, kept: Tensor, p: float, randoms: Sequence[np.random.Generator]
) -> Tensor:
    """Set units to zero with probability p, and scale the others by 1 / (1 - p).

    Returns `kept`, filled with the factors of h. Every member draws 16 bits for a unit,
    so p is rounded to 16 bits.
    """
    n = int(np.prod(h.shape[1:]))
    for row, random in zip(kept, randoms, strict=True):
        drawn = np.frombuffer(random.bytes(2 * n), dtype=np.uint16)
        row[...] = drawn.reshape(row.shape) >= round(p * _LEVELS)
    kept *= 1.0 / (1.0 - p)
    h *= kept
    return kept


def slope(
    back: Tensor,
    h: Tensor,
    activation: Activation,
    kept: Tensor | None,
    p: float,
    buffers: Buffers,
) -> None:
    """Multiply `back` by g', computed from the value h = g(z); overwrites h."""
    if kept is not None:
        back *= kept
    if activation == "relu":
        on = buffers.take("on", h.shape, np.bool_)
        np.greater(h, 0.0, out=on)
        back *= on
        return
    if kept is not None:  # undo the scaling; dropped units are zero in `back`
        h *= 1.0 - p
    h *= h
    np.subtract(1.0, h, out=h)
    back *= h
