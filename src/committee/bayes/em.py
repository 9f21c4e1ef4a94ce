"""EM pruning: non-negative weights at a mode, their precisions integrated out.

With p(alpha_i) ~ 1/alpha_i the prior of a weight is p(w_i) ~ 1/w_i, and EM climbs

    J(w) = log p(y | w, noise) - 1/2 sum_i log(w_i^2 + eps_i^2)

where eps_i, a hundred-millionth of a weight's natural size 1/sqrt(L_ii), makes J
finite. A member that reaches zero stays there. J has many local maxima, w = 0 among
them: which of them EM finds depends on where it starts (Chen, Tino and Yao, 2006).
"""

from __future__ import annotations

from typing import Literal, NamedTuple

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray
from committee.bayes.em_models import Gaussian, Model, Probit
from committee.ep.arrays import in_units, signed_scale
from committee.ep.targets import Moments
from committee.linalg import solve_nnqp

#: Where to begin: weights of all members, or the name of a rule.
Start = FloatArray | Literal["equal", "least-squares"]
# In units of 1/sqrt(L_ii): a maximum has no weight below one of these units, or
# below 1e-5 where the noise has sunk to its floor.
_VANISHED = 1e-7
_EPS = 1e-8


class EMFit(NamedTuple):
    """Where EM has arrived.

    Attributes
    ----------
    weights : array of shape (M,)
        Never negative, exactly zero for members that were dropped.
    noise : float
        Noise variance of y; 1, the latent noise, for votes.
    objective : array of shape (n_iter,)
        J after each iteration; it never falls.
    n_iter : int
    converged : bool
    change : float
        The last change of a weight, relative to the largest weight.
    """

    weights: FloatArray
    noise: float
    objective: FloatArray
    n_iter: int
    converged: bool
    change: float


def fit_gaussian(
    moments: Moments, start: Start = "equal", *, max_iter: int = 500, tol: float = 1e-6
) -> EMFit:
    """Climb to a mode of non-negative weights under Gaussian noise.

        E-step:  alpha_i = 1 / w_i^2
        M-step:  min 1/2 w'(G / noise + diag alpha) w - w'g / noise,   w >= 0
                 noise = ||y - F w||^2 / N

    Parameters
    ----------
    moments : Moments
        From `committee.ep.row_moments` or its relatives.
    start : {"equal", "least-squares"} or array of shape (M,)
        Weights >= 0 to begin with; zeros stay zero. "equal" is the one multiple of
        the sum of all members that fits best, "least-squares" the best non-negative
        fit. The start decides which local maximum is found.
    max_iter : int
    tol : float
        Change of a weight, relative to the largest, that ends the iteration.

    Returns
    -------
    EMFit

    Examples
    --------
    >>> import numpy as np
    >>> from committee.ep import row_moments
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 4)) * [0.3, 0.3, 3.0, 3.0]
    >>> np.flatnonzero(fit_gaussian(row_moments(F, y)).weights).tolist()
    [0, 1]
    """
    model = Gaussian(moments)
    first = _first_weights(start, moments.G, moments.g, moments.unit)
    if isinstance(start, str) and start == "equal":
        explained, square = first @ moments.g, first @ moments.G @ first
        first *= explained / square if explained > 0.0 else 1.0 / len(first)
    fit = _climb(model, first, max_iter, tol)
    noise = float(in_units(model.noise, moments.y_scale, moments.y_scale))
    return fit._replace(weights=in_units(fit.weights, moments.unit), noise=noise)


def fit_probit(
    S: FloatArray,
    start: Start = "equal",
    *,
    sample_weight: FloatArray | None = None,
    max_iter: int = 500,
    tol: float = 1e-6,
) -> EMFit:
    """Climb to a mode of non-negative weights of probit votes.

        E-step:  alpha_i = 1 / w_i^2,   the latent mean z_n = w'S_n + r(w'S_n)
        M-step:  min 1/2 w'(S'S + diag alpha) w - w'S'z,   w >= 0

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows y_n F_n; 0 is an abstention.
    start : {"equal", "least-squares"} or array of shape (M,)
        As in `fit_gaussian`, but "equal" is a weight of one for every member, the
        standard deviation of the latent noise: from much smaller ones all vanish.
    sample_weight : array of shape (N,), optional
        Powers of the terms.
    max_iter, tol
        As in `fit_gaussian`.

    Returns
    -------
    EMFit

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> S = np.where(rng.random((300, 3)) < [0.9, 0.5, 0.5], 1.0, -1.0)
    >>> np.flatnonzero(fit_probit(S).weights).tolist()
    [0]
    """
    S, scale = signed_scale(S)
    model = Probit(S, sample_weight)
    first = _first_weights(start, model.L, model.weight @ model.S, 1.0 / scale)
    fit = _climb(model, first, max_iter, tol)
    return fit._replace(weights=in_units(fit.weights, 1.0 / scale))


def _first_weights(
    start: Start, G: FloatArray, g: FloatArray, unit: FloatArray
) -> FloatArray:
    """Return the start in units of the model; "equal" weights are at most one."""
    if not isinstance(start, str):
        return in_units(start, 1.0 / unit)
    if start == "equal":
        return np.asarray(unit.min() / unit)
    # Equal members share equally, and silent ones get nothing.
    ridge = np.maximum(1e-10 * G.diagonal(), 1e-16 * G.diagonal().max() or 1.0)
    return solve_nnqp(G + np.diag(ridge), g)


def _climb(model: Model, start: FloatArray, max_iter: int, tol: float) -> EMFit:
    """Alternate both steps until no weight moves; drop the weights that vanish."""
    L, h = model.at_zero()
    root = np.sqrt(L)
    silent = root == 0.0
    eps = _EPS / np.where(silent, 1.0, root)
    w = np.where(root * start > _VANISHED, start, 0.0)
    model.adapt(w)
    objective, change = [], 0.0
    for _ in range(max_iter):
        active = np.flatnonzero(w)
        if len(active) == 0:
            break
        new = np.zeros_like(w)
        alpha = 1.0 / (w[active] ** 2 + eps[active] ** 2)
        with one_thread():
            new[active] = model.maximise(active, w[active], alpha)
        new[root * new <= _VANISHED] = 0.0
        model.adapt(new)
        penalty = 0.5 * float(np.log(new**2 + eps**2).sum())
        objective.append(model.log_likelihood(new) - penalty)
        change = float(np.abs(new - w).max() / max(new.max(), eps.min()))
        w = new
        if change <= tol:
            break
    converged = not w.any() or change <= tol
    if not w.any():
        w = _best_single(np.where(silent, 1.0, L), np.where(silent, -np.inf, h))
        model.adapt(w)
    return EMFit(w, 1.0, np.array(objective), len(objective), converged, change)


def _best_single(L: FloatArray, h: FloatArray) -> FloatArray:
    """Return the weight of the best member alone, where none is left.

    Its likelihood's maximum h / L, but at least the least weight of a mode, 1/sqrt(L).
    """
    w = np.zeros_like(L)
    best = int(np.argmax(h / np.sqrt(L)))
    w[best] = max(float(h[best] / L[best]), float(1.0 / np.sqrt(L[best])))
    return w
