"""Pruners that put the members in an order, keep the first and let them vote as equals."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import BoolArray, FloatArray, IntArray, RandomState
from committee._validation import AT_LEAST_ONE, StrOptions
from committee.combiners import order_criteria, pairwise
from committee.combiners.ballots import (
    TIE,
    Ballots,
    Tally,
    equal_weights,
    grid,
    least,
    votes_tags,
)
from committee.combiners.base import Combiner
from committee.path import Path
from committee.votes import Largest, Votes

Criterion = Callable[[Votes], Any]

#: Criteria by name that need only sums over rows. Further arguments of the functions have
#: the values of their authors.
_OF_SUMS: dict[str, Criterion] = {
    "best": order_criteria.best,
    "orientation": order_criteria.orientation,
    "contribution": order_criteria.contribution,
    "correlation": order_criteria.correlation,
    "kappa": pairwise.kappa,
    "kl": pairwise.kl,
    "margin-distance": order_criteria.margin_distance,
}
#: All criteria by name.
CRITERIA: dict[str, Criterion] = _OF_SUMS | {
    "kl-rows": pairwise.kl_rows,
    "drep": pairwise.drep,
    "complementarity": order_criteria.complementarity,
    "concurrency": order_criteria.concurrency,
    "boosting-order": order_criteria.boosting_order,
    "specialty": order_criteria.specialty,
}
#: Those that also order members of a regression.
_OF_NUMBERS = ("best", "random")

#: Numbers in a block of cumulated votes: 256 kB, which fits the cache.
_BLOCK = 2**15
#: Rounds of replacements after each addition, as in the paper.
_ROUNDS = 100


class OrderedPruner(Combiner):
    """Base class of pruners that order all members and keep the first `n_members`.

    A subclass writes `_order(votes)`, which returns all members, best first.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_members": [AT_LEAST_ONE]}

    _numbers: ClassVar[tuple[str, ...]] = ("order_",)
    takes_chunks: ClassVar[bool] = True
    n_members: int
    order_: IntArray
    path_: Path

    @abstractmethod
    def _order(self, votes: Votes) -> IntArray:
        """Return member numbers, best first."""

    def _weigh(self, votes: Votes) -> FloatArray:
        self.order_ = self._order(votes)
        self.path_ = selection_path(votes, self.order_)
        return equal_weights(self.order_[: self.n_members], votes.n_members)


