"""AdaBoost, Arcing and LPBoost: members trained one after another."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils import check_random_state

from committee._typing import (
    BoolArray,
    FloatArray,
    IntArray,
    Member,
    Output,
)
from committee._validation import AT_LEAST_ONE, COUNT_OR_SHARE, Interval, StrOptions
from committee.linalg.programmes import SoftMargin, largest_soft_margin
from committee.members.base import (
    Asked,
    BatchedGenerator,
    GenerateOptions,
    Generation,
    Generator,
    Sample,
    TrainingData,
    draw_seeds,
    n_drawn,
)
from committee.members.training import fit_member, run_in_turn
from committee.predictions import predict_one

#: Relative rounding error of a sum of row weights.
_ROUNDING = 1e-12
#: Number of consecutive members at chance level after which restarts end.
_USELESS = 10
#: By how much the edge of a new member must exceed the value of the linear programme.
_LEAST_GAIN = 1e-6


@dataclass(eq=False, repr=False)
class AdaBoost(BatchedGenerator):
    """Train members in sequence, with larger weights on misclassified rows.

        eps_t = sum_{n wrong} P_tn / sum_n P_tn
        a_t   = log((1 - eps_t) / eps_t) + log(K - 1)
        P_{t+1,n} = P_tn exp(a_t) where member t is wrong, P_tn elsewhere

    with P_1 = 1/N, or the sample weights (chapter 4.5; the term log(K - 1) of SAMME is
    zero for two classes). Members vote, and the committee predicts the class with the
    largest sum of a_t: `CommitteeClassifier` with `combiner=None` uses the a_t as
    weights. Learners without `sample_weight` train on rows drawn in proportion to P.

    For a member without errors, a_t is computed with half the smallest row weight as
    eps_t. It ends the sequence; with `on_perfect="restart"`, the next member starts from
    the weights of a new bootstrap sample instead. A member at chance level,
    eps_t >= 1 - 1/K, is dropped unless it is the first, and ends the sequence with a
    warning; with restarts, the tenth in a row does.

    No rows are left out, so any other combiner weighs members on their own training
    rows, on which their errors are too small. Set `weigh_on` to a fraction, such as 0.25.

    Parameters
    ----------
    n_members : int, default=100
        Maximum number of members.
    on_perfect : {"stop", "restart"}, default="stop"
        Whether to end, or to restart, after a member without errors.
    max_samples : int or float, default=None
        Number of rows to train each member on, or a fraction of the rows, drawn with
        replacement in proportion to P. Use it for learners that are slow on all rows,
        such as support vector machines. eps_t is computed on all rows. None trains on
        all rows, with P as their weights.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import AdaBoost, CommitteeClassifier
    >>> X, y = make_classification(flip_y=0.1, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> committee = CommitteeClassifier(stump, generator=AdaBoost(20), random_state=0)
    >>> committee.fit(X, y).n_members_
    20
    """

    output: ClassVar[Output] = "hard"
    #: Of 1, 2, 3, 4, 6, 8 and no limit it had the smallest mean error and mean rank,
    #: cross-validated on twelve sets of 150 to 1,800 rows and 2 to 10 classes.
    default_depth: ClassVar[int | None] = 6
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "on_perfect": [StrOptions({"stop", "restart"})],
        "max_samples": [None, *COUNT_OR_SHARE],
    }
    leaves_rows_out: ClassVar[bool] = False

    n_members: int = 100
    _: KW_ONLY
    on_perfect: str = "stop"
    max_samples: float | None = None

    def generate(
        self, estimator: Member, data: TrainingData, **options: Any
    ) -> Generation:
        """Train the members, one at a time; see `Generator.generate`."""
        generation = super().generate(estimator, data, **options)
        assert generation.weights is not None
        total = generation.weights.sum()
        return replace(generation, weights=generation.weights / total)

    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of a size, with their weights a_t."""
        estimator, data, size, options = asked
        seeds = _checked_seeds(self, data, options)
        state = _RowWeights(data, seeds, restarts=self.on_perfect == "restart")
        # A job is made after the weights of the previous one are known.
        jobs = (
            (_fit_and_check, estimator, data, self.sample(state.P, seed), seed)
            for seed in state.seeds()
        )
        results = run_in_turn(
            jobs, self.n_members, label="boosting", verbose=options.verbose
        )
        members: list[Member] = []
        a: list[float] = []
        for member, wrong in results:
            a_t = state.update(wrong)
            if a_t is not None:
                members.append(member)
                a.append(a_t)
            if len(members) == size:
                yield Generation(members, weights=np.array(a))
                members, a = [], []
        self._warn_of_an_early_end(state)
        if members:
            yield Generation(members, weights=np.array(a))

    def sample(self, P: FloatArray, seed: int) -> Sample:
        """Return all rows with weights of mean one, or rows drawn with probabilities P."""
        N = len(P)
        if self.max_samples is None:
            return Sample(np.arange(N), P * N)
        n = n_drawn(self.max_samples, N)
        return Sample.drawn(np.random.RandomState(seed).choice(N, n, p=P), N)

    def _warn_of_an_early_end(self, state: _RowWeights) -> None:
        """Warn if there are fewer than `n_members` members, with the reason."""
        if state.reason and state.n_kept < self.n_members:
            warnings.warn(
                f"AdaBoost stopped with {state.n_kept} of {self.n_members} members: "
                f"{state.reason}",
                stacklevel=9,  # the line that called fit
            )


def _checked_seeds(
    generator: Any, data: TrainingData, options: GenerateOptions
) -> IntArray:
    """Return a seed for each member; raise ValueError for targets that are numbers."""
    generator._validate_params()
    if data.n_classes is None:
        raise ValueError(
            f"{type(generator).__name__} is defined for classification; use Bagging, "
            "CrossSplits, MiniBatches, RandomInits or Pool for regression."
        )
    random = check_random_state(options.random_state)
    return draw_seeds(random, generator.n_members)


class _RowWeights:
    """The distribution P over rows and its update."""

    def __init__(self, data: TrainingData, seeds: IntArray, *, restarts: bool) -> None:
        s = data.sample_weight
        self.start: FloatArray = (
            np.ones(len(data)) if s is None else s.astype(np.float64)
        )
        self.start /= self.start.sum()
        self.P = self.start.copy()
        assert data.n_classes is not None
        self.n_classes = data.n_classes
        self.restarts = restarts
        self.first_seeds = seeds
        self.random = np.random.RandomState(seeds[-1])
        self.n_kept = self.useless = 0
        #: Reason for the end of the sequence, and advice; empty while it goes on.
        self.reason = ""

    def seeds(self) -> Iterator[int]:
        """Yield a seed for every member to train, including dropped ones."""
        drawn = iter(self.first_seeds.tolist())
        while not self.reason and self.n_kept < len(self.first_seeds):
            yield next(drawn, None) or int(draw_seeds(self.random, 1)[0])

    def update(self, wrong: Any) -> float | None:
        """Return a_t, and update the row weights; return None to drop the member."""
        a = self._reweigh(wrong)
        self.n_kept += a is not None
        return a

    def _reweigh(self, wrong: Any) -> float | None:
        K = self.n_classes
        eps = float(self.P[wrong].sum())
        if eps >= (1.0 - 1.0 / K) * (1.0 - _ROUNDING):
            return self._no_better_than_chance(eps)
        self.useless = 0
        perfect = eps <= 0.0
        if perfect:
            eps = float(self.P[self.P > 0].min()) / 2
        eps = max(eps, float(np.finfo(np.float64).tiny))
        a = float(np.log((1.0 - eps) / eps) + np.log(K - 1.0))
        if not perfect:
            self.P[wrong] *= np.exp(a)
            self.P /= self.P.sum()
        elif self.restarts:
            self._restart()
        else:
            self.reason = (
                "the last one makes no error on its training rows, so that row weights "
                "cannot change. Use a weaker estimator (a smaller max_depth, a larger "
                'min_samples_leaf), or on_perfect="restart".'
            )
        return a

    def _no_better_than_chance(self, eps: float) -> float | None:
        """Restart, or end; return the weight of a first member, else None."""
        first = not self.n_kept
        self.useless += 1
        if self.restarts and self.useless < _USELESS:
            self._restart()
            return None
        self.reason = (
            f"the weighted error of the next one, {eps:.3g}, is not below chance level, "
            f"{1 - 1 / self.n_classes:.3g}. "
            + ("It is the only member. " if first else "It is not kept. ")
            + "Take a stronger estimator (a larger max_depth)."
        )
        return 1.0 if first else None

    def _restart(self) -> None:
        """Set P to the counts of a bootstrap sample, divided by N."""
        N = len(self.P)
        drawn = self.random.choice(N, N, p=self.start)
        self.P = np.bincount(drawn, minlength=N) / N


def _fit_and_check(
    estimator: Member, data: TrainingData, sample: Sample, seed: int
) -> tuple[Member, Any]:
    """Train a member; return it and the mask of its errors on all rows."""
    member = fit_member(estimator, data, sample, seed)
    return member, np.asarray(member.predict(data.X)) != data.y


class Arcing(BatchedGenerator):
    """Draw the rows of each member by the errors of earlier members (arc-x4).

        P_tn ~ 1 + m_n^4,    m_n: earlier members that are wrong on row n

    N rows are drawn with replacement with probabilities P, multiplied by `sample_weight`
    if given. A member is weighed on the rows that it did not draw; later members leave out
    mostly easy rows. With `combiner=None` members have equal weights.

    Parameters
    ----------
    n_members : int, default=100

    References
    ----------
    L. Breiman. Arcing classifiers. Annals of Statistics 26, 1998.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from committee import Arcing, CommitteeClassifier
    >>> X, y = make_classification(flip_y=0.1, random_state=0)
    >>> committee = CommitteeClassifier(generator=Arcing(10), random_state=0)
    >>> committee.fit(X, y).n_members_
    10
    """

    output: ClassVar[Output] = "hard"
    _parameter_constraints: ClassVar[dict[str, Any]] = {"n_members": [AT_LEAST_ONE]}

    def __init__(self, n_members: int = 100) -> None:
        self.n_members = n_members

    def batches(self, asked: Asked) -> Iterator[Generation]:
        """Yield the members in batches of a size."""
        estimator, data, size, options = asked
        seeds = _checked_seeds(self, data, options)
        mistakes = np.zeros(len(data))
        jobs = (
            (_fit_and_vote, estimator, data, mistakes.copy(), int(seed))
            for seed in seeds
        )
        batch: list[tuple[Member, FloatArray, BoolArray]] = []
        results = run_in_turn(
            jobs, self.n_members, label="arcing", verbose=options.verbose
        )
        for m, (member, votes, unseen) in enumerate(results):
            mistakes += votes.argmax(axis=1) != data.y
            batch.append((member, votes, unseen))
            if len(batch) == size or m == self.n_members - 1:
                members, slabs, masks = zip(*batch, strict=True)
                F, mask = np.stack(slabs, axis=1), np.stack(masks, axis=1)
                held_out = (F, mask) if options.held_out else ()
                yield Generation(list(members), *held_out)
                batch = []


def _fit_and_vote(
    estimator: Member, data: TrainingData, mistakes: FloatArray, seed: int
) -> tuple[Member, FloatArray, BoolArray]:
    """Train a member on rows drawn by P; return it, its votes and its held-out rows."""
    N, s = len(data), data.sample_weight
    P = 1.0 + mistakes**4
    if s is not None:
        P *= s
    sample = Sample.drawn(np.random.RandomState(seed).choice(N, N, p=P / P.sum()), N)
    member = fit_member(estimator, data, sample, seed)
    votes = predict_one(member, data.X, classes=data.classes, output="hard")
    unseen = np.ones(N, dtype=bool)
    unseen[sample.rows] = False
    return member, votes, unseen


class LPBoost(Generator):
    """Train each member on the rows that limit the margin of the others.

        max_{w, rho, xi}  rho - 1 / (nu N) sum_n xi_n
        S_nk w + xi_n >= rho,   xi >= 0,   sum w = 1,  w >= 0

    S_nkm = [m votes for y_n] - [m votes for k], for every wrong class k. The multipliers
    u_nk of the constraints are the row weights for the next member. Its column enters if
    its edge, sum u_nk S_nk, exceeds the value of the linear programme, which is the
    largest edge of all members before. If it does not, the learner finds no member that
    raises the soft margin, and training ends (column generation). Members vote with the
    weights of the programme, many of them zero.

    With more than two classes the learner is trained on the sum of u_nk over the wrong
    classes, so a weak learner may miss a column with a larger edge, and training then
    ends too early. Use a learner that can separate all classes.

    No rows are left out, so any other combiner weighs members on their own training
    rows, on which their errors are too small. Set `weigh_on` to a fraction, such as 0.25.

    Parameters
    ----------
    n_members : int, default=100
        Maximum number of members.
    nu : float, default=0.2
        Fraction of the rows, those with the smallest margins, that determine the
        weights, in (0, 1]. Choose it larger than the fraction of rows that are always
        wrong.

    References
    ----------
    A. Demiriz, K. P. Bennett, J. Shawe-Taylor. Linear programming boosting via column
    generation. Machine Learning 46, 2002.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> from committee import CommitteeClassifier, LPBoost
    >>> X, y = make_classification(flip_y=0.1, random_state=0)
    >>> stump = DecisionTreeClassifier(max_depth=1)
    >>> committee = CommitteeClassifier(stump, generator=LPBoost(20), random_state=0)
    >>> 1 < committee.fit(X, y).n_members_ <= 20
    True
    """

    output: ClassVar[Output] = "hard"
    leaves_rows_out: ClassVar[bool] = False
    default_depth: ClassVar[int | None] = 6
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_members": [AT_LEAST_ONE],
        "nu": [Interval(Real, 0, 1, closed="right")],
    }

    def __init__(self, n_members: int = 100, *, nu: float = 0.2) -> None:
        self.n_members = n_members
        self.nu = nu

    def generate(
        self, estimator: Member, data: TrainingData, **options: Any
    ) -> Generation:
        """Train the members, one at a time; see `Generator.generate`."""
        how = GenerateOptions(**options)
        seeds = _checked_seeds(self, data, how)
        programme = _Programme(data, self.nu)
        # A job is taken once the multipliers of the last programme are known.
        jobs = (
            (_fit_column, estimator, data, programme.row_weights, int(seed))
            for seed in seeds
        )
        members: list[Member] = []
        results = run_in_turn(
            jobs, self.n_members, label="boosting", verbose=how.verbose
        )
        for member, column in results:
            if members and programme.edge(column) <= programme.value + _LEAST_GAIN:
                break
            members.append(member)
            programme.add(column)
        assert programme.solution is not None
        return Generation(members, weights=programme.solution.w)


