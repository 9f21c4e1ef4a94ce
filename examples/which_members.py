"""
How should the members differ?
==============================

In their rows, in their columns, or only in their seeds? The error of a committee is the
mean error of its members minus their diversity: a generator is good if it raises
diversity by more than it costs its members.
"""

# %%
# Fifty trees each way, on half of the digits.
import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

import committee as cm

X, X_test, y, y_test = train_test_split(
    *load_digits(return_X_y=True), test_size=0.5, random_state=0
)
generators = {
    "seeds only": cm.RandomInits(50),
    "a fifth of the rows": cm.MiniBatches(n_splits=5, repeats=10),
    "bootstrap samples": cm.Bagging(50),
    "half of the columns": cm.RandomSubspaces(50, max_features=0.5),
    "rotated columns": cm.Rotations(50),
}
tree = DecisionTreeClassifier(max_features="sqrt", min_samples_leaf=2)
found = []
for name, generator in generators.items():
    committee = cm.CommitteeClassifier(tree, generator=generator, random_state=0)
    F = committee.fit(X, y).member_predictions(X_test)
    _, error, diversity = cm.ambiguity(F, y_test)
    found.append((error, diversity, 100 * (1 - committee.score(X_test, y_test))))
    print(f"{name:20s} {error:.3f} - {diversity:.3f}  {found[-1][2]:.1f} % wrong")

# %%
# Trees on a fifth of the rows differ most, but are too inaccurate to gain from it. Trees that see
# rotated columns are nearly as good as those that see all, and make the best committee.
import matplotlib.pyplot as plt

error, diversity, wrong = np.array(found).T
at = np.arange(len(found))
figure, ax = plt.subplots(figsize=(7, 3.2), layout="constrained")
ax.barh(at, error - diversity, color="#0072b2", label="committee")
ax.barh(at, diversity, left=error - diversity, color="#e6c068", label="diversity")
for place, end, percent in zip(at, error, wrong, strict=True):
    ax.text(end + 0.005, place, f"{percent:.1f} % wrong", va="center")
ax.set_yticks(at, generators)
ax.set(xlabel="mean error of a member", xlim=(0, 0.85))
ax.legend(frameon=False, loc="upper right")
plt.show()
