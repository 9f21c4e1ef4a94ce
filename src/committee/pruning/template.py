"""A committee that knows its kind, labels and columns, but has not been weighed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from committee._typing import Link
from committee.combiners import Combiner
from committee.ensembles import Roster, known_columns
from committee.estimators import CommitteeClassifier, CommitteeRegressor


def template_of(
    ensemble: Any, roster: Roster, X: Any, *, combiner: Combiner, n_jobs: int | None
) -> Any:
    """Return the committee of an ensemble; X has the names of the columns."""
    kind = CommitteeRegressor if roster.classes is None else CommitteeClassifier
    made = kind(combiner=combiner, n_jobs=n_jobs)
    if roster.classes is not None:
        made.classes_ = np.asarray(roster.classes)
    for name, value in known_columns(ensemble).items():
        setattr(made, name, value)
    columns = [str(column) for column in getattr(X, "columns", [])]
    # LightGBM knows "a b" as "a_b".
    if columns and [c.replace(" ", "_") for c in columns] == list(
        getattr(made, "feature_names_in_", [])
    ):
        made.feature_names_in_ = np.array(columns, dtype=object)
    link: Link = "softmax" if roster.votes == "scores" else "slope"
    if link == "slope" and not combiner.needs_rows:
        link = "mean"  # nothing is chosen: it is the ensemble
    made.roster_ = replace(roster, link=link)
    made.held_out_ = None
    if hasattr(ensemble, "_digest"):
        made._digest = ensemble._digest
    return made