class _Programme:
    """The columns so far and the solution with them."""

    def __init__(self, data: TrainingData, nu: float) -> None:
        s = data.sample_weight
        s = np.ones(len(data)) if s is None else s
        self.cost: FloatArray = s / s.sum() / nu
        self.columns: list[FloatArray] = []
        self.solution: SoftMargin | None = None
        self.row_weights: FloatArray = s / s.sum()

    @property
    def value(self) -> float:
        """The largest edge of the members so far."""
        assert self.solution is not None
        return self.solution.objective

    def edge(self, column: FloatArray) -> float:
        """Return sum_nk u_nk S_nk of a column (N, K - 1)."""
        assert self.solution is not None
        return float((self.solution.u * column).sum())

    def add(self, column: FloatArray) -> None:
        """Solve the programme with one more member."""
        self.columns.append(column)
        A = np.stack(self.columns, axis=2)
        self.solution = largest_soft_margin(A, self.cost)
        u = self.solution.u.sum(axis=1)
        self.row_weights = u / u.sum()


def _fit_column(
    estimator: Member, data: TrainingData, u: FloatArray, seed: int
) -> tuple[Member, FloatArray]:
    """Train a member on weights of mean one, and return its column S (N, K - 1)."""
    N = len(data)
    member = fit_member(estimator, data, Sample(np.arange(N), u * N), seed)
    votes = predict_one(member, data.X, classes=data.classes, output="hard")
    K = votes.shape[1]
    own = votes[np.arange(N), data.y][:, None]
    others = np.ones((N, K), dtype=bool)
    others[np.arange(N), data.y] = False
    return member, own - votes[others].reshape(N, K - 1)
