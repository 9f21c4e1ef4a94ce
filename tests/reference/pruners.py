"""Pruners by plain loops, straight from their definitions. For M <= 8.

`held_out[n][m]` is False where member m abstains on row n, `s` weighs the rows.
Ties go to the member of smaller error, then to the lower number, unless said.
"""

from itertools import combinations
from math import ceil, log, sqrt

import numpy as np
from hypothesis import strategies as st

TIE = 1e-9


def random_votes(seed):
    """Return F, y, held_out and s of a small problem; the last two may be None."""
    rng = np.random.default_rng(seed)
    N, M, K = rng.integers(3, 16), rng.integers(1, 9), rng.integers(2, 5)
    y = rng.integers(0, K, size=N)
    F = rng.dirichlet(np.ones(K), size=(N, M))
    F[np.arange(N), :, y] += rng.uniform(0, 0.6, size=M)
    held_out = s = None
    if seed % 2:
        held_out = rng.random((N, M)) < 0.6
        # A pruner is not shown members that never vote.
        held_out[rng.integers(N, size=M), np.arange(M)] = True
    if seed % 4 >= 2:
        s = rng.integers(1, 5, size=N).astype(float)
    if seed % 8 >= 4:
        F = np.eye(K)[F.argmax(axis=2)]
    return F, y, held_out, s


#: Problems of `random_votes`, as a hypothesis strategy.
vote_problems = st.integers(0, 2**20).map(random_votes)


class Rows:
    """Votes, who has a vote, targets and row weights, as lists."""

    def __init__(self, F, y, held_out=None, s=None):
        self.N, self.M, self.K = F.shape
        self.F, self.y = F.tolist(), list(y)
        mask = np.ones((self.N, self.M)) if held_out is None else held_out
        self.present = [[bool(a) for a in row] for row in mask]
        self.s = [1.0] * self.N if s is None else list(s)
        self.vote = [[max(range(self.K), key=f.__getitem__) for f in r] for r in self.F]

    def of(self, m):
        """Yield (row, weight, is right) for the rows that m votes on."""
        for n in range(self.N):
            if self.present[n][m]:
                yield n, self.s[n], self.vote[n][m] == self.y[n]

    def common(self, i, j):
        """Rows that both speak on."""
        return [n for n in range(self.N) if self.present[n][i] and self.present[n][j]]

    def mean(self, m, value):
        """Mean over m's rows of value(row, is right)."""
        weight = sum(s for _, s, _ in self.of(m))
        total = sum(s * value(n, right) for n, s, right in self.of(m))
        return total / weight if weight else 0.0

    def error(self, m):
        if not any(self.present[n][m] for n in range(self.N)):
            return 1 - 1 / self.K
        return self.mean(m, lambda n, right: not right)

    def counts(self, n, members):
        """Votes for each class on a row."""
        return [
            sum(self.present[n][m] and self.vote[n][m] == k for m in members)
            for k in range(self.K)
        ]

    def failing(self, n, members):
        """1 wrong or silent, 1/2 at a tie, 0 right."""
        counts = self.counts(n, members)
        own = counts.pop(self.y[n])
        if own + sum(counts) == 0 or own < max(counts):
            return 1.0
        return 0.5 if own == max(counts) else 0.0

    def committee_error(self, members):
        rows = [n for n in range(self.N) if any(self.present[n][m] for m in members)]
        weight = sum(self.s[n] for n in rows)
        wrong = sum(self.s[n] * self.failing(n, members) for n in rows)
        return wrong / weight if weight else 1.0

    def first(self, score, members, sign=1):
        """Member of least score; ties by sign * (error, number)."""
        least = min(score[m] for m in members)
        tied = [m for m in members if score[m] <= least + TIE]
        return min(tied, key=lambda m: (sign * round(self.error(m), 9), sign * m))

    def sorted(self, score):
        """All members by score, least first."""
        order = []
        while len(order) < self.M:
            rest = [m for m in range(self.M) if m not in order]
            order.append(self.first(score, rest))
        return order


def best(rows):
    return rows.sorted([0.0] * rows.M)


def best_regression(F, y, held_out, s):
    N, M = F.shape
    errors = []
    for m in range(M):
        mine = [n for n in range(N) if held_out is None or held_out[n, m]]
        weight = sum(1.0 if s is None else s[n] for n in mine)
        total = sum((1.0 if s is None else s[n]) * (F[n, m] - y[n]) ** 2 for n in mine)
        errors.append(total / weight if mine else np.inf)
    return sorted(range(M), key=lambda m: errors[m])


def signature(rows, n, m):
    return rows.present[n][m] * (1 if rows.vote[n][m] == rows.y[n] else -1)


