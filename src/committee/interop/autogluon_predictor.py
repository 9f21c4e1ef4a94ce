"""AutoGluon: predictions of a predictor's models, and committees inside a predictor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from numbers import Real
from typing import Any

import numpy as np

from committee._hints import how_to_install
from committee.combiners import BudgetPruner
from committee.held_out import CrossFit, HeldOutPredictions
from committee.interop.ensembler import CommitteeEnsembler
from committee.interop.external_predictions import (
    Predictions,
    assembled,
    checked_names,
)
from committee.losses import decided, error_losses, measure_of
from committee.pruning.costs import few_rows, seconds_per_row
from committee.pruning.summary import Summary, compared_errors
from committee.votes import Votes

#: Prefixes of ensembles whose weights were learned from the same predictions.
_WEIGHED = ("WeightedEnsemble", "CommitteeEnsemble")


def predictor_predictions(
    predictor: Any, data: Any = None, *, models: Sequence[str] | None = None
) -> Predictions:
    """Return the predictions of the models of an AutoGluon `TabularPredictor`.

    Without `data`, they are predictions to weigh the models on, with their targets `y`:
    predictions of the validation rows if the predictor has them, otherwise out-of-fold
    predictions of the training rows. AutoGluon has validation rows if it was fitted
    without bagging, or with `use_bag_holdout=True`. With `data`, they are predictions to
    combine.

    AutoGluon is not imported. Any object works that has `problem_type`, `model_names()`,
    `predict_proba_multi(data, models=...)`, `class_labels` and, for regression,
    `predict_multi(data, models=...)`.

    Parameters
    ----------
    predictor : TabularPredictor
        Fitted, for classification or regression.
    data : frame, default=None
        Rows to predict.
    models : sequence of str, default=None
        None means all models except weighted ensembles, AutoGluon's own and those of
        `add_committee`, and except the copies that `refit_full` made. A model that cannot
        predict new rows, because its fold models were not saved, predicts `data` by
        its refitted copy.

    Returns
    -------
    predictions : Predictions
        `y` is None with `data`, and for predictors without `load_data_internal`.

    Raises
    ------
    ValueError
        If a model cannot predict `data` and has no refitted copy, or if the rows to weigh
        on were deleted, for example by `clone_for_deployment`.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import predictor_predictions
    >>> class Predictor:  # the part of TabularPredictor that is used
    ...     problem_type, class_labels = "binary", ["no", "yes"]
    ...     def model_names(self):
    ...         return ["LightGBM", "WeightedEnsemble_L2"]
    ...     def predict_proba_multi(self, data=None, models=None):
    ...         return {name: np.array([[0.2, 0.8], [0.7, 0.3]]) for name in models}
    >>> known = predictor_predictions(Predictor())
    >>> known.names, known.codes(["yes", "no"]).tolist()
    (['LightGBM'], [1, 0])
    """
    kind = _task(predictor)
    rows = None
    if data is None and hasattr(predictor, "load_data_internal"):
        rows = _weighing_rows(predictor)
    names = _models(predictor, models)
    if not names:
        raise ValueError(
            "predictor has no models other than its own weighted ensembles."
        )
    asked = dict(zip(names, names, strict=True))
    if data is not None:
        asked = {name: _that_predicts(predictor, name) for name in names}
    predict = (
        predictor.predict_multi
        if kind == "regression"
        else predictor.predict_proba_multi
    )
    # A copy: AutoGluon may add models to the list, and to its result.
    answer = predict(data, models=list(asked.values()))
    classes = None if kind == "regression" else np.asarray(predictor.class_labels)
    found = {
        name: np.asarray(answer[own], dtype=np.float64) for name, own in asked.items()
    }
    made = assembled(found, classes)
    if rows is None:
        return made
    _, y = predictor.load_data_internal(rows, return_X=False)
    return replace(made, y=np.asarray(y))


def _task(predictor: Any) -> str:
    """Return the problem type; raise ValueError for anything but a fitted predictor."""
    kind = getattr(predictor, "problem_type", None)
    if kind not in ("binary", "multiclass", "regression"):
        raise ValueError(
            "predictor must be a fitted TabularPredictor, with the problem_type 'binary', "
            "'multiclass' or 'regression'; TabularPredictor.load(path) reads one. Got a "
            f"{type(predictor).__name__} with the problem_type {kind!r}."
        )
    return str(kind)


def _weighing_rows(predictor: Any) -> str:
    """Return which rows AutoGluon learns weights on, as it names them."""
    if not predictor._trainer.is_data_saved:
        raise ValueError(
            "predictor does not have the rows to weigh its models on: they are deleted by "
            "clone_for_deployment, save_space and the preset 'optimize_for_deployment', and "
            "not saved with learner_kwargs={'cache_data': False}. Use the predictor before "
            "this."
        )
    return "val" if predictor.has_val else "train"


def _models(predictor: Any, models: Sequence[str] | None) -> list[str]:
    """Return the names of the models to weigh; raise ValueError for unknown ones."""
    if models is None:
        return base_models(predictor)
    known = predictor.model_names()
    if unknown := [name for name in models if name not in known]:
        raise ValueError(
            f"models must be a list of models of predictor: {', '.join(known)}. Got "
            f"{unknown}."
        )
    return checked_names(models)


def base_models(predictor: Any) -> list[str]:
    """Return the names of all models except weighted ensembles and refitted copies."""
    copies = set(_refitted(predictor).values())
    return [
        name
        for name in checked_names(predictor.model_names())
        if name not in copies and not name.startswith(_WEIGHED)
    ]


def _refitted(predictor: Any) -> dict[str, str]:
    """Return the copy that `refit_full` made of each model, by name."""
    known = getattr(predictor, "model_refit_map", None)
    return {} if known is None else dict(known())


def _that_predicts(predictor: Any, name: str) -> str:
    """Return the model, or its refitted copy, that can predict new rows."""
    if not hasattr(predictor, "model_refit_map"):
        return name
    able = set(predictor.model_names(can_infer=True))
    for one in (name, _refitted(predictor).get(name)):
        if one in able:
            return str(one)
    raise ValueError(
        f"{name} cannot predict new rows: its fold models were not saved. Call "
        "predictor.refit_full(), or fit with save_bag_folds=True, or leave it out of "
        "models."
    )


def add_committee(
    predictor: Any,
    combiner: Any = "auto",
    *,
    models: Sequence[str] | None = None,
    name_suffix: str = "",
) -> str:
    """Add a committee of the trained models to an AutoGluon `TabularPredictor`.

    The combiner is fitted on the predictions that AutoGluon's own weighted ensemble is
    fitted on, see `predictor_predictions`. The committee is then a model of the predictor:
    `leaderboard`, `predict(data, model=name)`, `save`, `load` and `refit_full` include it.

    Parameters
    ----------
    predictor : TabularPredictor
        Fitted, with the rows that it was fitted on.
    combiner : combiner or str, default="auto"
        See `CommitteeEnsembler`.
    models : sequence of str, default=None
        Models that may get a weight. None means all models except weighted ensembles
        and refitted copies.
    name_suffix : str, default=""
        End of the name of the new model.

    Returns
    -------
    name : str
        Name of the new model: "CommitteeEnsemble_L2" and the suffix. Its refitted copy if
        the models can only predict by theirs, as after `presets="high_quality"`. If its
        validation score is the best, it is `predictor.model_best`.

    Raises
    ------
    ImportError
        If `autogluon.tabular` is not installed.
    ValueError
        As `predictor_predictions`, and if the combiner does not fit the problem type.

    Examples
    --------
    >>> from committee.interop import add_committee
    >>> name = add_committee(predictor)  # doctest: +SKIP
    >>> predictor.predict(data, model=name)  # doctest: +SKIP
    """
    CommitteeEnsembler(problem_type=_task(predictor), combiner=combiner)
    try:
        from committee.interop.autogluon_model import CommitteeEnsembleModel
    except ImportError as error:
        raise ImportError(
            "add_committee needs a fitted predictor of autogluon.tabular: "
            f"{how_to_install('autogluon')}"
        ) from error
    names, trainer = _models(predictor, models), predictor._trainer
    X, y = predictor.load_data_internal(_weighing_rows(predictor))
    # By default AutoGluon catches errors, and offers few models of one type.
    trainer.raise_on_model_failure, quiet = True, trainer.raise_on_model_failure
    try:
        (name,) = trainer.stack_new_level_aux(
            X=X,
            y=y,
            base_model_names=names,
            fit=not predictor.has_val,
            name_suffix=name_suffix,
            hyperparameters={"max_base_models_per_type": 0},
            child_cls=CommitteeEnsembleModel,
            child_hyperparameters={"combiner": combiner},
        )
    finally:
        trainer.raise_on_model_failure = quiet
    if _refitted(predictor) and name not in predictor.model_names(can_infer=True):
        name = predictor.refit_full(name, set_best_to_refit_full=False)[name]
    predictor.save(silent=True)
    return str(name)


def shrink_predictor(
    predictor: Any,
    *,
    max_models: int | None = None,
    max_seconds: float | None = None,
    combiner: Any = "auto",
) -> Summary:
    """Keep the few models of an AutoGluon `TabularPredictor` that matter; delete the rest.

    A committee of models within the limit is added by `add_committee` and becomes
    `predictor.model_best`. All models that it does not need are deleted, also from disk.
    `predictor.decision_threshold` stays as it is.
    To try it on a copy, pass `predictor.clone(path, return_clone=True)`.

    Parameters
    ----------
    predictor : TabularPredictor
        Fitted. It is changed.
    max_models : int, default=None
        Largest number of models. A stacked model counts with all that it needs.
    max_seconds : float, default=None
        Largest sum of the models' seconds for one row, in batches of up to 1,000 rows.
        One of the two limits must be given.
    combiner : combiner or str, default="auto"
        Learns the weights; see `CommitteeEnsembler` and `BudgetPruner`.

    Returns
    -------
    summary : committee.pruning.Summary
        Error, log-loss, models, bytes on disk and seconds before and after. "Before" is
        `predictor.model_best`. Errors are on the rows of `predictor_predictions`, by
        committees that were chosen and weighed without the row. If `model_best` is a
        weighted ensemble, AutoGluon's selection is repeated without the row.

    Raises
    ------
    ValueError
        If not exactly one limit above 0 is given, or no model keeps to it; and as
        `add_committee`.

    Examples
    --------
    >>> from committee.interop import shrink_predictor
    >>> print(shrink_predictor(predictor, max_models=3))  # doctest: +SKIP
    """
    given = {"max_models": max_models, "max_seconds": max_seconds}
    limits: list[Any] = [limit for limit in given.values() if limit is not None]
    valid = [isinstance(limit, Real) and float(limit) > 0 for limit in limits]
    if valid != [True]:
        raise ValueError(
            "Pass exactly one positive limit: max_models (for example 3) or max_seconds "
            f"(for example 0.0001). Got {given}."
        )
    combiner = CommitteeEnsembler(
        problem_type=_task(predictor), combiner=combiner
    ).combiner
    known, trainer = predictor_predictions(predictor), predictor._trainer
    costs = [
        len(trainer.get_minimum_model_set(name))
        if max_seconds is None
        else _seconds(predictor, name)
        for name in known.names
    ]
    if (least := min(costs)) > limits[0]:
        raise ValueError(
            f"No model keeps to the limit {limits[0]:g}: {known.names[costs.index(least)]} "
            f"needs the least, {least:.2g}."
        )
    pruner = BudgetPruner(combiner, costs=costs, budget=limits[0])
    y = known.y.astype(np.intp if known.classes is not None else np.float64)
    votes = Votes(known.F, y, known.held_out, None)
    best, costs_before = predictor.model_best, _costs(predictor)
    before = _predicted(votes, predictor_predictions(predictor, models=[best]).F[:, 0])
    if best.startswith("WeightedEnsemble"):
        from committee.interop.autogluon_model import GreedySelection

        selection = GreedySelection(predictor.problem_type, predictor.eval_metric)
        before = CrossFit(selection, votes).own or before
    fitted = pruner.fit(known.F, y, held_out=known.held_out)
    output = fitted.combine(known.F)
    p = output if votes.n_classes is None else fitted.probabilities(output)
    as_weighed = _predicted(votes, p)
    after = CrossFit(pruner, votes).own
    name = add_committee(predictor, pruner, models=known.names, name_suffix="_small")
    predictor.set_model_best(name, save_trainer=True)
    # Of a copy, also what it was copied from: that has the out-of-fold predictions.
    kept = [name, trainer.get_refit_full_parent(name)]
    predictor.delete_models(models_to_keep=kept, dry_run=False)
    names = base_models(predictor)
    measure = measure_of(None, of_classes=known.classes is not None)
    n_bytes, seconds = zip(costs_before, _costs(predictor), strict=True)
    return Summary(
        **compared_errors(before, after or as_weighed, as_weighed, measure),
        n_members_before=len(known.names),
        n_members_after=len(names),
        cross_fitted=after is not None,
        loo=None,
        loo_measure="",
        bytes_name="bytes on disk",
        bytes_before=n_bytes[0],
        bytes_after=n_bytes[1],
        seconds_before=seconds[0],
        seconds_after=seconds[1],
        names_after=names,
    )


def _seconds(predictor: Any, name: str) -> float:
    """Return the seconds that a model takes for one row, with those it depends on."""
    X, _ = predictor.load_data_internal("train", return_y=False)
    X, name = few_rows(X), _that_predicts(predictor, name)
    return seconds_per_row(
        lambda X: predictor.predict(X, model=name, transform_features=False), X
    )


def _costs(predictor: Any) -> tuple[float, float]:
    """Return the bytes on disk, and the seconds of the best model for one row."""
    return float(predictor.disk_usage()), _seconds(predictor, predictor.model_best)


def _predicted(votes: Votes, p: Any) -> HeldOutPredictions:
    """Return numbers, or probabilities, as predictions of the rows of votes."""
    return HeldOutPredictions(
        votes,
        p,
        error_losses(decided(p), votes.y),
        np.ones(len(votes.y), dtype=bool),
        decided(p),
        p=None if votes.n_classes is None else p,
    )
