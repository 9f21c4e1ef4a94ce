"""Four local submodels of a sine, before and after coupling.

Writes the figure of docs/guide/couple.md where matplotlib is installed, and prints
the numbers behind it: python examples/coupled_sine.py [figure.svg]
"""

import sys

import numpy as np

from committee import CoupledKernelRegressor

GRID = np.linspace(0, 4 * np.pi, 200)[:, None]


def sine(n=80, seed=0):
    """Return X, y and four subsets, each a quarter of the line."""
    rng = np.random.default_rng(seed)
    X = np.sort(rng.uniform(0, 4 * np.pi, size=n))[:, None]
    return X, np.sin(X[:, 0]) + 0.1 * rng.standard_normal(n), np.split(np.arange(n), 4)


def submodels(coupling):
    """Return the four curves on the grid, coupled on 67 points of the axis."""
    X, y, subsets = sine()
    model = CoupledKernelRegressor(
        4, gamma=0.2, alpha=0.001, coupling=coupling, overlap=coupling > 0
    )
    model.fit(X, y, X_coupling=GRID[::3], subsets=subsets)
    return model.member_predictions(GRID).T


def root_mean_square(curves):
    """Return the error of the mean member, and of the mean of the members."""
    errors = np.array(curves) - np.sin(GRID[:, 0])
    member = np.sqrt(np.mean(errors**2))
    return float(member), float(np.sqrt(np.mean(errors.mean(axis=0) ** 2)))


def draw(path):
    import matplotlib as mpl
    import matplotlib.pyplot as plt

    mpl.rcParams.update({"svg.hashsalt": "committee", "svg.fonttype": "none"})
    X, y, subsets = sine()
    figure, axes = plt.subplots(2, 2, figsize=(8, 4.4), sharex=True, sharey=True)
    for column, (title, nu) in enumerate([("uncoupled", 0.0), ("coupled", 1.0)]):
        curves = submodels(nu)
        top, bottom = axes[:, column]
        for j, curve in enumerate(curves):
            top.plot(GRID, curve, color=f"C{j}", lw=1.2)
            top.plot(X[subsets[j]], y[subsets[j]], ".", color=f"C{j}", ms=3)
        bottom.plot(GRID, np.mean(curves, axis=0), color="black", lw=1.2)
        for ax in (top, bottom):
            ax.plot(GRID, np.sin(GRID), ":", color="grey", lw=1)
            ax.set_ylim(-1.6, 1.6)
        top.set_title(title)
    axes[0, 0].set_ylabel("submodels")
    axes[1, 0].set_ylabel("their mean")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None})


if __name__ == "__main__":
    for nu in (0.0, 0.1, 1.0, 10.0, 100.0):
        member, mean = root_mean_square(submodels(nu))
        print(f"coupling {nu:5g}: members {member:.3f}, their mean {mean:.3f}")
    if len(sys.argv) > 1:
        draw(sys.argv[1])
