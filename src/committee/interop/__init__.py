"""Exchange with other tools: weigh their models, or weigh models for them."""

from committee.interop.autogluon_predictor import (
    add_committee,
    predictor_predictions,
    shrink_predictor,
)
from committee.interop.ensembler import CommitteeEnsembler
from committee.interop.external_predictions import Predictions, read_predictions

__all__ = [
    "CommitteeEnsembler",
    "Predictions",
    "add_committee",
    "predictor_predictions",
    "read_predictions",
    "shrink_predictor",
]
