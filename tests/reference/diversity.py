"""Diversity of pairs of members, by counting rows."""

import numpy as np


def votes(F):
    """Return each member's class on each row, ties to the first."""
    return [
        [max(range(F.shape[2]), key=lambda k: F[n, m, k]) for m in range(F.shape[1])]
        for n in range(F.shape[0])
    ]


def per_pair(measure, F, *args):
    """Return the matrix of measure(column_i, column_j, ...)."""
    columns = list(zip(*votes(F), strict=True))
    return np.array([[measure(a, b, *args) for b in columns] for a in columns])


def disagreement(a, b):
    """Return the fraction of rows on which a and b differ."""
    return sum(u != v for u, v in zip(a, b, strict=True)) / len(a)


def counts(a, b, y):
    """Return N11, N10, N01, N00: a right or wrong, b right or wrong."""
    table = {(True, True): 0, (True, False): 0, (False, True): 0, (False, False): 0}
    for u, v, t in zip(a, b, y, strict=True):
        table[u == t, v == t] += 1
    return tuple(table.values())


def q_statistic(a, b, y):
    """Return Yule's Q, 0 where it is undefined."""
    n11, n10, n01, n00 = counts(a, b, y)
    total = n11 * n00 + n01 * n10
    return (n11 * n00 - n01 * n10) / total if total else 0.0


def double_fault(a, b, y):
    """Return the fraction of rows on which both are wrong."""
    return counts(a, b, y)[3] / len(a)
