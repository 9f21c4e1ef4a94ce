"""
How many members are worth keeping?
===================================

Error against size, on fresh rows of two functions of Friedman: the whole forest, its first
trees, those that `prune` keeps, these with refitted leaves, and default gradient boosting.
"""

# %%
# The size is that of the pickled model. `path_.choose` returns other sizes without
# another fit; `refine` refits the leaves of the trees that are kept, all together.
import pickle
from copy import copy

import numpy as np
from sklearn.datasets import make_friedman1, make_friedman2
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor

from committee import prune, refine


def curves(X, y, sizes=(3, 5, 10, 20)):
    X, X_test, y, y_test = X[:1000], X[1000:], y[:1000], y[1000:]

    def measure(model):
        error = np.mean((model.predict(X_test) - y_test) ** 2) / np.var(y_test)
        return len(pickle.dumps(model)) / 1e6, 100 * error

    forest = RandomForestRegressor(200, random_state=0).fit(X, y)
    pruned = prune(forest, X, y, oob=True)
    chosen = [pruned.path_.choose(max_members=k) for k in sizes]
    refined = [refine(few, X, y, oob=True, random_state=0) for few in chosen]
    first = [copy(forest) for _ in sizes]
    for k, few in zip(sizes, first, strict=True):
        few.estimators_ = forest.estimators_[:k]
    return {
        "whole forest, 200 trees": [measure(forest)],
        "its first 3, 5, 10, 20 trees": [measure(few) for few in first],
        "pruned to as many": [measure(few.to_sklearn()) for few in chosen],
        "pruned and refined": [measure(few.to_sklearn()) for few in refined],
        "gradient boosting": [measure(HistGradientBoostingRegressor().fit(X, y))],
    }


# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.3), layout="constrained")
data = {"friedman1": (make_friedman1, 1.0), "friedman2": (make_friedman2, 125.0)}
for ax, (name, (make, noise)) in zip(axes, data.items(), strict=True):
    X, y = make(6000, noise=noise, random_state=0)
    for label, points in curves(X, y).items():
        ax.plot(*np.transpose(points), "o-" if len(points) > 1 else "D", label=label)
        print(f"{name}, {label}:")
        print(*[f"    {error:.1f} % at {size:.2f} MB" for size, error in points])
    ax.set(xscale="log", xlabel="megabytes", title=name)
axes[0].set_ylabel("squared error in % of the variance")
figure.legend(*axes[0].get_legend_handles_labels(), ncols=3, loc="outside upper center")
plt.show()
