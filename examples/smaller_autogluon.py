"""
How small can an AutoGluon predictor get?
=========================================

AutoGluon trains ten models, and its greedy selection keeps three. Two models, weighed by a
committee, have less log-loss. With AutoGluon installed it is one call:
`committee.interop.shrink_predictor(predictor, max_models=2)`.
"""

# %%
# The out-of-fold predictions of a predictor, and its predictions of new rows. They were
# recorded once by `predictor_predictions(predictor)` and `predictor_predictions(predictor,
# data)`, so that this page needs no AutoGluon.
import sys
from pathlib import Path

import numpy as np

known = np.load(Path(sys.argv[0]).parent / "recorded" / "autogluon_pool.npz")
F, y, F_new, y_new = (known[name] for name in ("F", "y", "F_new", "y_new"))
F, F_new = F.astype(float), F_new.astype(float)
print(F.shape, F_new.shape)

# %%
# Weigh all models, then only as many as the budget allows. A budget may also be seconds or
# bytes: `costs=` has those of each model.
import matplotlib.pyplot as plt
from sklearn.metrics import log_loss

from committee import BudgetPruner, GreedyPruner, LogPool


def log_loss_of(combiner):
    fitted = combiner.fit(F, y)
    p = fitted.probabilities(fitted.combine(F_new))
    return log_loss(y_new, p), [str(known["names"][m]) for m in fitted.support_]


greedy, models = log_loss_of(GreedyPruner(scoring="neg_log_loss"))
losses = {}
for k in range(1, 7):
    losses[k], kept = log_loss_of(BudgetPruner(LogPool(), budget=k))
    print(f"{losses[k]:.4f}", *kept)
plt.plot(losses.keys(), losses.values(), "o-", label="committee")
plt.plot(len(models), greedy, "s", label="AutoGluon's greedy selection")
plt.xlabel("models")
plt.ylabel("log-loss on 2,000 new rows")
plt.legend()
plt.show()
