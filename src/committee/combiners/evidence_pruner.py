"""The evidence sequence as a combiner: what EPPruner and ARDPruner share."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from os import PathLike
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from committee._progress import step_printer
from committee._typing import FloatArray, IntArray
from committee._validation import Interval, StrOptions
from committee.combiners.base import Combiner, for_all
from committee.combiners.likelihoods import (
    gaussian_moments,
    scaled_to_one,
    vote_rows,
    vote_spread,
    voting_share,
    warn_of_light_weights,
    which_likelihood,
)
from committee.combiners.log_odds import log_floor, loo_slope
from committee.ep import PathStep, RecordedRows, moments_path, preferred, votes_path
from committee.path import Path, as_equal_votes
from committee.votes import Votes, in_squared_units

#: Why the first members of a path seem to help more than they do.
NO_VOTES = "rows on which no member has a vote count half"


class Inclusion(NamedTuple):
    """Why members were kept or dropped.

    Attributes
    ----------
    strength : array of shape (M,)
        Posterior mean of a weight over its standard deviation; 0 if dropped.
    evidence : array of shape (M,)
        Log evidence that is lost without the member, the sites of rows and other
        members as they are, or for one that was dropped what it could bring at most.
        Exact for regression up to EP's own error; for votes a lower bound in practice,
        as the rows would adapt.
    """

    strength: FloatArray
    evidence: FloatArray


class EvidencePruner(Combiner):
    """What `EPPruner` and `ARDPruner` share: the evidence sequence and its path."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_members": [None, Interval(Integral, 1, None, closed="left")],
        "rule": [StrOptions({"min-loo", "max-evidence", "max-density", "one-se"})],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "pool": [StrOptions({"votes", "log"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["boolean"],
        "checkpoint": [None, str, PathLike],
    }

    takes_chunks: ClassVar[bool] = True
    _truncated: ClassVar[bool]

    max_members: int | None
    rule: Any
    likelihood: str
    max_iter: int
    tol: float
    verbose: bool
    checkpoint: str | PathLike[str] | None
    sequence: str = "fast"
    pool: str
    path_: Path
    posterior_: PathStep
    loo_: float
    #: What `loo_` and the errors of the path are.
    loo_measure_: str
    log_evidence_: float
    inclusion_: Inclusion
    likelihood_: str
    n_iter_: int
    converged_: bool

    def _weigh(self, problem: Votes) -> FloatArray:
        self.floor_ = log_floor(self, problem, equal=self._is_equal_vote())
        self.likelihood_ = which_likelihood(self.likelihood, problem, self.floor_)
        options: dict[str, Any] = {
            "sequence": self.sequence,
            "truncated": self._truncated,
            "max_members": self.max_members,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": step_printer() if self.verbose else None,
            "rule": self.rule,
        }
        warn_of_light_weights(problem)
        self._spread, self._vote_share, self._sums_to_one = 0.0, 1.0, False
        if self.likelihood_ == "probit":
            rows, factor = vote_rows(problem, self.floor_)
            if self.checkpoint is not None:
                rows = RecordedRows(rows, self.checkpoint)
            self._keep(votes_path(rows, unit=factor, **options), problem)
            self._spread = vote_spread(rows, factor, self.posterior_)
            self._vote_share = voting_share(problem, self.posterior_.weights)
            if self.floor_ is not None:
                step = self.posterior_
                known = step.active, step.weights[step.active], step.cov
                self.slope_ = loo_slope(problem, *known, self.floor_)
        else:
            moments, unit, targets = gaussian_moments(problem)
            self._sums_to_one = targets is None
            path = moments_path(moments, rows=targets, **options)
            self._keep(_sum_to_one(path, unit) if targets is None else path, problem)
        if self._is_equal_vote():
            votes = as_equal_votes(self.path_.weights)
            self.path_ = replace(self.path_, weights=votes)
            return as_equal_votes(self.posterior_.weights)
        return self.posterior_.weights.copy()

    def _keep(self, path: Path, problem: Votes) -> None:
        """Choose a point on the path and store what is known there."""
        step = preferred(path.steps, self.rule)
        self.posterior_ = step
        self.loo_measure_ = _loo_measure(problem.n_classes, self._sums_to_one)
        of_votes = self.likelihood_ == "probit"
        self.path_ = replace(
            path,
            own_measure=f"leave-one-out {self.loo_measure_}",
            note=NO_VOTES if of_votes and problem.masked else "",
            floor=self.floor_,
        )
        self.loo_, self.log_evidence_ = step.loo_error, step.log_evidence
        self.n_iter_, self.converged_ = path.n_iter, path.converged
        self.inclusion_ = Inclusion(step.strength, step.gain)
        if not path.converged:
            warnings.warn(
                f"{self._still_moving(path)} Raise max_iter ({self.max_iter}) or tol.",
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
        self.inclusion_ = Inclusion(self.posterior_.strength, self.posterior_.gain)

    @property
    def probit_scale_(self) -> float | None:
        """Return h / sqrt(1 + v) of `probabilities`, None where these are shares.

        v is the mean posterior variance of w'S, and h the mean share of the weights that
        votes on a row: 1 unless members were held out, when a full vote is larger than
        the ones the weights were made for.
        """
        check_is_fitted(self)
        of_votes = self.likelihood_ == "probit" and self.floor_ is None
        if not of_votes or self._is_equal_vote():
            return None
        return float(self._vote_share / np.sqrt(1.0 + self._spread))

    def combine(self, F: Any, return_std: bool = False) -> Any:
        """Return the committee's output, sum_m w_m f_m.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        return_std : bool, default=False
            For regression, return the predictive standard deviation as well:
            sqrt(noise + F_n' V F_n). Where the weights were learned from errors alone
            and sum to one, F_n is taken from the committee's output.

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
            raise ValueError("return_std needs the weights of votes='posterior'.")
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
        """Whether the weights are votes rather than the posterior's."""
        return False


def _loo_measure(n_classes: int | None, sums_to_one: bool) -> str:
    """Return what the leave-one-out error is."""
    if n_classes is None:
        return "mean squared error"
    return "squared error of probabilities" if sums_to_one else "error rate"


def _sum_to_one(path: Path, unit: float) -> Path:
    """Return the path with weights that sum to one, and errors in the units of y.

    The moments hold the sum near one only, which a large offset of y would show.
    """
    steps = tuple(
        replace(
            step,
            weights=scaled_to_one(step.weights),
            noise=in_squared_units(step.noise, unit),
            loo_error=in_squared_units(step.loo_error, unit),
            loo_se=in_squared_units(step.loo_se, unit),
        )
        for step in path.steps
    )
    return Path.of_steps(
        steps,
        own_measure=path.own_measure,
        n_iter=path.n_iter,
        converged=path.converged,
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
