"""
Can I prune LightGBM, XGBoost and CatBoost?
===========================================

The rounds of a booster are its members, and the kept ones form a booster of the same
library. Every choice among rounds competes with the first rounds, the booster stopped early.
Pruning pays if labels are wrong; if there is little noise, train on all rows instead.
"""

# %%
# 100 rounds are trained on half of the rows. `prune` sees the other half, and returns the
# first rounds, or fewer that are clearly better. The last rival trains on both halves.
import matplotlib.pyplot as plt
import numpy as np
from catboost import CatBoostRegressor
from lightgbm import LGBMClassifier, LGBMRegressor
from sklearn.base import clone, is_classifier
from sklearn.datasets import load_breast_cancer, make_classification, make_friedman1
from sklearn.metrics import log_loss, root_mean_squared_error
from sklearn.model_selection import train_test_split
from xgboost import XGBClassifier

from committee import prune

little, much = (make_friedman1(4000, noise=s, random_state=0) for s in (1.0, 4.0))
wrong = make_classification(4000, n_informative=8, flip_y=0.4, random_state=0)
quiet = {"verbose": False, "allow_writing_files": False, "thread_count": 1}
problems = {
    "little noise\nLightGBM": (*little, LGBMRegressor(verbose=-1, n_jobs=1)),
    "much noise\nCatBoost": (*much, CatBoostRegressor(n_estimators=100, **quiet)),
    "40 % wrong labels\nXGBoost": (*wrong, XGBClassifier(n_jobs=1)),
    "breast cancer\nLightGBM": (
        *load_breast_cancer(return_X_y=True),
        LGBMClassifier(verbose=-1, n_jobs=1),
    ),
}
for i, (X, y, plain) in enumerate(problems.values()):
    train = min(1000, len(y) * 3 // 4)
    X_both, X_test, y_both, y_test = train_test_split(
        *(X, y), train_size=train, random_state=0
    )
    X_a, X_b, y_a, y_b = train_test_split(X_both, y_both, test_size=0.5, random_state=0)
    booster = clone(plain).fit(X_a, y_a)
    small = prune(booster, X_b, y_b)
    models = [booster, small, small.path_.choose(max_members=20)]
    errors = [
        log_loss(y_test, model.predict_proba(X_test))
        if is_classifier(plain)
        else root_mean_squared_error(y_test, model.predict(X_test))
        for model in [*models, clone(plain).fit(X_both, y_both)]
    ]
    ratios = np.array(errors[1:]) / errors[0]
    plt.bar(i + np.array([-0.27, 0, 0.27]), ratios, 0.25, color=["C0", "C1", "C2"])
    print(small.n_members_, "rounds are kept;", ratios.round(3))
plt.axhline(1, color="black")
plt.xticks(range(len(problems)), problems)
plt.ylabel("error / error as trained")
plt.title("pruned (blue), at most 20 rounds (orange), trained on both halves (green)")
plt.show()
