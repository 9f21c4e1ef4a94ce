"""
Can I prune LightGBM, XGBoost and CatBoost?
===========================================

The rounds of a booster are members as well. What is left of them is a booster of the same
library, so that whatever reads its files reads these.
"""

# %%
# 300 rounds of each, and rows put aside: boosters have seen all rows of their training.
import numpy as np
from catboost import CatBoostRegressor
from lightgbm import LGBMRegressor
from sklearn.datasets import make_friedman1
from xgboost import XGBRegressor

from committee import prune

X, y = make_friedman1(6000, noise=1.0, random_state=0)
train, aside, test = slice(0, 1000), slice(1000, 1500), slice(1500, None)
boosters = {
    "LightGBM": LGBMRegressor(n_estimators=300, verbose=-1, n_jobs=1),
    "XGBoost": XGBRegressor(n_estimators=300, n_jobs=1),
    "CatBoost": CatBoostRegressor(
        300, verbose=False, allow_writing_files=False, thread_count=1
    ),
}
found = {}
for name, booster in boosters.items():
    booster.fit(X[train], y[train])
    small = prune(booster, X[aside], y[aside])
    native = small.to_sklearn()
    errors = [
        np.sqrt(np.mean((m.predict(X[test]) - y[test]) ** 2)) for m in (booster, native)
    ]
    found[name] = (small.n_members_, *errors)
    print(
        f"{name}: {small.n_members_} of 300 rounds as {type(native).__name__}, "
        f"RMSE {errors[0]:.3f} before and {errors[1]:.3f} after"
    )

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
places = np.arange(len(found))
rounds = [kept for kept, _, _ in found.values()]
axes[0].bar(places - 0.2, [300] * len(found), width=0.4, label="before")
axes[0].bar(places + 0.2, rounds, width=0.4, label="after")
axes[1].bar(places - 0.2, [before for _, before, _ in found.values()], width=0.4)
axes[1].bar(places + 0.2, [after for _, _, after in found.values()], width=0.4)
for ax, name in zip(axes, ["rounds", "RMSE on fresh rows"], strict=True):
    ax.set_ylabel(name)
    ax.set_xticks(places, list(found))
axes[0].legend()
plt.show()
