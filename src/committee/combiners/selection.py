"""Selection: choose members and let them vote as equals.

What all selecting pruners share: an order of the members, and the error of its
first members at every size, from one run.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from numbers import Integral
from typing import Any, ClassVar

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import Interval
from committee.combiners.ballots import Ballots
from committee.combiners.base import Combiner
from committee.path import Path
from committee.votes import Largest, Votes

#: Numbers in a row block of cumulated votes: 256 kB, for the cache.
_BLOCK = 2**15


def equal_weights(members: IntArray, n_members: int) -> FloatArray:
    """Return 1/k for the k members given, 0 for the others."""
    w = np.zeros(n_members)
    w[members] = 1.0 / len(members)
    return w


def selection_path(problem: Votes, order: IntArray) -> Path:
    """Return the error of the first k members, for every k, in one pass over rows.

    Members abstain where they are not held out; a row on which all of the first k
    abstain does not count at size k, and the error is infinite where none counts.
    order: numbers of members, each at most once.
    """
    mean_weight = problem.mean_weight()
    units = np.ones(len(order))
    sums = problem.total(_sums, order, units, mean_weight)
    if problem.n_classes is None and not _in_range(sums):
        units = _units(problem, order)
        sums = problem.total(_sums, order, units, mean_weight)
    counted, squared, loss, squared_loss = sums
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.where(counted > 0, counted, 1.0)
        mean = np.where((counted > 0) & np.isfinite(loss), loss / total, np.inf)
        variance = np.nan_to_num(squared_loss / total - mean**2).clip(min=0.0)
        # sqrt of the mean's variance, by the effective number of rows.
        error_se = np.sqrt(variance * squared) / total
        error = (np.sqrt(mean) * units) ** 2
        error_se = (np.sqrt(error_se) * units) ** 2
    weights = np.zeros((len(order), problem.n_members))
    weights[:, order] = np.tri(len(order)) / np.arange(1, len(order) + 1)[:, None]
    measure = "mean squared error" if problem.n_classes is None else "error rate"
    return Path(weights, error, error_se, measure)


@np.errstate(over="ignore", invalid="ignore")
def _sums(
    problem: Votes, order: IntArray, units: FloatArray, mean_weight: float
) -> FloatArray:
    """Return the sums over rows of s, s^2, s loss and s loss^2, for every size."""
    y = np.asarray(problem.y)
    s = problem.row_weights / mean_weight
    sums = np.zeros((4, len(order)))
    step = max(1, _BLOCK // (problem.n_classes or 1))
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        present = None if problem.held_out is None else problem.held_out[rows]
        committees = _cumulated(problem.F[rows], order, present)
        for k, (total, count) in enumerate(committees):
            loss = _loss(total, count, y[rows], units[k])
            counted = s[rows] * (count > 0)
            heavy = counted * loss
            sums[:, k] += counted.sum(), counted @ counted, heavy.sum(), heavy @ loss
    return sums


def _in_range(sums: FloatArray) -> bool:
    """Whether squares of squared errors neither overflow nor vanish."""
    counted, _, loss, _ = sums
    loss = loss[counted > 0]
    return bool(np.all((loss > 1e-60) & (loss < 1e60)))


def _units(problem: Votes, order: IntArray) -> FloatArray:
    """Return a unit for the errors of each size, in which squares stay in range."""
    largest = problem.total(_largest).value
    members = np.maximum.accumulate(largest[:-1][order])
    units: FloatArray = np.maximum(members, largest[-1])
    return units


def _largest(problem: Votes) -> Largest:
    """Return the largest entry of each member, and of y."""
    F, mask = problem.F, problem.held_out
    if mask is not None:
        F = np.where(mask, F, 0.0)
    target = np.abs(problem.y).max(initial=np.finfo(np.float64).tiny)
    return Largest(np.append(np.maximum(F.max(axis=0), -F.min(axis=0)), target))


def _cumulated(
    F: FloatArray, order: IntArray, present: BoolArray | None
) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield the sum of the first k members, and how many of them voted, by row."""
    total = np.zeros((len(F), *F.shape[2:]))
    count = np.zeros(len(F), dtype=np.intp)
    for m in order:
        if present is None:
            total += F[:, m]
            count += 1
        else:
            # Not a product with the mask: predictions on training rows may be huge.
            total[present[:, m]] += F[present[:, m], m]
            count += present[:, m]
        yield total, count


def _loss(total: FloatArray, count: IntArray, y: Any, unit: float) -> FloatArray:
    """Return 1 where the committee is wrong, or its squared error in units."""
    if total.ndim == 2:
        wrong: BoolArray = total.argmax(axis=1) != y
        return wrong.astype(np.float64)
    loss: FloatArray = ((total / np.maximum(count, 1) - y) / unit) ** 2
    return loss


class OrderingPruner(Combiner):
    """Base class of pruners that put the members in an order and keep the first.

    A subclass writes `_order(problem)`, which returns all members, best first.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [Interval(Integral, 1, None, closed="left")]
    }

    _numbers: ClassVar[tuple[str, ...]] = ("order_",)
    order_: IntArray
    path_: Path

    def __init__(self, n_members: int = 25) -> None:
        self.n_members = n_members

    @abstractmethod
    def _order(self, problem: Votes) -> IntArray:
        """Return member numbers, best first."""

    def _weigh(self, problem: Votes) -> FloatArray:
        self.order_ = self._order(problem)
        self.path_ = selection_path(problem, self.order_)
        return equal_weights(self.order_[: self.n_members], problem.n_members)


class VotePruner(OrderingPruner):
    """Base class of the orderings that are defined on votes alone.

    A subclass writes `_order_votes(ballots)`.
    """

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes."""
        return votes_tags(super().__sklearn_tags__())

    def _order(self, problem: Votes) -> IntArray:
        return self._order_votes(ballots_of(self, problem))

    @abstractmethod
    def _order_votes(self, ballots: Ballots) -> IntArray:
        """Return member numbers, best first."""


def ballots_of(combiner: Combiner, problem: Votes) -> Ballots:
    """Return the ballots, or refuse a regression."""
    if problem.n_classes is None:
        raise ValueError(
            f"{type(combiner).__name__} is defined on votes: F of shape (N, M, K). "
            f"Got shape (N, {problem.n_members})."
        )
    return Ballots(problem)


def votes_tags(tags: Any) -> Any:
    """Declare in scikit-learn's tags that F has three axes."""
    tags.input_tags.two_d_array = False
    tags.input_tags.three_d_array = True
    return tags
