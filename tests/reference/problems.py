"""Small problems: predictions F of members of unequal skill, and targets y."""

import numpy as np

N_CLASSES = {"binary": 2, "multiclass": 3}
KINDS = ("regression", "binary", "multiclass")


def make_problem(kind, *, N=40, M=7, seed=0):
    """Return F, (N, M) or (N, M, K), and y, floats or codes."""
    rng = np.random.default_rng(seed)
    noise = np.linspace(0.4, 1.2, M)
    if kind == "regression":
        y = rng.normal(size=N)
        shared = 0.3 * rng.normal(size=(N, 1))
        return y[:, None] + shared + noise * rng.normal(size=(N, M)), y
    K = N_CLASSES[kind]
    y = np.resize(np.arange(K), N)
    right = y[:, None, None] == np.arange(K)
    logits = 1.5 * right + noise[:, None] * rng.normal(size=(N, M, K))
    odds = np.exp(logits)
    return odds / odds.sum(axis=2, keepdims=True), y


def make_held_out(N=40, M=7, *, seed=1):
    """Return a mask (N, M) as bagging would, and two rows that nobody left out."""
    held_out = np.random.default_rng(seed).random((N, M)) < 0.4
    held_out[:2] = False
    return held_out
