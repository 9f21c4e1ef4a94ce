"""
Which expert answers where?
===========================

If the target follows different laws in different regions, weights that depend on x beat
any fixed weights. A mixture trains simple experts together with the gate that weighs them, and
the gate shows which expert answers where.
"""

# %%
# Four linear laws of five columns. The first two columns decide which law holds.
import numpy as np
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import Ridge
from sklearn.metrics import r2_score

from committee import CommitteeRegressor, MixtureOfExpertsRegressor, Pool

rng = np.random.default_rng(0)
X = rng.uniform(-1, 1, (4000, 5))
law = 2 * (X[:, 0] > X[:, 1]) + (X[:, 0] + X[:, 1] > 0)
y = np.sum(3 * rng.normal(size=(4, 5))[law] * X, axis=1) + 0.3 * rng.normal(size=4000)
train, test = slice(0, 1000), slice(1000, None)

# %%
# The mixture, other models, and a pool of three with the best fixed weights.
others = [Ridge(), RandomForestRegressor(100), HistGradientBoostingRegressor()]
models = {
    "mixture of 4 linear experts": MixtureOfExpertsRegressor(depth=2, random_state=0),
    "one linear model": Ridge(),
    "forest of 100 trees": RandomForestRegressor(100, random_state=0),
    "gradient boosting": HistGradientBoostingRegressor(),
    "pool of three, fixed weights": CommitteeRegressor(
        generator=Pool(others), combiner="ep", random_state=0
    ),
}
for name, model in models.items():
    model.fit(X[train], y[train])
    print(f"{name:31s} R2 {r2_score(y[test], model.predict(X[test])):.3f}")

# %%
# The colour is the expert with the largest weight, paler where no weight is large.
import matplotlib.pyplot as plt

from committee import GateDisplay

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
mixture = models["mixture of 4 linear experts"]
GateDisplay.from_estimator(mixture, X[test], columns=(0, 1), ax=ax)
plt.show()
