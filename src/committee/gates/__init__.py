"""Weights that depend on x: the only package that sees X and F together."""

from committee.gates.base import Gate
from committee.gates.neighbour import NeighbourGate
from committee.gates.softmax import SoftmaxGate

__all__ = ["Gate", "NeighbourGate", "SoftmaxGate"]
