"""
How do I weigh models that are already trained?
===============================================

A combiner only needs a matrix of predictions, one column for each model, on rows that
the models have not seen. Here they come from files, one for each model, for example
from a competition or a cluster. The models themselves are not needed.
"""

# %%
# Each file has out-of-fold predictions: row n was predicted by a model that was trained
# on the folds without it.
import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsRegressor
from sklearn.svm import SVR
from sklearn.tree import DecisionTreeRegressor

X, y = make_friedman1(1000, noise=1.0, random_state=0)
folder = tempfile.TemporaryDirectory()
for model in [
    RidgeCV(),
    SVR(C=10.0),
    KNeighborsRegressor(10),
    ExtraTreesRegressor(100, random_state=0),
    HistGradientBoostingRegressor(random_state=0),
    DecisionTreeRegressor(random_state=0),
]:
    column = cross_val_predict(model, X, y, cv=5)
    np.save(Path(folder.name) / f"{type(model).__name__}.npy", column)

# %%
# F is these columns side by side. Half of the rows fit the weights, the other half test them.
from committee import EPPruner, WeightsDisplay, read_predictions

known = read_predictions(folder.name)
F = known.F
folder.cleanup()
ep = EPPruner().fit(F[:500], y[:500])
errors = np.sqrt(np.mean((F[500:] - y[500:, None]) ** 2, axis=0))
print(f"best model, in hindsight: RMSE {errors.min():.2f}")
for name, w in [("mean of all", np.full(6, 1 / 6)), ("EP's weights", ep.weights_)]:
    rmse = np.sqrt(np.mean((F[500:] @ w - y[500:]) ** 2))
    print(f"{name}: RMSE {rmse:.2f} with {np.count_nonzero(w)} models")

# %%
# The bars are one posterior standard deviation to each side.
std = np.zeros(6)
std[ep.support_] = np.sqrt(np.diag(ep.posterior_.cov))
WeightsDisplay(ep.weights_, std=std, names=known.names).plot()
