"""The sequence of alphas as Chen, Tino and Yao print it (3.5, 3.6 and the appendix).

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

The text leaves three things open. Here the sequence begins without members, so that the
first move takes in the best one; of all moves the one with the largest gain is made, as
in the reference of the paper (Tipping and Faul); and it ends when that gains less than
`least`. The noise is MacKay's for Sigma and mu, after every move.
"""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.ep.fitting import Truncated, constrain
from committee.ep.likelihood import Likelihood
from committee.ep.moves import best_moves, member_messages, single_move
from committee.ep.sequence import SETTLED, EvidenceSequence, State


class PrintedSequence(EvidenceSequence):
    """One move at a time, by the gain of a prior of two sides."""

    def __init__(self, likelihood: Likelihood, *, room: int, least: float) -> None:
        super().__init__(likelihood, truncated=True, price=0.0, room=room)
        self.settings = SETTLED
        self.least = least

    def advance(self, state: State) -> State | None:
        """Return the committee after the best single move, None if it gains nothing."""
        messages, active = self.likelihood.messages, state.active
        r, u = messages.diagonal, messages.h
        if state.fit is not None:
            untruncated = self._without_truncations(state)
            r, u = member_messages(messages, active, state.alpha[active], untruncated)
        moves = best_moves(state.alpha, r, u, price=0.0, truncated=False)
        alpha = single_move(
            state.alpha, moves, barred=_last_one(state, moves.alpha), room=self.room
        )
        if moves.promise[alpha != state.alpha].sum() <= self.least:
            return None
        if state.fit is not None:
            self.likelihood.adapt(untruncated.normal, state.alpha[active])
        return self.fit(state, alpha)

    def stands_still(self, before: State, after: State, least: float) -> bool:
        """Return False: `advance` knows when to end, and the evidence may fall."""
        return False

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
