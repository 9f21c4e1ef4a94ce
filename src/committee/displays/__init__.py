"""Numbers first, then their picture: displays in the style of scikit-learn.

Every display holds its numbers as attributes; matplotlib is imported by `plot`.
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