def orientation(rows):
    counted = [n for n in range(rows.N) if any(rows.present[n])]
    ens = {
        n: sum(signature(rows, n, m) for m in range(rows.M)) / sum(rows.present[n])
        for n in counted
    }
    square = sum(rows.s[n] * ens[n] ** 2 for n in counted)
    along = sum(rows.s[n] * ens[n] for n in counted)
    ref = {n: 1 - (along / square if square else 0.0) * ens[n] for n in counted}
    if sum(rows.s[n] * ref[n] ** 2 for n in counted) < TIE * sum(rows.s):
        ref = dict.fromkeys(counted, 1.0)
    length = sqrt(sum(rows.s[n] * ref[n] ** 2 for n in counted))
    cosine = []
    for m in range(rows.M):
        dot = sum(rows.s[n] * ref[n] * signature(rows, n, m) for n in counted)
        own = sqrt(sum(rows.s[n] for n, _, _ in rows.of(m)))
        cosine.append(dot / (length * own) if own else 0.0)
    return rows.sorted([-c for c in cosine]), cosine


def margin_distance(rows, p=0.075):
    counted = [n for n in range(rows.N) if any(rows.present[n])]
    weight = sum(rows.s[n] for n in counted)

    def distance(members):
        total = 0.0
        for n in counted:
            mean = sum(signature(rows, n, m) for m in members) / sum(rows.present[n])
            total += rows.s[n] * (p - mean) ** 2
        return total / weight

    order, distances = [], []
    while len(order) < rows.M:
        rest = [m for m in range(rows.M) if m not in order]
        score = {m: distance([*order, m]) for m in rest}
        order.append(rows.first(score, rest))
        distances.append(sqrt(score[order[-1]]))
    return order, distances


def complementarity(rows):
    order = []
    while len(order) < rows.M:
        rest = [m for m in range(rows.M) if m not in order]
        score = {
            m: -rows.mean(m, lambda n, right: right * rows.failing(n, order))
            for m in rest
        }
        order.append(rows.first(score, rest))
    return order


def concurrency(rows):
    left, order = list(range(rows.M)), []

    def value(n, right):
        wrong = rows.failing(n, left)
        return 2 * wrong + (1 - wrong) if right else -2 * wrong

    while left:
        score = {m: rows.mean(m, value) for m in left}
        worst = rows.first(score, left, sign=-1)
        left.remove(worst)
        order.insert(0, worst)
    return order


def boosting_order(rows):
    K, chance = rows.K, 1 - 1 / rows.K
    d, order = list(rows.s), []

    def errors(members):
        found = {}
        for m in members:
            mine = list(rows.of(m))
            total = sum(d[n] for n, _, _ in mine)
            wrong = sum(d[n] for n, _, right in mine if not right)
            found[m] = wrong / total if mine else chance
        return found

    while len(order) < rows.M:
        rest = [m for m in range(rows.M) if m not in order]
        error = errors(rest)
        k = rows.first(error, rest)
        if error[k] >= chance - TIE:
            d = list(rows.s)
            error = errors(rest)
            k = rows.first(error, rest)
        order.append(k)
        if 0 < error[k] < chance - TIE:
            for n, _, right in rows.of(k):
                d[n] *= 1 / (K * (1 - error[k])) if right else (K - 1) / (K * error[k])
        else:
            d = list(rows.s)
    return order


def contribution(rows):
    def value_of(m):
        def value(n, right):
            counts = rows.counts(n, range(rows.M))
            share = [c / sum(counts) for c in counts]
            second, largest = sorted(share)[-2:]
            mine = share[rows.vote[n][m]]
            if right:
                return 2 * largest - mine if mine < largest else second
            return share[rows.y[n]] - mine - largest

        return rows.mean(m, value)

    score = [value_of(m) for m in range(rows.M)]
    return rows.sorted([-v for v in score]), score


def kappa_of(rows, i, j):
    """Cohen's kappa on common rows, None if there are none."""
    both = rows.common(i, j)
    weight = sum(rows.s[n] for n in both)
    if not both:
        return None
    alike = sum(rows.s[n] for n in both if rows.vote[n][i] == rows.vote[n][j]) / weight
    chance = sum(
        sum(rows.s[n] for n in both if rows.vote[n][i] == k)
        * sum(rows.s[n] for n in both if rows.vote[n][j] == k)
        for k in range(rows.K)
    ) / (weight**2)
    return 1.0 if chance > 1 - TIE else (alike - chance) / (1 - chance)


def kappa(rows):
    """Pairs by kappa, then by number; the member of less error first."""
    value = {p: kappa_of(rows, *p) for p in combinations(range(rows.M), 2)}
    key = {p: np.inf if v is None else round(v, 9) for p, v in value.items()}
    order = []
    for pair in sorted(value, key=lambda p: (key[p], p)):
        for m in sorted(pair, key=lambda m: (round(rows.error(m), 9), m)):
            if m not in order:
                order.append(m)
    return order or [0]


