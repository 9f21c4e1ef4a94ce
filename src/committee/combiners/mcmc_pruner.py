"""MCMCPruner: samples of the exact posterior, to check EP or to choose by them."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, RandomState
from committee._validation import AT_LEAST_ONE, Interval, StrOptions
from committee.bayes.gibbs import (
    effective_sample_size,
    sample_probit,
    sample_truncated,
    split_r_hat,
    targets_left_out,
    votes_left_out,
)
from committee.combiners.base import Combiner, for_all
from committee.combiners.ep_pruner import EPPruner, among
from committee.combiners.likelihoods import (
    gaussian_moments,
    scaled_to_one,
    signed_rows,
)
from committee.ep import LooScore, PathStep, preferred
from committee.ep.arrays import in_units, inner_precision, signed_scale
from committee.ep.evidence_loop import Rule
from committee.ep.gaussian_rows import Targets
from committee.ep.likelihood import GaussianLikelihood
from committee.ep.sites import Normal
from committee.votes import Votes, in_squared_units

#: Chains have met below this R-hat.
_R_HAT = 1.05
# Every committee of the path gets a tenth of the draws of the chosen one: the error of
# a mean over hundreds of draws is far below the standard error over rows.
_FEWER, _LESS_WARMUP = 10, 4


@dataclass(eq=False, repr=False)
class MCMCPruner(Combiner):
    """Sample the exact posterior of a committee on the path of EP.

        p(w | y) ~ p(y | w, noise) prod_i N(w_i | 0, 1/alpha_i) [w_i > 0]

    Members, alpha and noise come from an `EPPruner`; its Gaussian approximation of
    the posterior is replaced by samples (Chen, Tino and Yao 3.7). Chains follow
    closed-form Hamiltonian paths that bounce off zero (see `committee.bayes.gibbs`).

    With loo="ep", EP chooses the committee, and the samples check EP: `weights_` minus
    `ep_.weights_` is the error of EP and of its early stopping, plus the sampling
    error, which is the standard deviation of a weight divided by sqrt(`ess_`). With
    loo="draws", the samples also choose the committee: each committee on the path is
    sampled, and the rule uses leave-one-out errors estimated by importance sampling.

    Parameters
    ----------
    n_samples : int, default=1000
        Number of draws to keep from each chain.
    n_chains : int, default=4
        Number of chains. They start at different points and run in parallel.
    n_warmup : int, default=200
        Number of initial draws of each chain to discard.
    max_members : int, default=None
    rule : {"min-loo", "max-evidence", "one-se"}, default="min-loo"
        How to choose a committee from the path, as in `EPPruner`.
    loo : {"ep", "draws"}, default="ep"
        Source of the leave-one-out errors for the rule. "draws" samples all committees of
        the path, which takes many times longer.
    sequence : {"fast", "printed"}, default="fast"
        How the path is computed, as in `EPPruner`.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        As in `EPPruner`.
    random_state : int, RandomState instance or None, default=None
        Controls the draws. Pass an int for reproducible results.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Posterior means; positive for members of the committee, zero for all others.
    support_ : array of shape (a,)
        Indices of the kept members.
    posterior_ : PathStep
        The chosen committee, with the posterior approximated by EP.
    loo_ : float
        Leave-one-out error of the chosen committee, estimated from the draws; for
        regression with `held_out`, by generalised cross-validation from their moments.
    path_loo_ : array of shape (S,)
        Leave-one-out error of each committee on `ep_.path_`. Only with loo="draws".
    samples_ : array of shape (n_chains, n_samples, a)
        Weights of the members in `support_`.
    ess_ : array of shape (a,)
        Effective sample size of each posterior mean.
    r_hat_ : array of shape (a,)
        Rank-normalised split R-hat; close to one if the chains agree.
    converged_ : bool
        Whether all R-hat are at most 1.05. If not, `fit` warns.
    ep_ : EPPruner
        The fitted `EPPruner`.

    References
    ----------
    E. Ionides. Truncated importance sampling. Journal of Computational and Graphical
    Statistics 17(2), 2008.
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
        "n_chains": [AT_LEAST_ONE],
        "n_warmup": [Interval(Integral, 0, None, closed="left")],
        "max_members": [None, AT_LEAST_ONE],
        "rule": [StrOptions({"min-loo", "max-evidence", "one-se"})],
        "loo": [StrOptions({"ep", "draws"})],
        "sequence": [StrOptions({"fast", "printed"})],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "random_state": ["random_state"],
    }

    refits_fast: ClassVar[bool] = False
    needs_all: ClassVar[str] = "draws its samples from all rows"
    samples_: FloatArray = field(init=False)
    posterior_: PathStep = field(init=False)
    loo_: float = field(init=False)
    path_loo_: FloatArray = field(init=False)
    ess_: FloatArray = field(init=False)
    r_hat_: FloatArray = field(init=False)
    converged_: bool = field(init=False)
    ep_: EPPruner = field(init=False)

    _: KW_ONLY
    n_samples: int = 1000
    n_chains: int = 4
    n_warmup: int = 200
    max_members: int | None = None
    rule: str = "min-loo"
    loo: str = "ep"
    sequence: str = "fast"
    likelihood: str = "auto"
    random_state: RandomState = None

    def _weigh(self, votes: Votes) -> FloatArray:
        if self.loo == "draws" and self.rule == "max-evidence":
            raise ValueError(
                "loo='draws' does not compute the evidence: use rule='min-loo' or "
                "'one-se'."
            )
        ep = EPPruner(
            max_members=self.max_members,
            rule=self.rule,
            sequence=self.sequence,
            likelihood=self.likelihood,
            pool="votes",
        )
        self.ep_ = votes.fit(ep)
        of_votes = self.ep_.likelihood_ == "probit"
        rows = VoteDraws(votes) if of_votes else TargetDraws(votes)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        self.posterior_ = step = self._choose(rows, seed)
        self.samples_, score = self._draw(rows, step, seed)
        self.loo_ = score.error
        self._check_chains()
        weights = np.zeros(votes.n_members)
        weights[step.active] = self.samples_.mean(axis=(0, 1))
        return scaled_to_one(weights) if self.ep_._sums_to_one else weights

    def _choose(self, rows: VoteDraws | TargetDraws, seed: int) -> PathStep:
        """Return the committee to sample: EP's, or that which the draws prefer."""
        if self.loo == "ep":
            return self.ep_.posterior_
        most = self.max_members or len(rows.unit)
        path: tuple[PathStep, ...] = self.ep_.path_.steps
        steps = [step for step in path if step.size <= most]
        scores = [self._draw(rows, step, seed, rough=True)[1] for step in steps]
        self.path_loo_ = np.array([score.error for score in scores])
        rated = [
            replace(step, loo_error=score.error, loo_se=score.standard_error)
            for step, score in zip(steps, scores, strict=True)
        ]
        return steps[rated.index(preferred(rated, cast(Rule, self.rule)))]

    def _draw(
        self,
        rows: VoteDraws | TargetDraws,
        step: PathStep,
        seed: int,
        *,
        rough: bool = False,
    ) -> tuple[FloatArray, LooScore]:
        """Return draws of the active weights and their scores; few draws if `rough`.

        The random numbers belong to ranks, so that the order of F does not matter.
        """
        n_samples, n_warmup = self.n_samples, self.n_warmup
        if rough:
            n_samples, n_warmup = max(4, n_samples // _FEWER), n_warmup // _LESS_WARMUP
        rank = np.argsort(-step.weights[step.active], kind="stable")
        members = step.active[rank]
        draws = rows.sample(
            members,
            step,
            step.alpha[rank],
            n_samples=n_samples,
            n_chains=self.n_chains,
            n_warmup=n_warmup,
            rng=np.random.default_rng(seed),
        )
        score = rows.score(members, step, draws.reshape(-1, len(members)))
        return in_units(draws, rows.unit[members])[:, :, np.argsort(rank)], score

    def _check_chains(self) -> None:
        """Measure how well the chains have mixed, and warn if they have not met."""
        self.ess_ = effective_sample_size(self.samples_)
        self.r_hat_ = split_r_hat(self.samples_)
        self.converged_ = bool(self.r_hat_.max() <= _R_HAT)
        if not self.converged_:
            warnings.warn(
                f"The chains have not converged: R-hat is {self.r_hat_.max():.3f}, "
                f"above {_R_HAT}. Increase n_warmup ({self.n_warmup}) or n_samples "
                f"({self.n_samples}).",
                ConvergenceWarning,
                stacklevel=4,
            )

    def _renumber(self, members: IntArray, n_members: int) -> None:
        self.ep_.n_features_in_ = n_members
        self.ep_.weights_ = for_all(self.ep_.weights_, members, n_members)
        self.ep_._renumber(members, n_members)
        self.posterior_ = among(self.posterior_, members, n_members)


class VoteDraws:
    """Draws from the posterior of any committee under probit votes.

    They are in units of the rows: times `unit` (M,) they are weights of F.
    """

    def __init__(self, votes: Votes) -> None:
        self.rows = signed_rows(votes)
        self.S, scale = signed_scale(self.rows.S)
        self.unit = 1.0 / scale

    def sample(
        self, members: IntArray, step: PathStep, alpha: FloatArray, **options: Any
    ) -> FloatArray:
        """Return draws (n_chains, n_samples, a) of members with these alphas."""
        precision = inner_precision(alpha, self.unit[members])
        S, weight = self.S[:, members], self.rows.weight
        return sample_probit(S, precision, sample_weight=weight, **options)

    def score(self, members: IntArray, step: PathStep, draws: FloatArray) -> LooScore:
        """Return the scores of importance sampling."""
        weight, group = self.rows.weight, self.rows.group
        return votes_left_out(
            draws, self.S[:, members], weight=weight, group=group
        ).score


class TargetDraws:
    """The same under Gaussian rows, or moments alone where members abstain."""

    def __init__(self, votes: Votes) -> None:
        self.moments, self.error_unit, self.rows = gaussian_moments(votes)
        self.unit = self.moments.unit

    def sample(
        self, members: IntArray, step: PathStep, alpha: FloatArray, **options: Any
    ) -> FloatArray:
        """Return draws of some members."""
        noise = self._noise(step)
        P = self.moments.G[np.ix_(members, members)] / noise
        P += np.diag(inner_precision(alpha, self.unit[members]))
        return sample_truncated(P, self.moments.g[members] / noise, **options)

    def score(self, members: IntArray, step: PathStep, draws: FloatArray) -> LooScore:
        """Return the scores of importance sampling, or generalised cross-validation."""
        noise = self._noise(step)
        if isinstance(self.rows, Targets):
            scale, y_scale = self.moments.units
            return targets_left_out(
                draws,
                self.rows.F[:, members] / scale[members],
                self.rows.y / y_scale,
                noise,
                y_scale=y_scale,
                weight=self.rows.weight,
                loss=self.rows.loss,
            ).score
        likelihood = GaussianLikelihood(self.moments, noise)
        likelihood.activate(members)
        cov = np.cov(draws, rowvar=False).reshape(len(members), -1)
        error, se, density = likelihood.score(
            Normal(draws.mean(axis=0), cov, np.empty((0, 0)), np.nan)
        )
        return LooScore(
            in_squared_units(error, self.error_unit),
            in_squared_units(se, self.error_unit),
            density,
        )

    def _noise(self, step: PathStep) -> float:
        """Return the noise in units of the moments; a step has it in units of y."""
        y_unit = self.moments.y_scale * self.error_unit
        return step.noise / y_unit / y_unit
