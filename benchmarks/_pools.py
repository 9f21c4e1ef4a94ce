"""Pools of 27 models of different kinds, weighed on out-of-fold rows, and what is compared there."""

import warnings
from collections.abc import Iterator

import numpy as np
from sklearn.datasets import load_digits, make_classification
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import BernoulliNB, GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import PolynomialFeatures, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks._data import load, poker
from committee import ARDPruner, EPPruner, LogPool, Pool, SimplexWeights
from committee.combiners import Combiner
from committee.combiners.likelihoods import centred_rows, signed_rows
from committee.ep import PRICE, classification_path, preferred, regression_path
from committee.members import TrainingData
from committee.predictions import predict_all
from committee.votes import Votes

BINARY = (
    "adult",
    "poker-2",
    "banana",
    "image",
    "ringnorm",
    "splice",
    "twonorm",
    "waveform",
)
MULTICLASS = ("digits", "waveform-3", "poker-5", "blobs-3", "blobs-4", "blobs-8")
#: Training rows, and test rows at most.
TRAIN, TEST = 2000, 10000


def models() -> list[tuple[str, object]]:
    scaled = StandardScaler

    def network(*layers, alpha=1e-4):
        return make_pipeline(scaled(), MLPClassifier(layers, alpha=alpha, max_iter=100))

    def logistic(C):
        return make_pipeline(scaled(), LogisticRegression(C=C, max_iter=200))

    def neighbours(k, **options):
        return make_pipeline(scaled(), KNeighborsClassifier(k, **options))

    def boosting(**options):
        return HistGradientBoostingClassifier(max_iter=50, **options)

    products = PolynomialFeatures(2, interaction_only=True, include_bias=False)
    return [
        ("logistic", logistic(1.0)),
        ("logistic-0.01", logistic(0.01)),
        (
            "logistic-products",
            make_pipeline(scaled(), products, LogisticRegression(C=0.01, max_iter=100)),
        ),
        ("ridge", make_pipeline(scaled(), RidgeClassifier(10.0))),
        ("sgd", make_pipeline(scaled(), SGDClassifier(loss="log_loss"))),
        ("lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ("qda", QuadraticDiscriminantAnalysis(reg_param=0.1)),
        ("gaussian-nb", GaussianNB(var_smoothing=1e-3)),
        ("bernoulli-nb", make_pipeline(scaled(), BernoulliNB())),
        ("1-neighbour", neighbours(1)),
        ("5-neighbours", neighbours(5)),
        ("15-neighbours", neighbours(15, weights="distance")),
        ("50-neighbours", neighbours(50)),
        ("city-block", neighbours(7, p=1)),
        ("svm", make_pipeline(scaled(), SVC())),
        ("svm-10", make_pipeline(scaled(), SVC(C=10.0))),
        ("tree", DecisionTreeClassifier()),
        ("tree-4", DecisionTreeClassifier(max_depth=4)),
        ("tree-leaf-10", DecisionTreeClassifier(min_samples_leaf=10)),
        ("forest", RandomForestClassifier(100)),
        ("forest-leaf-5", RandomForestClassifier(100, min_samples_leaf=5)),
        ("extra-trees", ExtraTreesClassifier(100)),
        ("boosting", boosting()),
        ("boosting-slow", boosting(learning_rate=0.03, max_leaf_nodes=8)),
        ("boosting-small", boosting(max_leaf_nodes=4)),
        ("network-32", network(32)),
        ("network-64-32", network(64, 32, alpha=1e-2)),
    ]


def problem(name: str, run: int) -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test; y are codes 0..K-1."""
    X, y = rows_of(name)
    train = min(TRAIN, 1000 if name == "digits" else len(y))
    parts = train_test_split(
        np.arange(len(y)), train_size=train, stratify=y, random_state=run
    )
    train, test = parts[0], parts[1][:TEST]
    return X[train], y[train], X[test], y[test]


def rows_of(name: str) -> tuple[np.ndarray, np.ndarray]:
    if name == "adult":
        z = load("adult")
        X = np.vstack([z["X_train"], z["X_test"]])
        return np.nan_to_num(X, nan=-1.0), np.r_[z["y_train"], z["y_test"]].astype(int)
    if name.startswith("poker"):
        X, y, X_more, y_more = poker()
        y = np.minimum(np.r_[y, y_more], int(name[-1]) - 1)
        return np.vstack([X, X_more]), y
    if name == "digits":
        return load_digits(return_X_y=True)
    if name == "waveform-3":
        return _waveform(np.random.default_rng(0), TRAIN + TEST)
    if name.startswith("blobs"):
        return make_classification(
            TRAIN + TEST,
            20,
            n_informative=8,
            n_redundant=4,
            n_classes=int(name[-1]),
            n_clusters_per_class=3,
            flip_y=0.05,
            class_sep=1.5,
            random_state=int(name[-1]),
        )
    z = load(f"raetsch_{name}")
    pool = np.r_[z["train_idx"][0], z["test_idx"][0]]
    return z["X"][pool].astype(float), (z["y"][pool] > 0).astype(int)


def _waveform(rng, N):
    """Three classes of two out of three triangular waves, with noise (Breiman)."""
    t = np.arange(1, 22)
    waves = np.array([np.maximum(6 - np.abs(t - c), 0) for c in (7, 15, 11)])
    y = rng.integers(0, 3, N)
    first, second = np.array([(0, 1), (0, 2), (1, 2)])[y].T
    u = rng.random((N, 1))
    return u * waves[first] + (1 - u) * waves[second] + rng.normal(size=(N, 21)), y


def greedy(F, y, rounds: int = 50) -> np.ndarray:
    """Forward selection with replacement on squared error (Caruana et al., 2004).

    The weights are counts at the best of the first `rounds` committees.
    """
    N, M, K = F.shape
    E = F - np.eye(K)[y][:, None, :]
    E = E.transpose(0, 2, 1).reshape(-1, M)
    C = E.T @ E / N
    counts, best, least = np.zeros(M), None, np.inf
    for size in range(1, rounds + 1):
        # The squared error of the mean once member m has one vote more.
        error = (counts @ C @ counts + 2 * C @ counts + np.diag(C)) / size**2
        m = int(error.argmin())
        counts[m] += 1
        if error[m] < least:
            best, least = counts.copy(), error[m]
    return best / best.sum()


def run_pool(name: str, run: int):
    """Return the results of one pool as rows of the table."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        X, y, X_test, y_test = problem(name, run)
        K = int(y.max()) + 1
        data = TrainingData(X, y, K)
        generation = Pool(models()).generate(None, data, random_state=run)
        F = generation.F
        F_test = predict_all(generation.members, X_test, classes=np.arange(K))
        results = list(methods(F, y, K))

    def measured(found):
        p = found.probabilities(found.combine(F_test))
        error = 100.0 * float(np.mean(p.argmax(axis=1) != y_test))
        # With half a row of which nothing is known, as in `probabilities`.
        loss = log_loss(y_test, p, labels=np.arange(K)) + 0.5 * np.log(K) / len(y_test)
        return {"error": round(error, 4), "log_loss": round(loss, 6)}

    return [
        {
            "part": "pool" if K == 2 else "multiclass",
            "set": name,
            "ensemble": "pool",
            "split": run,
            "method": method,
            **measured(found),
            "size": np.count_nonzero(found.weights_),
        }
        for method, found in results
    ]


class Fixed(Combiner):
    """Weights that are known."""

    def __init__(self, w):
        self.w = w

    def _weigh(self, votes):
        return self.w


def methods(F, y, K: int) -> Iterator[tuple[str, Combiner]]:
    for method, w in weightings(F, y):
        yield method, Fixed(w).fit(F, y)
    for method, combiner in (
        ("ep auto", EPPruner()),
        ("ard auto", ARDPruner()),
        ("log pool without offsets", LogPool(offsets=False)),
        ("log pool", LogPool()),
        ("log pool signed", LogPool(signed=True)),
    ):
        yield method, combiner.fit(F, y)


def weightings(F, y) -> Iterator[tuple[str, np.ndarray]]:
    M = F.shape[1]
    yield "mean of all", np.full(M, 1.0 / M)
    right = (F.argmax(axis=2) == y[:, None]).mean(axis=0)
    yield "best single", np.eye(M)[right.argmax()]
    yield "greedy", greedy(F, y)
    yield "simplex", SimplexWeights().fit(F, y).weights_
    for likelihood in ("probit", "gaussian"):
        path = EPPruner(likelihood=likelihood, pool="votes").fit(F, y).path_
        for rule in ("min-loo", "max-evidence", "one-se"):
            w = preferred(path.steps, rule).weights
            yield f"ep {likelihood} {rule}", w
            yield f"ep {likelihood} {rule} equal", (w > 0) / np.count_nonzero(w)
        densest = max(path.steps, key=lambda step: step.loo_density)
        yield f"ep {likelihood} max-density", densest.weights
    yield from dearer(F, y)


def dearer(F, y) -> Iterator[tuple[str, np.ndarray]]:
    """Members that have to bring more evidence than usual."""
    problem = Votes(F, y, None, None)
    votes, centred = signed_rows(problem), centred_rows(problem)
    for factor in (2, 4):
        price = factor * PRICE
        path = classification_path(votes.S, group=votes.group, price=price)
        yield (
            f"ep probit price x {factor}",
            preferred(path.steps, "max-evidence").weights,
        )
        path = regression_path(centred.F, centred.y, price=price)
        yield (
            f"ep gaussian price x {factor}",
            preferred(path.steps, "max-evidence").weights,
        )
