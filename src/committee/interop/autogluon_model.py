"""AutoGluon's model around a CommitteeEnsembler, and its selection as a combiner.

AutoGluon pickles its models by class, so the class is at module level. This module
imports AutoGluon; nothing else in the package does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from autogluon.core.models import GreedyWeightedEnsembleModel
from autogluon.core.models.greedy_ensemble.ensemble_selection import EnsembleSelection

from committee._typing import FloatArray
from committee.combiners import Combiner
from committee.interop.ensembler import CommitteeEnsembler
from committee.votes import Votes


class CommitteeEnsembleModel(GreedyWeightedEnsembleModel):
    """A weighted ensemble of AutoGluon whose weights a combiner learns."""

    ag_key = "COMMITTEE"
    ag_name = "CommitteeEnsemble"

    def __init__(self, model_base: Any = CommitteeEnsembler, **kwargs: Any) -> None:
        super().__init__(model_base=model_base, **kwargs)


class GreedySelection(Combiner):
    """The ensemble selection by which AutoGluon learns the weights of its ensembles."""

    def __init__(self, problem_type: str, metric: Any) -> None:
        self.problem_type = problem_type
        self.metric = metric

    def _weigh(self, votes: Votes) -> FloatArray:
        P = votes.F[:, :, 1] if self.problem_type == "binary" else votes.F
        made = EnsembleSelection(
            ensemble_size=25, problem_type=self.problem_type, metric=self.metric
        )
        made.fit(list(np.moveaxis(P, 1, 0)), votes.y)
        return np.asarray(made.weights_, dtype=np.float64)
