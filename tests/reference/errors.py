"""Error moments, the decomposition and margins, row by row and pair by pair."""

import numpy as np


def error_vectors(F, y):
    """Return E of shape (N, M, K), K = 1 for regression."""
    N, M = F.shape[:2]
    E = np.empty((N, M, 1 if F.ndim == 2 else F.shape[2]))
    for n in range(N):
        for m in range(M):
            if F.ndim == 2:
                E[n, m, 0] = F[n, m] - y[n]
            else:
                for k in range(F.shape[2]):
                    E[n, m, k] = F[n, m, k] - (1.0 if y[n] == k else 0.0)
    return E


def pair_moments(F, y, held_out=None, s=None):
    """Return sum of weights, mean and sampling variance of E_i'E_j, per pair."""
    N, M = F.shape[:2]
    E = error_vectors(F, y)
    s = np.ones(N) if s is None else s
    count, mean, variance = (np.zeros((M, M)) for _ in range(3))
    for i in range(M):
        for j in range(M):
            first = second = 0.0
            for n in range(N):
                if held_out is None or (held_out[n, i] and held_out[n, j]):
                    count[i, j] += s[n]
                    first += s[n] * float(E[n, i] @ E[n, j])
                    second += s[n] * float(E[n, i] @ E[n, i]) * float(E[n, j] @ E[n, j])
            if count[i, j] > 0:
                mean[i, j] = first / count[i, j]
                spread = max(second / count[i, j] - mean[i, j] ** 2, 0.0)
                variance[i, j] = spread / count[i, j]
    return count, mean, variance


def error_correlation(F, y, s=None):
    """Return C without a mask."""
    return pair_moments(F, y, s=s)[1]


def effective_weights(s):
    """Scale s so that it sums to Kish's effective number of rows."""
    return s * s.sum() / (s**2).sum()


def shrunk_correlation(F, y, held_out, s=None, floor=0.25):
    """Return C with a mask, by the steps of `committee.diagnostics.correlation`."""
    M = F.shape[1]
    s = None if s is None else effective_weights(s)
    count, mean, variance = pair_moments(F, y, held_out, s)
    n_rows = sum(
        (1.0 if s is None else s[n]) for n in range(len(F)) if any(held_out[n])
    )
    fade = np.clip(20.0 * (1.0 - count / n_rows), 0.0, 1.0)
    variance = fade * variance
    floor *= fade.mean()
    members = [i for i in range(M) if count[i, i] > 0]
    common = np.mean([mean[i, i] for i in members])
    t = _share([(variance[i, i], mean[i, i] - common) for i in members])
    c = np.full(M, common)
    for i in members:
        c[i] = (1 - t) * mean[i, i] + t * common

    pairs, r, v = [], {}, {}
    for i in range(M):
        for j in range(M):
            unit = np.sqrt(mean[i, i] * mean[j, j])
            if i != j and count[i, j] > 0 and unit > 0:
                pairs.append((i, j))
                r[i, j], v[i, j] = mean[i, j] / unit, variance[i, j] / unit**2
    rho = min(max(np.mean([r[p] for p in pairs]), 0.0), 1.0) if pairs else 0.0
    t = _share([(v[p], r[p] - rho) for p in pairs])
    target = np.full((M, M), rho)
    np.fill_diagonal(target, 1.0)
    R = target.copy()
    for p in pairs:
        R[p] = (1 - t) * r[p] + t * rho
    lowest = np.linalg.eigvalsh(R)[0]
    if M > 1 and lowest < floor * (1 - rho):
        t = (floor * (1 - rho) - lowest) / (1 - rho - lowest)
        R = (1 - t) * R + t * target
    return R * np.sqrt(np.outer(c, c))


def _share(terms):
    total = sum(distance**2 for _, distance in terms)
    return min(1.0, sum(variance for variance, _ in terms) / total) if total else 0.0


def ambiguity(F, y, w):
    """Return the three terms, summed over rows, members and classes."""
    E = error_vectors(F, y)
    ensemble = member = diversity = 0.0
    for row in E:
        together = sum(w[m] * row[m] for m in range(len(w)))
        ensemble += float(together @ together)
        for m in range(len(w)):
            member += w[m] * float(row[m] @ row[m])
            diversity += w[m] * float((row[m] - together) @ (row[m] - together))
    return ensemble / len(E), member / len(E), diversity / len(E)


def margins(F, y, w):
    """Return the right class's score minus the best wrong one's, row by row."""
    out = []
    for n in range(len(F)):
        score = [
            sum(w[m] * F[n, m, k] for m in range(F.shape[1])) for k in range(F.shape[2])
        ]
        wrong = [score[k] for k in range(F.shape[2]) if k != y[n]]
        out.append(score[y[n]] - max(wrong))
    return np.array(out)
