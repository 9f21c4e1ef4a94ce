"""Every committee on the way, ready to use."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from committee._typing import FloatArray, IntArray, Member
from committee.combiners import Combiner
from committee.combiners.evidence_pruner import EvidencePruner
from committee.combiners.selection import SelectionPath
from committee.ep.path import as_equal_votes
from committee.pruning.costs import MemberBytes


@dataclass(frozen=True, eq=False)
class Step:
    """One committee on the way.

    Attributes
    ----------
    members : array of int
        Numbers of the members in the ensemble that was pruned.
    weights : array like members
    error, error_se : float
        Leave-one-out error where the combiner has one, otherwise the error on the
        given rows; and its standard error.
    log_evidence : float
        NaN where the combiner has none.
    measure : str
        What the error is.
    """

    members: IntArray
    weights: FloatArray
    error: float
    error_se: float
    log_evidence: float
    measure: str = ""


class Maker(Protocol):
    """Makes a fitted committee of a step, and knows which size to take."""

    def committee(self, members: list[Member], step: Step, path: CommitteePath) -> Any:
        """Return the committee."""

    def take(self, sizes: IntArray, within_se: float) -> int:
        """Return the size to take, of those given in rising order."""


class CommitteePath:
    """The committees that a pruner went through, from one run.

    The other members on the way, and the rows that were given, stay in memory with
    this object; a copy, a pickle or a saved file leaves them out and keeps the numbers.

    Attributes
    ----------
    steps : list of Step
    size, log_evidence : array
        One entry for each step.
    error, error_se : array
        Cross-fitted error of committees of about this size, on rows that did not
        choose them, and its standard error; the combiner's own error if there were
        too few rows for folds. All sizes are judged on all rows: where none of the
        members is heard, out of bag, the most frequent class or the mean is said.
    measure : str
        What the error is.
    own_error : array
        The combiner's own: leave-one-out where it has that.
    n_bytes, seconds_per_row : array
        What the members of each step cost.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import prune
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> small = prune(forest, X, y, oob=True)
    >>> small.path_.choose(max_members=3).n_members_ <= 3
    True
    """

    def __init__(
        self,
        steps: list[Step],
        members: list[Member],
        member_bytes: MemberBytes,
        member_seconds: FloatArray,
        workshop: Maker,
        judged: dict[int, tuple[float, float]] | None = None,
        measure: str = "",
    ) -> None:
        self.steps = steps
        self.size = np.array([len(step.members) for step in steps])
        self.own_error = np.array([step.error for step in steps])
        if judged:
            found = [_up_to(judged, size) for size in self.size]
            self.error, self.error_se = np.array(found).T
            self.measure = f"cross-fitted {measure}"
        else:
            self.error = self.own_error
            self.error_se = np.array([step.error_se for step in steps])
            self.measure = steps[0].measure
        self.log_evidence = np.array([step.log_evidence for step in steps])
        self.n_bytes = np.array([member_bytes.total(s.members) for s in steps])
        self.seconds_per_row = np.array(
            [member_seconds[s.members].sum() for s in steps]
        )
        # Members that are on no step are not kept alive.
        on_the_way = {int(m) for step in steps for m in step.members}
        self._members = {m: members[m] for m in sorted(on_the_way)}
        self._workshop: Maker | None = workshop

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.steps)

    def choose(
        self,
        *,
        max_members: int | None = None,
        max_bytes: float | None = None,
        max_seconds_per_row: float | None = None,
        within_se: float = 0.0,
    ) -> Any:
        """Return the committee to use within the limits: as a rule the largest.

        Members of one kind are the better the more there are. A smaller committee is
        taken only where its cross-fitted error is less by three standard errors of the
        difference, paired by rows. Of several of one size the one that its combiner
        prefers is taken.

        Parameters
        ----------
        max_members : int, optional
        max_bytes : float, optional
            Of its pickled members.
        max_seconds_per_row : float, optional
            Of its members, as measured on up to 1,000 rows while pruning.
        within_se : float, default=0
            Give up members as long as the cross-fitted error stays within so many
            standard errors of it.

        Returns
        -------
        committee : CommitteeClassifier or CommitteeRegressor
            Fitted; its `path_` is this one.
        """
        if not (within_se == 0 or _is_positive(within_se)):
            raise ValueError(f"within_se must be at least 0. Got {within_se!r}.")
        fits = np.ones(len(self), dtype=bool)
        for name, limit, cost in (
            ("max_members", max_members, self.size),
            ("max_bytes", max_bytes, self.n_bytes),
            ("max_seconds_per_row", max_seconds_per_row, self.seconds_per_row),
        ):
            if limit is None:
                continue
            if not _is_positive(limit):
                raise ValueError(f"{name} must be a positive number. Got {limit!r}.")
            fits &= cost <= limit
            if not fits.any():
                raise ValueError(
                    f"No committee on the path has {name}={limit:g}; the least is "
                    f"{cost.min():.3g}."
                )
        size = self._open_workshop().take(np.unique(self.size[fits]), within_se)
        own = np.where(fits & (self.size == size), self.own_error, np.inf)
        step = self.steps[int(own.argmin())]
        members = [self._members[m] for m in step.members]
        return self._open_workshop().committee(members, step, self)

    def _open_workshop(self) -> Maker:
        """Return who makes the committees; copies have nobody."""
        if self._workshop is None:
            raise ValueError(
                "Copies and files keep the numbers of the path only, not the members "
                "that were left out. Choose from the path_ of the committee that "
                "prune() returned, or prune again."
            )
        return self._workshop

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the members, which are the weight of it."""
        return {**self.__dict__, "_members": {}, "_workshop": None}


