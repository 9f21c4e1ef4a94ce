"""Which generators, gates and options of a committee go together, checked by `fit`."""

from __future__ import annotations

from typing import Any

from sklearn.base import is_classifier, is_regressor

from committee.combiner_names import as_combiner
from committee.members.dask_training import check_generator


def check_kind(committee: Any) -> None:
    """Raise ValueError for regressors in a classifier, or classifiers in a regressor."""
    wrong = is_regressor if is_classifier(committee) else is_classifier
    for estimator in committee._estimators():
        if wrong(estimator):
            raise ValueError(
                f"The members of a {type(committee).__name__} must be "
                f"{'classifiers' if is_classifier(committee) else 'regressors'}. "
                f"Got {type(estimator).__name__}."
            )


def check_gate(committee: Any) -> None:
    """Raise ValueError for a gate that would be fitted on training rows."""
    if committee.gate is None:
        return
    if committee.uncertainty:
        raise ValueError(
            "Intervals and sets need weights that are the same for all rows: "
            "uncertainty=True works with gate=None only."
        )
    generator, weigh_on = committee._generator(), committee.weigh_on
    if weigh_on == "train" or (
        weigh_on == "held-out" and not generator.leaves_rows_out
    ):
        raise ValueError(
            "A gate is fitted on held-out rows. "
            f"{type(generator).__name__} with weigh_on={weigh_on!r} has none: "
            "give a fraction of the rows to split off, such as weigh_on=0.25."
        )


def check_rows_are_held_out(committee: Any) -> None:
    """Raise ValueError if there are no held-out rows to measure errors on."""
    asked, generator = committee._asked(), committee._generator()
    if asked is None:
        return
    if committee.weigh_on == "train":
        raise ValueError(
            f'{asked} needs held-out rows, and weigh_on="train" '
            'has none: use weigh_on="held-out", or a fraction such as 0.25.'
        )
    if isinstance(committee.weigh_on, str) and not generator.leaves_rows_out:
        raise ValueError(
            f"{asked} needs held-out rows, and "
            f"{type(generator).__name__} leaves none out: give a fraction of the "
            "rows, such as weigh_on=0.25."
        )


def check_chunks(committee: Any, fit_params: dict[str, Any]) -> None:
    """Raise for options that need all rows in memory."""
    check_generator(committee._generator())
    if fit_params:
        raise TypeError(
            f"fit() got {sorted(fit_params)} and Dask collections: members that are "
            "trained on chunks get no further arguments."
        )
    if committee.gate is not None:
        raise TypeError(
            f"{type(committee.gate).__name__} needs all rows in memory and takes no Dask "
            "collections: set gate=None, or compute() the collections."
        )
    if not isinstance(committee.weigh_on, str):
        raise TypeError(
            f"weigh_on={committee.weigh_on:g} splits off rows in memory and takes no "
            'Dask collections: set weigh_on="held-out", as the members of Bagging and '
            "MiniBatches leave rows out."
        )
    asked = committee._asked()
    if asked is not None:
        raise ValueError(
            f"{asked} measures rows in memory and takes no Dask collections: leave it "
            "out, and prune() the committee on other rows, which may be Dask "
            "collections, for intervals, sets and calibrated probabilities."
        )
    if committee.stop is not None:
        raise ValueError(
            f"stop={committee.stop!r} trains members in turn and takes no Dask "
            "collections: set stop=None, or compute() as many rows as fit."
        )
    combiner = as_combiner(committee.combiner)
    if combiner is not None and not combiner.takes_chunks:
        combiner.check_chunks(None)
