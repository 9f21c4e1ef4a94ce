"""A pool with a time limit: what would not end in time is left out, and named."""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Any, ClassVar, NamedTuple, Unpack

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils import check_random_state
from threadpoolctl import threadpool_limits

from committee._progress import track
from committee._typing import IntArray, Member
from committee.members import Generation, MemberFitError, Pool, TrainingData
from committee.members.base import GenerateOptions, Sample, draw_seeds, take
from committee.members.pool import cross_fitted
from committee.members.training import fit_member, set_random_states

#: A learner is timed on an eighth of the rows and on half of that, at most on so many.
_PART, _TIMED = 1 / 8, 40_000
#: Rows that the first learner gets even if time is up.
_FEWEST = 10_000
#: Numbers in a table (rows, columns, classes) up to which nobody looks at the clock before
#: training, and up to which one thread is enough.
_QUICK, _ONE_THREAD = 200_000, 2_000_000


class _Learner(NamedTuple):
    name: str
    estimator: Member
    seed: int


class TimedPool(Pool):
    """A `Pool` whose learners are trained in turn, the most valuable first.

    A learner is timed on n rows (an eighth of all, 40,000 at most) and on half of them,
    and left out if a straight line through both times says so:

        fits (t_n + (N - n) (t_n - t_{n/2}) / (n / 2)) > time that is left

    The first is trained in any case: where rows were put aside to weigh on, on as many of
    the others as half of the time is enough for. Seeds and folds do not depend on who is
    left out.

    Parameters
    ----------
    estimators : list of (name, estimator) pairs
    n_splits : int, default=5
    deadline : float, default=inf
        When to be done, as `time.monotonic` tells it.

    Attributes
    ----------
    trained : list of str
        Who was trained by the last `generate`, in the order of its members.
    too_slow : list of str
    shortened : dict of int
        The rows of a learner that could not be trained on all of them in time.
    failed : dict of str
        Why learners could not be trained on these rows.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Pool._parameter_constraints,
        "deadline": [float],
    }

    trained: list[str]
    too_slow: list[str]
    shortened: dict[str, int]
    failed: dict[str, str]

    def __init__(
        self,
        estimators: Sequence[Any],
        n_splits: int = 5,
        deadline: float = float("inf"),
    ) -> None:
        super().__init__(estimators, n_splits)
        self.deadline = deadline

    def generate(
        self, estimator: Member, data: TrainingData, **options: Unpack[GenerateOptions]
    ) -> Generation:
        """Train the learners in turn; see `Generator.generate`."""
        self.trained, self.too_slow, self.shortened, self.failed = [], [], {}, {}
        M, held_out = self.n_members, options.get("held_out", True)
        rng = check_random_state(options.get("random_state"))
        # The last seed is that of the folds.
        *seeds, seed = draw_seeds(rng, M + 1).tolist()
        learners = list(map(_Learner, self.names, self.members, seeds))
        fits = self.n_splits + 1 if held_out else 1
        done: list[Generation] = []
        for learner in track(learners, M, "training", options.get("verbose", False)):
            rows = data
            if not self._in_time(needs := fit_time(learner.estimator, data), fits):
                if done:
                    self.too_slow.append(learner.name)
                    continue
                if not held_out:
                    rows = self._fewer(learner, data, needs)
            done += self._train(learner, rows, seed, held_out)
        if not done:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.failed.items())
            raise ValueError(f"No learner could be trained on these rows. {reasons}")
        F = [part.F for part in done if part.F is not None]
        members = [member for part in done for member in part.members]
        return Generation(
            members, np.concatenate(F, axis=1) if F else None, names=list(self.trained)
        )

    def _in_time(self, needs: FitTime, fits: int) -> bool:
        """Whether so many fits on all rows end before the deadline."""
        return time.monotonic() + fits * needs.seconds(needs.n_rows) <= self.deadline

    def _fewer(
        self, learner: _Learner, data: TrainingData, needs: FitTime
    ) -> TrainingData:
        """Return as many rows as half of the time that is left is enough for."""
        N = len(data)
        able = needs.rows((self.deadline - time.monotonic()) / 2)
        n = min(N, max(able, _FEWEST))
        if n == N:
            return data
        self.shortened[learner.name] = n
        return take(data, np.sort(_shuffled(N)[:n]))

    def _train(
        self, learner: _Learner, data: TrainingData, seed: int, held_out: bool
    ) -> list[Generation]:
        """Return the one member, or none if it cannot learn from these rows."""
        member = clone(learner.estimator)
        set_random_states(member, learner.seed, only_unset=True)
        try:
            with warnings.catch_warnings(), _threads_for(data):
                # Some learners are stopped before they have converged, on purpose.
                warnings.simplefilter("ignore", ConvergenceWarning)
                made = cross_fitted(
                    [member],
                    data,
                    cv=self.n_splits,
                    output=self.output,
                    held_out=held_out,
                    random_state=seed,
                )
        except MemberFitError as error:
            self.failed[learner.name] = str(error.__cause__)
            return []
        self.trained.append(learner.name)
        return [made]


class FitTime(NamedTuple):
    """How long a fit takes, on a straight line through two times.

    Examples
    --------
    >>> from committee.shell.timed_pool import FitTime
    >>> needs = FitTime(n_rows=1000, timed=100, at=3.0, by_row=0.01)
    >>> needs.seconds(1000), needs.rows(7.0)
    (12.0, 500)
    """

    #: All rows, and those that a fit was timed on.
    n_rows: int
    timed: int
    #: Seconds on the timed rows, and for each one more.
    at: float
    by_row: float

    def seconds(self, n: int) -> float:
        """Return the seconds of a fit on n rows."""
        return self.at + (n - self.timed) * self.by_row

    def rows(self, seconds: float) -> int:
        """Return the rows that can be learned in some time."""
        if self.by_row == 0.0:
            return self.n_rows
        return max(0, self.timed + int((seconds - self.at) / self.by_row))


def fit_time(learner: Member, data: TrainingData) -> FitTime:
    """Time a learner on some of the rows; a small table takes no time."""
    N = len(data)
    n = min(int(N * _PART), _TIMED)
    if _numbers(data) <= _QUICK:
        return FitTime(N, n, 0.0, 0.0)
    order = _shuffled(N)
    try:
        with _threads_for(data):
            half, whole = (
                _seconds(learner, take(data, order[:size])) for size in (n // 2, n)
            )
    except ValueError:  # few rows may lack what all have, such as a second class
        return FitTime(N, n, 0.0, 0.0)
    return FitTime(N, n, whole, max(whole - half, 0.0) / (n - n // 2))


def _shuffled(n_rows: int) -> IntArray:
    """Return the rows in an order that does not depend on theirs, always the same."""
    return np.random.RandomState(0).permutation(n_rows)


def _numbers(data: TrainingData) -> int:
    """Return how many numbers there are to learn from, by class."""
    return len(data) * int(data.X.shape[1]) * (data.n_classes or 1)


def _threads_for(data: TrainingData) -> AbstractContextManager[Any]:
    """Return a context in which tables that are not large have one thread of OpenMP.

    Threads wait for each other at every node of a tree. On a busy machine that took a
    hundred times the time of one thread for 178 rows, and four times for 32,000.
    """
    limit = 1 if _numbers(data) <= _ONE_THREAD else None
    limits: AbstractContextManager[Any]
    limits = threadpool_limits(limits=limit, user_api="openmp")
    return limits


def _seconds(learner: Member, data: TrainingData) -> float:
    """Return the seconds to learn some rows and to predict a fifth of them."""
    rows = np.arange(len(data))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.perf_counter()
        member = fit_member(learner, data, Sample.of(rows, data), 0, keep_seeds=True)
        member.predict(data.X[: len(rows) // 5 + 1])
        return time.perf_counter() - start
