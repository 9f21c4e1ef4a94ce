"""From the rows of a table to the pool of a preset, trained within a time limit."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee.members import Pool
from committee.shell.encoding import TableEncoding
from committee.shell.errors import listed
from committee.shell.options import Train
from committee.shell.presets import Problem, learners
from committee.shell.timed_pool import TimedPool

#: Folds of the cross-fit.
_FOLDS = 5
#: A probability of zero counts as this, as in scikit-learn's log-loss of single numbers.
_LEAST = float(np.finfo(np.float32).eps)


def fit_pool(
    committee: Any,
    X: Any,
    y: Any,
    encoding: TableEncoding,
    options: Train,
    start: float,
) -> None:
    """Fit a committee of the learners of a preset, with notes about those left out.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        Without a generator.
    X, y
        As the encoding made them.
    encoding : TableEncoding
    options : Train
    start : float
        When the command began, as `time.monotonic` tells it.
    """
    note = options.messages.note
    problem = Problem(
        len(y), _rarest(y, encoding), _codes(encoding.transformer), options.jobs
    )
    taken, too_many = learners(str(options.preset), problem)
    if too_many:
        note(f"{len(y):,} rows are too many for {listed(too_many)}: left out.")
    pool = TimedPool(
        taken,
        n_splits=max(2, min(_FOLDS, len(y))),
        deadline=start + 60.0 * (options.minutes or 0.0),
    )
    committee.set_params(generator=pool, weigh_on=problem.weigh_on).fit(X, y)
    if pool.too_slow:
        note(
            f"{listed(pool.too_slow)} left out, which would have taken more than the "
            f"{options.minutes:g} minutes; --minutes to give more. With as much time as "
            "it needs the same seed gives the same model."
        )
    for name, n_rows in pool.shortened.items():
        note(
            f"{name!r} was trained on {n_rows:,} rows, drawn at random: more would have "
            f"taken longer than the {options.minutes:g} minutes; --minutes to give more."
        )
    for name, reason in pool.failed.items():
        note(f"{name!r} left out: it could not be trained on these rows. {reason}")
    # The file holds a plain pool, and nobody else's number of cores.
    kept = [(name, learner) for name, learner in taken if name in pool.trained]
    for member in [*committee.members_, *(learner for _, learner in kept)]:
        jobs = [n for n in member.get_params() if n.split("__")[-1] == "n_jobs"]
        member.set_params(**dict.fromkeys(jobs))
    committee.set_params(generator=Pool(kept, pool.n_splits))


def shares_of(committee: Any) -> dict[str, float] | None:
    """Return the share of each learner of a pool in the sum of the weights."""
    weights = getattr(committee.combiner_, "weights_", None)
    if not isinstance(committee.generator, Pool) or weights is None:
        return None
    size = np.abs(weights)
    return dict(
        zip(committee.generator.names, (size / size.sum()).tolist(), strict=True)
    )


def _rarest(y: Any, encoding: TableEncoding) -> int | None:
    """Return the rows of the rarest class, None for regression."""
    if encoding.n_classes is None:
        return None
    return int(np.unique(y, return_counts=True)[1].min())


def _codes(transformer: Any) -> list[int]:
    """Return the columns that hold codes of words."""
    columns = transformer.output_indices_.get("many", slice(0))
    return list(range(columns.start or 0, columns.stop))
