"""hamers-sine: four local submodels of a sine (Figure 3)."""

from __future__ import annotations

from typing import Any

import numpy as np

from committee._typing import FloatArray
from committee.combiners import SimplexWeights
from committee.coupled import CoupledKernelRegressor
from studies.claims import SHARES, Claim, by_share, decide
from studies.datasets import load
from studies.study import PAPER, Entry, Job, Outcome, Results, Study, Table, Why

GAMMA, ALPHA, COUPLING, N_MEMBERS = 0.2, 0.001, 1.0, 4
GRID = np.linspace(0, 4 * np.pi, 200)[:, None]
KINDS = {"uncoupled": 0.0, "coupled": COUPLING}


def run(job: Job, *, n: int = 80) -> Outcome:
    """Draw a noisy sine of n rows, and fit it uncoupled and coupled."""
    X, y = sample(job.seed, n)
    clean = np.sin(GRID[:, 0])
    numbers = {}
    for kind, coupling in KINDS.items():
        curves, w = submodels(X, y, coupling)
        away = ~own_quarter(X)
        for name, errors in {
            "member": curves - clean[:, None],
            "away": np.where(away, curves - clean[:, None], np.nan),
            "weighted": curves @ w - clean,
            "mean": curves.mean(axis=1) - clean,
        }.items():
            numbers[f"{kind}.{name}"] = float(np.sqrt(np.nanmean(errors**2)))
    return {PAPER: numbers}


def sample(seed: int, n: int = 80) -> tuple[FloatArray, FloatArray]:
    """Return rows of a noisy sine from the left to the right."""
    drawn = load("sine", n=n, seed=seed)
    order = np.argsort(drawn.X[:, 0])
    return drawn.X[order], np.asarray(drawn.y[order], dtype=np.float64)


def submodels(
    X: FloatArray, y: FloatArray, coupling: float
) -> tuple[FloatArray, FloatArray]:
    """Return the curves on the grid, (200, 4), and weights by eq. 7."""
    model = CoupledKernelRegressor(
        N_MEMBERS,
        gamma=GAMMA,
        alpha=ALPHA,
        coupling=coupling,
        overlap=coupling > 0,
        combiner=SimplexWeights(),
    )
    quarters = np.array_split(np.arange(len(X)), N_MEMBERS)
    model.fit(X, y, X_coupling=GRID[::3], subsets=quarters)
    return model.member_predictions(GRID), model.weights_


def own_quarter(X: FloatArray) -> Any:
    """Tell the part of the grid that each submodel has seen, (200, 4)."""
    ends = [part[[0, -1], 0] for part in np.array_split(X, N_MEMBERS)]
    return np.column_stack(
        [(GRID[:, 0] >= low) & (GRID[:, 0] <= high) for low, high in ends]
    )


ROWS = {
    "member": "submodels",
    "away": "submodels where they have not trained",
    "weighted": "their weighted mean (eq. 7)",
    "mean": "their plain mean",
}


def report(results: Results) -> list[Table | Claim]:
    """Return the errors behind Figure 3 and what the paper says about it."""
    entries = [
        Entry(label, kind, PAPER, results.values(PAPER, "sine", f"{kind}.{name}"))
        for name, label in ROWS.items()
        for kind in KINDS
    ]
    table = Table("Figure 3: root mean square error on the axis", entries, 3)
    texts = {
        "away": "Coupled submodels are better where they have not trained.",
        "weighted": "The weighted combination of coupled submodels is better.",
    }
    return [table, *(_claim(results, name, text) for name, text in texts.items())]


def _claim(results: Results, name: str, text: str) -> Claim:
    """Return the claim that coupled submodels have the smaller error."""
    names = f"coupled.{name}", f"uncoupled.{name}"
    coupled, uncoupled = results.pair(PAPER, "sine", *names)
    smaller = coupled < uncoupled
    found = f"in {smaller.sum()} of {len(coupled)} runs"
    rule = f"the smaller error {SHARES.replace('places', 'runs')}"
    return decide(text, rule, PAPER, [coupled], lambda: (found, by_share(smaller)))


STUDY = Study(
    name="hamers-sine",
    title="Four local submodels of a sine",
    reruns="Hamers, Suykens and De Moor, Figure 3",
    cells=("sine",),
    run=run,
    report=report,
    setup=(
        "80 points of a sine over two periods with noise 0.1, cut into four quarters "
        "of the axis; coupling 1 on 67 points of the axis, alpha 0.001, kernel width "
        "gamma 0.2. The paper prints no figures."
    ),
    protocols=(PAPER,),
    why={
        "where they have not trained": Why(
            "Coupled submodels are better where they have not trained (Figure 3).",
            "In every run.",
        ),
        "weighted combination": Why(
            "The weighted combination of coupled submodels is better.",
            "In every run.",
        ),
    },
)
