"""What a likelihood is to the rest of the package: one small interface.

A likelihood tells what its rows say about the weights (`messages`), takes in a new
posterior of the weights (`absorb`), and knows its part of the evidence and the
leave-one-out scores. The Gaussian one is exact and never looks at rows for this.
"""

from __future__ import annotations

from typing import Any, ClassVar, Protocol

from committee.ep.gaussian import Array
from committee.ep.loo import Score
from committee.ep.probit_rows import Index, Messages
from committee.ep.truncated import Normal

__all__ = ["Index", "Likelihood"]


class Likelihood(Protocol):
    """What the posterior and the evidence sequence ask of a likelihood."""

    unit: Array

    #: Whether the rows need no sites, so that a state is small.
    exact: ClassVar[bool]

    @property
    def n_rows(self) -> float:
        """The number of rows, or their total weight."""

    @property
    def messages(self) -> Messages:
        """What the rows say about the active members."""

    @property
    def noise_variance(self) -> float:
        """The noise, in the units of y."""

    #: All that changes: what `state` was, it can be again.
    state: Any

    def activate(self, active: Index) -> None:
        """Make `messages` those about the members `active`."""

    def absorb(self, q: Normal, step: float) -> float:
        """Update the sites of the rows given q; return the mismatch before."""

    def log_scale(self) -> float:
        """Return the rows' part of the log evidence, before the last `absorb`."""

    def score(self, q: Normal) -> Score:
        """Return the leave-one-out scores of q."""

    def adapt(self, q: Normal, alpha: Array) -> None:
        """Re-estimate what the likelihood itself has to learn."""
