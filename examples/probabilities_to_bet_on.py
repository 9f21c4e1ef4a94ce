"""
Which probabilities can I bet on?
=================================

A bettor who trusts p loses money if p is wrong; log-loss measures how much. Weights of
log-probabilities (`LogPool`) minimise it, and also correct under- and overconfident
members.
"""

# %%
# Members of different kinds: overconfident (naive Bayes) and underconfident (forests).
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import CommitteeClassifier, Pool

X, y = make_classification(
    12000, 20, n_informative=8, n_redundant=6, class_sep=0.7, random_state=3
)
X, X_test, y, y_test = X[:2000], X[2000:], y[:2000], y[2000:]
pool = Pool(
    [
        GaussianNB(),
        LogisticRegression(),
        KNeighborsClassifier(25),
        ExtraTreesClassifier(200, min_samples_leaf=3),
        HistGradientBoostingClassifier(),
    ]
)
p = {}
for combiner in ("average", "ep", "log-pool"):
    committee = CommitteeClassifier(generator=pool, combiner=combiner, random_state=0)
    p[combiner] = committee.fit(X, y).predict_proba(X_test)[:, 1]
    print(f"{combiner:9s} log-loss {log_loss(y_test, p[combiner]):.4f}")

# %%
# On the diagonal, events predicted with probability p happen in a share p of the cases.
import matplotlib.pyplot as plt
from sklearn.calibration import CalibrationDisplay

figure, ax = plt.subplots(figsize=(5.5, 5), layout="constrained")
for combiner, q in p.items():
    name = f"{combiner}, log-loss {log_loss(y_test, q):.3f}"
    CalibrationDisplay.from_predictions(
        y_test, q, n_bins=12, strategy="quantile", name=name, ax=ax
    )
ax.set(xlabel="predicted probability", ylabel="observed share")
plt.show()
