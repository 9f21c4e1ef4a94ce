"""
Is EP better than greedy selection on a pool of models?
=======================================================

Greedy selection (Caruana and others, 2004) is how AutoGluon and auto-sklearn weight their
pools. Both get the same cross-fitted predictions here; only the weights differ.
"""

# %%
# Thirteen models of different kinds, three draws of the data, separate test rows.
import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import QuadraticDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import Average, EPPruner, GreedyPruner, LogPool, member_predictions

models = [
    *[LogisticRegression(C=C) for C in (0.01, 1.0)],
    *[KNeighborsClassifier(k) for k in (5, 15, 45)],
    *[DecisionTreeClassifier(max_depth=d, random_state=0) for d in (2, 4, 8)],
    *[ExtraTreesClassifier(50, min_samples_leaf=n, random_state=0) for n in (1, 5)],
    *[GaussianNB(), QuadraticDiscriminantAnalysis(reg_param=0.1)],
    HistGradientBoostingClassifier(max_iter=50),
]
found = {}
for seed in range(3):
    X, y = make_classification(
        3000, 15, n_informative=8, class_sep=0.7, flip_y=0.05, random_state=seed
    )
    X, X_test, y, y_test = X[:1000], X[1000:], y[:1000], y[1000:]
    folds = [cross_val_predict(m, X, y, method="predict_proba") for m in models]
    F = np.stack(folds, axis=1)
    F_test = member_predictions([m.fit(X, y) for m in models], X_test)
    for combiner in (Average(), GreedyPruner(), EPPruner(), LogPool()):
        scores = combiner.fit(F, y).combine(F_test)
        wrong = 100 * np.mean(scores.argmax(axis=1) != y_test)
        loss = log_loss(y_test, combiner.probabilities(scores))
        kept = np.count_nonzero(combiner.weights_)
        found.setdefault(type(combiner).__name__, []).append((kept, wrong, loss))

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 2.8), sharey=True, layout="constrained")
for i, title in enumerate(["models kept", "wrong rows in %", "log-loss of test rows"]):
    for name, runs in found.items():
        axes[i].plot([run[i] for run in runs], [name] * 3, "o", alpha=0.6)
        print(f"{title}, {name}: {np.mean([run[i] for run in runs]):.3f}")
    axes[i].set_xlabel(title)
plt.show()
