"""From the members of a fitted ensemble to the committee of the few that matter."""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone

from committee._typing import Link
from committee.combiners import Combiner, EPPruner
from committee.combiners.by_name import as_combiner
from committee.ensembles import Roster, known_columns
from committee.losses import measure_of
from committee.pruning.assessment import Assessment
from committee.pruning.chunked_data import kind_of_data
from committee.pruning.oob_choice import Oob
from committee.targets import at_least_two


def keep_few(
    made: Any,
    ensemble: Any,
    roster: Roster,
    X: Any,
    y: Any,
    *,
    oob: Oob,
    sample_weight: Any,
    scoring: str | None,
    verbose: bool,
) -> Any:
    """Return a copy of an unfitted committee, with the members that have a weight.

        F = member predictions on X,   w = combiner(F, y),   keep {m : w_m != 0}

    `made` has the combiner, `EPPruner()` where that is None, and `n_jobs`; it learns
    labels and columns. See `prune` for the rest.
    """
    measure = measure_of(scoring, of_classes=roster.classes is not None)
    _check_calibration(made, roster)
    if roster.classes is not None:
        at_least_two(np.asarray(roster.classes))
    combiner = EPPruner() if made.combiner is None else as_combiner(made.combiner)
    learn(made, ensemble, roster, X, combiner)
    data = kind_of_data(X, y)(ensemble, roster, made, oob, verbose, X, y, sample_weight)
    fitted = data.fit(clone(combiner))
    if data.note:
        warnings.warn(data.note, UserWarning, stacklevel=3)
    if roster.names is not None:
        # The columns of F have names, also those of members that are left out.
        fitted.member_names_ = roster.names
    return Assessment(data, fitted, measure).assemble(fitted.weights_)


def _check_calibration(made: Any, roster: Roster) -> None:
    """Refuse a vector for rounds of a booster: their scores have a scale only."""
    if roster.output == "scores" and getattr(made, "calibration", None) == "vector":
        raise ValueError(
            'calibration="vector" is for members with probabilities, and these are the '
            "rounds of a booster: their weights are scaled to the least log-loss, as "
            'calibration="slope" has it.'
        )


def learn(made: Any, ensemble: Any, roster: Roster, X: Any, combiner: Combiner) -> None:
    """Tell a committee its labels, its columns and how its members predict."""
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
    link: Link = "softmax" if roster.output == "scores" else "slope"
    if link == "slope" and not combiner.needs_rows:
        link = "mean"  # nothing is chosen: it is the ensemble
    made.roster_ = replace(roster, link=link, floor=None)
    made.held_out_ = None
    if hasattr(ensemble, "_digest"):
        made._digest = ensemble._digest
