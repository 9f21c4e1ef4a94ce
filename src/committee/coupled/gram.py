"""Kernel expansions, in blocks of rows, and the blocks of the coupled system of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from scipy.linalg.blas import dsyrk

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.kernels import Kernel

#: Blocks of this size gain from a second BLAS thread; small ones may lose tenfold.
_MANY_ROWS = 1500

Topology = Literal["ring", "chain"]
Key = TypeVar("Key")


@dataclass(frozen=True)
class Layout:
    """Supports and couplings of q submodels.

    Attributes
    ----------
    n_members : int
        q.
    topology : {"ring", "chain"}
        A chain lacks the coupling between the last and the first submodel; the
        supports are circular in both.
    overlap : bool
        Whether S_j = (D_{j-1}, D_j, D_{j+1}), each subset once, or S_j = D_j.
    """

    n_members: int
    topology: Topology = "ring"
    overlap: bool = True

    def support(self, j: int) -> tuple[int, ...]:
        """Return the subsets that make up S_j."""
        if not self.overlap:
            return (j,)
        q = self.n_members
        return tuple(dict.fromkeys(((j - 1) % q, j, (j + 1) % q)))

    @cached_property
    def edges(self) -> list[tuple[int, int]]:
        """The coupled pairs; two submodels have one edge also in a ring."""
        q = self.n_members
        pairs = [(j, j + 1) for j in range(q - 1)]
        return [*pairs, (q - 1, 0)] if self.topology == "ring" and q > 2 else pairs

    @cached_property
    def degrees(self) -> IntArray:
        """n_j, the number of submodels that j is coupled with."""
        ends = np.array(self.edges, dtype=np.intp).reshape(-1)
        return np.bincount(ends, minlength=self.n_members)


class _Recent(dict[Key, FloatArray]):
    """Blocks by key; only the most recent are kept."""

    def __init__(self, limit: int | None) -> None:
        super().__init__()
        self.limit = limit

    def get_or_make(self, key: Key, make: Callable[[], FloatArray]) -> FloatArray:
        """Return a block; of those that were not used lately, drop the oldest."""
        # A dict keeps its order of insertion: putting it back makes it the newest.
        found = self.pop(key, None)
        self[key] = make() if found is None else found
        if self.limit is not None and len(self) > self.limit:
            del self[next(iter(self))]
        return self[key]


class GramBlocks:
    """Kernel blocks of the subsets, and the blocks of the system made of them.

        H_j = Kt_j'Kt_j + alpha I + n_j nu Kc_j'Kc_j,    A_{j,k} = -nu Kc_j'Kc_k

    with Kt_j = k(D_j, S_j) and Kc_j = k(X_c, S_j). All coupling blocks are made of
    the pair products k(X_c, D_i)'k(X_c, D_k), four new ones for each subset.

    Parameters
    ----------
    kernel : Kernel
    X : array of shape (N, d)
    subsets : list of arrays of row numbers
        D_j, disjoint.
    X_coupling : array of shape (n_c, d)
    layout : Layout
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    keep : bool
        Keep every block, to solve for several alpha and coupling; otherwise a
        window of the most recent.
    """

    def __init__(
        self,
        kernel: Kernel,
        X: FloatArray,
        subsets: Sequence[IntArray],
        X_coupling: FloatArray,
        layout: Layout,
        *,
        sample_weight: FloatArray | None = None,
        keep: bool = False,
    ) -> None:
        self.kernel, self.X, self.subsets = kernel, X, subsets
        self.X_coupling, self.layout = X_coupling, layout
        self.sample_weight = sample_weight
        # Two neighbouring block rows need four subsets and their ten pairs.
        self._training: _Recent[int] = _Recent(None if keep else 1)
        self._coupling: _Recent[int] = _Recent(None if keep else 4)
        self._pairs: _Recent[tuple[int, int]] = _Recent(None if keep else 16)

    def support_rows(self, j: int) -> IntArray:
        """Return the row numbers of S_j, in the order of the coefficients."""
        return np.concatenate([self.subsets[i] for i in self.layout.support(j)])

    def training(self, j: int) -> FloatArray:
        """Return Kt_j; with sample weights, rows times sqrt(s)."""
        return self._training.get_or_make(j, lambda: self._make_training(j))

    def coupling(self, i: int) -> FloatArray:
        """Return k(X_c, D_i)."""
        return self._coupling.get_or_make(
            i, lambda: self.kernel(self.X_coupling, self.X[self.subsets[i]])
        )

    def right_side(self, j: int, Y: FloatArray) -> FloatArray:
        """Return Kt_j' y_j, (m_j, T)."""
        return self.training(j).T @ (Y[self.subsets[j]] * self._roots(j)[:, None])

    def diagonal(self, j: int, alpha: float, nu: float) -> FloatArray:
        """Return H_j, of which only the lower triangle is complete."""
        H = self.products(j, j, nu * float(self.layout.degrees[j]))
        # In place: H is the largest array of the elimination.
        H = dsyrk(1.0, self.training(j), 1.0, H, trans=1, lower=1, overwrite_c=1)
        H[np.diag_indices_from(H)] += alpha
        return H  # type: ignore[no-any-return]

    def products(self, j: int, k: int, factor: float) -> FloatArray:
        """Return factor Kc_j'Kc_k; for j = k only the blocks of the lower triangle."""
        rows, columns = self.layout.support(j), self.layout.support(k)
        at = _offsets([len(self.subsets[i]) for i in rows])
        across = _offsets([len(self.subsets[i]) for i in columns])
        G = np.zeros((at[-1], across[-1]), order="F")
        if factor == 0.0:
            return G
        for a, i in enumerate(rows):
            for b, k_b in enumerate(columns[: a + 1] if j == k else columns):
                part = G[at[a] : at[a + 1], across[b] : across[b + 1]]
                np.multiply(self._pair(i, k_b), factor, out=part)
        return G

    def _pair(self, i: int, k: int) -> FloatArray:
        """Return k(X_c, D_i)'k(X_c, D_k), in Fortran order as the system's blocks."""
        if i < k:
            return self._pair(k, i).T
        return self._pairs.get_or_make(
            (i, k), lambda: (self.coupling(k).T @ self.coupling(i)).T
        )

    def _make_training(self, j: int) -> FloatArray:
        K = self.kernel(self.X[self.subsets[j]], self.X[self.support_rows(j)])
        return K * self._roots(j)[:, None] if self.sample_weight is not None else K

    def _roots(self, j: int) -> FloatArray:
        if self.sample_weight is None:
            return np.ones(len(self.subsets[j]))
        return np.sqrt(self.sample_weight[self.subsets[j]])


