"""Scalar Gaussian identities that stay finite far out in the tails.

Everything is vectorised and written without a division by a variance, so a variance
of exactly zero (a row on which every member abstains) needs no special case.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

Array = NDArray[np.float64]

# Below this argument r (r + z) is taken from the continued fraction: the direct
# product loses z**4 units in the last place.
_TAIL = -5.0
_FRACTION_TERMS = 24

# The share of a marginal's precision that its cavity keeps at least. Smaller shares
# are rounding: the site then holds all that is known about the projection.
_LEAST_SHARE = 1e-13


def hazard(z: Array) -> Array:
    """Return r(z) = N(z) / Phi(z), finite for every finite z.

    Examples
    --------
    >>> import numpy as np
    >>> hazard(np.array([-1e4, 0.0, 50.0])).round(4)
    array([1.0000000e+04, 7.9790000e-01, 0.0000000e+00])
    """
    return np.asarray(np.sqrt(2.0 / np.pi) / erfcx(-z / np.sqrt(2.0)))


def truncated_variance(z: Array, r: Array) -> Array:
    """Return 1 - r (r + z), the variance of a unit normal kept above -z.

    For z = -x far below zero r + z = d = 1/(x + e) with e = 2/(x + 3/(x + 4/...)),
    and 1 - r d = d (e - d) has no cancellation.
    """
    variance = 1.0 - r * (r + z)
    tail = z < _TAIL
    if tail.any():
        x = -z[tail]
        fraction = np.zeros_like(x)
        for k in range(_FRACTION_TERMS, 1, -1):
            fraction = k / (x + fraction)
        d = 1.0 / (x + fraction)
        variance[tail] = d * (fraction - d)
    return np.asarray(variance)


def cavity(mean: Array, var: Array, tau: Array, nu: Array) -> tuple[Array, Array]:
    """Remove the site (tau, nu) from the marginal N(mean, var).

    c_var = var / (1 - tau var),  c_mean = (mean - nu var) / (1 - tau var)

    which is c_tau = 1/var - tau and c_nu = mean/var - nu in natural parameters.
    """
    share = np.maximum(1.0 - tau * var, _LEAST_SHARE)
    return (mean - nu * var) / share, var / share


def log_scale(
    log_z: Array, c_mean: Array, c_var: Array, tau: Array, nu: Array
) -> Array:
    """Return log s of a site: its scale, such that it has the mass Z of its term.

    log s = log Z + 1/2 log(1 + tau c_var)
                  - 1/2 (2 c_mean nu + c_var nu^2 - c_mean^2 tau) / (1 + tau c_var)
    """
    grown = 1.0 + tau * c_var
    square = 2.0 * c_mean * nu + c_var * nu * nu - c_mean * c_mean * tau
    return np.asarray(log_z + 0.5 * np.log(grown) - 0.5 * square / grown)
