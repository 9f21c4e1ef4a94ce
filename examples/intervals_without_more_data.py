"""
How sure is a prediction, without more data?
============================================

Each tree of a forest left out a third of the rows. Its errors there show how wide an interval
must be, so that no row is set aside for it.
"""

# %%
# The noise grows with the first column: a good interval is wide where the target is noisy.
import numpy as np
from sklearn.ensemble import RandomForestRegressor

from committee import prune

rng = np.random.default_rng(0)
X = rng.uniform(0, 1, (3000, 4))
y = np.sin(6 * X[:, 0]) + X[:, 1] + (0.1 + 0.4 * X[:, 0]) * rng.normal(size=3000)
X, X_test, y, y_test = X[:600], X[600:], y[:600], y[600:]
forest = RandomForestRegressor(200, min_samples_leaf=3, random_state=0).fit(X, y)
small = prune(forest, X, y, oob=True)

# %%
# Both methods reach their nominal coverage on average over all rows. "scaled" also follows the
# disagreement of the members.
for method in ("scaled", "constant"):
    lower, upper = small.predict_interval(X_test, 0.9, method=method).T
    inside = (lower <= y_test) & (y_test <= upper)
    calm = X_test[:, 0] < 0.5
    print(
        f"{method:8s} covers {inside.mean():.1%}, {inside[calm].mean():.1%} of calm rows and "
        f"{inside[~calm].mean():.1%} of noisy ones; mean width {np.mean(upper - lower):.2f}"
    )

# %%
import matplotlib.pyplot as plt

from committee import IntervalDisplay

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
interval = small.predict_interval(X_test[:150], 0.9)
IntervalDisplay(interval, y_test[:150], coverage=0.9).plot(ax=ax)
plt.show()