def _offsets(sizes: Sequence[int]) -> IntArray:
    """Return where parts of the given sizes begin and end."""
    return np.concatenate([[0], np.cumsum(sizes)]).astype(np.intp)


def threads_for(size: int) -> AbstractContextManager[Any]:
    """Return a context with one BLAS thread, or with all where blocks are large."""
    return one_thread() if size < _MANY_ROWS else nullcontext()


#: Entries of the largest array of member outputs while predicting: 32 MB.
_BLOCK_ENTRIES = 2**22
#: Points and rows of a Gram block: one that stays in the cache takes half the time.
_GRAM_POINTS, _GRAM_ROWS = 512, 256


@dataclass(frozen=True)
class KernelMember:
    """A fitted submodel, f_j(x) = sum_n a_n k(x_n, x).

    Attributes
    ----------
    kernel : Kernel
    X : array of shape (N, d)
        The training rows, shared by all members.
    rows : array of row numbers
        S_j.
    coef : array of shape (m,) or (m, T)
        a_j.
    """

    kernel: Kernel
    X: FloatArray
    rows: IntArray
    coef: FloatArray

    @property
    def columns(self) -> FloatArray:
        """The coefficients as (m, T), also for a single target."""
        return self.coef.reshape(len(self.coef), -1)

    def predict(self, X: FloatArray) -> FloatArray:
        """Return f_j of X, (N, d), shaped (N,) or (N, T)."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.X.shape[1]:
            raise ValueError(
                f"X must have {self.X.shape[1]} columns. Got shape {X.shape}."
            )
        return evaluate(self.kernel, X, self.X[self.rows], self.coef)


def evaluate(
    kernel: Kernel, X: FloatArray, points: FloatArray, coef: FloatArray
) -> FloatArray:
    """Return k(X, points) coef, (N,) or (N, T), for coef (m,) or (m, T).

    No more than a block of the Gram matrix is in memory.
    """
    f = np.zeros((len(X), *coef.shape[1:]))
    for start in range(0, len(points), _GRAM_POINTS):
        part = slice(start, start + _GRAM_POINTS)
        # Few points leave room for more rows.
        n_rows = _GRAM_ROWS * _GRAM_POINTS // len(points[part])
        for first in range(0, len(X), n_rows):
            rows = slice(first, first + n_rows)
            f[rows] += kernel(X[rows], points[part]) @ coef[part]
    return f


def member_outputs(
    members: Sequence[KernelMember],
    X: FloatArray,
    subsets: Sequence[IntArray],
    layout: Layout,
    wanted: Sequence[int] | IntArray,
) -> FloatArray:
    """Return the outputs of the wanted submodels on the rows of X, (N, len(wanted), T).

    Every kernel block k(X, D_i) is made once and serves the three submodels that
    have D_i in their support.
    """
    shares: dict[int, list[tuple[int, FloatArray]]] = {}
    for position, j in enumerate(wanted):
        start = 0
        for i in layout.support(j):
            stop = start + len(subsets[i])
            part = members[j].columns[start:stop]
            shares.setdefault(i, []).append((position, part))
            start = stop
    one = members[wanted[0]]
    kernel, X_fit, T = one.kernel, one.X, one.columns.shape[1]
    f = np.zeros((len(X), len(wanted), T))
    for i, parts in shares.items():
        coef = np.concatenate([part for _, part in parts], axis=1)
        values = evaluate(kernel, X, X_fit[subsets[i]], coef)
        for position, (at, _) in enumerate(parts):
            f[:, at] += values[:, position * T : (position + 1) * T]
    return f


def collapse(
    members: Sequence[KernelMember], weights: FloatArray
) -> tuple[IntArray, FloatArray]:
    """Return sum_j w_j f_j as one expansion: row numbers and coefficients (n, T).

    The rows are those in the support of a member with a nonzero weight.
    """
    support = np.flatnonzero(weights)
    X, T = members[0].X, members[0].columns.shape[1]
    total = np.zeros((len(X), T))
    used = np.zeros(len(X), dtype=bool)
    for j in support.tolist():
        total[members[j].rows] += weights[j] * members[j].columns
        used[members[j].rows] = True
    rows = np.flatnonzero(used)
    return rows, total[rows]


def in_blocks(
    X: FloatArray, n_columns: int, f: Callable[[FloatArray], FloatArray]
) -> FloatArray:
    """Return f of all rows, called with blocks that make bounded arrays (n, columns)."""
    step = max(1, _BLOCK_ENTRIES // max(1, n_columns))
    return np.concatenate([f(X[i : i + step]) for i in range(0, len(X), step)])
