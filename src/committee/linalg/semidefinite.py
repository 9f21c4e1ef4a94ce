"""Choose k of M: a semidefinite relaxation, and its rounding to a choice."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csc_array

from committee._install import how_to_install
from committee._typing import FloatArray, IntArray


class Relaxation(NamedTuple):
    """Solution of the relaxed programme; `bound` is at most z'Gz for any choice.

    V, (M + 1, M + 1), is nearly positive semidefinite, its diagonal nearly one.
    """

    V: FloatArray
    bound: float
    n_iter: int


def relax_choice(G: FloatArray, k: int, tol: float, max_iter: int) -> Relaxation:
    """Solve the semidefinite relaxation of min z'Gz, sum z = k, in its dual form.

        max_y,t  sum y + (2k - M) t,    S = H - Diag(y) - t T  positive semidefinite
        H = [[1'G1, 1'G], [G1, G]] / 4,   T = [[0, 1'], [1, 0]] / 2

    so that z'Gz = [1; v]'H[1; v] for v = 2z - 1, and V is the multiplier of S. For
    any (y, t) and any choice z'Gz >= sum y + (2k - M) t + (M + 1) min(eig S, 0):
    the bound holds however roughly the programme is solved.
    """
    scs = _import_scs()
    M = len(G)
    H = np.empty((M + 1, M + 1))
    H[1:, 1:] = G
    H[0, 1:] = H[1:, 0] = G.sum(axis=0)
    H[0, 0] = G.sum()
    unit = float(np.abs(H).max()) or 1.0
    H /= unit
    # SCS takes the lower triangle by columns, off the diagonal times sqrt 2.
    column, row = np.triu_indices(M + 1)
    weight = np.where(row == column, 1.0, np.sqrt(2.0))
    diagonal, border = np.flatnonzero(row == column), np.arange(1, M + 1)
    entries = np.r_[np.ones(M + 1), np.full(M, np.sqrt(0.5))]
    where = np.r_[diagonal, border], np.r_[: M + 1, np.full(M, M + 1)]
    gain = np.r_[np.ones(M + 1), 2.0 * k - M]
    solver = scs.SCS(
        {
            "A": csc_array((entries, where), shape=(len(row), M + 2)),
            "b": H[row, column] * weight,
            "c": -gain,
        },
        {"s": [M + 1]},
        eps_abs=tol,
        eps_rel=tol,
        max_iters=max_iter,
        verbose=False,
    )
    found = solver.solve()
    V = np.empty_like(H)
    V[row, column] = V[column, row] = found["y"] / weight
    x = found["x"]
    S = H - np.diag(x[:-1])
    S[0, 1:] -= x[-1] / 2
    S[1:, 0] -= x[-1] / 2
    bound = gain @ x + (M + 1) * min(float(np.linalg.eigvalsh(S)[0]), 0.0)
    return Relaxation(V, float(bound * unit / 4), int(found["info"]["iter"]))


def _import_scs() -> Any:
    """Return the solver, or raise with how to install it."""
    try:
        import scs
    except ImportError as error:
        raise ImportError(
            f"SDPPruner needs the solver SCS: {how_to_install('sdp')}."
        ) from error
    return scs


def round_choice(
    V: FloatArray, G: FloatArray, k: int, n: int, rng: np.random.RandomState
) -> IntArray:
    """Return the best of n choices by random hyperplanes, improved by exchanges."""
    values, vectors = np.linalg.eigh(V)
    U = rng.normal(size=(n, len(V))) @ (vectors * np.sqrt(values.clip(min=0.0))).T
    # Closest to the side on which the constant 1 is.
    side = U[:, 1:] * np.where(U[:, :1] < 0, -1.0, 1.0)
    Z = np.zeros((n, len(G)))
    np.put_along_axis(Z, np.argpartition(-side, k - 1, axis=1)[:, :k], 1.0, axis=1)
    z = Z[np.einsum("im,im->i", Z @ G, Z).argmin()]
    while True:
        g, d = G @ z, np.diag(G)
        out, new = np.flatnonzero(z == 1), np.flatnonzero(z == 0)
        change = (d - 2 * g)[out][:, None] + (d + 2 * g)[new] - 2 * G[np.ix_(out, new)]
        i, j = np.unravel_index(change.argmin(), change.shape)
        if change[i, j] >= -1e-12 * max(float(z @ g), 1e-300):
            return out
        z[out[i]], z[new[j]] = 0.0, 1.0
