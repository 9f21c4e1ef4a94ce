"""M networks at once: the layout of their weights, their outputs and their gradients."""

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


class _Layers:
    """Activation and dropout of hidden layers, and the memory of a training step."""

    def __init__(
        self, layout: Layout, activation: Activation, dropout: float, dtype: Any
    ) -> None:
        self.layout = layout
        self.activation = activation
        self.dropout = dropout
        self.buffers = Buffers(dtype)
        #: Factors of dropout in each hidden layer of the last step; empty without.
        self.kept: list[Tensor] = []

    def _activate(
        self, h: Tensor, randoms: Sequence[np.random.Generator] | None
    ) -> None:
        """Replace h by g(h) in the next hidden layer, and drop units if `randoms`."""
        if self.activation == "relu":
            # With an array of zeros NumPy takes a quarter of the time that a scalar takes.
            rows = h.reshape(len(h), -1)
            np.maximum(rows, self.buffers.zeros((1, rows.shape[1])), out=rows)
        else:
            np.tanh(h, out=h)
        if randoms is not None and self.dropout:
            kept = self.buffers.take(f"kept{len(self.kept)}", h.shape)
            self.kept.append(drop(h, kept, self.dropout, randoms))

    def _multiply_by_slope(self, back: Tensor, h: Tensor, layer: int) -> None:
        """Multiply `back` by g' of a hidden layer, from its h = g(z); overwrites h."""
        if self.kept:
            back *= self.kept[layer]
        if self.activation == "relu":
            on = self.buffers.take("on", h.shape, np.bool_)
            np.greater(h, 0.0, out=on)
            back *= on
            return
        if self.kept:  # undo the scaling; dropped units are zero in `back`
            h *= 1.0 - self.dropout
        h *= h
        np.subtract(1.0, h, out=h)
        back *= h


class SeparateLayers(_Layers):
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
        super().__init__(layout, activation, dropout, theta.dtype)
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
        """Return 1 for weights and 0 for intercepts, shape (1, P)."""
        decayed = np.ones((1, self.layout.n_parameters), dtype=np.float32)
        for W in self.layout.matrices(decayed):
            W[:, -1] = 0.0
        return decayed

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
        self.kept = []
        last = len(self.W) - 1
        for i, W in enumerate(self.W):
            a = self.inputs[-1]
            shape = (self.n_members, a.shape[1], W.shape[2])
            h = self.buffers.take(f"h{i}", shape)
            np.matmul(a, W if i == 0 else W[:, :-1], out=h)
            if i:
                h += W[:, -1:]
            if i < last:
                self._activate(h, randoms)
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
            self._multiply_by_slope(back, a, i - 1)
            D = back
        return self.gradient


