"""Ensembles of 100 trees, the pruners that are compared on them, and variants."""

import warnings
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

import committee
from committee import (
    AdaBoost,
    ARDPruner,
    Bagging,
    EPPruner,
    LeastSquares,
    error_correlation,
)
from committee.ep import PRICE, classification_path, classification_posterior, preferred
from committee.members import Generation, TrainingData
from committee.predictions import predict_all

ENSEMBLES = ("bagging", "adaboost", "forest")
#: Random choices of the same size, averaged.
DRAWS = 10

Result = tuple[str, float, float]


@dataclass
class Cell:
    """One ensemble on one split: votes for class 1 less those for class 0.

    S and S_test are (N, M); `sign` is +-1 for the class of a row.
    """

    name: str
    ensemble: str
    split: int
    data: tuple[np.ndarray, ...]
    generation: Generation
    F: np.ndarray
    S: np.ndarray
    S_test: np.ndarray

    @property
    def held_out(self):
        return self.generation.held_out

    @property
    def own(self):
        """The ensemble's own weights."""
        M = self.S.shape[1]
        w = self.generation.weights
        return np.full(M, 1.0 / M) if w is None else w

    def error(self, w) -> float:
        """Return the test error in %; a tie is half an error."""
        return vote_error(self.S_test @ w, self.data[3])


def vote_error(score, y) -> float:
    right = np.where(y > 0, score, -score)
    return 100.0 * float(np.mean((right < 0) + 0.5 * (right == 0)))


def generate(ensemble: str, X, y, n_members: int, seed: int) -> Generation:
    """Train bagged trees, a forest of them, or boosted trees of depth 4."""
    data = TrainingData(X, y, 2)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="AdaBoost stopped")
        if ensemble == "adaboost":
            tree = DecisionTreeClassifier(max_depth=4)
            return AdaBoost(n_members).generate(tree, data, random_state=seed)
        features = "sqrt" if ensemble == "forest" else None
        tree = DecisionTreeClassifier(max_features=features)
        return Bagging(n_members).generate(tree, data, random_state=seed)


def signed(ensemble: str, members, X) -> np.ndarray:
    output = "hard" if ensemble == "adaboost" else "soft"
    F = predict_all(members, X, classes=np.arange(2), output=output)
    return F[:, :, 1] - F[:, :, 0]


def make_cell(name: str, ensemble: str, split: int, data) -> Cell:
    X, y, X_test, _ = data
    generation = generate(ensemble, X, y, 100, seed=split)
    S = signed(ensemble, generation.members, X)
    S_test = signed(ensemble, generation.members, X_test)
    # On its training rows a member says what it learned; EP sees it only where told.
    F = np.stack([(1 - S) / 2, (1 + S) / 2], axis=2)
    if generation.F is not None:
        F = np.where(generation.held_out[:, :, None], generation.F, F)
    return Cell(name, ensemble, split, data, generation, F, S, S_test)


def methods(cell: Cell) -> Iterator[Result]:
    """Yield (name, test error in %, size) of every method on one cell."""
    y = cell.data[1]
    yield "all", cell.error(cell.own), cell.S.shape[1]
    ep = EPPruner().fit(cell.F, y, held_out=cell.held_out)
    path = ep.path_
    size = len(ep.support_)
    for rule in ("min-loo", "max-evidence", "one-se"):
        w = preferred(path.steps, rule).weights
        yield f"ep {rule}", cell.error(w), np.count_nonzero(w)
        yield f"ep {rule} equal", cell.error(w > 0), np.count_nonzero(w)
    for method, combiner in _others():
        w = combiner.fit(cell.F, y, held_out=cell.held_out).weights_
        yield method, cell.error(w), np.count_nonzero(w)
    yield from _same_size(cell, size)
    larger = preferred(path.steps, "max-evidence").size
    yield "random of max-evidence", _random_error(cell, larger), larger


def _others():
    yield "ard", ARDPruner()
    if hasattr(committee, "EMPruner"):
        yield "em", committee.EMPruner()
    yield "ls", LeastSquares()


def _same_size(cell: Cell, size: int) -> Iterator[Result]:
    """Random members, the members that a fresh ensemble would have, and boosting."""
    yield "random", _random_error(cell, size), size
    X, y, X_test, y_test = cell.data
    fresh = generate(cell.ensemble, X, y, size, seed=1000 + cell.split)
    S = signed(cell.ensemble, fresh.members, X_test)
    w = np.ones(S.shape[1]) if fresh.weights is None else fresh.weights
    yield "fresh", vote_error(S @ w, y_test), S.shape[1]
    if cell.ensemble == "bagging":
        boosted = HistGradientBoostingClassifier(random_state=cell.split).fit(X, y)
        p = boosted.predict_proba(X_test)
        yield "boosting", vote_error(p[:, 1] - p[:, 0], y_test), 100


