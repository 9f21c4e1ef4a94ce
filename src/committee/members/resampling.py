"""Bagging, CrossSplits and MiniBatches: members that train on different rows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import FloatArray, IntArray, Member, Output
from committee._validation import AT_LEAST_ONE, COUNT_OR_SHARE, Interval, safe_indexing
from committee.members.base import (
    Asked,
    BatchedGenerator,
    Generation,
    Sample,
    TrainingData,
    draw_seeds,
    n_drawn,
)
from committee.members.training import fit_member, run_parallel
from committee.predictions import predict_one


class _Resampling(BatchedGenerator):
    """A generator whose members train on different rows of the data."""

    n_members: int

    @abstractmethod
    def sample(self, member: int, data: TrainingData, seeds: IntArray) -> Sample:
        """Return the rows of one member."""

    def has_unseen_rows(self, estimator: Member | None) -> bool:
        """Return True: every member leaves rows out."""
        return True

    def n_seeds(self) -> int:
        """Return the number of seeds that `sample` needs."""
        return self.n_members

    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of a size."""
        estimator, data, size, options = asked
        self._validate_params()
        rng = check_random_state(options.random_state)
        row_seeds = draw_seeds(rng, self.n_seeds())
        seeds = draw_seeds(rng, self.n_members)
        output = self.output if options.held_out else None
        for start in range(0, self.n_members, size):
            batch = range(start, min(start + size, self.n_members))
            jobs = (
                (
                    _fit_and_predict,
                    estimator,
                    data,
                    self.sample(m, data, row_seeds),
                    int(seeds[m]),
                    output,
                )
                for m in batch
            )
            results = run_parallel(
                jobs, len(batch), n_jobs=options.n_jobs, verbose=options.verbose
            )
            yield _gathered(results, len(batch), data, options.held_out)


class Bagging(_Resampling):
    """Train each member on a bootstrap sample of all rows (chapter 4.3, 2).

    N rows are drawn with replacement, in proportion to `sample_weight` if given. Each
    member leaves out about 36.8 % of the rows, and is weighed on these. If the learner
    takes `sample_weight`, a repeated row is passed once, with its count as weight. With a
    Dask collection, each member trains on a bootstrap sample of one chunk, on the worker
    that has it.

    Parameters
    ----------
    n_members : int, default=100
    max_samples : int or float, default=1.0
        Rows that are drawn for each member, or their share of N (of the chunk).

    Examples
    --------
    >>> from sklearn.datasets import make_regression
    >>> from committee import Bagging, CommitteeRegressor
    >>> X, y = make_regression(random_state=0)
    >>> committee = CommitteeRegressor(generator=Bagging(10), random_state=0)
    >>> len(committee.fit(X, y).members_)
    10
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "max_samples": COUNT_OR_SHARE,
    }

    def __init__(self, n_members: int = 100, *, max_samples: float = 1.0) -> None:
        self.n_members = n_members
        self.max_samples = max_samples

    def sample(self, member: int, data: TrainingData, seeds: IntArray) -> Sample:
        """Return a bootstrap sample of the rows."""
        rng = np.random.RandomState(seeds[member])
        N, n = len(data), n_drawn(self.max_samples, len(data))
        if data.sample_weight is None:
            drawn = rng.randint(0, N, n)
        else:
            drawn = rng.choice(N, n, p=data.sample_weight / data.sample_weight.sum())
        return Sample.drawn(drawn, N)

    def of_chunk(self, n_members: int, n_rows: int, total: int) -> Bagging:
        """Return a generator for the members trained on one Dask chunk."""
        return Bagging(n_members, max_samples=self.max_samples)


class _Splitting(_Resampling):
    """A generator that splits the rows at random into parts, once in each repeat."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_splits": [Interval(Integral, 2, None, closed="left")],
        "repeats": [AT_LEAST_ONE],
    }

    def __init__(self, n_splits: int = 10, repeats: int = 10) -> None:
        self.n_splits = n_splits
        self.repeats = repeats

    @property
    def n_members(self) -> int:  # type: ignore[override]
        """M = n_splits x repeats."""
        return self.n_splits * self.repeats

    def n_seeds(self) -> int:
        """Return the number of splits; each needs one seed."""
        return self.repeats

    def _parts(self, member: int, n_rows: int, seeds: IntArray) -> list[IntArray]:
        """Return the parts of the member's split, with the member's own part first."""
        self._check_splits(n_rows)
        repeat, k = divmod(member, self.n_splits)
        order = np.random.RandomState(seeds[repeat]).permutation(n_rows)
        parts = np.array_split(order, self.n_splits)
        return [parts[k], *parts[:k], *parts[k + 1 :]]

    def _check_splits(self, n_rows: int) -> None:
        """Raise ValueError for more parts than rows."""
        if self.n_splits > n_rows:
            raise ValueError(
                f"{type(self).__name__} cannot split {n_rows} rows into "
                f"{self.n_splits} parts (n_samples={n_rows}). Use n_splits <= "
                f"{n_rows}."
            )


