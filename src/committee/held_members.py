"""The members that a fitted committee holds: its roster, as attributes."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, Member
from committee.ensembles import Roster
from committee.ensembles.member_names import kind_of_member
from committee.saved_state import SavedState


class HeldMembers(SavedState):
    """Members, their names and weights are those of one roster."""

    #: Who the members are and how they predict; `members_`, `weights_` are its own.
    roster_: Roster
    #: Numbers of the members among all that were trained, or pruned from.
    support_: IntArray

    @property
    def members_(self) -> list[Member]:
        """The members with a nonzero weight."""
        return self._fitted_roster().members

    @property
    def weights_(self) -> FloatArray:
        """The weight of each of the members."""
        weights = self._fitted_roster().weights
        assert weights is not None
        return weights

    @property
    def member_names_(self) -> list[str]:
        """What the members are called: by their number and class if nobody named them."""
        roster = self._fitted_roster()
        if roster.names is not None:
            return list(roster.names)
        kinds = map(kind_of_member, roster.members)
        return [f"#{m} {kind}" for m, kind in zip(self.support_, kinds, strict=True)]

    @property
    def transformer_(self) -> Any:
        """What is done to X before all members, or None."""
        return self._fitted_roster().transformer

    @property
    def n_members_(self) -> int:
        """Number of members with a nonzero weight."""
        return int(np.count_nonzero(self.weights_))

    def __sklearn_is_fitted__(self) -> bool:
        """Whether the last fit came to its end."""
        return hasattr(self, "roster_")

    def _fitted_roster(self) -> Roster:
        # NotFittedError is an AttributeError too, as hasattr() and available_if() need.
        check_is_fitted(self)
        return self.roster_
