"""Networks that share their hidden layers, with a small adapter for each member."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee.networks.layers import (
    Activation,
    Buffers,
    Layout,
    Tensor,
    activate,
    drop,
    initial_weights,
    slope,
)


class SharedLayers:
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
        self.layout = layout
        self.activation = activation
        self.dropout = dropout
        self.n_members = len(randoms)
        self.buffers = Buffers(dtype)
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
        self.kept: list[Tensor] = []
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
            activate(h, self.activation, self.buffers)
            if randoms is not None and self.dropout:
                kept = self.buffers.take(f"kept{i}", h.shape)
                self.kept.append(drop(h, kept, self.dropout, randoms))
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
            kept = self.kept[i] if self.kept else None
            slope(back, h, self.activation, kept, self.dropout, self.buffers)
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
