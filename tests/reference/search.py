"""Searching pruners by enumeration and plain loops. For M <= 8."""

from itertools import combinations

import numpy as np
from scipy.optimize import linprog
from scipy.stats import norm


def best_choice(G, k):
    """Return the least z'Gz over all choices of k members, and the choice."""
    found = [
        (float(G[np.ix_(c, c)].sum()), list(c)) for c in combinations(range(len(G)), k)
    ]
    return min(found)


def least_error_of_equal_votes(C):
    """Return the least w'Cw over all subsets that vote as equals."""
    return min(best_choice(C, k)[0] / k**2 for k in range(1, len(C) + 1))


def shared_errors(wrong):
    """Return G of Zhang, Burer and Street from wrong votes, entry by entry."""
    N, M = wrong.shape
    G = np.empty((M, M))
    for i in range(M):
        for j in range(M):
            both = np.sum(wrong[:, i] & wrong[:, j])
            if i == j:
                G[i, i] = both / N
            else:
                ni, nj = wrong[:, i].sum(), wrong[:, j].sum()
                G[i, j] = ((both / ni if ni else 0) + (both / nj if nj else 0)) / 2
    return G


def greedy(F, error, n_steps, n_initial=1):
    """Caruana's loop: return the picks and the error after each of them.

    `error(f)` judges a combined prediction; ties go to the lower number.
    """
    M = F.shape[1]
    alone = [error(F[:, m]) for m in range(M)]
    ranking = sorted(range(M), key=lambda m: (alone[m], m))
    picks, path = [], []
    for t in range(n_steps):
        if t < min(n_initial, M):
            m = ranking[t]
        else:
            tried = [error(F[:, [*picks, m]].mean(axis=1)) for m in range(M)]
            m = int(np.argmin(tried))
        picks.append(m)
        path.append(error(F[:, picks].mean(axis=1)))
    return picks, path


def filled_losses(F, y, held_out, picks):
    """Return the expected log loss, error and Brier score by row, were all picks heard.

    F (N, M, K) of probabilities. A vote that is not heard is the mean of all that are,
    with their variance; the noise that the mean has already is taken off.
    """
    N, _, K = F.shape
    t, eps = len(picks), np.finfo(float).eps
    log_losses, errors, squares = np.zeros((3, N))
    for n in range(N):
        heard = np.flatnonzero(held_out[n])
        votes = np.array(
            [F[n, m] if m in heard else F[n, heard].mean(0) for m in picks]
        )
        counts = {m: picks.count(m) for m in picks}
        b = sum(m in heard for m in picks)
        v = sum(c**2 for m, c in counts.items() if m not in heard)
        v = max(v - (t**2 - b**2) / len(heard), 0.0)
        p = max(votes[:, y[n]].sum() / votes.sum(), eps)
        spread = F[n, heard, y[n]].var(ddof=1) * v / votes.sum() ** 2
        log_losses[n] = min(-np.log(p) + spread / (2 * p**2), -np.log(eps))
        z = np.inf
        for k in range(K):
            if k != y[n]:
                margin = (votes[:, y[n]] - votes[:, k]).sum()
                deviation = (F[n, heard, y[n]] - F[n, heard, k]).std(ddof=1)
                sure = margin > 0 or (margin == 0 and k > y[n])
                sd = deviation * np.sqrt(v)
                z = min(z, margin / sd if sd > 0 else np.inf if sure else -np.inf)
        errors[n] = norm.cdf(-z)
        q = votes.sum(axis=0) / votes.sum()
        noise = F[n, heard].var(axis=0, ddof=1) * v / votes.sum() ** 2
        squares[n] = min(((q - np.eye(K)[y[n]]) ** 2 + noise).sum(), 2.0)
    return log_losses, errors, squares / (2 if K == 2 else 1)


def soft_margin(A, s, nu):
    """Solve the primal programme and return its value and w.

    max rho - sum_n s_n xi_n / (nu sum s),  A[n, r] w + xi_n >= rho, xi >= 0,
    sum w = 1, w >= 0; the variables are (w, rho, xi).
    """
    N, R, M = A.shape
    cost = np.r_[np.zeros(M), -1.0, s / (nu * s.sum())]
    rows, bounds = [], []
    for n in range(N):
        for r in range(R):
            row = np.zeros(M + 1 + N)
            row[:M] = -A[n, r]
            row[M] = 1.0
            row[M + 1 + n] = -1.0
            rows.append(row)
    equal = np.r_[np.ones(M), np.zeros(N + 1)][None]
    bounds = [(0, None)] * M + [(None, None)] + [(0, None)] * N
    found = linprog(
        cost,
        A_ub=np.array(rows),
        b_ub=np.zeros(len(rows)),
        A_eq=equal,
        b_eq=[1.0],
        bounds=bounds,
    )
    assert found.status == 0
    return -found.fun, found.x[:M]


def mean_of_worst(margin, s, nu):
    """Return the mean margin of the worst share nu, row by row."""
    left, total = nu * s.sum(), 0.0
    for n in np.argsort(margin):
        take = min(left, s[n])
        total += take * margin[n]
        left -= take
    return total / (nu * s.sum())
