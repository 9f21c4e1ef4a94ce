"""
How many members do I have to train?
====================================

With `stop="evidence"` members are trained in batches of 20, until two batches in a row
fail to raise the log evidence by 3. The number of members is found, not set.
"""

# %%
# Easy and hard problems need different numbers; 400 is only the maximum.
from sklearn.datasets import make_classification
from sklearn.tree import DecisionTreeClassifier

from committee import Bagging, CommitteeClassifier, EPPruner

grown = {}
for separation in (2.0, 1.0, 0.5):
    X, y = make_classification(
        2500, 10, n_informative=6, class_sep=separation, flip_y=0.02, random_state=0
    )
    X, X_test, y, y_test = X[:500], X[500:], y[:500], y[500:]
    scores = []
    for n_members, stop in ((400, "evidence"), (400, None)):
        committee = CommitteeClassifier(
            DecisionTreeClassifier(),
            generator=Bagging(n_members),
            combiner=EPPruner(),
            stop=stop,
            random_state=0,
        ).fit(X, y)
        error = 100 * (1 - committee.score(X_test, y_test))
        scores.append((len(committee.combiner_.weights_), committee.n_members_, error))
    grown[separation] = scores
    for trained, kept, error in scores:
        print(
            f"separation {separation}: {trained} trained, {kept} kept, {error:.1f} % wrong"
        )

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 2, figsize=(8, 3.2), layout="constrained")
for i, label in enumerate(['stop="evidence"', "all 400"]):
    places = [x + 0.4 * i - 0.2 for x in range(len(grown))]
    axes[0].bar(places, [s[i][0] for s in grown.values()], width=0.4, label=label)
    axes[1].bar(places, [s[i][2] for s in grown.values()], width=0.4, label=label)
for ax, name in zip(axes, ["trees trained", "wrong test rows in %"], strict=True):
    ax.set(xlabel="separation of the classes", ylabel=name)
    ax.set_xticks(range(len(grown)), list(grown))
axes[0].legend()
plt.show()
