"""Weigh what other tools trained, and run in their places: predictions in, weights out."""

from committee.interop.ensembler import CommitteeEnsembler
from committee.interop.prediction_files import read_predictions
from committee.interop.predictors import predictor_predictions
from committee.interop.table_of_predictions import Predictions

__all__ = [
    "CommitteeEnsembler",
    "Predictions",
    "predictor_predictions",
    "read_predictions",
]
