"""The control loop of the evidence sequence, the same for both likelihoods.

    J(alpha) = log Z(alpha) - price x (number of members)

A step re-estimates every alpha and lets members enter and leave. It is kept only if
it raises J, so no committee comes twice; otherwise a smaller step is tried.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple, get_args

import numpy as np

from committee._format import LEAVE_ONE_OUT, error_name
from committee._typing import FloatArray, IntArray
from committee.ep.arrays import in_units
from committee.ep.likelihood import Likelihood
from committee.ep.moves import (
    best_alpha,
    best_moves,
    choose_moves,
    initial_alphas,
    member_messages,
    ranked,
    single_move,
    worth_of,
)
from committee.ep.posterior import Fit, Settings, Truncated, constrain, fit_posterior
from committee.path import Path

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
        `log_evidence` minus the price of the members, which the sequence maximises.
    strength : array of shape (M,)
        Posterior mean of a weight over its standard deviation, zero outside.
    gain : array of shape (M,)
        Log evidence that would be lost without a member, or could at most be gained by
        adding it.
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


def preferred(steps: Sequence[PathStep], rule: Rule = "min-loo") -> PathStep:
    """Return the step that a rule prefers.

    "min-loo" takes the smallest leave-one-out error, the first of equals (Chen 3.6);
    "max-evidence" the largest log evidence; "max-density" the largest leave-one-out
    log density, the first of equals; "one-se" the smallest committee whose
    error is within one standard error of the smallest.

    Parameters
    ----------
    steps : sequence of PathStep
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}
        Which step to return.

    Returns
    -------
    PathStep
    """
    if rule not in get_args(Rule):
        raise ValueError(f"rule must be one of {get_args(Rule)}. Got {rule!r}.")
    if rule == "max-evidence":
        return steps[int(np.argmax([step.log_evidence for step in steps]))]
    if rule == "max-density":
        return steps[int(np.argmax([step.loo_density for step in steps]))]
    error = np.array([step.loo_error for step in steps])
    least = int(error.argmin())
    if rule == "min-loo":
        return steps[least]
    size = np.array([step.size for step in steps])
    near = error <= error[least] + steps[least].loo_se
    return steps[int(np.where(near, size, np.inf).argmin())]


Callback = Callable[[PathStep], object]

#: Default of the log evidence that a member has to bring: half of the log 2
#: that its prior gains by being one-sided. At 0 every member with u > 0 stays.
PRICE = 0.5 * float(np.log(2.0))

# Share of the committee that may enter, or leave, in one step: up to 20 members the path
# has every size.
_SHARE = 0.1
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
        self, likelihood: Likelihood, *, truncated: bool, price: float
    ) -> None:
        self.likelihood = likelihood
        self.truncated = truncated
        self.price = price
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
            alpha = choose_moves(state.alpha, moves, share=share)
            new = self.attempt(state, alpha, adapt=True)
            if new is not None:
                return new
        barred: list[int] = []
        for _ in range(_PATIENCE):
            alpha = single_move(state.alpha, moves, barred=np.array(barred, np.intp))
            new = self.attempt(state, alpha, adapt=False)
            if new is not None:
                return new
            barred.extend(np.flatnonzero(alpha != state.alpha))
        return None

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
        best = best_alpha(state.r, state.u, truncated=self.truncated)
        alpha = np.where(np.isfinite(state.alpha), state.alpha, best)
        return worth_of(alpha, state.r, state.u, truncated=self.truncated)

    def settle(self, step: PathStep, state: State | None) -> PathStep:
        """Return a step with its moments settled; from its state, if that was kept.

        The objective keeps its value of the sequence.
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
    likelihood: Likelihood,
    *,
    sequence: str = "fast",
    n_initial: int = 0,
    truncated: bool = True,
    price: float | None = None,
    max_iter: int = 200,
    tol: float = 1e-4,
    callback: Callback | None = None,
    rule: Rule | None = None,
) -> Path:
    """Advance until J stands still, and return all steps.

    Parameters
    ----------
    likelihood : Likelihood
    sequence : {"fast", "printed"}, default="fast"
        Many moves at once that raise log Z less the price, or one at a time as Chen,
        Tino and Yao print it, without a price (see `PrintedSequence`).
    n_initial : int, default=0
        Members with which the printed sequence begins.
    truncated : bool, default=True
        False for ARD: no truncation, weights of any sign.
    price : float, default=None
        Log evidence that a member must add. None means `PRICE` with truncation and 0
        without.
    max_iter : int, default=200
        Maximum number of steps.
    tol : float, default=1e-4
        Two steps in a row that raise the objective by less than `tol` per row end
        the sequence.
    callback : callable, default=None
        Called with each PathStep as it is made.
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}, default=None
        Settle the step that this rule prefers: on the way moments agree to a
        hundredth of a standard deviation only, and on separable rows not even that.

    Returns
    -------
    Path
        At least one step: if no member is worth its price, the best single one.
    """
    least = tol * likelihood.n_rows
    if sequence == "fast":
        if price is None:
            price = PRICE if truncated else 0.0
        loop = EvidenceSequence(likelihood, truncated=truncated, price=price)
        stands_still = least
    elif price is None and truncated:
        loop = PrintedSequence(likelihood, least=least, n_initial=n_initial)
        # `advance` ends this sequence, and the evidence may fall.
        stands_still = -np.inf
    else:
        raise ValueError(
            "sequence='printed' has truncated weights and no price; leave out "
            "'truncated' and 'price', or use sequence='fast'."
        )
    track, start = _Track(loop, callback), loop.start()
    state = start
    slow, n_iter, converged = 0, 0, False
    while n_iter < max_iter and not converged:
        n_iter += 1
        new = loop.advance(state)
        if new is None:
            converged = True
            break
        slow = slow + 1 if new.objective - state.objective < stands_still else 0
        converged = slow == 2
        state = new
        track.add(state)
    if not track.steps:
        track.add(loop.best_single(state))
    if rule is not None:
        track.settle(rule)
    if isinstance(loop, PrintedSequence):
        loop.warn_if_worse_than_single(preferred(track.steps, rule or "min-loo"), start)
    return Path.of_steps(
        track.steps,
        own_measure=error_name(LEAVE_ONE_OUT, "error"),
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


class PrintedSequence(EvidenceSequence):
    """The sequence of alphas as Chen, Tino and Yao print it (3.5, 3.6, appendix).

        1. train EP with the present alphas, the truncations included
        2. of the row sites as virtual targets, without the truncations (eqs 10-12):
               Sigma = (A + L)^-1,   mu = Sigma h
               r_i = F_i' C_i^-1 F_i,   u_i = F_i' C_i^-1 m,   eta_i = u_i^2 - r_i
               C_i = Lambda + sum_{j != i} F_j F_j' / alpha_j        (errata corrected)
           alpha_i = r_i^2 / eta_i if eta_i > 0, infinite otherwise   (eqs 15, 16)
        3. make the one move, to add, delete or re-estimate, that raises
               l_i(alpha) = 1/2 [ log alpha - log(alpha + r_i) + u_i^2 / (alpha + r_i) ]
           most, and begin again

    eta takes u of either sign, and l is the gain of a weight that may be negative: members
    can enter that help only with a negative weight, and the evidence of the model may fall.

    The text leaves three things open. "Include a number of learning machines in the
    ensemble": here the `n_initial` that gain most by themselves with a weight above zero,
    each with its alpha of eq. 15, or none, so that the first move takes in one. Of all
    moves the one with the largest gain is made, as in the reference of the paper (Tipping
    and Faul), and the sequence ends when that gains less than `least`. The noise is
    MacKay's for Sigma and mu, after every move.
    """

    def __init__(self, likelihood: Likelihood, *, least: float, n_initial: int) -> None:
        super().__init__(likelihood, truncated=True, price=0.0)
        self.settings = SETTLED
        self.least = least
        self.n_initial = n_initial

    def advance(self, state: State) -> State | None:
        """Return the committee after the best single move, None if it gains nothing."""
        messages, active = self.likelihood.messages, state.active
        r, u = messages.diagonal, messages.h
        if state.fit is not None:
            untruncated = self._without_truncations(state)
            r, u = member_messages(messages, active, state.alpha[active], untruncated)
        moves = best_moves(state.alpha, r, u, price=0.0, truncated=False)
        if state.fit is None and self.n_initial:
            alpha = initial_alphas(moves, u, self.n_initial)
            return self.fit(state, alpha) if np.isfinite(alpha).any() else None
        alpha = single_move(state.alpha, moves, barred=_last_one(state, moves.alpha))
        if moves.promise[alpha != state.alpha].sum() <= self.least:
            return None
        if state.fit is not None:
            self.likelihood.adapt(untruncated.normal, state.alpha[active])
        return self.fit(state, alpha)

    def warn_if_worse_than_single(self, chosen: PathStep, start: State) -> None:
        """Warn where the best member alone is better by a standard error."""
        self.likelihood.state = start.rows
        single = self.record(self.best_single(start))
        is_it = chosen.active.tolist() == single.active.tolist()
        if not is_it and chosen.loo_error > single.loo_error + single.loo_se:
            warnings.warn(
                f"Member {single.active[0]} alone has a leave-one-out error of "
                f"{single.loo_error:.3g} ± {single.loo_se:.1g}, the committee of the "
                f"printed sequence {chosen.loo_error:.3g}. The two-sided gain can add "
                "members that are useful only with a negative weight. Increase "
                "n_initial, or use sequence='fast'.",
                stacklevel=3,
            )

    def _without_truncations(self, state: State) -> Truncated:
        """Return Sigma and mu, the posterior of weights of either sign."""
        active = state.active
        no_site = np.zeros(len(active))
        return constrain(
            self.likelihood.messages,
            active,
            state.alpha[active],
            no_site,
            no_site,
            self.settings._replace(truncated=False),
        )


def _last_one(state: State, best: FloatArray) -> IntArray:
    """Return the only member if it is to be deleted: a committee has at least one."""
    active = state.active
    return active[np.isinf(best[active])] if len(active) == 1 else active[:0]
