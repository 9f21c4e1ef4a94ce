"""chen-poker: a small committee for a million hands (Table 12, Figure 10)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.tree import DecisionTreeClassifier

from committee._typing import FloatArray, IntArray
from committee.combiners import EPPruner
from committee.members import Bagging, TrainingData
from studies.boards import deal_hands, label_hands
from studies.chen import NAMES
from studies.claims import Claim, Verdict, by_parts, decide, standard_error
from studies.printed import figure as printed_figure
from studies.study import (
    HELD_OUT,
    PAPER,
    Entry,
    Job,
    Numbers,
    Outcome,
    Results,
    Study,
    Table,
    Why,
)
from studies.votes import (
    Fitted,
    Votes,
    as_votes,
    one_hot,
    pruners,
    signed,
    weigh,
    wrong,
)

#: The last two, which are not in the table: EP with no more members than in print, and
#: with the alphas of the paper.
METHODS = (
    "unpruned", "ep", "em", "ard", "ls", "kappa", "cp", "random", "ep12", "ep-printed",
)  # fmt: skip
LABELS = NAMES | {"ep12": "EP, 12 at most"}
TABLE = "chen_table12_poker"
#: What the paper says, and our rules.
CLAIMS = (
    (
        "EP has a lower error than the unpruned ensemble and all others.",
        (
            "the lowest mean of those in the paper; partly where only lower than the "
            "unpruned one"
        ),
    ),
    ("EP keeps about a tenth of the trees.", "at most 20 of 100"),
    (
        "Pruning by EP and asking the committee takes less time than asking all trees.",
        (
            "the mean total is lower by two standard errors of the paired difference; "
            "partly where it is lower"
        ),
    ),
)


def run(
    job: Job,
    *,
    n_members: int = 100,
    n_train: int = 25_010,
    n_test: int = 1_000_000,
    block: int = 50_000,
) -> Outcome:
    """Train the trees, prune them, and test them on dealt hands block by block.

    No more than `block` test hands are ever held.
    """
    rng = np.random.default_rng(job.seed)
    X, y = deal(n_train, rng)
    tree = DecisionTreeClassifier(min_samples_split=10)
    generation = Bagging(n_members).generate(
        tree, TrainingData(X, y, 2), random_state=job.seed
    )
    combiners = pruners(True, job.seed) | {"ep12": EPPruner(max_members=12)}
    F, no_rows = one_hot(generation.members, X), np.empty((0, n_members))
    fits = {
        protocol: weigh(Votes(F, y, no_rows, y[:0], mask), combiners)
        for protocol, mask in ((PAPER, None), (HELD_OUT, generation.held_out))
    }
    W = np.column_stack(
        [as_votes(f.weights) for fit in fits.values() for f in fit.values()]
    )
    errors, seconds = _test(generation.members, W, _blocks(n_test, block, rng))
    parts = np.split(errors, len(fits))
    return {
        protocol: _numbers(fit, part, seconds)
        for (protocol, fit), part in zip(fits.items(), parts, strict=True)
    }


def deal(n: int, rng: np.random.Generator) -> tuple[FloatArray, IntArray]:
    """Return hands, and 1 where there is at least a pair in it."""
    hands = deal_hands(n, rng)
    return hands.astype(np.float64), (label_hands(hands) > 0).astype(np.intp)


def _blocks(
    n: int, size: int, rng: np.random.Generator
) -> Iterator[tuple[FloatArray, IntArray]]:
    for start in range(0, n, size):
        yield deal(min(size, n - start), rng)


def _test(
    members: list[Any], W: FloatArray, blocks: Any
) -> tuple[FloatArray, FloatArray]:
    """Return the error of every column of weights, and the seconds of every member."""
    errors, seconds, n = np.zeros(W.shape[1]), np.zeros(len(members)), 0
    for X, y in blocks:
        S = np.empty((len(y), len(members)))
        for m, member in enumerate(members):
            start = time.perf_counter()
            S[:, m] = signed(one_hot([member], X))[:, 0]
            seconds[m] += time.perf_counter() - start
        errors += len(y) * wrong(S @ W, y[:, None])
        n += len(y)
    return errors / n, seconds


def _numbers(
    fits: dict[str, Fitted], errors: FloatArray, seconds: FloatArray
) -> Numbers:
    numbers: Numbers = {}
    for (name, fit), error in zip(fits.items(), errors, strict=True):
        test = float(seconds[fit.weights != 0].sum())
        numbers |= {
            f"{name}.error": float(error),
            f"{name}.size": fit.size,
            f"{name}.train_seconds": fit.seconds,
            f"{name}.test_seconds": test,
            f"{name}.total_seconds": fit.seconds + test,
        }
    return numbers


def report(results: Results) -> list[Table | Claim]:
    """Return Table 12 and what the paper says about it."""

    def places(number: str, column: str) -> list[Entry]:
        names = {LABELS[method]: f"{method}.{number}" for method in METHODS}
        return results.entries(
            STUDY.cells,
            names,
            lambda _, name: printed_figure(TABLE, column, method=name.split(".")[0]),
        )

    note = "Measured for each tree, and added up for those that are kept."
    asked = "Table 12: seconds to ask about all test hands"
    seconds = "train_seconds", "test_seconds"
    return [
        Table("Table 12: test error in %", places("error", "error_percent"), 2),
        Table("Table 12: members kept", places("size", "size"), 1),
        Table("Table 12: seconds to prune", places(seconds[0], seconds[0]), 1),
        Table(asked, places(seconds[1], seconds[1]), 1, note),
        *(c for p in STUDY.protocols for c in _claims(results, p)),
    ]


def _claims(results: Results, protocol: str) -> list[Claim]:
    """Return what the paper says: EP is better, small, and soon pays."""

    def runs(name: str) -> FloatArray:
        return results.values(protocol, "poker", name)

    def lowest() -> tuple[str, Verdict]:
        errors = {method: runs(f"{method}.error").mean() for method in METHODS}
        best = min(METHODS[:-2], key=lambda method: errors[method])
        found = (
            f"EP {errors['ep']:.2f}, with 12 members {errors['ep12']:.2f}, unpruned "
            f"{errors['unpruned']:.2f}; best: {LABELS[best]} {errors[best]:.2f}"
        )
        return found, by_parts(best == "ep", errors["ep"] < errors["unpruned"])

    def small() -> tuple[str, Verdict]:
        size = runs("ep.size").mean()
        return f"{size:.1f} (in print 11.6)", by_parts(size <= 20)

    def faster() -> tuple[str, Verdict]:
        ours, whole = results.pair(
            protocol, "poker", "ep.total_seconds", "unpruned.total_seconds"
        )
        gap = whole - ours
        saved, se = gap.mean(), standard_error(gap)
        found = (
            f"{ours.mean():.1f} s against {whole.mean():.1f} s, less by {saved:.2f} ± "
            f"{se:.2f} (in print 2,806.8 s and 6,154.9 s)"
        )
        return found, by_parts(saved > 0, saved > 2 * se)

    return [
        decide(text, rule, protocol, [runs("ep.total_seconds")], judge)
        for judge, (text, rule) in zip((lowest, small, faster), CLAIMS, strict=True)
    ]


STUDY = Study(
    name="chen-poker",
    title="A small committee for a million hands",
    reruns="Chen, Tino and Yao, Table 12 and Figure 10",
    cells=("poker",),
    run=run,
    report=report,
    setup=(
        "100 bagged CART trees with at least 10 rows to split learn from 25,010 dealt "
        "hands whether there is anything in a hand, and are tested on 1,000,000 others; "
        "each run deals anew. Kappa, CP and Random keep 25. Paper: weights from the "
        "training rows. Held-out: from out-of-bag rows."
    ),
    runs=20,
    why={
        "EP has a lower error": Why(
            "EP has a lower error than all trees and all others (Table 12).",
            "By out-of-bag rows EP is at or near the lowest error; by training rows it "
            "is level with all trees. In print it errs 2.3 points less than all trees, "
            "with 11.6 of them.",
            "Why print has so much more to gain we do not know. From a weight of 1 for "
            "each tree EM keeps one or two; from its present start 88 by training rows "
            "and 86 by out-of-bag rows, with the error of EP.",
        ),
        "EP keeps about a tenth of the trees": Why(
            "EP keeps about a tenth of the trees.",
            "It keeps nine tenths.",
            "We guess that with 25,010 rows nearly every tree still lowers the "
            "leave-one-out error a little, so that EP goes on; why it stops at 11.6 in "
            "print we do not know. That 12 would not do here is measured: EP with 12 at "
            "most errs about as often as 25 random trees.",
        ),
        "takes less time than asking all trees": Why(
            "Pruning by EP and asking the committee takes less time than asking all "
            "trees (Figure 10).",
            "With nine tenths of the trees kept there is little time to save.",
        ),
    },
)
