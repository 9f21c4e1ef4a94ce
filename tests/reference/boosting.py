"""AdaBoost as printed in the chapter, 4.5, steps 1-3; slow and plain."""

import numpy as np


def adaboost(fit, X, d, n_classes, n_rounds):
    """Return learners and alphas.

    `fit(P)` returns a function from rows to labels 0..K-1, trained with the
    weights P. Stops before a learner with an error of zero or no better than
    chance. The factor K - 1 (SAMME) is one for two classes.
    """
    N = len(d)
    P = [1.0 / N for _ in range(N)]
    learners, alphas = [], []
    for _ in range(n_rounds):
        y_t = fit(np.array(P))
        says = y_t(X)
        eps = sum(P[n] for n in range(N) if says[n] != d[n]) / sum(P)
        if eps == 0 or eps >= 1 - 1 / n_classes:
            break
        odds = (1 - eps) / eps * (n_classes - 1)
        P = [P[n] * odds if says[n] != d[n] else P[n] for n in range(N)]
        learners.append(y_t)
        alphas.append(np.log(odds))
    return learners, np.array(alphas)


def adaboost_predict(learners, alphas, X, n_classes):
    """Return argmax_d of the sum of alphas of the learners that say d."""
    labels = []
    for x in X:
        votes = [0.0] * n_classes
        for y_t, alpha in zip(learners, alphas, strict=True):
            votes[int(y_t(x[None, :])[0])] += alpha
        labels.append(int(np.argmax(votes)))
    return np.array(labels)
