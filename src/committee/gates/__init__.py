"""Weights that depend on x: the one place that sees X and F together."""

from committee.gates.base import Gate
from committee.gates.cell import CellGate
from committee.gates.neighbour import NeighbourGate
from committee.gates.precision import PrecisionGate
from committee.gates.softmax import SoftmaxGate

__all__ = ["CellGate", "Gate", "NeighbourGate", "PrecisionGate", "SoftmaxGate"]