class SharedLayers(_Layers):
    """M networks that share the weights of their hidden layers (Wen, Tran, Ba 2020).

        h_k = g(((x * r_k) W) * s_k + b_k),     f_k = h_k V_k + c_k

    W is the same for all members k; r_k, s_k and b_k are vectors, and the heads V_k are
    separate. A layer is one matrix product for all members. Initially r_k has random
    signs in the first layer and ones in the others, and s_k is one (Gorishniy and others
    2025).

    Parameters
    ----------
    layout : Layout
    randoms : list of Generator
        One for each member; the first one draws W.
    activation : {"relu", "tanh"}
        g.
    dropout : float
    """

    def __init__(
        self,
        layout: Layout,
        randoms: Sequence[np.random.Generator],
        activation: Activation,
        dropout: float = 0.0,
        dtype: Any = np.float32,
    ) -> None:
        super().__init__(layout, activation, dropout, dtype)
        self.n_members = len(randoms)
        self._parts = self._places()
        size = max(place.stop for place, _ in self._parts.values())
        self.theta = np.zeros((1, size), dtype)
        self.gradient = np.zeros_like(self.theta)
        self.P, self.G = self._views(self.theta), self._views(self.gradient)
        self._start(randoms)

    @property
    def _n_hidden(self) -> int:
        return len(self.layout.sizes) - 2

    def _places(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Return the position in theta and the shape of each array."""
        M, sizes = self.n_members, self.layout.sizes
        shapes: dict[str, tuple[int, ...]] = {}
        for i in range(self._n_hidden):
            a, b = sizes[i], sizes[i + 1]
            shapes |= {f"W{i}": (a, b), f"r{i}": (M, 1, a)}
            shapes |= {f"s{i}": (M, 1, b), f"b{i}": (M, 1, b)}
        shapes |= {"V": (M, sizes[-2], sizes[-1]), "c": (M, 1, sizes[-1])}
        places, start = {}, 0
        for name, shape in shapes.items():
            end = start + int(np.prod(shape))
            places[name] = slice(start, end), shape
            start = end
        return places

    def _views(self, theta: Tensor) -> dict[str, Tensor]:
        return {
            name: theta[0, place].reshape(shape)
            for name, (place, shape) in self._parts.items()
        }

    def _start(self, randoms: Sequence[np.random.Generator]) -> None:
        """Draw initial weights: W by the first member, intercepts and head by each."""
        P, n_hidden = self.P, self._n_hidden
        for k, random in enumerate(randoms):
            own = initial_weights(self.layout, random)[None]
            matrices = self.layout.matrices(own)
            for i, W in enumerate(matrices[:n_hidden]):
                if k == 0:
                    P[f"W{i}"][...] = W[0, :-1]
                P[f"b{i}"][k, 0] = W[0, -1]
                P[f"r{i}"][k] = 1.0
                P[f"s{i}"][k] = 1.0
            P["V"][k], P["c"][k, 0] = matrices[-1][0, :-1], matrices[-1][0, -1]
            signs = random.integers(0, 2, self.layout.sizes[0]) * 2.0 - 1.0
            if n_hidden:
                P["r0"][k, 0] = signs

    def decayed(self) -> Tensor:
        """Return 1 for W and the heads, 0 for adapters and intercepts."""
        mask = np.zeros_like(self.theta)
        for name, part in self._views(mask).items():
            if name[0] in "WV":
                part[...] = 1.0
        return mask

    def plain(self, theta: Tensor) -> list[Tensor]:
        """Return the matrices (M, in + 1, out) of plain networks: W * (r_k s_k')."""
        P = self._views(theta)
        matrices = []
        for i in range(self._n_hidden):
            r, s = P[f"r{i}"], P[f"s{i}"]
            W = r.swapaxes(1, 2) * P[f"W{i}"] * s
            matrices.append(np.concatenate([W, P[f"b{i}"]], axis=1))
        return [*matrices, np.concatenate([P["V"], P["c"]], axis=1)]

    def forward(
        self, X: Tensor, randoms: Sequence[np.random.Generator] | None = None
    ) -> Tensor:
        """Return the outputs, (M, B, out), of X (1, B, in + 1)."""
        h, P, M = X[:, :, :-1], self.P, self.n_members
        self.steps: list[tuple[Tensor, Tensor, Tensor]] = []
        self.kept = []
        for i in range(self._n_hidden):
            W = P[f"W{i}"]
            u = self.buffers.take(f"u{i}", (M, h.shape[1], W.shape[0]))
            np.multiply(h, P[f"r{i}"], out=u)
            z = self.buffers.take(f"z{i}", (*u.shape[:2], W.shape[1]))
            np.matmul(u.reshape(-1, len(W)), W, out=z.reshape(-1, W.shape[1]))
            self.steps.append((h, u, z))
            h = self.buffers.take(f"h{i}", z.shape)
            np.multiply(z, P[f"s{i}"], out=h)
            h += P[f"b{i}"]
            self._activate(h, randoms)
        self.last = h
        out = self.buffers.take("out", (M, h.shape[1], P["V"].shape[2]))
        np.matmul(h, P["V"], out=out)
        out += P["c"]
        return out

    def backward(self, D: Tensor) -> Tensor:
        """Return the gradient, like theta, of a loss with gradient D in the outputs."""
        P, G, h = self.P, self.G, self.last
        np.matmul(h.swapaxes(1, 2), D, out=G["V"])
        np.sum(D, axis=1, keepdims=True, out=G["c"])
        back = self.buffers.take("back", (self.n_members, *h.shape[1:]))
        np.matmul(D, P["V"].swapaxes(1, 2), out=back)
        for i in range(self._n_hidden - 1, -1, -1):
            self._multiply_by_slope(back, h, i)
            h, u, z = self.steps[i]
            W = P[f"W{i}"]
            np.sum(back, axis=1, keepdims=True, out=G[f"b{i}"])
            z *= back
            np.sum(z, axis=1, keepdims=True, out=G[f"s{i}"])
            back *= P[f"s{i}"]
            flat = back.reshape(-1, W.shape[1])
            np.matmul(u.reshape(-1, len(W)).T, flat, out=G[f"W{i}"])
            np.matmul(flat, W.T, out=u.reshape(-1, len(W)))
            back = self.buffers.take(f"back{i}", u.shape)
            np.multiply(u, h, out=back)
            np.sum(back, axis=1, keepdims=True, out=G[f"r{i}"])
            if i:
                np.multiply(u, P[f"r{i}"], out=back)
        return self.gradient
