"""`committee demo` on ten splits of the digits: means, their spread, and the front picture.

python -m benchmarks demo [--seeds 10] [--figure docs/figures/front.svg] [--sizes]

Each seed splits the rows and trains all models anew. ± is the standard error of the mean
over splits, which is a little too small because splits share rows. --sizes compares the
numbers of refined trees on other data sets: the smallest one that has at most 0.2 points
more errors than the forest, in the mean over these sets, is the size of the demo.
"""

import argparse
from pathlib import Path

import matplotlib as mpl
import numpy as np
from sklearn.ensemble import RandomForestClassifier

from benchmarks._refine_sets import OTHERS
from benchmarks._timing import show
from committee import refine
from committee._format import byte_size, duration
from committee.displays.style import BLUE, GREY
from committee.losses import error_losses
from committee.shell.demo_command import N_TREES, run_demo

#: Data sets and numbers of refined trees from which the size of the demo is chosen.
SETS = ("eight of 20", "quantiles (3)", "steps (3)", "breast cancer")
SIZES = (20, 50, 100)
#: Rows of the demo by the first words of their names, and what the picture calls them.
POOL = {
    "mean of all": "mean of the ten",
    "best single model": "best of the ten, in hindsight",
    "stacking": "stacking",
    "committee": "committee",
}
#: Rows of the forest, and what the picture writes below the number of trees.
FOREST = {
    "forest": "compressed pickle",
    "forest, calibrated": "calibrated, compact",
    "pruned": "pruned",
    "refined": "refined",
}


def main(argv: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks demo")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--figure", type=Path)
    parser.add_argument("--sizes", action="store_true")
    options = parser.parse_args(argv)
    if options.sizes:
        compare_sizes()
        return
    runs = [run_demo(seed=seed, n_jobs=1) for seed in range(options.seeds)]
    tables = {
        part: [rows_of(runs, part, i) for i in range(len(runs[0][part]))]
        for part in runs[0]
    }
    for part, rows in tables.items():
        cells = [
            [row["name"], *(text(k, *row[k]) for k in row if k != "name")]
            for row in rows
        ]
        columns = [name.replace("_", " ") for name in rows[0]]
        show(f"{part}: {options.seeds} splits", columns, cells)
    if options.figure is not None:
        draw(options.figure, tables)


def compare_sizes() -> None:
    """Print how many more errors refined trees make than the forest, on other sets."""
    gaps = {name: gaps_of(name, seed=0) for name in SETS}
    gaps["mean"] = np.mean(list(gaps.values()), axis=0)
    cells = [[name, *(f"{100 * g:+.2f}" for g in row)] for name, row in gaps.items()]
    columns = ["points more errors", *(f"{size} trees" for size in SIZES)]
    show(f"{N_TREES} trees, refined: one split", columns, cells)


def gaps_of(name: str, seed: int) -> list[float]:
    """Return the difference to the forest's error rate at every size."""
    X, X_test, y, y_test = OTHERS[name](seed)
    forest = RandomForestClassifier(N_TREES, random_state=seed).fit(X, y)
    error = error_losses(forest.predict(X_test), y_test).mean()
    return [
        float(error_losses(small.predict(X_test), y_test).mean() - error)
        for small in (
            refine(forest, X, y, oob=True, max_members=size, random_state=seed)
            for size in SIZES
        )
    ]


def rows_of(runs, part: str, i: int) -> dict:
    """Return the name of a row, and mean and standard error of its numbers over runs."""
    name, *numbers = runs[0][part][i]
    row = {"name": runs[0][part][i][name].split(" (")[0]}
    for key in numbers:
        values = [run[part][i][key] for run in runs]
        values = [v[0] if isinstance(v, tuple) else v for v in values]
        se = np.std(values, ddof=1) / np.sqrt(len(runs)) if len(runs) > 1 else np.nan
        row[key] = float(np.mean(values)), float(se)
    return row


def text(key: str, mean: float, se: float) -> str:
    """Return a mean and its standard error in the unit of its column."""
    if key == "more_errors":
        return f"{100 * mean:+.2f} ± {100 * se:.2f}"
    if key in ("error", "cover"):
        return f"{100 * mean:.2f} ± {100 * se:.2f} %"
    if key == "file":
        return byte_size(mean)
    if key == "per row":
        return duration(mean)
    return f"{mean:.3f} ± {se:.3f}" if key == "log_loss" else f"{mean:.1f}"


def draw(path: Path, tables: dict) -> None:
    """Draw log-loss of the pool, and bytes of the forest with its errors."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "front", "svg.fonttype": "path"})
    figure, (left, right) = plt.subplots(
        1, 2, figsize=(9.6, 3.0), layout="constrained", width_ratios=(1.15, 1)
    )
    pool = {row["name"]: row for row in tables["pool"]}
    rows = [pool[name] for name in POOL]
    counts = [f"{row['models'][0]:.0f} model" for row in rows]
    bars(
        left,
        list(POOL.values()),
        [row["log_loss"] for row in rows],
        [
            f"{row['log_loss'][0]:.3f}   {count}{'' if count == '1 model' else 's'}"
            for row, count in zip(rows, counts, strict=True)
        ],
        ours=[row["name"] == "committee" for row in rows],
    )
    left.set_title("Ten models, combined: log-loss", fontsize=10.5, loc="left")
    left.set_xlim(0, 1.6 * max(row["log_loss"][0] for row in rows))
    rows = tables["forest"]
    bars(
        right,
        [f"{row['models'][0]:.0f} trees\n{FOREST[row['name']]}" for row in rows],
        [(row["file"][0], 0.0) for row in rows],
        [
            f"{byte_size(row['file'][0])}, {100 * row['error'][0]:.1f} % wrong\n"
            f"log-loss {row['log_loss'][0]:.3f}"
            for row in rows
        ],
        ours=[row["name"] != "forest" for row in rows],
    )
    right.set_title("A forest, made small: bytes", fontsize=10.5, loc="left")
    right.set_xlim(0, 1.9 * rows[0]["file"][0])
    right.set_xticks([0, 1e6, 2e6, 3e6], ["0", "1 MB", "2 MB", "3 MB"])
    figure.savefig(path, metadata={"Date": None})


def bars(ax, names: list, values: list, texts: list, ours: list) -> None:
    """Draw a bar for each (mean, standard error), the first on top, and a text behind it."""
    longest = max(mean for mean, _ in values)
    for at, ((mean, se), label, own) in enumerate(
        zip(values, texts, ours, strict=True)
    ):
        style = {"color": BLUE, "alpha": 1} if own else {"color": GREY, "alpha": 0.55}
        ax.barh(at, mean, xerr=se or None, height=0.62, **style)
        weight = "bold" if own and se else None
        ax.text(
            mean + se + 0.02 * longest,
            at,
            label,
            va="center",
            fontsize=9,
            weight=weight,
        )
    ax.set_yticks(range(len(names)), names)
    ax.invert_yaxis()
    ax.spines[["top", "right"]].set_visible(False)
    ax.tick_params(labelsize=9)


if __name__ == "__main__":
    main()
