"""committee demo: a pool is weighed, a forest shrunk, intervals are checked."""

from __future__ import annotations

import os
import tempfile
import warnings
from collections.abc import Callable
from typing import Any

import joblib
import numpy as np
from rich import box
from rich.console import Console
from rich.table import Table
from sklearn.datasets import load_diabetes, load_digits
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
    StackingClassifier,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee._format import NumberFormat, byte_size, duration
from committee._typing import FloatArray, IntArray
from committee.committee import CommitteeClassifier, CommitteeRegressor
from committee.losses import error_losses, log_losses, mean_and_se
from committee.members import Bagging, Pool
from committee.persistence.save_load import save
from committee.pruning import prune, refine
from committee.pruning.costs import seconds_per_row
from committee.reporting import report
from committee.shell.options import Demo
from committee.shell.tables import PAGE, check_output

#: Trees of the forest, and of the refined committee.
N_TREES, N_KEPT = 500, 50
COVERAGES = (0.8, 0.9, 0.95)


def demo(options: Demo) -> None:
    """Run the three parts, and print a table for each."""
    check_output(options.output, endings=PAGE)
    parts = run_demo(seed=options.seed, n_jobs=options.jobs, page=options.output)
    if options.as_json:
        options.messages.result({"report": options.output, **parts})
        return
    console = Console()
    print("Handwritten digits of scikit-learn: 1,198 rows to train, 599 fresh ones.\n")
    for title, rows, note in zip(TITLES, parts.values(), NOTES, strict=True):
        print(title)
        console.print(_table(rows))
        if note:
            print(note.format(*(_gap(row) for row in rows)))
    print(f"± is a standard error. A page about the ten models: {options.output}")


TITLES = (
    "1. Ten models of different kinds, combined",
    f"2. A forest of {N_TREES} trees, made small",
    "3. Intervals without more data (diabetes: 294 rows to train, 148 fresh)",
)
NOTES = (
    "The best single model is chosen on the fresh rows, in hindsight.\n",
    (
        "Calibration lowers the log-loss; pruning and refining save bytes and time.\n"
        "The pruned trees make {2} points more errors than the forest on\n"
        "the same rows, the refined ones {3}. The forest is a compressed\n"
        "pickle, the others are compact files. Times are for all rows in one call.\n"
    ),
    "",
)


def _table(rows: list[dict[str, Any]]) -> Table:
    """Return a table with a line for each row; errors have standard errors."""
    table = Table(box=box.SIMPLE_HEAD, header_style="bold")
    names = [name for name in rows[0] if name != "more_errors"]
    for i, name in enumerate(names):
        table.add_column(name.replace("_", " "), justify="right" if i else "left")
    for row in rows:
        table.add_row(*(_CELLS.get(name, str)(row[name]) for name in names))
    return table


def _gap(row: dict[str, Any]) -> str:
    """Return the difference to the errors of the forest, in points."""
    gap, se = row.get("more_errors", (0.0, 0.0))
    return f"{100 * gap:+.2f} ± {100 * se:.2f}"


_LOSS, _RATE = NumberFormat.of("log-loss", 1.0), NumberFormat.of("error rate", 0.1)
#: Text of the cells of a column.
_CELLS: dict[str, Callable[[Any], str]] = {
    "log_loss": lambda pair: _LOSS.spread(*pair),
    "error": lambda pair: _RATE.spread(*pair),
    "cover": lambda pair: _RATE.spread(*pair),
    "file": byte_size,
    "per row": duration,
}


def run_demo(
    *, seed: int = 0, n_jobs: int | None = None, page: str | None = None
) -> dict[str, list[dict[str, Any]]]:
    """Combine ten models, shrink a forest, and check intervals, on fresh rows.

    Parameters
    ----------
    seed : int, default=0
        Seed of the split and of all models.
    n_jobs : int, default=None
    page : str, default=None
        File for the report about the ten models.

    Returns
    -------
    parts : dict of lists of rows
        `pool`, `forest` and `intervals`: each row is a dict. `log_loss`, `error`,
        `cover` and `more_errors` (than the forest) are pairs of a mean and its standard
        error.
    """
    X, y = load_digits(return_X_y=True)
    split = train_test_split(X, y, test_size=1 / 3, stratify=y, random_state=seed)
    with warnings.catch_warnings():
        # The network may stop before it converges.
        warnings.simplefilter("ignore", ConvergenceWarning)
        committee, pool = _weighed(split, seed, n_jobs)
    if page is not None:
        report(committee, split[1], split[3], page, title="Ten models of digits")
    return {
        "pool": pool,
        "forest": _shrunk(split, seed, n_jobs),
        "intervals": _intervals(seed, n_jobs),
    }


