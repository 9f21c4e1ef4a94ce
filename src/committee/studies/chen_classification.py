"""chen-classification: trees on the 13 Raetsch sets (Tables 6, 7, 11, Figure 9)."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from committee._typing import FloatArray, IntArray
from committee.members import AdaBoost, Bagging, Generation, TrainingData
from committee.studies.chen import (
    draw_sizes,
    entries,
    faster,
    ranked,
    same_tables,
    seconds_table,
    wins,
)
from committee.studies.datasets import load
from committee.studies.study import (
    HELD_OUT,
    PAPER,
    Claim,
    Job,
    Outcome,
    Results,
    Shelf,
    Study,
    Table,
)
from committee.studies.votes import Votes, measure, one_hot, pruners, signed

#: The names of the paper, and those of the files.
SETS = {
    "banana": "banana", "cancer": "breast-cancer", "diabetics": "diabetis",
    "solar": "flare-solar", "german": "german", "heart": "heart", "image": "image",
    "ringnorm": "ringnorm", "splice": "splice", "thyroid": "thyroid",
    "titanic": "titanic", "twonorm": "twonorm", "waveform": "waveform",
}  # fmt: skip
ENSEMBLES = ("bagging", "adaboost", "random-forest")
METHODS = ("ep", "ard", "em", "kappa", "cp", "ls", "random", "unpruned")
SIZED = ("ep", "ard", "em", "ls")
TIMED = ("ep", "em", "ard", "kappa", "cp")
ERRORS = "chen_table6_classification_error", "error_percent"
SIZES = "chen_table7_classification_size", "size"

Split = tuple[FloatArray, IntArray, FloatArray, IntArray]


def run(job: Job, *, n_members: int = 100) -> Outcome:
    """Train the members once for a split, and give the same votes to all combiners.

    Parameters
    ----------
    job : Job
    n_members : int, default=100
    """
    ensemble, name = job.cell.split("/")
    split = draw_split(name, job)
    if ensemble == "adaboost":
        both = {
            PAPER: boosted(split, n_members, job),
            HELD_OUT: apart(split, n_members, job),
        }
    else:
        both = bagged(split, ensemble, n_members, job)
    return {
        protocol: measure(votes, pruners(True, job.seed))
        for protocol, votes in both.items()
    }


def draw_split(name: str, job: Job) -> Split:
    """Return X, y, X_test, y_test: the predefined split, or a random one after them."""
    data = load(f"raetsch_{SETS[name]}", data=job.data)
    assert data.train is not None
    assert data.test is not None
    y = np.asarray(data.y, dtype=np.intp)
    if job.run < len(data.train):
        train, test = data.train[job.run], data.test[job.run]
    else:
        # Image and splice come with 20 splits; the paper draws 80 more.
        cases = np.random.default_rng(job.seed).permutation(
            np.r_[data.train[0], data.test[0]]
        )
        train, test = np.split(cases, [data.train.shape[1]])
    return data.X[train], y[train], data.X[test], y[test]


def bagged(split: Split, ensemble: str, n_members: int, job: Job) -> dict[str, Votes]:
    """Return the votes on training rows, and the same where members were left out."""
    X, y, X_test, y_test = split
    features = "sqrt" if ensemble == "random-forest" else None
    tree = DecisionTreeClassifier(min_samples_split=10, max_features=features)
    generation = Bagging(n_members).generate(
        tree, TrainingData(X, y, 2), random_state=job.seed
    )
    F, S_test = (
        one_hot(generation.members, X),
        signed(one_hot(generation.members, X_test)),
    )
    return {
        PAPER: Votes(F, y, S_test, y_test),
        HELD_OUT: Votes(F, y, S_test, y_test, held_out=generation.held_out),
    }


def boosted(split: Split, n_members: int, job: Job) -> Votes:
    """Boost on all training rows, and weigh on them."""
    X, y, X_test, y_test = split
    return _votes(_boost(X, y, n_members, job), X, y, X_test, y_test)


def apart(split: Split, n_members: int, job: Job) -> Votes:
    """Boost on three quarters of the training rows, and weigh on the others."""
    X, y, X_test, y_test = split
    learn, weigh = train_test_split(
        np.arange(len(y)), test_size=0.25, stratify=y, random_state=job.seed
    )
    generation = _boost(X[learn], y[learn], n_members, job)
    return _votes(generation, X[weigh], y[weigh], X_test, y_test)


def _boost(X: FloatArray, y: IntArray, n_members: int, job: Job) -> Generation:
    tree = DecisionTreeClassifier(max_depth=4)
    data = TrainingData(X, y, 2)
    return AdaBoost(n_members).generate(
        tree, data, held_out=False, random_state=job.seed
    )


def _votes(generation: Generation, X: Any, y: Any, X_test: Any, y_test: Any) -> Votes:
    members = generation.members
    S_test = signed(one_hot(members, X_test))
    return Votes(one_hot(members, X), y, S_test, y_test, own=generation.weights)


def report(shelf: Shelf) -> list[Table | Claim]:
    """Return Tables 6, 7 and 11, and what the paper says about them."""
    results = shelf(STUDY.name)
    parts: list[Table | Claim] = []
    for ensemble in ENSEMBLES:
        errors = Table(
            f"Table 6, {ensemble}: test error in %",
            entries(
                results, ensemble, SETS, METHODS, "error", protocols=STUDY.protocols,
                table=ERRORS[0], column=ERRORS[1],
            ),
        )  # fmt: skip
        sizes = Table(
            f"Table 7, {ensemble}: members kept",
            entries(
                results, ensemble, SETS, (*SIZED, "unpruned"), "size",
                protocols=STUDY.protocols, table=SIZES[0], column=SIZES[1],
            ),
            1,
        )  # fmt: skip
        parts += [errors, sizes, *claims(results, ensemble, errors, sizes)]
    timings = seconds_table(
        "Table 11: seconds to prune, bagging", results, SETS, TIMED,
        "chen_table11_classification_seconds", PAPER,
    )  # fmt: skip
    text = "EP takes more time to prune than EM, ARD, Kappa and CP."
    return [*parts, timings, faster(text, PAPER, timings)]


def claims(results: Results, ensemble: str, errors: Table, sizes: Table) -> list[Claim]:
    """Return what the paper says about one kind of ensemble."""
    found = same_tables(ensemble, errors, sizes)
    text = (
        f"{ensemble}: over the 13 sets EP is significantly better than ARD and EM, and "
        "not told apart from the unpruned ensemble."
    )
    for protocol in STUDY.protocols:
        found += wins(results, ensemble, SETS, METHODS, protocol, ERRORS, SIZES)
        found.append(
            ranked(text, results, ensemble, SETS, protocol, (True, True, False))
        )
    return found


def figure(shelf: Shelf, data: str | None) -> Any:
    """Draw Figure 9: a panel for each kind of ensemble, on training rows."""
    from matplotlib.figure import Figure

    drawn = Figure(figsize=(12, 3.8), layout="constrained")
    results = shelf(STUDY.name)
    axes = drawn.subplots(1, 3, sharey=True)
    for ax, ensemble in zip(axes, ENSEMBLES, strict=True):
        draw_sizes(
            results,
            [f"{ensemble}/{name}" for name in SETS],
            protocol=PAPER,
            orders=("random", "kappa", "cp"),
            points=SIZED,
            ax=ax,
        )
        ax.set_title(ensemble, fontsize="medium")
    return drawn


CELLS = tuple(f"{ensemble}/{name}" for ensemble in ENSEMBLES for name in SETS)
STUDY = Study(
    name="chen-classification",
    title="100 trees on 13 sets of two classes, pruned",
    reruns="Chen, Tino and Yao, Tables 6, 7, 11 and Figure 9",
    cells=CELLS,
    run=run,
    report=report,
    figure=figure,
    setup=(
        "100 CART trees with at least 10 rows to split (AdaBoost: of depth 4), hard "
        "votes, on the predefined splits of Raetsch, and random ones where these end. "
        "Boosting ends at a tree without an error, so that it may have fewer than 100 "
        "(thyroid: a few). "
        "Kappa, CP and Random keep 25. Paper: weights from the training rows. "
        "Held-out: from out-of-bag rows; AdaBoost learns from three quarters of the "
        "rows and is weighed on the others."
    ),
    datasets={cell: f"raetsch_{SETS[cell.split('/')[1]]}" for cell in CELLS},
    why=(
        "Why not: part of it is the rows. Trees make few errors on rows that they "
        "have learned from, so that there is little to weigh them by: with out-of-bag "
        "rows EP errs less than with training rows on most sets for bagging and "
        "random forests. That EP is then still behind all trees on most sets is not "
        "explained; trees that are grown otherwise, or another stopping rule of EP, "
        "are guesses. The same goes for EM, which keeps fewer members than EP here, "
        "except for boosting weighed on training rows. Boosted trees on thyroid soon "
        "make no error: a few members are left to choose from."
    ),
)
