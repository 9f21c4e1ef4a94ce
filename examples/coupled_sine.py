"""
What does coupling do?
======================

Four kernel submodels see a quarter of a sine each. Trained separately, each follows the
curve where it has rows and falls to zero elsewhere. Coupled, they have to agree on points
along the axis, and all of them follow the whole curve.
"""

# %%
# The coupling is the penalty on disagreement; at zero the submodels are independent.
import sys

import numpy as np

from committee import CoupledKernelRegressor

grid = np.linspace(0, 4 * np.pi, 200)[:, None]
rng = np.random.default_rng(0)
X = np.sort(rng.uniform(0, 4 * np.pi, size=80))[:, None]
y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(80)
subsets = np.split(np.arange(80), 4)
curves = {}
for coupling in (0.0, 0.1, 1.0, 10.0, 100.0):
    model = CoupledKernelRegressor(
        4, gamma=0.2, alpha=0.001, coupling=coupling, overlap=coupling > 0
    ).fit(X, y, X_coupling=grid[::3], subsets=subsets)
    curves[coupling] = model.member_predictions(grid).T
    errors = curves[coupling] - np.sin(grid[:, 0])
    member = np.sqrt(np.mean(errors**2))
    mean = np.sqrt(np.mean(errors.mean(axis=0) ** 2))
    print(f"coupling {coupling:5g}: members {member:.3f}, their mean {mean:.3f}")

# %%
# Top: the submodels, with their rows as dots. Bottom: their mean.
import matplotlib.pyplot as plt

plt.rcParams.update({"svg.hashsalt": "committee", "svg.fonttype": "none"})
figure, axes = plt.subplots(2, 2, figsize=(8, 4.4), sharex=True, sharey=True)
for column, (title, nu) in enumerate([("uncoupled", 0.0), ("coupled", 1.0)]):
    top, bottom = axes[:, column]
    for j, curve in enumerate(curves[nu]):
        top.plot(grid, curve, color=f"C{j}", lw=1.2)
        top.plot(X[subsets[j]], y[subsets[j]], ".", color=f"C{j}", ms=3)
    bottom.plot(grid, np.mean(curves[nu], axis=0), color="black", lw=1.2)
    for ax in (top, bottom):
        ax.plot(grid, np.sin(grid), ":", color="grey", lw=1)
        ax.set_ylim(-1.6, 1.6)
    top.set_title(title)
axes[0, 0].set_ylabel("submodels")
axes[1, 0].set_ylabel("their mean")
figure.tight_layout()
if len(sys.argv) > 1:  # python examples/coupled_sine.py docs/figures/coupled_sine.svg
    figure.savefig(sys.argv[1], metadata={"Date": None})
