"""Displays in the style of scikit-learn: numbers first, then the picture.

The constructor, or `compute`, makes the numbers and keeps them as attributes. `plot`
draws them and imports matplotlib. `from_estimator` and `from_predictions` do both. The
report reads the attributes and draws them itself.
"""

from committee.displays.coverage import IntervalDisplay, ReliabilityDisplay
from committee.displays.critical import CriticalDifferenceDisplay
from committee.displays.diversity import AmbiguityDisplay, KappaErrorDisplay
from committee.displays.paths import PruningPathDisplay, RefinementDisplay
from committee.displays.weights import GateDisplay, WeightsDisplay

__all__ = [
    "AmbiguityDisplay",
    "CriticalDifferenceDisplay",
    "GateDisplay",
    "IntervalDisplay",
    "KappaErrorDisplay",
    "PruningPathDisplay",
    "RefinementDisplay",
    "ReliabilityDisplay",
    "WeightsDisplay",
]