def ten_models() -> list[tuple[str, Any]]:
    """Return ten classifiers of different kinds, with names."""
    return [
        ("logistic", make_pipeline(StandardScaler(), LogisticRegression(max_iter=500))),
        ("lda", LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto")),
        ("qda", QuadraticDiscriminantAnalysis(reg_param=0.1)),
        ("naive-bayes", GaussianNB(var_smoothing=1e-3)),
        ("5-neighbours", KNeighborsClassifier(5)),
        ("15-neighbours", KNeighborsClassifier(15, weights="distance")),
        ("tree", DecisionTreeClassifier(min_samples_leaf=5)),
        ("forest", RandomForestClassifier(100)),
        ("extra-trees", ExtraTreesClassifier(100)),
        ("network", make_pipeline(StandardScaler(), MLPClassifier((64,)))),
    ]


def _weighed(
    split: list[Any], seed: int, n_jobs: int | None
) -> tuple[CommitteeClassifier, list[dict[str, Any]]]:
    """Return the committee of the ten models, and its errors beside its rivals'."""
    X, X_test, y, y_test = split
    how: dict[str, Any] = {"random_state": seed, "n_jobs": n_jobs}
    generator = Pool(ten_models())
    committee = CommitteeClassifier(generator=generator, **how)
    committee.fit(X, y)
    mean = CommitteeClassifier(
        generator=generator, combiner=None, calibration=None, **how
    ).fit(X, y)
    stacking = StackingClassifier(
        ten_models(), LogisticRegression(max_iter=1000), n_jobs=n_jobs
    ).fit(X, y)
    F = mean.member_predictions(X_test)
    M = F.shape[1]
    best = int(np.argmin([log_losses(F[:, m], y_test).mean() for m in range(M)]))
    models = [
        (f"best single model ({mean.member_names_[best]})", F[:, best], 1),
        ("mean of all", F.mean(axis=1), M),
        ("stacking", stacking.predict_proba(X_test), M),
        ("committee", committee.predict_proba(X_test), committee.n_members_),
    ]
    return committee, [_scores(name, p, y_test, n) for name, p, n in models]


def _scores(name: str, p: FloatArray, y: IntArray, n_models: int) -> dict[str, Any]:
    """Return log-loss and error rate of probabilities (N, K) on N rows."""
    return {
        "predictions of": name,
        "log_loss": mean_and_se(log_losses(p, y)),
        "error": mean_and_se(error_losses(p.argmax(axis=1), y)),
        "models": n_models,
    }


def _shrunk(split: list[Any], seed: int, n_jobs: int | None) -> list[dict[str, Any]]:
    """Return errors and costs of a forest: as it is, calibrated, pruned, refined."""
    X, X_test, y, y_test = split
    forest = RandomForestClassifier(N_TREES, random_state=seed, n_jobs=n_jobs)
    forest.fit(X, y).set_params(n_jobs=1)
    models = {
        "forest": forest,
        "forest, calibrated": prune(forest, X, y, oob=True, combiner="average"),
        "pruned": prune(forest, X, y, oob=True),
        "refined": refine(
            forest, X, y, oob=True, max_members=N_KEPT, random_state=seed
        ),
    }
    rows = []
    wrong = error_losses(forest.predict(X_test), y_test)
    for name, model in models.items():
        n_trees = getattr(model, "n_members_", N_TREES)
        scores = _scores(name, model.predict_proba(X_test), y_test, n_trees)
        seconds = seconds_per_row(model.predict_proba, X_test)
        gaps = error_losses(model.predict(X_test), y_test) - wrong
        costs = {"file": _file_bytes(model), "per row": seconds}
        rows.append({**scores, **costs, "more_errors": mean_and_se(gaps)})
    return rows


def _file_bytes(model: Any) -> int:
    """Return the bytes of a compact file, or of a compressed pickle of a forest."""
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "model")
        if isinstance(model, RandomForestClassifier):
            joblib.dump(model, path, compress=3)
        else:
            save(model, path, compact=True)
        return os.path.getsize(path)


def _intervals(seed: int, n_jobs: int | None) -> list[dict[str, Any]]:
    """Return how often intervals of bagged trees contain the target, and their width."""
    X, y = load_diabetes(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, test_size=1 / 3, random_state=seed)
    committee = CommitteeRegressor(
        DecisionTreeRegressor(min_samples_leaf=5),
        generator=Bagging(100),
        uncertainty=True,
        random_state=seed,
        n_jobs=n_jobs,
    ).fit(X, y)
    rows = []
    for coverage in COVERAGES:
        low, high = committee.predict_interval(X_test, coverage).T
        right = ((low <= y_test) & (y_test <= high)).astype(float)
        row = {"intervals for": f"{coverage:.0%} of rows", "cover": mean_and_se(right)}
        rows.append({**row, "mean width": round(float((high - low).mean()))})
    return rows
