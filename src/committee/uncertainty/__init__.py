"""Intervals and sets of classes from rows that members and weights have not seen."""

from committee.uncertainty.intervals import (
    conformal_quantile,
    constant_interval,
    jackknife_plus_interval,
    member_spread,
    scaled_interval,
)
from committee.uncertainty.sets import (
    aps_scores,
    class_quantiles,
    class_sets,
    lac_scores,
)

__all__ = [
    "aps_scores",
    "class_quantiles",
    "class_sets",
    "conformal_quantile",
    "constant_interval",
    "jackknife_plus_interval",
    "lac_scores",
    "member_spread",
    "scaled_interval",
]
