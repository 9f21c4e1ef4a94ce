"""
Which method is better over many data sets?
===========================================

One data set proves little. Over many, methods are ranked on each, and a difference of mean
ranks is significant if it is larger than expected by chance.
"""

# %%
# Five ways of weighing nine models of different kinds, on twelve generated sets of different shapes.
import numpy as np
from sklearn.datasets import make_classification
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import Average, EPPruner, GreedyPruner, OrderPruner, SimplexWeights

models = [
    *[KNeighborsClassifier(k) for k in (1, 10, 50)],
    *[DecisionTreeClassifier(max_depth=d, random_state=0) for d in (3, 8)],
    *[GaussianNB(), LinearDiscriminantAnalysis(), LogisticRegression(C=0.1)],
    ExtraTreesClassifier(50, random_state=0),
]
best = OrderPruner("best", 1)
combiners = [Average(), best, GreedyPruner(), SimplexWeights(), EPPruner()]
names = ["mean of all", "best model", "greedy", "simplex", "EP"]
errors = np.empty((12, len(names)))
for i in range(12):
    X, y = make_classification(
        3000, 10 + i, n_informative=4 + i % 4, class_sep=0.6 + 0.1 * i, random_state=i
    )
    X, X_test, y, y_test = X[:500], X[500:], y[:500], y[500:]
    folds = [cross_val_predict(m, X, y, method="predict_proba") for m in models]
    F = np.stack(folds, axis=1)
    F_test = np.stack([m.fit(X, y).predict_proba(X_test) for m in models], axis=1)
    for j, combiner in enumerate(combiners):
        votes = combiner.fit(F, y).combine(F_test).argmax(axis=1)
        errors[i, j] = 100 * np.mean(votes != y_test)

# %%
# Rank 1 has the smallest error. Methods under one bar do not differ significantly.
import matplotlib.pyplot as plt
import pandas as pd

from committee import CriticalDifferenceDisplay
from committee.compare import compare

result = compare(pd.DataFrame(errors, columns=names), control="EP")
print(result)
CriticalDifferenceDisplay.from_comparison(result)
plt.show()