class CrossSplits(_Splitting):
    """Train each member on all but one part of a random split (chapter 4.3, 3).

    Every repeat splits the rows again into `n_splits` parts; member k leaves out part k
    and is weighed on it.

    Parameters
    ----------
    n_splits : int, default=10
    repeats : int, default=10

    Attributes
    ----------
    n_members : int
        n_splits x repeats.

    Examples
    --------
    >>> from committee import CrossSplits
    >>> CrossSplits(n_splits=5, repeats=4).n_members
    20
    """

    def sample(self, member: int, data: TrainingData, seeds: IntArray) -> Sample:
        """Return the rows of all parts except the member's own."""
        _, *others = self._parts(member, len(data), seeds)
        return Sample.of(np.sort(np.concatenate(others)), data)


class MiniBatches(_Splitting):
    """Train each member on one part of a random split only (chapter 4.3, 4).

    This is fast for large data, and the members differ much. With `repeats=1` they train
    on disjoint parts of the rows. Each member is weighed on all other rows. With a Dask
    collection each member trains on a part of one chunk, on the worker that has it. A
    chunk is split into parts of N / n_splits rows; a smaller chunk with several members
    is split into two parts.

    Parameters
    ----------
    n_splits : int, default=10
    repeats : int, default=10

    Attributes
    ----------
    n_members : int
        n_splits x repeats.

    Examples
    --------
    >>> from committee import MiniBatches
    >>> MiniBatches(n_splits=8, repeats=1).n_members
    8
    """

    def sample(self, member: int, data: TrainingData, seeds: IntArray) -> Sample:
        """Return the training rows of a member."""
        own, *_ = self._parts(member, len(data), seeds)
        return Sample.of(np.sort(own), data)

    def of_chunk(self, n_members: int, n_rows: int, total: int) -> MiniBatches:
        """Return a generator for the members trained on one Dask chunk."""
        self._check_splits(total)
        # At least two parts, so that members of a chunk train on different rows.
        fewest = min(2, n_members, n_rows)
        parts = max(fewest, round(n_rows * self.n_splits / total))
        return MiniBatches(parts, -(-n_members // parts))


def _gathered(
    results: Iterator[Any], n_members: int, data: TrainingData, held_out: bool
) -> Generation:
    """Return the trained members, with F and the mask of the rows they left out."""
    if not held_out:
        return Generation([member for member, _, _ in results])
    members: list[Member] = []
    slabs = np.zeros((n_members, *data.empty_predictions().shape))
    mask = np.zeros((n_members, len(data)), dtype=bool)
    for m, (member, rows, P) in enumerate(results):
        members.append(member)
        slabs[m, rows] = P
        mask[m, rows] = True
    return Generation(members, np.moveaxis(slabs, 0, 1), mask.T)


def _fit_and_predict(
    estimator: Member,
    data: TrainingData,
    sample: Sample,
    seed: int,
    output: Output | None,
) -> tuple[Member, IntArray | None, FloatArray | None]:
    """Train a member; with `output`, also predict the rows that it left out."""
    member = fit_member(estimator, data, sample, seed)
    if output is None:
        return member, None, None
    unseen = np.ones(len(data), dtype=bool)
    unseen[sample.rows] = False
    rows = np.flatnonzero(unseen)
    if not len(rows):
        return member, rows, data.empty_predictions()[rows]
    X = safe_indexing(data.X, rows)
    return member, rows, predict_one(member, X, classes=data.classes, output=output)
