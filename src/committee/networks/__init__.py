"""GENERATE: neural networks, many trained as one tensor."""

from committee.networks.generator import Networks
from committee.networks.network import NetworkClassifier, NetworkRegressor

__all__ = ["NetworkClassifier", "NetworkRegressor", "Networks"]
