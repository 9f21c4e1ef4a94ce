"""
Where do cells meet?
====================

A tree cuts the rows of a spiral into cells, and each has a kernel machine of its own.
Uncoupled, neighbours differ on their borders. Coupled on a few points there, they agree
where there are rows. Each place shows the prediction of its own cell, without the gate.
"""

# %%
# Two fits that differ only in the coupling.
import sys

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

from committee import CellKernelRegressor

rng = np.random.default_rng(0)
t = 3 * np.pi * np.sqrt(rng.uniform(0.05, 1, 2400))
X = (t / 5)[:, None] * np.c_[np.cos(t), np.sin(t)] + 0.12 * rng.normal(size=(2400, 2))
y = np.sin(2 * t) + 0.3 * rng.normal(size=2400)
options = {"kernel": "matern52", "gamma": 2.0, "alpha": 0.1, "n_coupling": 16}
options["trend"] = False  # cells alone
models = {}
for title, coupling in [("each cell alone", 0.0), ("coupled", 10.0)]:
    model = CellKernelRegressor(max_cell=150, coupling=coupling, **options)
    models[title] = model.fit(X, y)
    print(f"{title}: leave-one-out error {model.loo_error_:.4f}")

# %%
# The cells, their rows and the points of coupling; then the prediction of each cell in its own region.
mpl.rcParams.update({"svg.hashsalt": "committee", "svg.fonttype": "none"})
u, v = (np.linspace(X[:, i].min() - 0.2, X[:, i].max() + 0.2, 240) for i in range(2))
grid = np.stack(np.meshgrid(u, v), axis=2).reshape(-1, 2)
cell = model.cells_.tree.cell_of(grid)
figure, axes = plt.subplots(1, 3, figsize=(10, 3.6), sharex=True, sharey=True)
image = (cell % 10).reshape(240, 240)
axes[0].pcolormesh(u, v, image, cmap="tab10", alpha=0.3, rasterized=True)
axes[0].plot(*X[::4].T, ".", color="black", ms=1.5, rasterized=True)
points = model.coupling_points_
axes[0].plot(*points.T, "o", mfc="none", mec="crimson", ms=3, rasterized=True)
axes[0].set(title="cells, rows, points of coupling", xticks=[], yticks=[])
for ax, (title, model) in zip(axes[1:], models.items(), strict=True):
    f = model.member_predictions(grid)[np.arange(len(grid)), cell].reshape(240, 240)
    ax.pcolormesh(u, v, f, cmap="RdBu", vmin=-1.3, vmax=1.3, rasterized=True)
    ax.set(title=title)
figure.tight_layout()
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], metadata={"Date": None}, dpi=90)