def _random_error(cell: Cell, size: int) -> float:
    """Return the mean error of ten random choices, with the members' own weights."""
    rng = np.random.default_rng([cell.split, size])
    errors = []
    for _ in range(DRAWS):
        chosen = rng.choice(cell.S.shape[1], size, replace=False)
        score = cell.S_test[:, chosen] @ cell.own[chosen]
        errors.append(vote_error(score, cell.data[3]))
    return float(np.mean(errors))


def variants(cell: Cell) -> Iterator[Result]:
    """Yield what else was tried, on the same votes."""
    y = cell.data[1]
    sign = np.where(y > 0, 1.0, -1.0)[:, None]
    seen = cell.S * sign
    mask = cell.held_out
    S = seen if mask is None else seen * mask
    yield from _random_sizes(cell)
    path = classification_path(S)
    yield from _both(cell, "max loo density", _densest(path))
    for k in (10, 20):
        w = path.weights[path.step_within(k)]
        yield from _both(cell, f"max_members={k}", w)
    for rule in ("min-loo", "max-evidence"):
        yield from _other_weights(cell, S, rule, preferred(path.steps, rule).weights)
    for factor in (0.0, 2.0, 4.0, 8.0):
        priced = classification_path(S, price=factor * PRICE)
        for rule in ("min-loo", "max-evidence"):
            yield from _both(
                cell,
                f"price x {factor:g}, {rule}",
                preferred(priced.steps, rule).weights,
            )
    gaussian = EPPruner(likelihood="gaussian").fit(cell.F, y, held_out=mask).path_
    for rule in ("min-loo", "max-evidence"):
        yield from _both(
            cell, f"gaussian, {rule}", preferred(gaussian.steps, rule).weights
        )
    yield from _stable(cell, S, preferred(path.steps, "max-evidence").size)
    if mask is not None:
        yield from _held_out_variants(cell, seen, S, mask)
        yield from _orderings(cell, S, preferred(path.steps, "max-evidence").size)
    else:
        yield from _rows_apart(cell)
    if cell.split < 2 and cell.ensemble != "adaboost":
        yield from _more_candidates(cell, sign)


def _both(cell, name, w) -> Iterator[Result]:
    """The weights as they are, and equal ones on the same members."""
    yield _result(cell, name, w)
    yield _result(cell, f"{name}, equal votes", w > 0)


def _random_sizes(cell) -> Iterator[Result]:
    for size in (5, 10, 15, 20, 30, 50):
        if size < cell.S.shape[1]:
            yield f"random {size}", _random_error(cell, size), size


