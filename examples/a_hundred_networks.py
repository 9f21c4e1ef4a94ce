"""
Does the hundredth network cost as much as the first?
=====================================================

Training one small network is mostly overhead. `Networks` trains all of them as one tensor: a
hundred take about as long as a few of scikit-learn's `MLPRegressor`, one after another.
"""

# %%
# Both have one layer of 50 units, and the same batches, epochs and learning rate. `Networks`
# trains on nine tenths of the rows. Errors are for the mean, on 4,000 fresh rows.
import time
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.neural_network import MLPRegressor

from committee import Average, CommitteeRegressor, NetworkRegressor, Networks

warnings.simplefilter("ignore")  # MLPs say that they have used all epochs
X, y = make_friedman1(5000, noise=1.0, random_state=0)
X = (X - 0.5) * 12**0.5  # MLPs do not scale columns and targets by themselves
middle, scale = y[:1000].mean(), y[:1000].std()
X, X_test, y, y_test = X[:1000], X[1000:], (y[:1000] - middle) / scale, y[1000:]
same = {"hidden_layer_sizes": (50,), "batch_size": 32}
network = NetworkRegressor(**same, max_epochs=50, patience=None, weight_decay=0.0)
mlp = MLPRegressor(**same, max_iter=50, n_iter_no_change=50, alpha=0.0)


def rmse(f):
    return np.sqrt(np.mean((middle + scale * f - y_test) ** 2))


# %%
# Ten MLPs are trained; their seconds are extrapolated by a straight line.
start = time.process_time()
mlp.set_params(learning_rate_init=network.learning_rate)
mlps = [mlp.set_params(random_state=k).fit(X, y).predict(X_test) for k in range(10)]
each = (time.process_time() - start) / 10

counts = [1, 3, 10, 30, 100]
seconds, errors = [], []
for M in counts:
    committee = CommitteeRegressor(
        network, generator=Networks(M), combiner=Average(), random_state=0
    )
    start = time.process_time()
    committee.fit(X, y)
    seconds.append(time.process_time() - start)
    errors.append(rmse(committee.predict(X_test)))
    print(f"{M} networks: {seconds[-1]:.2f} s, RMSE {errors[-1]:.2f}")
print(f"one MLP: {each:.2f} s; RMSE of ten {rmse(np.mean(mlps, axis=0)):.2f}")

_, (left, right) = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
left.loglog(counts, np.multiply(counts, each), "C1--", label="MLPs one by one")
left.loglog(counts, seconds, "C0o-", label="Networks")
left.set(xlabel="networks", ylabel="CPU seconds")
left.legend()
means = [rmse(np.mean(mlps[:M], axis=0)) for M in counts[:3]]
right.semilogx(counts[:3], means, "C1s--", label="mean of MLPs")
right.semilogx(counts, errors, "C0o-", label="mean of Networks")
right.set(xlabel="networks", ylabel="RMSE on fresh rows (noise 1)")
right.legend()
plt.show()
