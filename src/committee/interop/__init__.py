"""Weigh what other tools trained, and run in their places: predictions in, weights out."""

from committee.interop.ensembler import CommitteeEnsembler
from committee.interop.external_predictions import (
    Predictions,
    predictor_predictions,
    read_predictions,
)

__all__ = [
    "CommitteeEnsembler",
    "Predictions",
    "predictor_predictions",
    "read_predictions",
]
