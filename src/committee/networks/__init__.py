"""GENERATE: neural networks, many trained as one tensor."""

from committee.networks.estimators import NetworkClassifier, NetworkRegressor
from committee.networks.generator import Networks

__all__ = ["NetworkClassifier", "NetworkRegressor", "Networks"]