def divergence(rows, i, j, smoothing):
    """Kullback-Leibler divergence there and back, None without a common row."""
    both = rows.common(i, j)
    if not both:
        return None

    def p(n, m):
        f = [max(v, 0.0) for v in rows.F[n][m]]
        f = [v / sum(f) for v in f]
        return [(1 - smoothing) * v + smoothing / rows.K for v in f]

    total = 0.0
    for n in both:
        for a, b in zip(p(n, i), p(n, j), strict=True):
            total += rows.s[n] * (a * log(a / b) + b * log(b / a))
    return total / sum(rows.s[n] for n in both)


def kl(rows, smoothing=0.01):
    pairs = {p: divergence(rows, *p, smoothing) for p in combinations(range(rows.M), 2)}
    known = [v for v in pairs.values() if v is not None]
    mean = sum(known) / len(known) if known else 0.0
    J = {p: mean if v is None else v for p, v in pairs.items()}
    J |= {(j, i): v for (i, j), v in J.items()}
    order = []
    while len(order) < rows.M:
        rest = [m for m in range(rows.M) if m not in order]
        score = {
            m: -sum(J[m, o] for o in order)
            if order
            else -max((J[m, o] for o in rest if o != m), default=0.0)
            for m in rest
        }
        order.append(rows.first(score, rest))
    return order


def hull_pairs(rows):
    """Pairs with no convex combination of two others to the lower left of them."""
    points = {}
    for i, j in combinations(range(rows.M), 2):
        x = kappa_of(rows, i, j)
        if x is not None:
            points[i, j] = (x, (rows.error(i) + rows.error(j)) / 2)
    if not points:
        return set()
    left = min(x for x, _ in points.values())
    lowest = min(e for _, e in points.values())
    top = min(e for x, e in points.values() if x <= left + TIE)
    right = min(x for x, e in points.values() if e <= lowest + TIE)

    def on_hull(x, e):
        if x > right + TIE or e > top + TIE:
            return False
        for (x1, e1), (x2, e2) in combinations(points.values(), 2):
            if x1 > x2:
                x1, e1, x2, e2 = x2, e2, x1, e1
            if x1 - TIE <= x <= x2 + TIE and x2 - x1 > TIE:
                below = e1 + (e2 - e1) * (x - x1) / (x2 - x1)
                if e > below + TIE:
                    return False
        return all(e <= b + TIE for a, b in points.values() if abs(a - x) <= TIE)

    return {pair for pair, point in points.items() if on_hull(*point)}


def drep(rows, rho=0.4):
    def diff(i, j):
        both = rows.common(i, j)
        weight = sum(rows.s[n] for n in both)
        signs = ((rows.vote[n][i] == rows.vote[n][j]) * 2 - 1 for n in both)
        total = sum(rows.s[n] * a for n, a in zip(both, signs, strict=True))
        return total / weight if both else 0.0

    order = [rows.first([rows.error(m) for m in range(rows.M)], range(rows.M))]
    while len(order) < rows.M:
        rest = [m for m in range(rows.M) if m not in order]
        d = {m: sum(diff(m, o) for o in order) / len(order) for m in rest}
        key = {m: (round(d[m], 9), round(rows.error(m), 9), m) for m in rest}
        near = sorted(rest, key=key.get)[: ceil(rho * len(rest))]
        error = {m: rows.committee_error([*order, m]) for m in near}
        order.append(rows.first(error, near))
    return order


def reduce_error(error_of, first, M, n_members):
    """Greedy with back-fitting; error_of(members), first(score, members)."""
    chosen = []

    def grow():
        rest = [m for m in range(M) if m not in chosen]
        score = {m: error_of([*chosen, m]) for m in rest}
        chosen.append(first(score, rest))

    for u in range(1, M + 1):
        grow()
        for _ in range(100 if 1 < u <= n_members and u < M else 0):
            before = list(chosen)
            for place in range(u):
                m = chosen.pop(place)
                rest = [k for k in range(M) if k not in chosen]
                score = {k: error_of([*chosen, k]) for k in rest}
                k = first(score, rest)
                chosen.insert(place, m if score[m] <= score[k] * (1 + TIE) else k)
            if chosen == before:
                break
    return chosen


def path_errors(F, y, order, held_out=None, s=None):
    """Mean loss of the first k members, and its standard error, for every k."""
    N = len(F)
    errors, spreads = [], []
    for k in range(1, len(order) + 1):
        losses, weights = [], []
        for n in range(N):
            voices = [F[n, m] for m in order[:k] if held_out is None or held_out[n, m]]
            if not voices:
                continue
            together = sum(voices) / len(voices)
            wrong = (
                float(np.argmax(together) != y[n]) if F.ndim == 3 else together - y[n]
            )
            losses.append(wrong**2)
            weights.append(1.0 if s is None else s[n])
        total = sum(weights)
        mean = sum(w * v for w, v in zip(weights, losses, strict=True)) / total
        var = sum(w * (v - mean) ** 2 for w, v in zip(weights, losses, strict=True))
        errors.append(mean)
        spreads.append(sqrt(var / total * sum(w * w for w in weights)) / total)
    return errors, spreads
