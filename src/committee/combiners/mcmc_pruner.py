"""Samples of the exact posterior of EP's committee, to check EP by."""

from __future__ import annotations

import warnings
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import Interval, StrOptions
from committee.bayes import (
    effective_sample_size,
    sample_probit,
    sample_truncated,
    split_r_hat,
)
from committee.combiners.base import Combiner, for_all
from committee.combiners.ep_pruner import EPPruner
from committee.combiners.likelihoods import (
    gaussian_moments,
    scaled_to_one,
    signed_rows,
)
from committee.combiners.problem import Problem
from committee.ep import PathStep
from committee.ep.arrays import in_units, inner_precision, signed_scale

#: Chains have met below this R-hat.
_R_HAT = 1.05


class MCMCPruner(Combiner):
    """Sample the exact posterior of the committee that EP chooses.

        p(w | y) ~ p(y | w, noise) prod_i N(w_i | 0, 1/alpha_i) [w_i > 0]

    Members, alpha and noise are those of an `EPPruner`; its Gaussian approximation of
    the posterior is replaced by samples (Chen, Tino and Yao 3.7). The difference of
    `weights_` and `ep_.weights_` is the error of EP, that of its early stop, and that
    of the sampling: the standard deviation of a weight over sqrt(`ess_`). Chains follow
    closed-form Hamiltonian paths that bounce off zero (see `committee.bayes.gibbs`).

    Parameters
    ----------
    n_samples : int, default=1000
        Draws that each chain keeps.
    n_chains : int, default=4
        Chains, from different starts; they run side by side.
    n_warmup : int, default=200
        Draws of each chain before those that are kept.
    max_members : int, optional
    rule : {"min-loo", "max-evidence", "one-se"}, default="min-loo"
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        As in `EPPruner`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    weights_ : array of shape (M,)
        Posterior means; positive for EP's members, zero for all others.
    support_ : array of shape (a,)
        The members of EP's committee.
    samples_ : array of shape (n_chains, n_samples, a)
        Weights of the members in `support_`.
    ess_ : array of shape (a,)
        Effective sample size: how many independent draws each mean is worth.
    r_hat_ : array of shape (a,)
        Rank-normalised split R-hat: one where the chains agree.
    converged_ : bool
        Whether all R-hat are at most 1.05; a warning is given otherwise.
    ep_ : EPPruner
        The EP solution, fitted.

    References
    ----------
    A. Pakman, L. Paninski. Exact Hamiltonian Monte Carlo for truncated multivariate
    Gaussians. Journal of Computational and Graphical Statistics 23(2), 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import MCMCPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.3, 0.3, [3.0] * 8]
    >>> mcmc = MCMCPruner(max_members=2, random_state=0).fit(F, y)
    >>> mcmc.support_.tolist(), mcmc.samples_.shape
    ([0, 1], (4, 1000, 2))
    >>> bool(np.abs(mcmc.weights_ - mcmc.ep_.weights_).max() < 0.01)
    True
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_samples": [Interval(Integral, 4, None, closed="left")],
        "n_chains": [Interval(Integral, 1, None, closed="left")],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "max_members": [None, Interval(Integral, 1, None, closed="left")],
        "rule": [StrOptions({"min-loo", "max-evidence", "one-se"})],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "random_state": ["random_state"],
    }

    needs_all: ClassVar[str] = "draws its samples from all rows"
    samples_: FloatArray
    ess_: FloatArray
    r_hat_: FloatArray
    converged_: bool
    ep_: EPPruner

    def __init__(
        self,
        *,
        n_samples: int = 1000,
        n_chains: int = 4,
        n_warmup: int = 200,
        max_members: int | None = None,
        rule: str = "min-loo",
        likelihood: str = "auto",
        random_state: RandomState = None,
    ) -> None:
        self.n_samples = n_samples
        self.n_chains = n_chains
        self.n_warmup = n_warmup
        self.max_members = max_members
        self.rule = rule
        self.likelihood = likelihood
        self.random_state = random_state

    def _weigh(self, problem: Problem) -> FloatArray:
        self.ep_ = EPPruner(
            max_members=self.max_members, rule=self.rule, likelihood=self.likelihood
        ).fit(
            problem.F,
            problem.y,
            held_out=problem.held_out,
            sample_weight=problem.sample_weight,
        )
        self.samples_ = self._sample(problem, self.ep_.posterior_)
        self.ess_ = effective_sample_size(self.samples_)
        self.r_hat_ = split_r_hat(self.samples_)
        self.converged_ = bool(self.r_hat_.max() <= _R_HAT)
        if not self.converged_:
            warnings.warn(
                f"The chains have not met: R-hat is {self.r_hat_.max():.3f}, above "
                f"{_R_HAT}. Raise n_warmup ({self.n_warmup}) or n_samples "
                f"({self.n_samples}).",
                ConvergenceWarning,
                stacklevel=3,
            )
        weights = np.zeros(problem.n_members)
        weights[self.ep_.posterior_.active] = self.samples_.mean(axis=(0, 1))
        return scaled_to_one(weights) if self.ep_._sums_to_one else weights

    def _renumber(self, members: IntArray, n_members: int) -> None:
        self.ep_.n_features_in_ = n_members
        self.ep_.weights_ = for_all(self.ep_.weights_, members, n_members)
        self.ep_._renumber(members, n_members)

    def _sample(self, problem: Problem, step: PathStep) -> FloatArray:
        """Return draws of the active weights."""
        seed = check_random_state(self.random_state).randint(2**31 - 1)
        options: dict[str, Any] = {
            "n_samples": self.n_samples,
            "n_chains": self.n_chains,
            "n_warmup": self.n_warmup,
            "rng": np.random.default_rng(seed),
        }
        # The random numbers belong to ranks, so that the order of F does not matter.
        rank = np.argsort(-step.weights[step.active], kind="stable")
        members, alpha = step.active[rank], step.alpha[rank]
        if self.ep_.likelihood_ == "probit":
            rows = signed_rows(problem)
            S, scale = signed_scale(rows.F[:, members])
            unit = 1.0 / scale
            precision = inner_precision(alpha, unit)
            draws = sample_probit(S, precision, sample_weight=rows.weight, **options)
        else:
            G, g, unit, noise = _quadratic(problem, members, step.noise)
            P = G / noise + np.diag(inner_precision(alpha, unit))
            draws = sample_truncated(P, g / noise, **options)
        return in_units(draws, unit)[:, :, np.argsort(rank)]

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Turn combined scores into class probabilities, as `EPPruner` does."""
        check_is_fitted(self, "weights_")
        return self.ep_.probabilities(scores)

    @property
    def probit_scale_(self) -> float | None:
        """Return that of `EPPruner`."""
        return self.ep_.probit_scale_


def _quadratic(
    problem: Problem, members: IntArray, noise: float
) -> tuple[FloatArray, FloatArray, FloatArray, float]:
    """Return G and g of some members, the unit of their weights, the noise in it."""
    moments, error_unit, _ = gaussian_moments(problem)
    # EP's noise is in the units of y, the moments are in units of y_scale.
    y_unit = moments.y_scale * error_unit
    return (
        moments.G[np.ix_(members, members)],
        moments.g[members],
        moments.unit[members],
        noise / y_unit / y_unit,
    )