def _other_weights(cell, S, rule, w) -> Iterator[Result]:
    """Weights between those of EP and equal ones."""
    half = 0.5 * w / w.sum() + 0.5 * (w > 0) / np.count_nonzero(w)
    yield _result(cell, f"{rule}, weights half way to equal", half)
    active = np.flatnonzero(w)
    fits = [
        classification_posterior(S[:, active], np.full(len(active), alpha), tol=1e-2)
        for alpha in (0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
    ]
    best = max(fits, key=lambda fit: fit.log_evidence)
    shared = np.zeros(len(w))
    shared[active] = best.mean
    yield _result(cell, f"{rule}, one alpha for the chosen", shared)


def _stable(cell, S, size) -> Iterator[Result]:
    """Members that ten halves of the rows choose most often."""
    rng = np.random.default_rng(200 + cell.split)
    weights = np.zeros(S.shape[1])
    for _ in range(10):
        half = rng.permutation(len(S))[: (len(S) + 1) // 2]
        w = preferred(classification_path(S[half]).steps, "max-evidence").weights
        weights += w / w.sum()
    order = np.argsort(-weights, kind="stable")[:size]
    w = np.zeros(len(weights))
    w[order] = weights[order]
    yield from _both(cell, "ten halves of the rows", w)


def _orderings(cell, S, size) -> Iterator[Result]:
    """Rivals of the same size: the best by themselves, and forward on C."""
    y, mask = cell.data[1], cell.held_out
    merit = S.sum(axis=0) / np.maximum(mask.sum(axis=0), 1)
    yield _result(cell, "the best by themselves", _top(merit, size))
    C = error_correlation(cell.F, y, held_out=mask)
    chosen: list[int] = []
    for _ in range(size):
        cost = 2 * C[:, chosen].sum(axis=1) + C.diagonal()
        cost[chosen] = np.inf
        chosen.append(int(cost.argmin()))
    w = np.zeros(len(C))
    w[chosen] = 1.0
    yield _result(cell, "forward selection on C", w)


def _top(merit, size):
    w = np.zeros(len(merit))
    w[np.argsort(-merit, kind="stable")[:size]] = 1.0
    return w


def _rows_apart(cell):
    """Boost on three quarters of the rows, and prune on the others."""
    X, y, X_test, y_test = cell.data
    train, apart = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=y, random_state=cell.split
    )
    generation = generate(cell.ensemble, X[train], y[train], 100, seed=cell.split)
    S_test = signed(cell.ensemble, generation.members, X_test)
    S = signed(cell.ensemble, generation.members, X[apart])
    own = vote_error(S_test @ generation.weights, y_test)
    yield "rows split off, all members", own, S.shape[1]
    path = classification_path(S * np.where(y[apart] > 0, 1.0, -1.0)[:, None])
    for rule in ("min-loo", "max-evidence"):
        w = preferred(path.steps, rule).weights
        error = vote_error(S_test @ w, y_test)
        yield f"rows split off, {rule}", error, np.count_nonzero(w)


def _more_candidates(cell, sign):
    """Choose among 400 members instead of 100."""
    X, y, X_test, y_test = cell.data
    more = generate(cell.ensemble, X, y, 300, seed=2000 + cell.split)
    S = (more.F[:, :, 1] - more.F[:, :, 0]) * more.held_out
    S = np.hstack([cell.S * cell.held_out, S]) * sign
    S_test = np.hstack([cell.S_test, signed(cell.ensemble, more.members, X_test)])
    yield "400 candidates, all", vote_error(S_test.sum(axis=1), y_test), S.shape[1]
    path = classification_path(S)
    choices = {
        "min-loo": preferred(path.steps, "min-loo").weights,
        "max-evidence": preferred(path.steps, "max-evidence").weights,
        "max_members=20": path.weights[path.step_within(20)],
    }
    for rule, w in choices.items():
        error, size = vote_error(S_test @ w, y_test), np.count_nonzero(w)
        yield f"400 candidates, {rule}", error, size
        error = vote_error(S_test @ (w > 0), y_test)
        yield f"400 candidates, {rule}, equal votes", error, size


def _held_out_variants(cell, seen, S, mask):
    """Other readings of an abstention."""
    n_votes = np.maximum(mask.sum(axis=1, keepdims=True), 1)
    M = mask.shape[1]
    rng = np.random.default_rng(cell.split)
    columns = _random_voter(mask, rng)
    drawn = np.where(mask, S, np.take_along_axis(S, columns, axis=1))
    mean = S.sum(axis=1, keepdims=True) / n_votes
    readings = {
        "training rows": seen,
        "rows scaled by M / votes": S * (M / n_votes),
        "abstention = mean of the votes / 4": np.where(mask, S, 0.25 * mean),
        "abstention = mean of the votes": np.where(mask, S, mean),
        "abstention = a vote at random": drawn,
    }
    for name, rows in readings.items():
        path = classification_path(rows)
        for rule in ("min-loo", "max-evidence"):
            yield from _both(
                cell, f"{name}, {rule}", preferred(path.steps, rule).weights
            )


def _random_voter(mask, rng):
    """For every entry the number of a random member that votes on the row."""
    keys = np.where(mask, rng.random(mask.shape), 2.0)
    order = np.argsort(keys, axis=1)
    count = np.maximum(mask.sum(axis=1), 1)
    pick = (rng.random(mask.shape) * count[:, None]).astype(int)
    return np.take_along_axis(order, pick, axis=1)


def _densest(path):
    return path[int(path.loo_density.argmax())].weights


def _result(cell, name, w) -> Result:
    w = np.asarray(w, float)
    return name, cell.error(w), np.count_nonzero(w)


def run_cell(name: str, ensemble: str, split: int, data, extra: bool):
    """Return the results of one cell; warnings of slow convergence are left out."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore", ConvergenceWarning)
        cell = make_cell(name, ensemble, split, data)
        results = list(methods(cell))
        if extra:
            results += [(f"variant: {n}", e, s) for n, e, s in variants(cell)]
    return [
        {
            "part": "raetsch",
            "set": name,
            "ensemble": ensemble,
            "split": split,
            "method": method,
            "error": round(error, 4),
            "size": round(float(size), 2),
        }
        for method, error, size in results
    ]
