"""Probit votes: N sites, one per row, all updated at once."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from committee.ep.gaussian import Array
from committee.ep.likelihood import Index
from committee.ep.loo import LeaveOneOut, Score, vote_loo
from committee.ep.rows import (
    RowSites,
    RowUpdate,
    quiet_sites,
    row_blocks,
    row_messages,
    sweep,
)
from committee.ep.truncated import Normal


class ProbitLikelihood:
    """p(y_n | w) = Phi(w'S_n), all rows updated at once.

    Parameters
    ----------
    S : array of shape (N, M)
        Signed rows y_n F_n; 0 is an abstention.
    weight : array of shape (N,), optional
        Row weights, as powers of the terms.
    group : int
        Number of consecutive rows that make one case.
    sites : RowSites, optional
        Where to start.
    unit : array of shape (M,), optional
        Factor from weights of S to the weights that are reported.
    """

    exact: ClassVar[bool] = False

    def __init__(
        self,
        S: Array,
        *,
        weight: Array | None = None,
        group: int = 1,
        sites: RowSites | None = None,
        unit: Array | None = None,
    ) -> None:
        self.S = S
        self.weight = weight
        self.group = group
        self.sites = quiet_sites(S) if sites is None else sites
        self.unit = np.ones(S.shape[1]) if unit is None else unit
        self.active: Index = np.arange(0)
        self.messages = row_messages(S, self.sites, weight)
        self._last: RowUpdate | None = None

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
        return float(len(self.S) if self.weight is None else self.weight.sum())

    @property
    def noise_variance(self) -> float:
        """Return the variance of the latent noise."""
        return 1.0

    def _columns(self, members: Index) -> Array:
        """Return the columns of L about some members, from the present sites."""
        t = self.sites.t if self.weight is None else self.sites.t * self.weight
        L = np.zeros((self.S.shape[1], len(members)))
        for rows in row_blocks(*self.S.shape):
            S = np.asarray(self.S[rows], dtype=np.float64)
            L += S.T @ (S[:, members] * t[rows, None])
        return L

    def activate(self, active: Index) -> None:
        """Keep the columns of L that stay, and add those of the new members."""
        known = np.isin(active, self.active)
        L = np.empty((self.S.shape[1], len(active)))
        L[:, known] = self.messages.L[:, np.isin(self.active, active)]
        if not known.all():
            L[:, ~known] = self._columns(active[~known])
        self.messages = self.messages._replace(L=L)
        self.active = active

    def absorb(self, q: Normal, step: float) -> float:
        """Run one parallel sweep over the rows."""
        self._last = sweep(
            self.S, self.active, self.sites, q, weight=self.weight, step=step
        )
        self.sites, self.messages = self._last.sites, self._last.messages
        return self._last.mismatch

    @property
    def last(self) -> RowUpdate:
        """Return the outcome of the last sweep."""
        if self._last is None:
            raise RuntimeError("absorb comes first.")
        return self._last

    def log_scale(self) -> float:
        """Return sum_n s_n log s_n."""
        return self.last.log_scales

    def adapt(self, q: Normal, alpha: Array) -> None:
        """Do nothing: the latent noise is one by definition."""

    def row_loo(self) -> LeaveOneOut:
        """Return the cavities of the last sweep, scored."""
        return vote_loo(
            self.last.c_mean,
            self.last.c_var,
            self.last.log_z,
            self.weight,
            self.group,
        )

    def score(self, q: Normal) -> Score:
        """Return the leave-one-out scores of the last sweep."""
        return self.row_loo().score