@dataclass(eq=False, repr=False)
class OrderPruner(OrderedPruner):
    """Order the members by a criterion and keep the first ones, with equal weights.

    Parameters
    ----------
    criterion : str or callable, default="orientation"
        Criteria on votes, for classification:

        - "orientation": the angle between the member's signature (right and wrong votes)
          and the rows on which the whole committee fails.
        - "margin-distance": adds the member that moves the margins of all rows closest to
          a small target.
        - "complementarity": adds the member with the best accuracy on the rows that the
          current committee misclassifies.
        - "concurrency": removes, one by one, the member that helps the others least.
        - "boosting-order": adds the member with the smallest error on rows weighted as in
          boosting.
        - "contribution": contribution to the vote of all members (EPIC).
        - "drep": among the members that differ most, the one that reduces the error
          most.
        - "kappa": the pairs that agree least beyond chance.
        - "kl": the largest divergence of class probabilities.
        - "kl-rows": the largest divergence of the row weights of AdaBoost.
        - "specialty": the best members for each class in turn.
        - "correlation": votes that correlate with the vote of all members.

        For classification and regression:

        - "best": smallest error of each member on its own.
        - "random": random order.

        A callable takes a `committee.votes.Votes` object and returns either integers
        (M,), the member indices from best to worst, or floats (M,), a score for each
        member (larger is better). The named criteria are functions of
        `committee.combiners.order_criteria` and `pairwise`, with equations and
        references. `functools.partial(margin_distance, p=0.1)` changes an argument.
    n_members : int, default=25
        Number of members to keep; all if there are fewer.
    random_state : int, RandomState instance or None, default=None
        Controls the order for criterion="random". Pass an int for reproducible results.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Equal weights for the chosen members, zero for the others.
    order_ : array of shape (M,)
        Indices of the members that vote on at least one row, best first. Ties are
        broken by the member's own error, then by its index.
    scores_ : array of shape (M,)
        Score of each member, for criteria that have one: the cosine for "orientation",
        IC_m for "contribution", R_m for "correlation". NaN for a member without votes.
    path_ : Path
        Error of the first 1, 2, ..., M members of the order.
    support_ : array
        Indices of the chosen members.

    Examples
    --------
    Rows 0 and 1 are easy, row 2 is hard; only member 2 is right there.

    >>> import numpy as np
    >>> from committee import OrderPruner
    >>> votes = np.eye(2)[[[0, 0, 0, 1], [0, 0, 1, 0], [1, 1, 0, 1]]]
    >>> OrderPruner("orientation", 1).fit(votes, [0, 0, 0]).support_.tolist()
    [2]
    >>> F = [[1.0, 0.0, 3.0], [1.0, 0.5, 3.0]]
    >>> OrderPruner("best", 2).fit(F, [0.0, 0.0]).order_.tolist()
    [1, 0, 2]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **OrderedPruner._parameter_constraints,
        "criterion": [StrOptions({"random", *CRITERIA}), callable],
        "random_state": ["random_state"],
    }

    needs_all: ClassVar[str] = (
        "with this criterion needs all rows again for every member (unlike with "
        '"orientation", "kappa" or "kl")'
    )
    _by_member: ClassVar[dict[str, float]] = {"scores_": np.nan}
    scores_: FloatArray = field(init=False)

    criterion: str | Criterion = "orientation"
    n_members: int = 25
    _: KW_ONLY
    random_state: RandomState = None

    def __sklearn_tags__(self) -> Any:
        """Declare that F has three axes if the criterion is one of votes."""
        tags = super().__sklearn_tags__()
        named = isinstance(self.criterion, str)
        return votes_tags(tags) if named and self.criterion not in _OF_NUMBERS else tags

    def _sees_all(self, n_classes: int | None) -> bool:
        return self.criterion not in ("random", *_OF_SUMS)

    def _order(self, votes: Votes) -> IntArray:
        if self.criterion == "random":
            rng = check_random_state(self.random_state)
            return np.asarray(rng.permutation(votes.n_members))
        name, M = self.criterion, votes.n_members
        found = (CRITERIA[name] if isinstance(name, str) else name)(votes)
        found, place = found if isinstance(found, tuple) else (found, np.arange(M))
        array = _one_per_member(found, M)
        if array.dtype.kind != "f":
            return np.asarray(array, dtype=np.intp)
        self.scores_ = np.asarray(array, dtype=np.float64)
        return np.lexsort((place, grid(-self.scores_)))


def _one_per_member(found: Any, M: int) -> FloatArray | IntArray:
    """Return an array of scores, or of members; raise if it is neither."""
    array = np.asarray(found)
    whole = array.dtype.kind in "iu" and array.shape == (M,)
    if whole and np.array_equal(np.sort(array), np.arange(M)):
        return array
    if array.dtype.kind == "f" and array.shape == (M,) and np.isfinite(array).all():
        return array
    raise ValueError(
        f"A criterion must return the members 0 to {M - 1}, best first, as integers, or "
        f"a finite score for each of them as floats. Got shape {array.shape} of "
        f"{array.dtype}."
    )


class ReduceErrorPruner(OrderedPruner):
    """Add the member that reduces the committee's error most, and revise.

        s_u = argmin_k  error( {s_1, ..., s_u-1, k} )

    After each addition, every chosen member in turn is replaced by the member that
    reduces the error most, until no replacement helps or after 100 rounds
    (back-fitting).

    For classification, the error is the error rate of a vote with equal weights. A tie
    counts one half, and rows without any vote are left out. For regression, it is the
    squared error of the mean, w'Cw with equal weights and the error correlation C of
    `error_correlation` (with `held_out`, from the rows that both members left out).

    Parameters
    ----------
    n_members : int, default=25
        Number of members to keep; all if there are fewer.

    Attributes
    ----------
    order_ : array of shape (M,)
        Indices of the chosen members, each replacement in the position of the member it
        replaced. The other members follow in the order in which they would be added
        without back-fitting. Because of the replacements, the first k members may
        differ from the choice of `n_members=k`.
    weights_, path_, support_
        As in `OrderPruner`.

    References
    ----------
    Margineantu and Dietterich, Pruning adaptive boosting, ICML 1997.

    Examples
    --------
    The best two are not the best one and another: it is replaced.

    >>> from committee import ReduceErrorPruner
    >>> F = [[1.0, 3.0, -3.0], [1.0, 3.0, -3.0]]
    >>> ReduceErrorPruner(2).fit(F, [0.0, 0.0]).support_.tolist()
    [1, 2]
    """

    needs_all: ClassVar[str] = "votes on all rows anew for every exchange of members"

    def __init__(self, n_members: int = 25) -> None:
        self.n_members = n_members

    def _sees_all(self, n_classes: int | None) -> bool:
        return n_classes is not None

    def _order(self, votes: Votes) -> IntArray:
        if votes.n_classes is None:
            mean = _Mean(votes)
            chosen = _Chosen(mean, np.arange(votes.n_members))
        else:
            ballots = Ballots(votes)
            chosen = _Chosen(Tally(ballots), ballots.rank, unit=1.0)
        for u in range(votes.n_members):
            chosen.grow()
            if 0 < u < min(self.n_members, votes.n_members - 1):
                chosen.revise()
        return np.array(chosen.members, dtype=np.intp)


class _Chosen:
    """Members chosen so far, in order, and those that are free.

    Errors that differ by a part of 1e-10 of `unit`, or of the smallest error if it
    is None, are equal.
    """

    def __init__(
        self, committee: Tally | _Mean, rank: IntArray, unit: float | None = None
    ) -> None:
        self.committee, self.rank, self.unit = committee, rank, unit
        self.members: list[int] = []
        self.free: BoolArray = np.ones(len(rank), dtype=bool)

    def grow(self) -> None:
        """Add the member with the smallest error."""
        error = self.committee.errors_with()
        self._put(len(self.members), self._best(error))

    def revise(self) -> None:
        """Replace members in turn while that makes the error smaller.

        The newest member is the best in its place, and so is the one that was put or
        stayed in a place since the last replacement: those are not tried again.
        """
        u = len(self.members)
        settled = 1
        for turn in range(_ROUNDS * u):
            if settled == u:
                return
            settled = 1 if self._replace(turn % u) else settled + 1

    def _replace(self, place: int) -> bool:
        """Put the best member in the place; return whether it is another one."""
        m = self.members.pop(place)
        self.committee.remove(m)
        self.free[m] = True
        error = self.committee.errors_with()
        stays = error[m] <= error[self.free].min() + TIE * self._unit(error)
        self._put(place, m if stays else self._best(error))
        return not stays

    def _best(self, error: FloatArray) -> int:
        return least(error, self.rank, self.free, unit=self._unit(error))

    def _unit(self, error: FloatArray) -> float:
        return float(error[self.free].min()) if self.unit is None else self.unit

    def _put(self, place: int, m: int) -> None:
        self.members.insert(place, m)
        self.committee.add(m)
        self.free[m] = False


class _Mean:
    """The mean of the chosen members, with error 1'C1 / u^2.

    cross (M,) holds C 1, each member's products with the chosen, so that a change
    costs O(M). Differences round, and are summed anew after u of them.
    """

    def __init__(self, votes: Votes) -> None:
        self.C, _ = votes.error_correlation()
        self.diagonal, self.cross = np.diag(self.C).copy(), np.zeros(len(self.C))
        self.members: list[int] = []
        self._rounded = 0

    def add(self, m: int) -> None:
        self.members.append(m)
        self.cross += self.C[m]

    def remove(self, m: int) -> None:
        self.members.remove(m)
        self._rounded += 1
        if self._rounded > len(self.members):
            self.cross = self.C[self.members].sum(axis=0)
            self._rounded = 0
        else:
            self.cross -= self.C[m]

    def errors_with(self) -> FloatArray:
        # 1'C1 with k added: sum over the chosen, twice k's row with them, and C_kk.
        total = self.cross[self.members].sum() + 2 * self.cross + self.diagonal
        error: FloatArray = np.maximum(total, 0.0) / (len(self.members) + 1) ** 2
        return error


def selection_path(votes: Votes, order: IntArray) -> Path:
    """Return the error of the first k members, for every k, in one pass over rows.

    Members abstain where they are not held out; a row on which all of the first k
    abstain does not count at size k, and the error is infinite where none counts.
    order: numbers of members, each at most once.
    """
    mean_weight = votes.mean_weight()
    units = np.ones(len(order))
    sums = votes.total(_sums, order, units, mean_weight)
    if votes.n_classes is None and not _in_range(sums):
        units = _units(votes, order)
        sums = votes.total(_sums, order, units, mean_weight)
    counted, squared, loss, squared_loss = sums
    with np.errstate(over="ignore", invalid="ignore"):
        total = np.where(counted > 0, counted, 1.0)
        mean = np.where((counted > 0) & np.isfinite(loss), loss / total, np.inf)
        variance = np.nan_to_num(squared_loss / total - mean**2).clip(min=0.0)
        # sqrt of the mean's variance, by the effective number of rows.
        error_se = np.sqrt(variance * squared) / total
        error = (np.sqrt(mean) * units) ** 2
        error_se = (np.sqrt(error_se) * units) ** 2
    weights = np.zeros((len(order), votes.n_members))
    weights[:, order] = np.tri(len(order)) / np.arange(1, len(order) + 1)[:, None]
    measure = "mean squared error" if votes.n_classes is None else "error rate"
    return Path(weights, error, error_se, measure)


@np.errstate(over="ignore", invalid="ignore")
def _sums(
    votes: Votes, order: IntArray, units: FloatArray, mean_weight: float
) -> FloatArray:
    """Return the sums over rows of s, s^2, s loss and s loss^2, for every size."""
    y = np.asarray(votes.y)
    s = votes.row_weights / mean_weight
    sums = np.zeros((4, len(order)))
    step = max(1, _BLOCK // (votes.n_classes or 1))
    for start in range(0, len(y), step):
        rows = slice(start, start + step)
        present = None if votes.held_out is None else votes.held_out[rows]
        committees = _cumulated(votes.F[rows], order, present)
        for k, (total, count) in enumerate(committees):
            loss = _loss(total, count, y[rows], units[k])
            counted = s[rows] * (count > 0)
            heavy = counted * loss
            sums[:, k] += counted.sum(), counted @ counted, heavy.sum(), heavy @ loss
    return sums


def _in_range(sums: FloatArray) -> bool:
    """Return True if squares of squared errors neither overflow nor vanish."""
    counted, _, loss, _ = sums
    loss = loss[counted > 0]
    return bool(np.all((loss > 1e-60) & (loss < 1e60)))


def _units(votes: Votes, order: IntArray) -> FloatArray:
    """Return a unit for the errors of each size, in which squares stay in range."""
    largest = votes.total(_largest).value
    members = np.maximum.accumulate(largest[:-1][order])
    units: FloatArray = np.maximum(members, largest[-1])
    return units


def _largest(votes: Votes) -> Largest:
    """Return the largest entry of each member, and of y."""
    F, mask = votes.F, votes.held_out
    if mask is not None:
        F = np.where(mask, F, 0.0)
    target = np.abs(votes.y).max(initial=np.finfo(np.float64).tiny)
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
