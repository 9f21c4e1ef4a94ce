"""
Which ensembler for a leaderboard of log-loss?
==============================================

AutoGluon and TabArena weigh trained models by a class that is fitted on their predictions.
`CommitteeEnsembler` has that interface, for any combiner: here it is called as they do.
"""

# %%
# Predictions of eight models, (models, rows, classes): out of fold, and on other rows.
import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

X, y = make_classification(
    *(3000, 15), n_informative=6, n_classes=3, flip_y=0.05, random_state=1
)
models = [
    LogisticRegression(),
    LinearDiscriminantAnalysis(),
    GaussianNB(),
    KNeighborsClassifier(5),
    KNeighborsClassifier(25, weights="distance"),
    DecisionTreeClassifier(max_depth=6, random_state=0),
    ExtraTreesClassifier(100, random_state=0),
    HistGradientBoostingClassifier(max_iter=50, random_state=0),
]
known = np.array(
    [cross_val_predict(m, X[:800], y[:800], method="predict_proba") for m in models]
)
new = np.array([m.fit(X[:800], y[:800]).predict_proba(X[800:]) for m in models])

# %%
# A name or a combiner is the one argument. A logarithmic pool is not `linear`.
import matplotlib.pyplot as plt

from committee import CommitteeEnsembler, EPPruner, GreedyPruner

losses = {"best model": min(log_loss(y[800:], p) for p in new)}
for name, combiner in {
    "greedy by log-loss": GreedyPruner(scoring="neg_log_loss"),
    "EP on log-odds": EPPruner(pool="log", rule="max-density"),
    "LogPool": "log-pool",
}.items():
    ensembler = CommitteeEnsembler(problem_type="multiclass", combiner=combiner)
    ensembler.fit(predictions=known, labels=y[:800])
    key = f"{name} ({ensembler.models_used().sum()})"
    losses[key] = log_loss(y[800:], ensembler.predict_proba(new))
plt.barh(list(losses), list(losses.values()))
plt.xlabel("log-loss on new rows (members)")
plt.tight_layout()
plt.show()
