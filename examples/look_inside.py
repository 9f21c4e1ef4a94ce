"""
Why is a committee better than its members?
===========================================

Because its members differ. The squared error of a committee is the mean error of its members
minus their diversity, for any weights that sum to one. Members that agree little beyond
chance (a small kappa) can be less accurate and still be worth having.
"""

# %%
# Three kinds of members, fifty of each, on samples of the rows.
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from committee import Bagging, CommitteeClassifier, ambiguity

X, y = make_moons(2000, noise=0.35, random_state=0)
X, X_test, y, y_test = X[:500], X[500:], y[:500], y[500:]
kinds = {
    "deep trees": DecisionTreeClassifier(),
    "stumps": DecisionTreeClassifier(max_depth=1),
    "linear models": LogisticRegression(),
}
committees = {
    name: CommitteeClassifier(kind, generator=Bagging(50), random_state=0).fit(X, y)
    for name, kind in kinds.items()
}

# %%
# Linear models hardly change with their sample: nothing is gained. Deep trees are
# the worst members and make the best committee.
for name, committee in committees.items():
    error, member_error, diversity = ambiguity(
        committee.member_predictions(X_test), y_test
    )
    print(f"{name:14s} {member_error:.3f} - {diversity:.3f} = {error:.3f}")
    assert np.isclose(error, member_error - diversity)

# %%
# Each dot is a pair of members: their agreement, and their mean error.
import matplotlib.pyplot as plt

from committee import AmbiguityDisplay, KappaErrorDisplay

figure, axes = plt.subplots(1, 2, figsize=(9, 4), layout="constrained")
AmbiguityDisplay.from_estimator(committees["deep trees"], X_test, y_test, ax=axes[0])
KappaErrorDisplay.from_estimator(committees["deep trees"], X_test, y_test, ax=axes[1])
plt.show()
