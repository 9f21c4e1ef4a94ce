"""One F for all combiners: what each keeps, how well it does, how long it takes."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.combiners import (
    ARDPruner,
    Combiner,
    EMPruner,
    EPPruner,
    LeastSquares,
    OrderPruner,
)
from committee.members import AdaBoost, Bagging, TrainingData
from committee.predictions import predict_all
from studies.study import HELD_OUT, PAPER, Numbers

#: Members that orderings keep, as in the papers' tables.
KEPT = 25
#: Sizes at which orderings are followed, in shares of all members.
SIZES = tuple(round(0.05 * k, 2) for k in range(1, 21))

#: X, y, X_test, y_test.
Split = tuple[FloatArray, Any, FloatArray, Any]


@dataclass(frozen=True)
class Votes:
    """Predictions of members on the rows to weigh them on, and on test rows.

    Attributes
    ----------
    F : array of shape (N, M) or (N, M, 2)
    y : array of shape (N,)
    F_test : array of shape (N', M)
        Outputs; for two classes the vote for 1 less that for 0.
    y_test : array of shape (N',)
    held_out : bool array of shape (N, M) or None
    own : array of shape (M,) or None
        The ensemble's own weights.
    members : sequence
    """

    F: FloatArray
    y: FloatArray | IntArray
    F_test: FloatArray
    y_test: FloatArray | IntArray
    held_out: BoolArray | None = None
    own: FloatArray | None = None
    members: Sequence[Member] = ()

    @property
    def n_members(self) -> int:
        """M."""
        return int(self.F.shape[1])

    @property
    def unpruned(self) -> FloatArray:
        """The weights of the unpruned ensemble."""
        M = self.n_members
        return np.full(M, 1.0 / M) if self.own is None else self.own

    def outputs(self, w: FloatArray) -> FloatArray:
        """Return the predictions of the committee on test rows."""
        return self.F_test @ (w if self.F.ndim == 2 else as_votes(w))

    def error(self, f: FloatArray) -> FloatArray:
        """Return the test error of outputs (N',) or (N', points).

        Mean squared error, or wrong votes in %, where a tie is half wrong.
        """
        y = self.y_test if f.ndim == 1 else self.y_test[:, None]
        if self.F.ndim == 2:
            return np.asarray(np.mean((f - y) ** 2, axis=0))
        return wrong(f, y)


def as_votes(w: FloatArray) -> FloatArray:
    """Scale weights so that the largest is one: then ties of equal votes are exact."""
    largest = np.abs(w).max()
    return w / largest if largest > 0 else w


def wrong(score: FloatArray, y: FloatArray | IntArray) -> FloatArray:
    """Return the share of wrong signs in %; zero is half wrong."""
    right = np.where(y > 0, score, -score)
    return np.asarray(100.0 * np.mean((right < 0) + 0.5 * (right == 0), axis=0))


def one_hot(members: Sequence[Member], X: FloatArray) -> FloatArray:
    """Return the hard votes of binary classifiers, (N, M, 2)."""
    return predict_all(list(members), X, classes=np.arange(2), output="hard")


def signed(F: FloatArray) -> FloatArray:
    """Return votes for class 1 less those for class 0, (N, M)."""
    return np.ascontiguousarray(F[:, :, 1] - F[:, :, 0])


def bagged(
    estimator: Any, split: Split, n_classes: int | None, n_members: int, seed: int
) -> dict[str, Votes]:
    """Bag an estimator; weigh on the training rows, and where members were left out."""
    X, y, X_test, y_test = split
    made = Bagging(n_members).generate(
        estimator, TrainingData(X, y, n_classes), random_state=seed
    )
    if n_classes is None:
        F, F_test = predict_all(made.members, X), predict_all(made.members, X_test)
    else:
        F, F_test = one_hot(made.members, X), signed(one_hot(made.members, X_test))
    votes = Votes(F, y, F_test, y_test, members=made.members)
    return {PAPER: votes, HELD_OUT: replace(votes, held_out=made.held_out)}


def bagged_trees(
    ensemble: str, split: Split, n_classes: int | None, n_members: int, seed: int
) -> dict[str, Votes]:
    """Bag CART trees; those of a "random-forest" try some features at each split."""
    kind = DecisionTreeRegressor if n_classes is None else DecisionTreeClassifier
    features = "sqrt" if ensemble == "random-forest" else None
    tree = kind(min_samples_split=10, max_features=features)
    return bagged(tree, split, n_classes, n_members, seed)


def boosted(
    estimator: Any, split: Split, train: Any, weigh: Any, n_members: int, seed: int
) -> Votes:
    """Boost a classifier on some of the rows, and weigh on the same or on others.

    Print has as many members everywhere: after one without an error rows are weighed
    anew, and boosting goes on.
    """
    X, y, X_test, y_test = split
    made = AdaBoost(n_members, on_perfect="restart").generate(
        estimator,
        TrainingData(X[train], y[train], 2),
        held_out=False,
        random_state=seed,
    )
    return Votes(
        one_hot(made.members, X[weigh]),
        y[weigh],
        signed(one_hot(made.members, X_test)),
        y_test,
        own=made.weights,
        members=made.members,
    )


def pruners(classification: bool, seed: int) -> dict[str, Combiner]:
    """Return what Chen, Tino and Yao compare, by their names in the tables.

    "ep" is our sequence of alphas, "ep-printed" theirs.
    """
    found: dict[str, Combiner] = {
        "ep": EPPruner(),
        "ep-printed": EPPruner(sequence="printed"),
        "ard": ARDPruner(),
        "em": EMPruner(),
        "ls": LeastSquares(solution="basic"),
        "random": OrderPruner("random", KEPT, random_state=seed % 2**31),
    }
    if classification:
        found |= {
            "kappa": OrderPruner("kappa", KEPT),
            "cp": OrderPruner("concurrency", KEPT),
        }
    return found


@dataclass(frozen=True)
class Fitted:
    """Weights, the seconds that they took, and the order where there is one."""

    weights: FloatArray
    seconds: float
    order: IntArray | None

    @property
    def size(self) -> int:
        """Members with a weight."""
        return int(np.count_nonzero(self.weights))


def weigh(votes: Votes, combiners: Mapping[str, Combiner]) -> dict[str, Fitted]:
    """Fit every combiner on the same F; the ensemble itself is "unpruned"."""
    fitted = {"unpruned": Fitted(votes.unpruned, 0.0, None)}
    for name, combiner in combiners.items():
        if "n_members" in combiner.get_params():
            combiner.set_params(n_members=min(KEPT, votes.n_members))
        start = time.perf_counter()
        combiner.fit(votes.F, votes.y, held_out=votes.held_out)
        seconds = time.perf_counter() - start
        w, order = combiner.weights_, getattr(combiner, "order_", None)
        if order is not None and votes.own is not None:
            w = w * votes.own  # chosen members keep the votes that boosting gave them
        fitted[name] = Fitted(w, seconds, order)
    return fitted


def measure(votes: Votes, combiners: Mapping[str, Combiner]) -> Numbers:
    """Return error, size and seconds of every combiner, and curves of orderings."""
    numbers: Numbers = {}
    for name, fit in weigh(votes, combiners).items():
        numbers[f"{name}.error"] = votes.error(votes.outputs(fit.weights))
        numbers[f"{name}.size"] = fit.size
        numbers[f"{name}.seconds"] = fit.seconds
        if fit.order is not None:
            numbers[f"{name}.curve"] = curve(votes, fit.order)
    return numbers


def curve(votes: Votes, order: IntArray) -> FloatArray:
    """Return the error of the first members of an order, at `SIZES` of them."""
    w = as_votes(votes.unpruned)[order]
    sizes = np.maximum(1, np.rint(np.array(SIZES) * votes.n_members).astype(np.intp))
    sums = np.cumsum(votes.F_test[:, order] * w, axis=1)[:, sizes - 1]
    return votes.error(sums / sizes if votes.F.ndim == 2 else sums)