def _up_to(judged: dict[int, tuple[float, float]], size: int) -> tuple[float, float]:
    """Return what is known of the largest size that is not above this one."""
    return judged[max(known for known in judged if known <= size)]


def _is_positive(limit: Any) -> bool:
    """Whether the limit is a number above zero."""
    return isinstance(limit, (int, float, np.number)) and bool(limit > 0)


def steps_of(
    combiner: Combiner, losses: Callable[[FloatArray], tuple[float, float]]
) -> list[Step]:
    """Return the steps of a fitted combiner's path, or its only committee.

    Parameters
    ----------
    combiner : fitted combiner
    losses : callable
        Given weights (M,), returns the error and its standard error; asked where
        the combiner has none of its own.
    """
    path = getattr(combiner, "path_", None)
    if path is None:
        return [step_of(combiner.weights_, *losses(combiner.weights_))]
    if isinstance(combiner, EvidencePruner):
        return [
            step_of(
                as_equal_votes(s.weights) if combiner.path_.equal_votes else s.weights,
                s.loo_error,
                s.loo_se,
                log_evidence=s.log_evidence,
                measure=f"leave-one-out {combiner.loo_measure_}",
            )
            for s in combiner.path_.steps
        ]
    if isinstance(path, SelectionPath):
        weights = np.zeros((len(path.order), path.n_members))
        weights[:, path.order] = np.tri(len(path.order)) / path.size[:, None]
        return [
            step_of(w, error, se)
            for w, error, se in zip(weights, path.error, path.error_se, strict=True)
        ]
    return [step_of(w, *losses(w)) for w in path.weights]


def step_of(
    w: FloatArray,
    error: float = np.nan,
    error_se: float = np.nan,
    *,
    log_evidence: float = np.nan,
    measure: str = "",
) -> Step:
    """Return the step of weights (M,)."""
    members = np.flatnonzero(w)
    return Step(
        members, w[members], float(error), float(error_se), float(log_evidence), measure
    )


def chosen_step(
    combiner: Combiner,
    steps: list[Step],
    losses: Callable[[FloatArray], tuple[float, float]],
) -> Step:
    """Return the step that the combiner has chosen itself."""
    chosen = step_of(combiner.weights_)
    for step in steps:
        if np.array_equal(step.members, chosen.members) and np.array_equal(
            step.weights, chosen.weights
        ):
            return step
    return step_of(combiner.weights_, *losses(combiner.weights_))
