"""The path: every committee that the evidence sequence has visited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args, overload

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.likelihood import Index

Rule = Literal["min-loo", "max-evidence", "one-se"]


@dataclass(frozen=True, eq=False)
class PathStep:
    """One committee on the path.

    Parameters
    ----------
    active : array of shape (a,)
        Member numbers, ascending.
    weights : array of shape (M,)
        Posterior means of the weights, zero for members outside.
    cov : array of shape (a, a)
        Posterior covariance of the active weights.
    alpha : array of shape (a,)
        Inverse prior variances of the active weights.
    noise : float
        Noise variance of y; 1, the latent noise, for votes.
    loo_error, loo_se, loo_density : float
        Leave-one-out error, its standard error, mean log predictive density.
    log_evidence : float
        Log marginal likelihood of the targets.
    objective : float
        `log_evidence` less the price of the members: what the sequence raises.
    strength : array of shape (M,)
        Posterior mean of a weight over its standard deviation, zero outside.
    gain : array of shape (M,)
        Log evidence that each member brings, given the others: what would be lost
        without it, or at most be gained by taking it in.
    """

    active: Index
    weights: Array
    cov: Array
    alpha: Array
    noise: float
    loo_error: float
    loo_se: float
    loo_density: float
    log_evidence: float
    objective: float
    strength: Array
    gain: Array

    @property
    def size(self) -> int:
        """Return the number of members."""
        return len(self.active)


@dataclass(frozen=True, eq=False)
class Path(Sequence[PathStep]):
    """The steps in the order of their objective, which never decreases.

    Parameters
    ----------
    steps : tuple of PathStep
        At least one.
    converged : bool
        False when the sequence ran into `max_iter`.
    n_iter : int
        Moves that were tried.
    equal_votes : bool
        Whether `choose` gives the members of a step equal weights.
    """

    steps: tuple[PathStep, ...]
    converged: bool
    n_iter: int
    equal_votes: bool = False

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.steps)

    @overload
    def __getitem__(self, index: int) -> PathStep: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[PathStep, ...]: ...
    def __getitem__(self, index: int | slice) -> PathStep | tuple[PathStep, ...]:
        """Return one step, or a tuple of steps."""
        return self.steps[index]

    @property
    def size(self) -> Index:
        """Number of members at each step."""
        return np.array([step.size for step in self.steps])

    @property
    def members(self) -> list[Index]:
        """Member numbers at each step."""
        return [step.active for step in self.steps]

    @property
    def weights(self) -> Array:
        """Weights at each step, (steps, M)."""
        return np.array([step.weights for step in self.steps])

    @property
    def loo_error(self) -> Array:
        """Leave-one-out error at each step."""
        return np.array([step.loo_error for step in self.steps])

    @property
    def loo_se(self) -> Array:
        """Standard error of the leave-one-out error at each step."""
        return np.array([step.loo_se for step in self.steps])

    @property
    def loo_density(self) -> Array:
        """Mean leave-one-out log predictive density at each step."""
        return np.array([step.loo_density for step in self.steps])

    @property
    def log_evidence(self) -> Array:
        """Log marginal likelihood at each step."""
        return np.array([step.log_evidence for step in self.steps])

    def step(
        self,
        rule: Rule = "min-loo",
        *,
        max_members: int | None = None,
        within_se: float = 1.0,
    ) -> PathStep:
        """Return the step that a rule prefers.

        "min-loo" takes the least leave-one-out error, the first of equals (Chen 3.6);
        "max-evidence" the largest log evidence; "one-se" the smallest committee whose
        error is within `within_se` standard errors of the least.

        Parameters
        ----------
        rule : {"min-loo", "max-evidence", "one-se"}
            What to prefer.
        max_members : int, optional
            Look only at committees of at most this size.
        within_se : float
            Width of "one-se".

        Returns
        -------
        PathStep
        """
        if rule not in get_args(Rule):
            raise ValueError(f"rule must be one of {get_args(Rule)}. Got {rule!r}.")
        size = self.size
        fits = np.ones(len(self), bool) if max_members is None else size <= max_members
        if not fits.any():
            raise ValueError(
                f"No committee on the path has at most {max_members} members; "
                f"the smallest has {size.min():.0f}."
            )
        error = np.where(fits, self.loo_error, np.inf)
        least = int(error.argmin())
        if rule == "min-loo":
            return self.steps[least]
        if rule == "max-evidence":
            evidence = np.where(fits, self.log_evidence, -np.inf)
            return self.steps[int(evidence.argmax())]
        near = error <= error[least] + within_se * self.steps[least].loo_se
        return self.steps[int(np.where(near, size, np.inf).argmin())]

    def choose(
        self,
        rule: Rule = "min-loo",
        *,
        max_members: int | None = None,
        within_se: float | None = None,
    ) -> Array:
        """Return the weights of another point on the path, without refitting.

        Parameters
        ----------
        rule : {"min-loo", "max-evidence", "one-se"}
            What to prefer; see `step`.
        max_members : int, optional
            Look only at committees of at most this size.
        within_se : float, optional
            Take the smallest committee within so many standard errors of the least
            leave-one-out error, whatever the rule.

        Returns
        -------
        weights : array of shape (M,)
        """
        if within_se is None:
            w = self.step(rule, max_members=max_members).weights
        else:
            near = self.step("one-se", max_members=max_members, within_se=within_se)
            w = near.weights
        return as_equal_votes(w) if self.equal_votes else w


def as_equal_votes(w: Array) -> Array:
    """Return 1/k for the k members with a weight, 0 for the others."""
    return np.asarray((w != 0) / np.count_nonzero(w))
