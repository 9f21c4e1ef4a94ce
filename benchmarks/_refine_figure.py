"""Error against bytes: whole, pruned, refined, fresh forests and gradient boosting."""

import matplotlib as mpl
import numpy as np
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)

from committee import prune, refine
from committee.displays.style import BLUE, GREEN, GREY, ORANGE, VERMILION
from committee.pruning.costs import stored_bytes

SIZES = (5, 10, 20, 50)
ROUNDS = (5, 10, 20, 50, 100)
STYLE = {
    "whole": (GREY, "*"),
    "pruned": (GREEN, "s"),
    "fresh forest": (ORANGE, "^"),
    "gradient boosting": (VERMILION, "D"),
    "refined": (BLUE, "o"),
}


def draw(path, numbers, classes, n_splits=3):
    """Write the picture of two sets: means over splits, bars of one standard error."""
    mpl.use("Agg")
    from matplotlib import pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "refine", "svg.fonttype": "path"})
    figure, axes = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    titles = ("robot arm, MSE in % of the variance", "waveform, error rate in %")
    for ax, data, title in zip(axes, (numbers, classes), titles, strict=True):
        runs = [measured(data, split) for split in range(n_splits)]
        for name, (colour, marker) in STYLE.items():
            points = np.array([run[name] for run in runs])  # splits, sizes, 2
            size, error = points.mean(axis=0).T
            se = points[:, :, 1].std(axis=0, ddof=1) / np.sqrt(n_splits)
            ax.errorbar(
                size / 1e3, error, se, color=colour, marker=marker, ms=5, label=name
            )
        whole = np.mean([run["whole"][0][1] for run in runs])
        ax.axhline(whole, color=GREY, lw=0.8, ls=":")
        ax.set(xscale="log", title=title, xlabel="kB of the pickled model")
        ax.title.set_fontsize("medium")
    axes[0].legend(frameon=False, fontsize="small")
    figure.savefig(path, metadata={"Date": None})


def measured(data, split):
    """Return (bytes, error) of every size, by name."""
    X, X_test, y, y_test = data(split)
    of_classes = y.dtype.kind != "f"
    kind = RandomForestClassifier if of_classes else RandomForestRegressor
    boosting = (
        HistGradientBoostingClassifier if of_classes else HistGradientBoostingRegressor
    )

    def point(model):
        found = model.predict(X_test)
        if of_classes:
            return stored_bytes(model), 100 * np.mean(found != y_test)
        return stored_bytes(model), 100 * np.mean((found - y_test) ** 2) / y_test.var()

    forest = kind(200, random_state=split).fit(X, y)
    path = prune(forest, X, y, oob=True).path_
    return {
        "whole": [point(forest)],
        "pruned": [
            point(path.choose(max_members=k).to_sklearn(calibration=None))
            for k in SIZES
        ],
        "refined": [
            point(refine(forest, X, y, max_members=k, oob=True, random_state=0))
            for k in SIZES
        ],
        "fresh forest": [
            point(kind(k, random_state=split + 1).fit(X, y)) for k in SIZES
        ],
        "gradient boosting": [
            point(boosting(max_iter=n, random_state=0, early_stopping=False).fit(X, y))
            for n in ROUNDS
        ],
    }
