"""What the studies of Hamers, Suykens and De Moor share: problems and fits."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import ranksums

from committee._typing import FloatArray
from committee.combiners import OptimalWeights, SimplexWeights
from committee.coupled import CoupledKernelClassifier, CoupledKernelRegressor
from studies.boards import file_order
from studies.claims import Claim, Verdict, by_parts, decide
from studies.datasets import load
from studies.printed import figure as printed_figure
from studies.study import HELD_OUT, PAPER, Entry

#: Protocols and the rows that the second layer is weighed on.
WEIGH_ON = {PAPER: "train", HELD_OUT: "held-out"}


@dataclass(frozen=True)
class Problem:
    """A data set with the hyper-parameters that the paper prints.

    Attributes
    ----------
    dataset : str
    n_members : int
        q.
    ridge, width : float
        The paper's gamma and sigma^2: alpha = 1 / ridge, gamma = 1 / width.
    coupling : float
        nu.
    n_train, n_test : int
    dense : bool
        Whether the second layer is that of eq. 6, without a sign.
    ordinal : bool
        Whether blank, o and x of tic-tac-toe are 1, 2 and 3, in the order of their
        letters, instead of 0, -1 and 1.
    in_order : bool
        Whether the first rows of the file are for training and the last for testing,
        instead of random ones.
    """

    dataset: str
    n_members: int
    ridge: float
    width: float
    coupling: float
    n_train: int
    n_test: int
    dense: bool = False
    ordinal: bool = False
    in_order: bool = False

    @property
    def regression(self) -> bool:
        """Whether targets are numbers."""
        return self.dataset in ("nox", "medv")


_BOARDS = Problem("tic-tac-toe", 11, 94.6, 9.96, 0.1, 638, 320)
PROBLEMS: Mapping[str, Problem] = {
    "nox-8": Problem("nox", 8, 20.67, 15.44, 1.0, 400, 106),
    "nox-16": Problem("nox", 16, 20.67, 15.44, 1.0, 400, 106),
    "medv-8": Problem("medv", 8, 81.19, 12.19, 1.0, 400, 106),
    "medv-16": Problem("medv", 16, 81.19, 12.19, 1.0, 400, 106),
    "tic-tac-toe": _BOARDS,
    "tic-tac-toe-123": replace(_BOARDS, ordinal=True),
    "tic-tac-toe-123-in-order": replace(_BOARDS, ordinal=True, in_order=True),
    "australian": Problem("australian", 10, 903.0, 12.15, 1.0, 460, 230),
    "adult": Problem("adult", 100, 1.11, 30.0, 1.0, 8000, 500, dense=True),
    "adult-sparse": Problem("adult", 100, 1.11, 30.0, 1.0, 8000, 500),
}


class Split(NamedTuple):
    """Training rows and test rows, in columns of mean 0 and variance 1."""

    X: FloatArray
    y: Any
    X_test: FloatArray
    y_test: Any


def draw_split(
    problem: Problem, seed: int, data: str | None, n_rows: int | None = None
) -> Split:
    """Return a random split, of so many training rows where fewer are wanted."""
    X, y = _rows(problem, data)
    order = np.arange(len(X))
    if not problem.in_order:
        order = np.random.default_rng(seed).permutation(len(X))
    train = order[: problem.n_train][:n_rows]
    test = order[problem.n_train :][: problem.n_test]
    return Split(X[train], y[train], X[test], y[test])


def _rows(problem: Problem, data: str | None) -> tuple[FloatArray, Any]:
    """Return inputs and targets of a data set, standardised over all rows."""
    name = problem.dataset
    if name in ("nox", "medv"):
        boston = load("boston", data=data)
        X, y = boston.X, boston.y
        if name == "nox":
            X, y = np.column_stack([np.delete(X, 4, axis=1), y]), X[:, 4]
        return _standardised(X), _standardised(np.asarray(y, dtype=np.float64))
    found = load(name, data=data)
    if name == "tic-tac-toe":
        X = found.X
        if problem.ordinal:
            X = np.select([X == 1, X == -1], [3.0, 2.0], 1.0)
        rows = file_order(found.X) if problem.in_order else np.arange(len(X))
        return _standardised(X[rows]), found.y[rows]
    complete = np.isfinite(found.X).all(axis=1)
    if found.train is not None:
        # Of adult the paper takes training and test rows from one file.
        complete &= np.isin(np.arange(len(found.y)), found.train[0])
    return _standardised(found.X[complete]), found.y[complete]


def _standardised(A: FloatArray) -> FloatArray:
    centred: FloatArray = (A - A.mean(axis=0)) / A.std(axis=0)
    return centred


def fit(
    problem: Problem,
    split: Split,
    seed: int,
    *,
    coupling: float,
    weigh_on: str,
    overlap: bool = True,
    transductive: bool = True,
    n_members: int | None = None,
    topology: str = "ring",
    coupling_set: str = "train",
    points: FloatArray | None = None,
    dense: bool | None = None,
) -> Any:
    """Fit the ensemble; a transductive one is coupled on the test inputs.

    A negative coupling is solved whether the problem has a minimum or not. `points`
    are coupling points, `dense` takes eq. 6 or eq. 7 instead of the problem's own.
    """
    dense = problem.dense if dense is None else dense
    kind = CoupledKernelRegressor if problem.regression else CoupledKernelClassifier
    model = kind(
        n_members or problem.n_members,
        gamma=1 / problem.width,
        alpha=1 / problem.ridge,
        coupling=coupling,
        overlap=overlap,
        topology=topology,
        allow_indefinite=True,
        coupling_set=coupling_set,
        combiner=OptimalWeights() if dense else SimplexWeights(),
        weigh_on=weigh_on,
        random_state=seed,
    )
    if points is None and transductive:
        points = split.X_test
    return model.fit(split.X, split.y, X_coupling=points)


def error(problem: Problem, model: Any, split: Split) -> float:
    """Return the test error: mean squared, or the share of wrong labels."""
    f = model.predict(split.X_test)
    if problem.regression:
        return float(np.mean((f - split.y_test) ** 2))
    return float(np.mean(f != split.y_test))


def compared(
    line: str,
    protocol: str,
    runs: Mapping[str, FloatArray],
    table: str,
    **where: str,
) -> list[Entry]:
    """Return mean, median and variance of each kind of runs, and p of a rank-sum test."""
    places = {
        f"{kind} {label}": number
        for kind, values in runs.items()
        for label, number in summary(values).items()
    }
    first, second = runs.values()
    places["p"] = np.array([rank_sum(first, second)] if len(first) > 1 else [])
    return [
        Entry(
            line,
            label,
            protocol,
            number,
            printed_figure(table, label.replace(" ", "_"), **where),
        )
        for label, number in places.items()
    ]


def significantly_lower(
    text: str, protocol: str, pairs: Mapping[str, tuple[FloatArray, FloatArray]]
) -> Claim:
    """Return the claim that coupled runs have the lower median, by rank sums.

    `pairs` are coupled and uncoupled runs by a label.
    """

    def judge() -> tuple[str, Verdict]:
        found, parts = [], []
        for label, (coupled, uncoupled) in pairs.items():
            p = rank_sum(coupled, uncoupled)
            low, high = np.median(coupled), np.median(uncoupled)
            parts.append(bool(low < high and p < 0.05))
            found.append(f"{label} {low:.3g} against {high:.3g}, p = {p:.1e}")
        return "; ".join(found), by_parts(*parts)

    rule = "the lower median and p < 0.05 in a rank-sum test; partly where only some do"
    runs = [values for pair in pairs.values() for values in pair]
    return decide(text, rule, protocol, runs, judge)


def rank_sum(a: FloatArray, b: FloatArray) -> float:
    """Return the p-value of Wilcoxon's rank-sum test."""
    return float(ranksums(a, b).pvalue)


def summary(values: FloatArray) -> dict[str, FloatArray]:
    """Return mean, median and variance of runs, each as a single value."""
    if len(values) < 2:
        return dict.fromkeys(("mean", "median", "var"), np.empty(0))
    return {
        "mean": values.mean(keepdims=True),
        "median": np.median(values, keepdims=True),
        "var": values.var(ddof=1, keepdims=True),
    }
