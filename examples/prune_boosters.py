"""
Can I prune LightGBM, XGBoost and CatBoost?
===========================================

The rounds of a booster are members as well. What is left of them is a booster of the same
library, so that whatever reads its files reads these. But rounds are a sequence: the booster
stopped early is a rival of every choice among them. When does which pay?
"""

# %%
# Three generated problems and two of scikit-learn, 100 rounds of each library. Half of 1,000
# rows (of all rows but a quarter, where there are fewer) train the booster, the other half
# is put aside for pruning, since boosters have seen all rows of their training. The rival
# with the most rows is a booster that is trained on both halves and not pruned.
import numpy as np
from catboost import CatBoostClassifier, CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone, is_classifier
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    make_classification,
    make_friedman1,
)
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier, XGBRegressor

from committee import prune

labels = {"n_samples": 4000, "n_informative": 8, "random_state": 0}
problems = {
    "smooth, little noise": make_friedman1(4000, noise=1.0, random_state=0),
    "smooth, much noise": make_friedman1(4000, noise=4.0, random_state=0),
    "diabetes": load_diabetes(return_X_y=True),
    "40 % wrong labels": make_classification(flip_y=0.4, **labels),
    "breast cancer": load_breast_cancer(return_X_y=True),
}
of_numbers = {
    "LightGBM": LGBMRegressor(verbose=-1, n_jobs=1),
    "XGBoost": XGBRegressor(n_jobs=1),
    "CatBoost": CatBoostRegressor(
        100, verbose=False, allow_writing_files=False, thread_count=1
    ),
}
of_classes = {
    "LightGBM": LGBMClassifier(verbose=-1, n_jobs=1),
    "XGBoost": XGBClassifier(n_jobs=1),
    "CatBoost": CatBoostClassifier(
        100, verbose=False, allow_writing_files=False, thread_count=1
    ),
}


def error(model, X, y):
    """Log-loss of a classifier, RMSE of a regressor."""
    if is_classifier(model):
        return log_loss(y, model.predict_proba(X))
    return root_mean_squared_error(y, model.predict(X))


# %%
# `prune` returns the first rounds, or fewer that it chose; `choose(max_members=20)` does
# so among at most 20. Both say which it is: a choice skips rounds.
found = {}
for problem, (X, y) in problems.items():
    n_train = min(1000, len(y) * 3 // 4)
    X_both, X_test, y_both, y_test = train_test_split(
        X, y, train_size=n_train, random_state=0
    )
    X_train, X_aside, y_train, y_aside = train_test_split(
        X_both, y_both, test_size=0.5, random_state=0
    )
    for library, plain in (of_classes if y.dtype.kind == "i" else of_numbers).items():
        booster = clone(plain).fit(X_train, y_train)
        small = prune(booster, X_aside, y_aside)
        models = {
            "as trained": booster,
            "pruned": small.to_sklearn(),
            "20 rounds": small.path_.choose(max_members=20),
            "both halves": clone(plain).fit(X_both, y_both),
        }
        errors = {name: error(m, X_test, y_test) for name, m in models.items()}
        found[problem, library] = errors
        kept = {"pruned": small, "20 rounds": models["20 rounds"]}
        how = ", ".join(
            f"{name}: {'chosen' if c.summary().rival.is_first else 'first'} {c.n_members_}"
            for name, c in kept.items()
        )
        shown = ", ".join(f"{name} {e:.3g}" for name, e in errors.items())
        print(f"{problem}, {library}: {shown} ({how})")

# %%
# Errors on fresh rows, relative to the booster as it was trained. Where labels or numbers
# are noisy, stopping early wins, and a scale makes probabilities honest. Where there is
# little noise no round is superfluous: `prune` keeps all of them, and twenty chosen
# rounds are far better than the first twenty, but not as good as all. Training on the rows
# put aside often gains more than pruning on them.
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(8, 4), layout="constrained")
places = np.arange(len(found))
for i, name in enumerate(["pruned", "20 rounds", "both halves"]):
    ratios = [errors[name] / errors["as trained"] for errors in found.values()]
    ax.bar(places + 0.27 * (i - 1), ratios, width=0.25, label=name)
ax.axhline(1, color="black", linewidth=1)
ax.set_ylabel("error / error as trained")
ax.set_xticks(places, [f"{p}\n{library}" for p, library in found], rotation=90)
ax.legend()
plt.show()
