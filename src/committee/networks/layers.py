"""M networks at once: their outputs, and the gradient of their weights."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from committee.networks.layout import Layout, Tensor

Activation = Literal["relu", "tanh"]
#: Steps of the probability to drop a unit.
_LEVELS = 2**16


class Buffers:
    """Memory for the arrays of a step, taken once and used again."""

    def __init__(self, dtype: Any) -> None:
        self.dtype = dtype
        self._flat: dict[str, Tensor] = {}

    def take(self, name: str, shape: tuple[int, ...], dtype: Any = None) -> Tensor:
        """Return an array of this shape, with whatever it held before."""
        size = math.prod(shape)
        flat = self._flat.get(name)
        if flat is None or flat.size < size:
            flat = self._flat[name] = np.empty(size, dtype or self.dtype)
        return flat[:size].reshape(shape)

    def zeros(self, shape: tuple[int, ...]) -> Tensor:
        """Return zeros, which nobody writes to."""
        size = math.prod(shape)
        flat = self._flat.get("zeros")
        if flat is None or flat.size < size:
            flat = self._flat["zeros"] = np.zeros(size, self.dtype)
        return flat[:size].reshape(shape)


class SeparateLayers:
    """M networks of one layout, each with weights of its own.

        h_0 = x,   h_l = g(h_{l-1} W_l + b_l),   f = h_{L-1} W_L + b_L

    Every product is one call of batched `np.matmul`, which calls BLAS for each member:
    a member's numbers do not depend on which others are in the tensor.

    Parameters
    ----------
    layout : Layout
    theta : array of shape (M, P)
        Changed by whoever trains.
    activation : {"relu", "tanh"}
        g.
    dropout : float
        The probability that a hidden unit is left out of a training step.
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
        """Go on with some of the members."""
        self._hold(self.theta[members])

    def decayed(self) -> Tensor:
        """Return 1 for weights that decay and 0 for others, as theta broadcasts."""
        return self.layout.decayed()

    def plain(self, theta: Tensor) -> list[Tensor]:
        """Return the matrices (M, in + 1, out) of networks with these weights."""
        return self.layout.matrices(theta)

    def forward(
        self, X: Tensor, randoms: Sequence[np.random.Generator] | None = None
    ) -> Tensor:
        """Return the outputs, (M, B, out).

        X has shape (M, B, in + 1), or (1, B, in + 1) where all see the same rows; its
        last column is one. With `randoms`, one for each member, units are dropped.
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
            # An outer product is quicker than BLAS with one column.
            (np.multiply if D.shape[2] == 1 else np.matmul)(D, W_t, out=back)
            kept = self.kept[i - 1] if self.kept else None
            slope(back, a, self.activation, kept, self.dropout, self.buffers)
            D = back
        return self.gradient


def activate(h: Tensor, activation: Activation, buffers: Buffers) -> None:
    """Replace h by g(h)."""
    if activation == "relu":
        # With an array of zeros NumPy takes a quarter of the time it takes with a zero.
        rows = h.reshape(len(h), -1)
        np.maximum(rows, buffers.zeros((1, rows.shape[1])), out=rows)
    else:
        np.tanh(h, out=h)


def drop(
    h: Tensor, kept: Tensor, p: float, randoms: Sequence[np.random.Generator]
) -> Tensor:
    """Set units to zero with probability p, and scale the others by 1 / (1 - p).

    Returns `kept`, filled with what h was multiplied by. Every member draws 16 bits for
    a unit: p is rounded to them.
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
    """Multiply `back` by g', which is known from the value h of g; h is used up."""
    if kept is not None:
        back *= kept
    if activation == "relu":
        on = buffers.take("on", h.shape, np.bool_)
        np.greater(h, 0.0, out=on)
        back *= on
        return
    if kept is not None:  # the value before it was scaled; zeros are zero in `back`
        h *= 1.0 - p
    h *= h
    np.subtract(1.0, h, out=h)
    back *= h
