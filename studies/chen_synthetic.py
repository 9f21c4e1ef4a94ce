"""chen-synthetic: small neural networks on plain problems (Figures 6 and 7)."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.utils import check_random_state

from committee.combiners import EPPruner
from studies import chen_classification
from studies.claims import Claim, Verdict, by_parts, decide, standard_error
from studies.datasets import load
from studies.study import HELD_OUT, PAPER, Job, Outcome, Results, Study, Table, Why
from studies.votes import Split, Votes, bagged, boosted, measure

CELLS = ("sinc", "synth", "banana")
#: Members that EP keeps in Figures 6 and 7.
PRINTED = {"sinc": 9.0, "synth": 16.0, "banana": 12.0}


class _AnySize:
    """A network of three to six hidden units; its seed says how many."""

    def fit(self, X: Any, y: Any, **options: Any) -> Self:
        rng = check_random_state(self.random_state)  # type: ignore[has-type]
        self.hidden_layer_sizes = (int(rng.randint(3, 7)),)
        self.random_state = rng.randint(2**31 - 1)
        super().fit(X, y, **options)  # type: ignore[misc]
        return self


class AnySizeRegressor(_AnySize, MLPRegressor):
    """A regression network of three to six hidden units."""


class AnySizeClassifier(_AnySize, MLPClassifier):
    """A classification network of three to six hidden units."""


NETWORK = {"activation": "tanh", "solver": "lbfgs", "alpha": 1e-3, "max_iter": 200}


def run(job: Job, *, n_members: int = 100, n_test: int = 1000) -> Outcome:
    """Train the networks, and prune them by EP on training rows and on others.

    Sinc and synth have n_test test rows.
    """
    return {
        protocol: measure(votes, {"ep": EPPruner()})
        for protocol, votes in make_votes(job, n_members, n_test).items()
    }


def make_votes(job: Job, n_members: int = 100, n_test: int = 1000) -> dict[str, Votes]:
    """Bag networks on sinc; boost them on all rows of the others, or on 3 quarters."""
    split = draw_split(job, n_test)
    if job.cell == "sinc":
        return bagged(AnySizeRegressor(**NETWORK), split, None, n_members, job.seed)
    rows = len(split[1])
    order = np.random.default_rng([job.seed, 1]).permutation(rows)
    train, weigh = np.split(order, [3 * rows // 4])
    network = AnySizeClassifier(**NETWORK)
    return {
        PAPER: boosted(network, split, order, order, n_members, job.seed),
        HELD_OUT: boosted(network, split, train, weigh, n_members, job.seed),
    }


def draw_split(job: Job, n_test: int = 1000) -> Split:
    """Return 100 noisy rows of sinc, 250 of synth, or a split of banana."""
    if job.cell == "banana":
        return chen_classification.draw_split("banana", job)
    n = 100 if job.cell == "sinc" else 250
    drawn = load(job.cell, n=n + n_test, seed=job.seed)
    X, X_test = drawn.X[:n], drawn.X[n:]
    if drawn.clean is None:
        return X, drawn.y[:n], X_test, drawn.y[n:]
    # Not the stream that the points came from, or noise would follow them.
    noise = 0.1 * np.random.default_rng([job.seed, 1]).standard_normal(n)
    return X, drawn.clean[:n] + noise, X_test, drawn.clean[n:]


def report(results: Results) -> list[Table | Claim]:
    """Return errors and sizes, and what the paper says about them."""
    errors, sizes = (
        results.entries(
            CELLS,
            {"EP": f"ep.{number}", "Unpruned": f"unpruned.{number}"},
            lambda cell, name: PRINTED[cell] if name == "ep.size" else None,
        )
        for number in ("error", "size")
    )
    note = "Printed: the committees of one run."
    return [
        Table("Figures 6 and 7: test error (mean squared, or in %)", errors, 4),
        Table("Figures 6 and 7: members kept", sizes, 1, note),
        *(_claim(results, protocol) for protocol in STUDY.protocols),
    ]


def _claim(results: Results, protocol: str) -> Claim:
    runs = {
        cell: [
            results.values(protocol, cell, name)
            for name in ("ep.error", "unpruned.error", "ep.size")
        ]
        for cell in CELLS
    }

    def judge() -> tuple[str, Verdict]:
        found, better, worse = [], [], []
        for cell, (ep, unpruned, size) in runs.items():
            gap = ep - unpruned
            found.append(
                f"{cell} {ep.mean():.3g} ({size.mean():.0f}) against "
                f"{unpruned.mean():.3g}"
            )
            better.append(bool(gap.mean() < 0))
            worse.append(gap.mean() > 2 * standard_error(gap))
        return "; ".join(found), "not" if any(worse) else by_parts(*better)

    text = "EP is better than the whole ensemble, with a few members."
    rule = (
        "the lower mean error on all three sets; partly on some, and on none higher by "
        "two standard errors of the paired difference"
    )
    return decide(
        text, rule, protocol, [v for line in runs.values() for v in line], judge
    )


STUDY = Study(
    name="chen-synthetic",
    title="Small neural networks on plain problems",
    reruns="Chen, Tino and Yao, Figures 6 and 7",
    cells=CELLS,
    run=run,
    report=report,
    setup=(
        "100 networks of one hidden layer with three to six tanh units: bagged on 100 "
        "points of sinc with noise 0.1, boosted on 250 points of synth and on the splits "
        "of banana. Paper: weights from the training rows. Held-out: from out-of-bag "
        "rows; boosting learns from three quarters of the rows and is weighed on the "
        "others. After a network without an error boosting starts again from the weights "
        "of a bootstrap sample. "
        "The paper shows one run of each."
    ),
    datasets={"banana": "raetsch_banana"},
    runs=20,
    why={
        "EP is better than the whole ensemble": Why(
            "EP is better than the whole ensemble, with a few members (Figures 6 and "
            "7).",
            "Not with our networks: all of them together err less; on sinc their curve "
            "is smooth already, and leaves EP nothing to take out.",
            "We guessed at the weight decay of 0.001 and the 200 steps, which the paper "
            "does not mention, and tested it on sinc: with a decay of 1e-8 and 2,000 "
            "steps all networks have the same error as before (0.0013, three runs) and "
            "EP is still above it (0.0015, before 0.0014). So that is not the reason, "
            "and we know no other. The paper judges one run by its picture.",
        ),
    },
)
