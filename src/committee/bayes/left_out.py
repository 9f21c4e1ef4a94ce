"""Leave-one-out estimates from draws of the weights, by importance sampling.

    p(w | y without case n) ~ p(w | y) / p(y_n | w):    r_sn = 1 / p(y_n | w_s)

so that sums over the draws s with weights r_sn are those of a posterior that has not
seen case n. Ratios above sqrt(S) times their mean are cut off there, so that no single
draw decides (Ionides, 2008). A case of weight s is left out once, or as a whole where
s < 1, as in `committee.ep.loo`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import log_ndtr, logsumexp

from committee._typing import FloatArray
from committee.ep.arrays import in_units
from committee.ep.loo import LeaveOneOut, Loss, vote_loo

# Numbers in a table of draws by rows: 16 MB.
_ELEMENTS = 2_000_000


def votes_left_out(
    draws: FloatArray,
    S: FloatArray,
    *,
    weight: FloatArray | None = None,
    group: int = 1,
) -> LeaveOneOut:
    """LooScore probit votes without each case, of `group` consecutive rows.

    draws (n, a) are weights of the columns of S (N, a), the signed rows y_n F_n.
    """
    mean, var, density = np.empty(len(S)), np.empty(len(S)), np.empty(len(S))
    for rows in _blocks(len(draws), len(S), group):
        z = draws @ S[rows].T
        log_p = log_ndtr(z)
        ratio = _ratios(log_p, weight, rows, group)
        mean[rows], var[rows] = _moments(ratio, z)
        density[rows] = logsumexp(log_p, b=ratio, axis=0)
    return vote_loo(mean, var, density, weight, group)


def targets_left_out(
    draws: FloatArray,
    F: FloatArray,
    y: FloatArray,
    noise: float,
    *,
    y_scale: float = 1.0,
    weight: FloatArray | None = None,
    loss: Loss | None = None,
) -> LeaveOneOut:
    """LooScore Gaussian rows, each left out.

    draws (n, a) are weights of the columns of F (N, a). All is in units of `y_scale`,
    the result is not; `loss` as in `residual_loo`.
    """
    mean, var, density = np.empty(len(y)), np.empty(len(y)), np.empty(len(y))
    for rows in _blocks(len(draws), len(y), 1):
        z = draws @ F[rows].T
        log_p = -0.5 * (np.log(2.0 * np.pi * noise) + (y[rows] - z) ** 2 / noise)
        ratio = _ratios(log_p, weight, rows, 1)
        mean[rows], var[rows] = _moments(ratio, z)
        density[rows] = logsumexp(log_p, b=ratio, axis=0)
    outside = in_units(mean, y_scale)
    squares = in_units((y - mean) ** 2, y_scale, y_scale)
    losses = squares if loss is None else loss(outside)
    group = len(y) // len(losses)
    return LeaveOneOut(
        mean=outside,
        var=in_units(var, y_scale, y_scale),
        loss=losses,
        log_density=(density - np.log(y_scale)).reshape(-1, group).sum(axis=1),
        weight=None if weight is None else weight[::group],
    )


def _blocks(n_draws: int, n_rows: int, group: int) -> Iterator[slice]:
    """Split rows into blocks of whole cases."""
    size = group * max(1, _ELEMENTS // n_draws // group)
    for start in range(0, n_rows, size):
        yield slice(start, min(start + size, n_rows))


def _ratios(
    log_p: FloatArray, weight: FloatArray | None, rows: slice, group: int
) -> FloatArray:
    """Return the weights of the draws without each row's case, (n, rows), of sum one."""
    n = len(log_p)
    log_r = -log_p.reshape(n, -1, group).sum(axis=2)
    if weight is not None:
        log_r = log_r * np.minimum(weight[rows][::group], 1.0)
    ratio = np.exp(log_r - log_r.max(axis=0))
    ratio = np.minimum(ratio, np.sqrt(n) * ratio.mean(axis=0))
    return np.repeat(ratio / ratio.sum(axis=0), group, axis=1)


def _moments(ratio: FloatArray, z: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and variance of each column of z under the weights."""
    mean = np.sum(ratio * z, axis=0)
    return mean, np.sum(ratio * (z - mean) ** 2, axis=0)
