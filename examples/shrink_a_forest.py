"""
Can I shrink a forest that I already have?
==========================================

Yes, in one line and without further data: `prune` lets every tree vote only on rows that
it was not trained on, keeps those that matter, and shows what that costs.
"""

# %%
# A forest of 300 trees, for example from a file.
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from committee import prune, to_sklearn

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
forest = RandomForestClassifier(300, random_state=0).fit(X, y)

# %%
# `oob=True` states that these are the training rows. The table shows the errors to expect
# on fresh rows: no row is predicted by a tree that was trained on it.
small = prune(forest, X, y, oob=True)
print(small.summary())

# %%
# Other sizes need no further fit. `to_sklearn` returns a forest with the same
# probabilities.
sizes = [5, 10, 20, 40]
committees = {k: small.path_.choose(max_members=k) for k in sizes}
committees[small.n_members_] = small
errors = {
    committee.n_members_: 100 * (1 - to_sklearn(committee).score(X_test, y_test))
    for committee in committees.values()
}
whole = 100 * (1 - forest.score(X_test, y_test))
for size, error in errors.items():
    print(f"{size:3d} trees: {error:.1f} % wrong; all 300: {whole:.1f} %")

# %%
import matplotlib.pyplot as plt

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
ax.plot(list(errors), list(errors.values()), "o-", label="kept by prune()")
ax.axhline(whole, color="grey", linestyle="--", label="all 300 trees")
ax.set(xscale="log", xlabel="trees", ylabel="wrong test rows in %", ylim=(0, None))
ax.set_xticks(list(errors), [str(size) for size in errors])
ax.minorticks_off()
ax.legend()
plt.show()
