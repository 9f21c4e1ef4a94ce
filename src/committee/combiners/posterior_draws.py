"""Draws from the exact posterior of a committee on EP's path, and what they leave out."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.bayes import (
    sample_probit,
    sample_truncated,
    targets_left_out,
    votes_left_out,
)
from committee.combiners.likelihoods import gaussian_moments, signed_rows
from committee.ep import PathStep, Score, Targets
from committee.ep.arrays import in_units, inner_precision, signed_scale
from committee.ep.likelihood import GaussianLikelihood
from committee.ep.sites import Normal
from committee.votes import Votes, in_squared_units


class PosteriorDraws(Protocol):
    """The rows of a likelihood, from which any committee's posterior can be drawn.

    Draws (n_chains, n_samples, a) are in units of the rows, `unit` (M,) takes them to
    weights of F.
    """

    unit: FloatArray

    def sample(
        self, members: IntArray, step: PathStep, alpha: FloatArray, **options: Any
    ) -> FloatArray:
        """Return draws of some members, with their alphas, and the noise of a step."""

    def score(self, members: IntArray, step: PathStep, draws: FloatArray) -> Score:
        """Return the leave-one-out scores of draws (n, a)."""


def posterior_draws(problem: Votes, likelihood: str) -> PosteriorDraws:
    """Return what draws from the posteriors of a problem."""
    return (VoteDraws if likelihood == "probit" else TargetDraws)(problem)


def draw(
    rows: PosteriorDraws, step: PathStep, **options: Any
) -> tuple[FloatArray, Score]:
    """Return draws of the active weights of a step, and their leave-one-out scores.

    The random numbers belong to ranks, so that the order of F does not matter.
    """
    rank = np.argsort(-step.weights[step.active], kind="stable")
    members = step.active[rank]
    draws = rows.sample(members, step, step.alpha[rank], **options)
    score = rows.score(members, step, draws.reshape(-1, len(members)))
    return in_units(draws, rows.unit[members])[:, :, np.argsort(rank)], score


class VoteDraws:
    """Probit votes."""

    def __init__(self, problem: Votes) -> None:
        self.rows = signed_rows(problem)
        self.S, scale = signed_scale(self.rows.F)
        self.unit = 1.0 / scale

    def sample(
        self, members: IntArray, step: PathStep, alpha: FloatArray, **options: Any
    ) -> FloatArray:
        """Return draws of some members."""
        precision = inner_precision(alpha, self.unit[members])
        S, weight = self.S[:, members], self.rows.weight
        return sample_probit(S, precision, sample_weight=weight, **options)

    def score(self, members: IntArray, step: PathStep, draws: FloatArray) -> Score:
        """Return the scores of importance sampling."""
        weight, group = self.rows.weight, self.rows.group
        return votes_left_out(
            draws, self.S[:, members], weight=weight, group=group
        ).score


class TargetDraws:
    """Gaussian rows, or moments alone where members abstain."""

    def __init__(self, problem: Votes) -> None:
        self.moments, self.error_unit, self.rows = gaussian_moments(problem)
        self.unit = self.moments.unit

    def sample(
        self, members: IntArray, step: PathStep, alpha: FloatArray, **options: Any
    ) -> FloatArray:
        """Return draws of some members."""
        noise = self._noise(step)
        P = self.moments.G[np.ix_(members, members)] / noise
        P += np.diag(inner_precision(alpha, self.unit[members]))
        return sample_truncated(P, self.moments.g[members] / noise, **options)

    def score(self, members: IntArray, step: PathStep, draws: FloatArray) -> Score:
        """Return the scores of importance sampling, or generalised cross-validation."""
        noise = self._noise(step)
        if isinstance(self.rows, Targets):
            F, y, weight, loss = (
                getattr(self.rows, name) for name in ("F", "y", "weight", "loss")
            )
            scale, y_scale = self.moments.units
            return targets_left_out(
                draws,
                F[:, members] / scale[members],
                y / y_scale,
                noise,
                y_scale=y_scale,
                weight=weight,
                loss=loss,
            ).score
        likelihood = GaussianLikelihood(self.moments, noise)
        likelihood.activate(members)
        cov = np.cov(draws, rowvar=False).reshape(len(members), -1)
        error, se, density = likelihood.score(
            Normal(draws.mean(axis=0), cov, np.empty((0, 0)), np.nan)
        )
        return Score(
            in_squared_units(error, self.error_unit),
            in_squared_units(se, self.error_unit),
            density,
        )

    def _noise(self, step: PathStep) -> float:
        """Return the noise in units of the moments; a step has it in those of y."""
        y_unit = self.moments.y_scale * self.error_unit
        return step.noise / y_unit / y_unit
