"""Feature importances of a committee."""

from __future__ import annotations

import numpy as np

from committee._typing import FloatArray, Member
from committee.ensembles import Roster
from committee.ensembles.member_features import OnColumns

_INSTEAD = (
    "sklearn.inspection.permutation_importance takes any committee, and held-out rows."
)


def feature_importances(roster: Roster, n_features: int) -> FloatArray:
    """Return the weighted mean of the members' feature importances, with sum one.

        i_j = sum_m |w_m| i_mj / sum_m |w_m|,    sum_j i_mj = 1

    A member that has split nothing counts for nothing. Raises AttributeError where a
    member has no importances, or none of the columns of X.
    """
    if roster.transformer is not None:
        raise AttributeError(
            "Its members know columns that a transformer has made, not those of X. "
            + _INSTEAD
        )
    assert roster.weights is not None
    total = np.zeros(n_features)
    for member, w in zip(roster.members, roster.weights, strict=True):
        total += abs(w) * _of_member(member, n_features)
    return total / total.sum() if total.any() else total


def _of_member(member: Member, n_features: int) -> FloatArray:
    """Return the importances of one member for all columns, with sum one or zero."""
    bare, columns = member, np.arange(n_features)
    if isinstance(member, OnColumns):
        bare, columns = member.estimator, np.asarray(member.columns)
    own = getattr(bare, "feature_importances_", None)
    if own is None:
        raise AttributeError(
            f"A {type(bare).__name__} among its members has no feature_importances_. "
            + _INSTEAD
        )
    spread = np.zeros(n_features)
    np.add.at(spread, columns, np.asarray(own, dtype=np.float64))
    return spread / spread.sum() if spread.any() else spread
