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
from committee._typing import Member
from committee.members import Generation, MemberFitError, Pool, TrainingData
from committee.members.base import Options, Sample, draw_seeds, take
from committee.members.pool import cross_fitted
from committee.members.training import fit_member, set_random_states

#: Parts of the rows on which a learner is timed before it is trained.
_SMALL, _LARGE = 1 / 16, 1 / 8
#: Numbers in a table (rows, columns, classes) up to which nobody looks at the clock before
#: training, and up to which one thread is enough.
_QUICK, _ONE_THREAD = 200_000, 2_000_000


class _Learner(NamedTuple):
    name: str
    estimator: Member
    seed: int


class TimedPool(Pool):
    """A `Pool` whose learners are trained in turn, the most valuable first.

    A learner is timed on a sixteenth and on an eighth of the rows, and left out if

        fits (t_8 + (1 - 1/8) (t_8 - t_16) / (1/8 - 1/16)) > time that is left,

    a straight line through both times. If nobody can be done in time the quickest is
    trained. Seeds and folds do not depend on who is left out.

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
    failed : dict of str
        Why learners could not be trained on these rows.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Pool._parameter_constraints,
        "deadline": [float],
    }

    trained: list[str]
    too_slow: list[str]
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
        self, estimator: Member, data: TrainingData, **options: Unpack[Options]
    ) -> Generation:
        """Train the learners in turn; see `Generator.generate`."""
        self.trained, self.too_slow, self.failed = [], [], {}
        M, held_out = self.n_members, options.get("held_out", True)
        # The last seed is that of the folds.
        rng = check_random_state(options.get("random_state"))
        *seeds, seed = draw_seeds(rng, M + 1).tolist()
        learners = list(map(_Learner, self.names, self.members, seeds))
        fits = self.n_splits + 1 if held_out else 1
        done: list[Generation] = []
        waiting: list[tuple[float, _Learner]] = []
        for learner in track(learners, M, "training", options.get("verbose", False)):
            seconds = fits * seconds_of_fit(learner.estimator, data)
            if time.monotonic() + seconds > self.deadline:
                waiting.append((seconds, learner))
            else:
                done += self._train(learner, data, seed, held_out)
        while waiting and not done:
            quickest = min(waiting, key=lambda entry: entry[0])
            waiting.remove(quickest)
            done += self._train(quickest[1], data, seed, held_out)
        self.too_slow = [learner.name for _, learner in waiting]
        if not done:
            reasons = "; ".join(f"{name}: {why}" for name, why in self.failed.items())
            raise ValueError(f"No learner could be trained on these rows. {reasons}")
        F = [part.F for part in done if part.F is not None]
        members = [member for part in done for member in part.members]
        return Generation(
            members, np.concatenate(F, axis=1) if F else None, names=list(self.trained)
        )

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
                    votes=self.votes,
                    keep_seeds=True,
                    held_out=held_out,
                    random_state=seed,
                )
        except MemberFitError as error:
            self.failed[learner.name] = str(error.__cause__)
            return []
        self.trained.append(learner.name)
        return [made]


def seconds_of_fit(learner: Member, data: TrainingData) -> float:
    """Return the seconds that a fit on all rows will take, 0 for a small table.

    It is a straight line through the times of a sixteenth and of an eighth of the rows.
    """
    if _numbers(data) <= _QUICK:
        return 0.0
    N = len(data)
    order = np.random.RandomState(0).permutation(N)
    try:
        small, large = (
            _seconds(learner, take(data, order[: int(N * part)]))
            for part in (_SMALL, _LARGE)
        )
    except ValueError:  # few rows may lack what all have, such as a second class
        return 0.0
    slope = max(large - small, 0.0) / (_LARGE - _SMALL)
    return large + (1 - _LARGE) * slope


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
