"""The control loop of the evidence sequence, the same for both likelihoods.

    J(alpha) = log Z(alpha) - price x (number of members)

A step re-estimates every alpha and lets members enter and leave. It is kept only if
it raises J, so no committee comes twice; otherwise a smaller step is tried.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ep.arrays import in_units
from committee.ep.fitting import Fit, Settings, constrain, fit_posterior
from committee.ep.likelihood import Likelihood
from committee.ep.moves import (
    best_alpha,
    best_moves,
    choose_moves,
    gain,
    member_messages,
    ranked,
    single_move,
)
from committee.ep.steps import PathStep, Rule, preferred
from committee.path import Path

Callback = Callable[[PathStep], object]

# Share of the committee that may enter, or leave, in one step.
_SHARE = 0.25
# Single moves that may fail in a row before the sequence ends.
_PATIENCE = 3
# Between two steps the moments need to agree only roughly: the evidence is
# stationary in the sites, so it is accurate to the square of this.
_STEP_TOL = 1e-2
_STEP_SWEEPS = 3
_STEP_INNER = 30
# Rounds in which a single member and the noise settle.
_NOISE_ROUNDS = 10
# A committee that is chosen is settled: on separable rows that takes hundreds of
# sweeps, elsewhere a few.
SETTLED = Settings(truncated=True, tol=1e-4, max_iter=500, inner_iter=30)


class State(NamedTuple):
    """A committee: alpha (infinite outside), truncation sites, rows, and the fit.

    r and u, (M,), are the messages about every member after the last sweep over the
    rows, with the other weights integrated out (see `member_messages`).
    """

    alpha: FloatArray
    tau: FloatArray
    nu: FloatArray
    rows: object
    fit: Fit | None
    objective: float
    r: FloatArray
    u: FloatArray

    @property
    def active(self) -> IntArray:
        """Return the members, ascending."""
        return np.flatnonzero(np.isfinite(self.alpha))


class EvidenceSequence:
    """The control loop over one likelihood."""

    def __init__(
        self, likelihood: Likelihood, *, truncated: bool, price: float, room: int
    ) -> None:
        self.likelihood = likelihood
        self.truncated = truncated
        self.price = price
        self.room = room
        self.settings = Settings(truncated, _STEP_TOL, _STEP_SWEEPS, _STEP_INNER)

    def start(self) -> State:
        """Return the empty committee."""
        M = len(self.likelihood.unit)
        self.likelihood.activate(np.arange(0))
        zero, messages = np.zeros(M), self.likelihood.messages
        return State(
            alpha=np.full(M, np.inf),
            tau=zero,
            nu=zero,
            rows=self.likelihood.state,
            fit=None,
            objective=-np.inf,
            r=messages.diagonal,
            u=messages.h,
        )

    def fit(self, state: State, alpha: FloatArray) -> State:
        """Return the committee with other alphas; sites stay where they were."""
        inside = np.isfinite(alpha)
        active = np.flatnonzero(inside)
        tau, nu = np.where(inside, state.tau, 0.0), np.where(inside, state.nu, 0.0)
        self.likelihood.activate(active)
        fit = fit_posterior(
            self.likelihood,
            active,
            alpha[active],
            (tau[active], nu[active]),
            self.settings,
        )
        q = fit.truncated
        tau[active], nu[active] = q.tau, q.nu
        objective = fit.log_evidence - self.price * len(active)
        messages = self.likelihood.messages
        after = constrain(messages, active, alpha[active], q.tau, q.nu, self.settings)
        r, u = member_messages(messages, active, alpha[active], after)
        return State(alpha, tau, nu, self.likelihood.state, fit, objective, r, u)

    def attempt(self, state: State, alpha: FloatArray, *, adapt: bool) -> State | None:
        """Return the next committee if its objective is larger, else go back."""
        if (alpha == state.alpha).all() or not np.isfinite(alpha).any():
            return None
        if adapt and state.fit is not None:
            self.likelihood.adapt(state.fit.truncated.normal, state.alpha[state.active])
        new = self.fit(state, alpha)
        if new.objective > state.objective:
            return new
        self.likelihood.state = state.rows
        return None

    def advance(self, state: State) -> State | None:
        """Return a better committee: many moves at once, else few, else one."""
        moves = best_moves(
            state.alpha, state.r, state.u, price=self.price, truncated=self.truncated
        )
        for share in (_SHARE, 0.0):
            alpha = choose_moves(state.alpha, moves, share=share, room=self.room)
            new = self.attempt(state, alpha, adapt=True)
            if new is not None:
                return new
        barred: list[int] = []
        for _ in range(_PATIENCE):
            alpha = single_move(
                state.alpha, moves, barred=np.array(barred, np.intp), room=self.room
            )
            new = self.attempt(state, alpha, adapt=False)
            if new is not None:
                return new
            barred.extend(np.flatnonzero(alpha != state.alpha))
        return None

    def stands_still(self, before: State, after: State, least: float) -> bool:
        """Return whether a step has raised the objective by less than `least`."""
        return after.objective - before.objective < least

    def record(self, state: State) -> PathStep:
        """Translate a committee to the units of F."""
        if state.fit is None:
            raise RuntimeError("The empty committee has no record.")
        active = state.active
        unit = self.likelihood.unit
        fit = state.fit
        score = self.likelihood.score(fit.truncated.normal)
        here = unit[active]
        weights, strength = np.zeros(len(unit)), np.zeros(len(unit))
        weights[active] = in_units(fit.truncated.weights, here)
        # In the units of the fit, where variances cannot vanish.
        strength[active] = fit.truncated.weights / np.sqrt(
            fit.truncated.normal.cov.diagonal()
        )
        return PathStep(
            active=active,
            weights=weights,
            cov=in_units(fit.truncated.normal.cov, here, here[:, None]),
            alpha=in_units(state.alpha[active], 1.0 / here, 1.0 / here),
            noise=self.likelihood.noise_variance,
            loo_error=score.error,
            loo_se=score.standard_error,
            loo_density=score.density,
            log_evidence=fit.log_evidence,
            objective=state.objective,
            strength=strength,
            gain=self._gains(state),
        )

    def _gains(self, state: State) -> FloatArray:
        """Return what each member brings, or would bring at its best alpha."""
        r, u = state.r, state.u
        alpha = np.where(
            np.isfinite(state.alpha),
            state.alpha,
            best_alpha(r, u, truncated=self.truncated),
        )
        gains = np.zeros(len(alpha))
        able = np.isfinite(alpha)
        gains[able] = gain(alpha[able], r[able], u[able], truncated=self.truncated)
        return gains

    def settle(self, step: PathStep, state: State | None) -> PathStep:
        """Return a step with its moments settled; from its state, if that was kept.

        The objective stays that of the sequence.
        """
        if state is None:
            state = self.start()
        self.likelihood.state = state.rows
        alpha = np.full(len(self.likelihood.unit), np.inf)
        here = self.likelihood.unit[step.active]
        alpha[step.active] = in_units(step.alpha, here, here)
        self.settings = SETTLED._replace(truncated=self.truncated)
        return replace(self.record(self.fit(state, alpha)), objective=step.objective)

    def best_single(self, state: State) -> State:
        """Return the committee of the one member that the rows favour most.

        The answer where no member is worth its price: all are wrong, or abstain. One
        with votes on the rows goes before those that only abstain.
        """
        r, u = state.r, state.u
        known = np.flatnonzero(r > 0.0)
        best = 0
        if len(known):
            z = u[known] / np.sqrt(r[known])
            best = int(known[ranked(z if self.truncated else np.abs(z))[0]])
        for _ in range(_NOISE_ROUNDS):
            alpha = np.full(len(r), np.inf)
            alpha[best] = r[best] if r[best] > 0.0 else 1.0
            single, noise = self.fit(state, alpha), self.likelihood.noise_variance
            assert single.fit is not None
            self.likelihood.adapt(single.fit.truncated.normal, alpha[[best]])
            if abs(self.likelihood.noise_variance - noise) <= _STEP_TOL * noise:
                break
            r = self.likelihood.messages.diagonal
        self.likelihood.state = single.rows
        return single


def run(
    sequence: EvidenceSequence,
    *,
    max_iter: int,
    tol: float,
    callback: Callback | None,
    rule: Rule | None = None,
) -> Path:
    """Advance until J stands still, and return all steps.

    Two steps in a row that raise J by less than `tol` per row are standing still.
    With a `rule`, the step that it prefers is settled.
    """
    track = _Track(sequence, callback)
    state = sequence.start()
    least = tol * sequence.likelihood.n_rows
    slow, n_iter, converged = 0, 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new = sequence.advance(state)
        if new is None:
            converged = True
            break
        slow = slow + 1 if sequence.stands_still(state, new, least) else 0
        converged = slow == 2
        state = new
        track.add(state)
    if not track.steps:
        track.add(sequence.best_single(state))
    if rule is not None:
        track.settle(rule)
    return Path.of_steps(
        track.steps,
        own_measure="leave-one-out error",
        n_iter=n_iter,
        converged=converged,
    )


class _Track:
    """The steps so far, and the states of those that are likely to be chosen."""

    def __init__(self, sequence: EvidenceSequence, callback: Callback | None) -> None:
        self.sequence = sequence
        self.callback = callback
        self.steps: list[PathStep] = []
        self.states: dict[int, State] = {}

    def add(self, state: State) -> None:
        """Record a committee; keep its state, if large while it is last or best."""
        self.steps.append(self.sequence.record(state))
        last = len(self.steps) - 1
        self.states[last] = state
        if not self.sequence.likelihood.exact:
            best = int(np.argmin([step.loo_error for step in self.steps]))
            self.states = {i: s for i, s in self.states.items() if i in (last, best)}
        if self.callback is not None:
            self.callback(self.steps[-1])

    def settle(self, rule: Rule) -> None:
        """Settle the step that the rule prefers, until that is a settled one."""
        settled: set[int] = set()
        while True:
            chosen = self.steps.index(preferred(self.steps, rule))
            if chosen in settled:
                return
            self.steps[chosen] = self.sequence.settle(
                self.steps[chosen], self.states.get(chosen)
            )
            settled.add(chosen)
