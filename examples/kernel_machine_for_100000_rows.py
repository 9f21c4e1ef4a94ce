"""
Can a kernel machine take 100,000 rows?
=======================================

A kernel machine on N rows needs an N x N matrix: 80 GB for 100,000 rows. Cells of a tree
with a machine each, coupled at their borders, need one of a thousand rows at a time, and
kernel, width and penalty are chosen by leave-one-out.
"""

# %%
# A smooth function of three columns, with noise. Nystroem with 300 points needs
# a width for its kernel; with a good one it is as accurate here.
import time

import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

from committee import CellKernelRegressor

rng = np.random.default_rng(0)


def surface(n):
    X = rng.uniform(-3, 3, (n, 3))
    z = np.sin(2 * X[:, 0]) * np.cos(X[:, 1]) + np.exp(-(X[:, 2] ** 2))
    return X, z + 0.2 * rng.normal(size=n), z


models = {
    "cells, coupled": CellKernelRegressor(max_cell=1000),
    "Nystroem": make_pipeline(Nystroem(gamma=0.3, n_components=300), Ridge(1e-3)),
    "gradient boosting": HistGradientBoostingRegressor(),
}
sizes = [1000, 10_000, 100_000]
found = np.empty((len(models), len(sizes), 2))
X_test, _, truth = surface(5000)
for j, n in enumerate(sizes):
    X, y, _ = surface(n)
    for i, (name, model) in enumerate(models.items()):
        start = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - start
        error = np.sqrt(np.mean((model.predict(X_test) - truth) ** 2))
        found[i, j] = seconds, error
        print(f"{n:7,} rows, {name}: {seconds:.1f} s, error {error:.3f}")

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for k, (ax, title) in enumerate(zip(axes, ["seconds", "error"], strict=True)):
    for name, row in zip(models, found[..., k], strict=True):
        ax.loglog(sizes, row, "o-", label=name)
    ax.set(xlabel="rows", ylabel=title)
axes[0].legend()
plt.show()
