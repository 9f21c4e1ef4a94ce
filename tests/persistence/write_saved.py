"""Write the files that every later version must load.

`python -m tests.persistence.write_saved` was run when the format was new. Members are
linear: scikit-learn may change the layout of trees, and such files are not for ever.
"""

from pathlib import Path

import numpy as np
from sklearn.ensemble import BaggingClassifier, VotingRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB

from committee import (
    CommitteeRegressor,
    CoupledKernelRegressor,
    EPPruner,
    Pool,
    prune,
    save,
)

FOLDER = Path(__file__).parent / "saved"
X = np.round(np.random.default_rng(0).normal(size=(40, 3)), 3)
Y = X[:, 0] + X[:, 1] ** 2
LABELS = np.array(["low", "middle", "high"])[np.digitize(Y, [0.5, 1.5])]
RIDGES = [Ridge(alpha) for alpha in (0.1, 1.0, 10.0, 100.0)]


def pruned_voters():
    voters = VotingRegressor([(str(i), ridge) for i, ridge in enumerate(RIDGES)])
    return prune(voters.fit(X, Y), X, Y)


def pruned_bag():
    bag = BaggingClassifier(GaussianNB(), 8, max_features=2, random_state=0)
    return prune(bag.fit(X, LABELS), X, LABELS, oob=True)


MODELS = {
    "pool": lambda: CommitteeRegressor(
        generator=Pool(RIDGES), combiner=EPPruner(), random_state=0
    ).fit(X, Y),
    "pruned-voters": pruned_voters,
    "pruned-bag": pruned_bag,
    "coupled": lambda: CoupledKernelRegressor(n_members=3, random_state=0).fit(X, Y),
}


def predictions(model):
    """Numbers that a model must give for ever: predictions, and those of its path."""
    values = [getattr(model, "predict_proba", model.predict)(X[:5])]
    if hasattr(model, "path_"):
        values.append(model.path_.error)
    if hasattr(getattr(model, "combiner_", None), "path_"):
        values.append(model.combiner_.path_.choose(max_members=2))
    return np.concatenate([np.ravel(value) for value in values]).tolist()


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, make in MODELS.items():
        model = make()
        path = FOLDER / f"{name}.skops"
        save(model, path, metadata={"predictions": predictions(model)})
