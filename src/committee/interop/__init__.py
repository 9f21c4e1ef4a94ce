"""Exchange with other tools: weigh their models, or weigh models for them."""

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
