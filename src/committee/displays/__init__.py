"""Displays in the style of scikit-learn: numbers first, then the picture.

The constructor, or `compute`, makes the numbers and keeps them as attributes. `plot`
draws them and imports matplotlib. `from_estimator` and `from_predictions` do both. The
report reads the attributes and draws them itself.
"""

from committee.displays.ambiguity import AmbiguityDisplay
from committee.displays.critical import CriticalDifferenceDisplay
from committee.displays.gate import GateDisplay
from committee.displays.interval import IntervalDisplay
from committee.displays.kappa_error import KappaErrorDisplay
from committee.displays.pruning_path import PruningPathDisplay
from committee.displays.refinement import RefinementDisplay
from committee.displays.reliability import ReliabilityDisplay
from committee.displays.weights import WeightsDisplay

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
