"""Probit votes: N sites, one per row, all updated at once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.likelihood import Index
from committee.ep.loo import Score
from committee.ep.truncated import Normal
from committee.ep.votes import Sums, VoteRows


class ProbitLikelihood:
    """p(y_n | w) = Phi(w'S_n), all rows updated at once.

    Parameters
    ----------
    rows : VoteRows
        Signed rows y_n F_n, wherever they are kept.
    sites : optional
        Sites of the rows to start with.
    unit : array of shape (M,), optional
        Factor from weights of S to the weights that are reported.
    """

    exact: ClassVar[bool] = False

    def __init__(
        self,
        rows: VoteRows,
        *,
        sites: Any = None,
        unit: Array | None = None,
    ) -> None:
        self.rows = rows
        self.sites = rows.initial_sites() if sites is None else sites
        self.unit = np.ones(rows.n_members) if unit is None else unit
        self.active: Index = np.arange(0)
        self.messages = rows.messages(self.sites)
        self._last: Sums | None = None

    @property
    def state(self) -> Any:
        """Return sites, active members, their messages, and the last sweep."""
        return self.sites, self.active, self.messages, self._last

    @state.setter
    def state(self, state: Any) -> None:
        self.sites, self.active, self.messages, self._last = state

    @property
    def n_rows(self) -> float:
        """Return the total weight of the rows."""
        return self.rows.n_rows

    @property
    def noise_variance(self) -> float:
        """Return the variance of the latent noise."""
        return 1.0

    def activate(self, active: Index) -> None:
        """Keep the columns of L that stay, and add those of the new members."""
        known = np.isin(active, self.active)
        L = np.empty((self.rows.n_members, len(active)))
        L[:, known] = self.messages.L[:, np.isin(self.active, active)]
        if not known.all():
            L[:, ~known] = self.rows.columns(self.sites, active[~known])
        self.messages = self.messages._replace(L=L)
        self.active = active

    def absorb(self, q: Normal, step: float) -> float:
        """Run one parallel sweep over the rows."""
        self.sites, self._last = self.rows.sweep(self.sites, self.active, q, step)
        self.messages = self._last.messages
        return self._last.mismatch

    @property
    def last(self) -> Sums:
        """Return the outcome of the last sweep."""
        if self._last is None:
            raise RuntimeError("absorb comes first.")
        return self._last

    def log_scale(self) -> float:
        """Return sum_n s_n log s_n."""
        return self.last.log_scales

    def adapt(self, q: Normal, alpha: Array) -> None:
        """Do nothing: the latent noise is one by definition."""

    def score(self, q: Normal) -> Score:
        """Return the leave-one-out scores of the last sweep."""
        return self.rows.score(self.last)
