"""The committees on a path of Expectation Propagation, and the rules to prefer one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from committee._typing import FloatArray, IntArray

Rule = Literal["min-loo", "max-evidence", "max-density", "one-se"]


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

    active: IntArray
    weights: FloatArray
    cov: FloatArray
    alpha: FloatArray
    noise: float
    loo_error: float
    loo_se: float
    loo_density: float
    log_evidence: float
    objective: float
    strength: FloatArray
    gain: FloatArray

    @property
    def size(self) -> int:
        """Return the number of members."""
        return len(self.active)


def preferred(
    steps: Sequence[PathStep],
    rule: Rule = "min-loo",
    *,
    max_members: int | None = None,
    within_se: float = 1.0,
) -> PathStep:
    """Return the step that a rule prefers.

    "min-loo" takes the least leave-one-out error, the first of equals (Chen 3.6);
    "max-evidence" the largest log evidence; "max-density" the largest leave-one-out
    log density, the first of equals; "one-se" the smallest committee whose
    error is within `within_se` standard errors of the least.

    Parameters
    ----------
    steps : sequence of PathStep
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}
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
    size = np.array([step.size for step in steps])
    fits = np.ones(len(steps), bool) if max_members is None else size <= max_members
    if not fits.any():
        raise ValueError(
            f"No committee on the path has at most {max_members} members; "
            f"the smallest has {size.min():.0f}."
        )
    error = np.where(fits, [step.loo_error for step in steps], np.inf)
    least = int(error.argmin())
    if rule == "min-loo":
        return steps[least]
    if rule == "max-evidence":
        evidence = np.where(fits, [step.log_evidence for step in steps], -np.inf)
        return steps[int(evidence.argmax())]
    if rule == "max-density":
        density = np.where(fits, [step.loo_density for step in steps], -np.inf)
        return steps[int(density.argmax())]
    near = error <= error[least] + within_se * steps[least].loo_se
    return steps[int(np.where(near, size, np.inf).argmin())]
