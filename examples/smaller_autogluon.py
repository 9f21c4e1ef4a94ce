"""
Can an AutoGluon predictor be smaller and better?
=================================================

AutoGluon trained ten models on a generated table with two classes. Its own weights use four of
them. Two, weighed by a committee, need a tenth of the bytes and a sixth of the time at the same
log-loss.
"""

# %%
# In AutoGluon it is one call, on a copy of the predictor, because it deletes models:
#
# .. code-block:: python
#
#    from committee.interop import shrink_predictor
#
#    small = predictor.clone("small", return_clone=True)
#    print(shrink_predictor(small, max_models=2))
#    small.predict(data)
#
# This page runs without AutoGluon, from predictions that were recorded once: out of fold, by
# `predictor_predictions(predictor)`, and of 2,000 new rows, by
# `predictor_predictions(predictor, data)`.
import sys
from pathlib import Path

import numpy as np

known = np.load(Path(sys.argv[0]).parent / "recorded" / "autogluon_pool.npz")
F, y, F_new, y_new = (known[name] for name in ("F", "y", "F_new", "y_new"))
F, F_new = F.astype(float), F_new.astype(float)
for name, n_bytes in zip(known["names"], known["bytes"], strict=True):
    print(f"{name:25} {n_bytes / 1e6:5.2f} MB")

# %%
# AutoGluon uses greedy selection. `shrink_predictor` uses `BudgetPruner`: it removes the
# model that is worth least, and weighs the others again, until no more than `budget` are left.
import matplotlib.pyplot as plt

from committee import BudgetPruner, GreedyPruner
from committee.losses import log_losses, paired_difference


def measured(combiner):
    """Return log-losses by row, models, milliseconds for 1,000 rows, and megabytes."""
    kept = combiner.fit(F, y).support_
    p = combiner.probabilities(combiner.combine(F_new))
    milliseconds = 1e6 * known["seconds"][kept].sum()
    return (
        log_losses(p, y_new),
        len(kept),
        milliseconds,
        known["bytes"][kept].sum() / 1e6,
    )


greedy = measured(GreedyPruner(scoring="neg_log_loss"))
ours = {k: measured(BudgetPruner(budget=k)) for k in range(1, 6)}
print(f"{'log-loss':>26}  {'against greedy':>16}  models  ms for 1,000 rows     MB")
lines = {"AutoGluon's greedy": greedy}
lines |= {f"at most {k}": found for k, found in ours.items()}
for name, (losses, models, ms, mb) in lines.items():
    gap, se = paired_difference(losses, greedy[0])
    gap = f"{gap:+.4f} ± {se:.4f}"
    print(f"{name:18}{losses.mean():8.4f}  {gap}  {models:6}  {ms:17.0f}  {mb:5.1f}")

# %%
# Fewer models, less time and less log-loss: the lower left corner is best.
losses, models, ms, _ = zip(*ours.values(), strict=True)
heights = [loss.mean() for loss in losses]
plt.plot(ms, heights, "o-", label="committee")
for x, height, n in zip(ms, heights, models, strict=True):
    plt.annotate(f" {n}", (x, height), va="bottom")
plt.plot(
    greedy[2], greedy[0].mean(), "s", label=f"AutoGluon's greedy selection: {greedy[1]}"
)
plt.xlabel("milliseconds for 1,000 rows, CPU time")
plt.ylabel("log-loss on 2,000 new rows")
plt.title("Labels are numbers of models")
plt.legend()
plt.show()
