"""What `fit` refuses of Dask collections, before any work."""

from __future__ import annotations

from typing import Any

from committee.combiners.by_name import as_combiner
from committee.members import Generator
from committee.members.dask_training import check_generator
from committee.uncertainty.after_fit import check_no_chunks


def check_chunks(
    committee: Any, generator: Generator, fit_params: dict[str, Any]
) -> None:
    """Refuse what has to see all rows at once."""
    check_generator(generator)
    if fit_params:
        raise TypeError(
            f"fit() got {sorted(fit_params)} and Dask collections: members that are "
            "trained on chunks get no further arguments."
        )
    if committee.gate is not None:
        raise TypeError(
            f"{type(committee.gate).__name__} sees all rows at once and takes no Dask "
            "collections: set gate=None, or compute() as many rows as fit."
        )
    check_no_chunks(committee)
    if committee.stop is not None:
        raise ValueError(
            f"stop={committee.stop!r} trains members in turn and takes no Dask "
            "collections: set stop=None, or compute() as many rows as fit."
        )
    combiner = as_combiner(committee.combiner)
    if combiner is not None and not combiner.takes_chunks:
        combiner.check_chunks(None)
