"""EPPruner and ARDPruner: the evidence sequence of `committee.ep` as a combiner."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field, replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee._format import LEAVE_ONE_OUT, error_name
from committee._parallel import step_printer
from committee._typing import FloatArray, IntArray
from committee._validation import AT_LEAST_ONE, Interval, StrOptions
from committee.combiners.base import Combiner, for_all
from committee.combiners.likelihoods import (
    gaussian_moments,
    scaled_to_one,
    vote_rows,
    warn_of_light_weights,
    which_likelihood,
)
from committee.combiners.log_pool import (
    LogWeights,
    log_floor,
    n_rows_with_votes,
    weigh_near,
)
from committee.ep import PathStep, moments_path, preferred
from committee.ep.evidence import votes_path
from committee.ep.evidence_loop import Rule
from committee.ep.recorded_rows import RecordedRows
from committee.path import Path, as_equal_votes
from committee.votes import Votes, in_squared_units

#: Why the first members of a path seem to help more than they do.
NO_VOTES = "rows on which no member has a vote count half"


class Inclusion(NamedTuple):
    """Strength and evidence of each member, which show why it was kept or dropped.

    Attributes
    ----------
    strength : array of shape (M,)
        Posterior mean of a weight over its standard deviation; 0 if dropped.
    evidence : array of shape (M,)
        Log evidence that would be lost without the member, with the sites of rows and
        other members unchanged. For a dropped member, the most that it could add. Exact
        for regression up to EP's own error; for votes a lower bound in practice.
    """

    strength: FloatArray
    evidence: FloatArray


@dataclass(eq=False, repr=False)
class EvidencePruner(Combiner):
    """Base class of `EPPruner` and `ARDPruner`: the evidence sequence and its path."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_members": [None, AT_LEAST_ONE],
        "rule": [
            None,
            StrOptions({"min-loo", "max-evidence", "max-density", "one-se"}),
        ],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "pool": [StrOptions({"auto", "votes", "log"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["boolean"],
        "checkpoint": [None, str, PathLike],
    }

    takes_chunks: ClassVar[bool] = True
    _truncated: ClassVar[bool]

    path_: Path = field(init=False)
    posterior_: PathStep = field(init=False)
    loo_: float = field(init=False)
    #: What `loo_` and the errors of the path are.
    loo_measure_: str = field(init=False)
    log_evidence_: float = field(init=False)
    likelihood_: str = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)
    #: eps of `probabilities`.
    _least_share = 0.0
    #: Options that only `EPPruner` has.
    sequence, n_initial, votes = "fast", 0, "posterior"

    _: KW_ONLY
    max_members: int | None = None
    rule: Any = None
    likelihood: str = "auto"
    pool: str = "auto"
    max_iter: int = 200
    tol: float = 1e-4
    verbose: bool = False
    checkpoint: str | PathLike[str] | None = None

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Turn combined scores into class probabilities.

            p_k ~ max(s_k, 0), eps = 1 / (N + K) where that is zero,    or softmax_k(s)

        Without the floor, a class without votes would have probability zero. A
        committee calibrates its probabilities instead of using the floor.

        Parameters
        ----------
        scores : array of shape (N, K)
            b + sum_m w_m f_m, as `combine` returns it.

        Returns
        -------
        p : array of shape (N, K)
            Largest where the score is largest.
        """
        p = super().probabilities(scores)
        p[p == 0] = self._least_share
        p /= p.sum(axis=1, keepdims=True)
        return p

    def linked(self, scores: FloatArray) -> FloatArray:
        """Return uncalibrated class shares, without the lower bound."""
        return super().probabilities(scores)

    def _weigh(self, votes: Votes) -> FloatArray:
        self.floor_ = log_floor(self, votes, averages=self._is_equal_vote())
        self.likelihood_ = which_likelihood(self.likelihood, votes, self.floor_)
        options: dict[str, Any] = {
            "sequence": self.sequence,
            "n_initial": self.n_initial,
            "truncated": self._truncated,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": step_printer() if self.verbose else None,
        }
        warn_of_light_weights(votes)
        if votes.n_classes is not None:
            self._least_share = 1.0 / (n_rows_with_votes(votes) + votes.n_classes)
        self._sums_to_one, self.offsets_ = False, None
        rule = self._rule()
        if self.likelihood_ == "probit":
            rows, factor = vote_rows(votes, self.floor_)
            if self.checkpoint is not None:
                rows = RecordedRows(rows, self.checkpoint)
            if self.floor_ is None:
                path = votes_path(rows, unit=factor, rule=rule, **options)
            else:
                path = votes_path(rows, unit=factor, **options)
                path = self._weighed_again(path, votes, self.floor_)
        else:
            moments, unit, targets = gaussian_moments(votes)
            self._sums_to_one = targets is None
            path = moments_path(moments, rows=targets, rule=rule, **options)
            path = _sum_to_one(path, unit) if targets is None else path
        self._keep(path, votes, rule)
        if self._is_equal_vote():
            equal = as_equal_votes(self.path_.weights)
            self.path_ = replace(self.path_, weights=equal)
            return as_equal_votes(self.posterior_.weights)
        return self.posterior_.weights.copy()

    @property
    def inclusion_(self) -> Inclusion:
        """Strength and evidence of each member: why it was kept or dropped."""
        return Inclusion(self.posterior_.strength, self.posterior_.gain)

    def _rule(self) -> Rule:
        """Return the rule, or the default for what is weighed."""
        if self.rule is not None:
            rule: Rule = self.rule
            return rule
        if self.floor_ is not None:
            return "max-density"
        return "min-loo" if self._truncated else "max-evidence"

    def _weighed_again(self, path: Path, votes: Votes, floor: float) -> Path:
        """Return the committees of a path with the weights and offsets of a log pool.

        Of committees with the same members the last is kept. The leave-one-out errors
        and densities are those of softmax(s).
        """
        last = {tuple(step.active): step for step in path.steps}
        signed = not self._truncated
        found = [
            weigh_near(votes, step.active, step.weights, floor, signed=signed)
            for step in last.values()
        ]
        steps = [
            _step_of(step, weighed)
            for step, weighed in zip(last.values(), found, strict=True)
        ]
        return path.with_steps(steps, np.array([weighed.offsets for weighed in found]))

    def _keep(self, path: Path, votes: Votes, rule: Rule) -> None:
        """Choose a point on the path and store what is known there."""
        number = path.steps.index(preferred(path.steps, rule))
        if self.max_members is not None:
            number = path.step_within(self.max_members)
        self.posterior_ = step = path.steps[number]
        if path.offsets is not None:
            self.offsets_ = path.offsets[number]
        self.loo_measure_ = _loo_measure(votes.n_classes, self._sums_to_one)
        of_votes = self.likelihood_ == "probit"
        self.path_ = replace(
            path,
            own_measure=error_name(LEAVE_ONE_OUT, self.loo_measure_),
            note=NO_VOTES if of_votes and votes.masked else "",
            floor=self.floor_,
        )
        self.loo_, self.log_evidence_ = step.loo_error, step.log_evidence
        self.n_iter_, self.converged_ = path.n_iter, path.converged
        if not path.converged:
            warnings.warn(
                f"{self._still_moving(path)} Increase max_iter ({self.max_iter}) or "
                "tol.",
                ConvergenceWarning,
                stacklevel=5,
            )

    def _still_moving(self, path: Path) -> str:
        """Return what the last step of a sequence that was cut short has done."""
        if self.sequence == "printed":
            return (
                f"The best move still promised to gain more than {self.tol:g} per row "
                f"after {path.n_iter} moves."
            )
        before, after = ([-np.inf] + [s.objective for s in path.steps])[-2:]
        return (
            f"The evidence still rose by {after - before:.3g} in step {path.n_iter}; "
            f"it stands still below {self.tol:g} per row."
        )

    def _renumber(self, members: IntArray, n_members: int) -> None:
        super()._renumber(members, n_members)
        steps = tuple(among(step, members, n_members) for step in self.path_.steps)
        self.path_ = replace(self.path_, steps=steps)
        self.posterior_ = among(self.posterior_, members, n_members)

    def combine(self, F: Any, return_std: bool = False) -> Any:
        """Return the committee's output, sum_m w_m f_m.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        return_std : bool, default=False
            For regression, return the predictive standard deviation as well: sqrt(noise
            + F_n' V F_n). If the weights were learned from errors alone and sum to one,
            F_n is measured relative to the committee's output.

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        std : array of shape (N,)
            Only with `return_std`.
        """
        mean = super().combine(F)
        if not return_std:
            return mean
        if self._is_equal_vote():
            raise ValueError("return_std needs votes='posterior'.")
        if mean.ndim == 2:
            raise ValueError(
                "return_std is for regression; for classification use "
                "probabilities(combine(F))."
            )
        step = self.posterior_
        D = np.asarray(F, dtype=np.float64)[:, step.active]
        # Weights that sum to one vary along differences of members only.
        if self._sums_to_one:
            D = D - mean[:, None]
        return mean, np.sqrt(step.noise + np.einsum("na,ab,nb->n", D, step.cov, D))

    def _is_equal_vote(self) -> bool:
        """Return True if the weights are equal votes, not posterior means."""
        return self.votes == "equal"


def _step_of(step: PathStep, found: LogWeights) -> PathStep:
    """Return a step with the weights of a log pool on its members."""
    active = np.flatnonzero(found.weights)
    strength = np.zeros(len(found.weights))
    strength[active] = found.weights[active] / np.sqrt(found.cov.diagonal())
    return replace(
        step,
        active=active,
        weights=found.weights,
        cov=found.cov,
        loo_error=found.error,
        loo_se=found.error_se,
        loo_density=-found.log_loss,
        strength=strength,
    )


def _loo_measure(n_classes: int | None, sums_to_one: bool) -> str:
    """Return what the leave-one-out error is."""
    if n_classes is None:
        return "mean squared error"
    return "squared error of probabilities" if sums_to_one else "error rate"


def _sum_to_one(path: Path, unit: float) -> Path:
    """Return the path with weights that sum to one, and errors in the units of y.

    The moments hold the sum near one only, which a large offset of y would show.
    """
    return path.with_steps(
        [
            replace(
                step,
                weights=scaled_to_one(step.weights),
                noise=in_squared_units(step.noise, unit),
                loo_error=in_squared_units(step.loo_error, unit),
                loo_se=in_squared_units(step.loo_se, unit),
            )
            for step in path.steps
        ]
    )


def among(step: PathStep, members: IntArray, n_members: int) -> PathStep:
    """Return a step of some members as one of all."""
    weights, strength, gain = (
        for_all(values, members, n_members)
        for values in (step.weights, step.strength, step.gain)
    )
    return replace(
        step,
        active=members[step.active],
        weights=weights,
        strength=strength,
        gain=gain,
    )


@dataclass(eq=False, repr=False)
class EPPruner(EvidencePruner):
    """Prune by Expectation Propagation: sparse, non-negative weights.

        p(w | alpha) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0]
        regression:       y_n = w'F_n + e,  e ~ N(0, noise)
        classification:   p(y_n | w) = Phi(w'S_n),  S_n = F[n, :, y_n] - F[n, :, k]

    The alphas are updated to increase the evidence; most of them diverge to infinity,
    which drops their members (Chen, Tino and Yao, 2009). `path_` stores every committee
    visited, with its leave-one-out error at no extra cost.

    Parameters
    ----------
    max_members : int, default=None
        Maximum number of members. If given, `path_.choose(max_members=...)` chooses the
        committee instead of `rule`.
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}, default=None
        How to choose a committee from the path: the smallest leave-one-out error, the
        largest evidence, the largest leave-one-out log density (for probabilities), or
        the smallest committee within one standard error of the smallest error. None
        means "max-density" for a logarithmic pool and "min-loo" otherwise.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        For classification: a probit term for every wrong class, or Gaussian noise on
        the probability vectors. "auto" is "probit" for two classes and "gaussian" for
        more.
    votes : {"posterior", "equal"}, default="posterior"
        Weights of the kept members: the posterior means, or equal weights.
    pool : {"auto", "votes", "log"}, default="auto"
        Predictions that are weighed.

        - "votes": F itself.
        - "log": log clip(F, floor_, 1). S are then log-odds. The committee is a `LogPool`
          of the kept members, with the weights and offsets of that pool; the weights are
          close to the posterior means.
        - "auto": "votes" for regression, for scores, if most members predict 0 or 1, and
          if members abstain on some rows, as in bagging; otherwise "log".
    sequence : {"fast", "printed"}, default="fast"
        How the alphas are updated. "fast" makes many updates at once and maximises the
        evidence minus a penalty for each member. "printed" is the sequence of the
        paper: it adds, deletes or re-estimates one member at a time, by the gain for a
        weight of either sign, so the evidence may decrease. Its path has many more
        steps and ends with more members. It warns if the leave-one-out error of a
        single member is smaller by a standard error.
    n_initial : int, default=10
        Number of initial members for sequence="printed": the members with the largest
        gain on their own. The paper starts with "a number of" members. With 0, the
        first step may add a member that is worse than chance.
    max_iter : int, default=200
        Maximum number of steps.
    tol : float, default=1e-4
        Stop when a step increases the evidence per row by less; for sequence="printed",
        when no single step can increase it by more.
    verbose : bool, default=False
        Print size, leave-one-out error and evidence of every step to standard error.
    checkpoint : path, default=None
        Folder for the state of the probit likelihood, saved after every sweep. An
        interrupted fit resumes from it if `fit` is called again with the same rows.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Non-negative weights, zero for dropped members. They need not sum to one.
    support_ : array
        Indices of the kept members.
    path_ : Path
        Every committee visited: `size`, `weights`, `error` (leave-one-out), `error_se`,
        `log_evidence`; `path_.choose(max_members=5)` returns the weights of another
        committee without refitting.
    posterior_ : PathStep
        The chosen committee, with the covariance of its weights.
    loo_ : float
        Leave-one-out error of the chosen committee: mean squared error, or error rate
        for classification. It is the squared error estimated by generalised
        cross-validation for the Gaussian likelihood with `held_out`, if no row has
        votes of all members, and for regression if y varies little relative to its
        mean. With votes="equal" it is still the error of the posterior weights.
    log_evidence_ : float
    inclusion_ : Inclusion
        `strength` and `evidence` of each member, which show why it was kept or dropped.
    likelihood_ : str
        The likelihood that was used.
    floor_ : float or None
        Floor of a logarithmic pool, as in `LogPool`; None otherwise.
    offsets_ : array of shape (K,) or None
        Offsets that a logarithmic pool adds to its weighted sums s; its probabilities
        are softmax(s). None otherwise.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    H. Chen, P. Tino, X. Yao. Predictive ensemble pruning by expectation propagation.
    IEEE Transactions on Knowledge and Data Engineering 21(7), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import EPPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.3, 0.3, [3.0] * 8]
    >>> pruner = EPPruner().fit(F, y)
    >>> np.flatnonzero(pruner.path_.choose(max_members=2)).tolist()
    [0, 1]
    >>> mean, std = pruner.combine(F, return_std=True)
    """

    _truncated = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **EvidencePruner._parameter_constraints,
        "votes": [StrOptions({"posterior", "equal"})],
        "sequence": [StrOptions({"fast", "printed"})],
        "n_initial": [Interval(Integral, 0, None, closed="left")],
    }

    _: KW_ONLY
    votes: str = "posterior"
    sequence: str = "fast"
    n_initial: int = 10


class ARDPruner(EvidencePruner):
    """Prune by automatic relevance determination: sparse weights of any sign.

        p(w | alpha) = prod_i N(w_i | 0, 1/alpha_i)

    This is `EPPruner` without the truncation at zero: a relevance vector machine on F
    (Tipping and Faul, 2003). Chen, Tino and Yao compare EP with it.

    Negative weights need many rows. On 27 generated pools with 60 rows, the log-loss
    relative to greedy selection was 1.02 (1.58 at worst), against .98 (1.10 at worst)
    for `EPPruner`.

    Parameters
    ----------
    max_members : int, default=None
        As in `EPPruner`.
    rule : str, default=None
        How to choose a committee from the path, as in `EPPruner`. None means
        "max-density" for a logarithmic pool and "max-evidence" otherwise.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
    pool : {"auto", "votes", "log"}, default="auto"
        As in `EPPruner`: in a logarithmic pool a weight below zero divides by a member's
        probabilities.
    max_iter : int, default=200
    tol : float, default=1e-4
    verbose : bool, default=False
    checkpoint : path, default=None
        As in `EPPruner`.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_, path_, posterior_, loo_, log_evidence_, inclusion_, likelihood_
        As in `EPPruner`.
    floor_, offsets_
        As in `EPPruner`.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from committee import ARDPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.1, [3.0] * 9]
    >>> int(abs(ARDPruner().fit(F, y).weights_).argmax())
    0
    """

    _truncated = False
