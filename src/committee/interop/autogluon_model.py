"""CommitteeEnsembleModel: AutoGluon's model around a CommitteeEnsembler.

AutoGluon pickles its models by class, so the class is at module level. This module
imports AutoGluon; nothing else in the package does.
"""

from __future__ import annotations

from typing import Any

from autogluon.core.models import GreedyWeightedEnsembleModel

from committee.interop.ensembler import CommitteeEnsembler

#: How AutoGluon names these models; `predictor_predictions` leaves them out.
NAME = "CommitteeEnsemble"


class CommitteeEnsembleModel(GreedyWeightedEnsembleModel):
    """A weighted ensemble of AutoGluon whose weights a combiner learns."""

    ag_key = "COMMITTEE"
    ag_name = NAME

    def __init__(self, model_base: Any = CommitteeEnsembler, **kwargs: Any) -> None:
        super().__init__(model_base=model_base, **kwargs)
