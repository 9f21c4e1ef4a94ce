"""Members of a fitted AutoGluon predictor, or of one with its methods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from committee.interop.table_of_predictions import (
    Predictions,
    assembled,
    checked_names,
)

#: How AutoGluon calls the ensembles that it weighs itself, on these same rows.
_WEIGHED = "WeightedEnsemble"


def predictor_predictions(
    predictor: Any, data: Any = None, *, models: Sequence[str] | None = None
) -> Predictions:
    """Return what the models of an AutoGluon `TabularPredictor` predict.

    Without `data` these are its out-of-fold predictions (of the rows that it trained on,
    in their order, if it was fitted with bagging) or those of its validation rows: the
    predictions to weigh the models on. With `data` they are what to combine.

    Nothing of AutoGluon is imported: any object with `problem_type`, `model_names()`,
    `predict_proba_multi(data, models=...)`, `class_labels` and, for regression,
    `predict_multi(data, models=...)` will do.

    Parameters
    ----------
    predictor : TabularPredictor
        For two or more classes or for regression.
    data : frame, optional
        Rows to predict.
    models : sequence of str, optional
        All unless given, but for the `WeightedEnsemble_L*` of AutoGluon, whose weights were
        learned from these same predictions.

    Returns
    -------
    predictions : Predictions

    Examples
    --------
    >>> import numpy as np
    >>> from committee import predictor_predictions
    >>> class Predictor:  # the part of TabularPredictor that is asked
    ...     problem_type, class_labels = "binary", ["no", "yes"]
    ...     def model_names(self):
    ...         return ["LightGBM", "WeightedEnsemble_L2"]
    ...     def predict_proba_multi(self, data=None, models=None):
    ...         return {name: np.array([[0.2, 0.8], [0.7, 0.3]]) for name in models}
    >>> known = predictor_predictions(Predictor())
    >>> known.names, known.codes(["yes", "no"]).tolist()
    (['LightGBM'], [1, 0])
    """
    kind = getattr(predictor, "problem_type", None)
    if kind not in ("binary", "multiclass", "regression"):
        raise ValueError(
            "predictor must be fitted, with the problem_type 'binary', 'multiclass' or "
            f"'regression'. Got {kind!r}."
        )
    if models is None:
        every = checked_names(predictor.model_names())
        models = [name for name in every if not name.startswith(_WEIGHED)]
    names = checked_names(models)
    if not names:
        raise ValueError("predictor has no models but its own weighted ensembles.")
    ask = predictor.predict_multi if kind == "regression" else None
    ask = predictor.predict_proba_multi if ask is None else ask
    # A list of its own: what they depend on may be added to it, and to the answer.
    answer = ask(data, models=list(names))
    classes = None if kind == "regression" else np.asarray(predictor.class_labels)
    found = {name: np.asarray(answer[name], dtype=np.float64) for name in names}
    return assembled(found, classes)
