"""Kernel machines in cells against Nystroem, random subsets, one machine and boosting.

Seconds are CPU seconds of one thread, `python -m benchmarks cells` limits BLAS itself.
Test rows are looked at once, by what was chosen on training rows.
"""

import argparse
import resource
import time

import numpy as np
from scipy.stats import wilcoxon
from sklearn.base import clone
from sklearn.ensemble import (
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from threadpoolctl import threadpool_limits

from benchmarks._cells_data import CLASSIFICATION, REGRESSION, split
from benchmarks._cells_rivals import (
    DenseRidge,
    NystroemRidge,
    chosen_nystroem,
    chosen_random,
    chosen_ridge,
    targets,
)
from benchmarks._timing import show
from committee import (
    BayesianCommitteeClassifier,
    BayesianCommitteeRegressor,
    CellKernelClassifier,
    CellKernelRegressor,
)
from committee.cells import CellOptions, border_points, train_cells

#: The largest training set of the dense machine.
_DENSE = 10_000
#: Of Nystroem: the last takes most of the minutes.
COMPONENTS = [300, 1000, 3000]
COLUMNS = [
    "model", "error", "+-", "choose s", "fit s", "predict s",
    "fit x", "both x", "predict x",
]  # fmt: skip


def main(argv: list[str]) -> None:
    """Print the tables of one part, `--splits` of the rows for each set."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks cells")
    parts = [
        "all",
        "regression",
        "classification",
        "large",
        "small",
        "borders",
        "million",
    ]
    parser.add_argument("part", nargs="?", default="all", choices=parts)
    parser.add_argument("names", nargs="*", help="data sets, or numbers of rows")
    parser.add_argument("--splits", type=int, default=1)
    parser.add_argument("--few", action="store_true", help="without Nystroem(3000)")
    o = parser.parse_args(argv)
    components = COMPONENTS[:-1] if o.few else COMPONENTS
    sets = {
        "regression": (REGRESSION, 20_000),
        "classification": (CLASSIFICATION, 20_000),
        "large": (("waves", "friedman 1"), 100_000),
        "small": (("torque", "magic"), 12_500),
    }
    wanted = (
        ["regression", "classification", "borders"] if o.part == "all" else [o.part]
    )
    with threadpool_limits(1):
        for part in wanted:
            if part in sets:
                names, most = sets[part]
                table(o.names or names, most, o.splits, components)
            else:
                {"borders": borders, "million": million}[part](o.names)


def cpu(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def table(names, most, splits, components):
    """One table for each set, and one of all; ratios are to the cells."""
    lines, labels = [], []
    for name in names:
        data = [split(name, seed, most) for seed in range(splits)]
        if data[0] is None:
            continue
        runs = [_compared(name, *rows, components) for rows in data]
        X = data[0][0]
        size = f"{len(X):,} rows, {X.shape[1]} columns, {splits} splits"
        title = f"{name}: {size}; {_measure(name)}; x: times the cells'"
        found = _means(runs)
        show(title, COLUMNS, found)
        labels = [line[0] for line in found]
        lines.append([name, *(line[1] for line in found)])
    if len(lines) > 1:
        show("errors of all sets", ["data", *labels], lines)


def _measure(name):
    return "MSE of a target of variance one" if name in REGRESSION else "wrong labels"


def _means(runs):
    """Return a line for each model: means over the splits, times as ratios to the first.

    The spread is the standard error of the mean over the splits, of one split over rows.
    """
    lines = []
    ours = np.mean([run[0][2:] for run in runs], axis=0)
    for i, (label, *_) in enumerate(runs[0]):
        errors = [run[i][1] for run in runs]
        means = np.array([e.mean() for e in errors])
        rows = errors[0]
        spread = (
            means.std(ddof=1) / np.sqrt(len(runs))
            if len(runs) > 1
            else rows.std() / np.sqrt(len(rows))
        )
        choose, fit, new = np.mean([run[i][2:] for run in runs], axis=0)
        times = fit / ours[1], (choose + fit) / (ours[0] + ours[1]), new / ours[2]
        lines.append(
            [
                label, f"{means.mean():.4f}", f"{spread:.4f}", f"{choose:.2f}",
                f"{fit:.2f}", f"{new:.3f}", *(f"{x:.1f}" for x in times),
            ]
        )  # fmt: skip
    return lines


def _compared(name, X, y, X_test, y_test, components):
    """Return label, losses of test rows, seconds to choose, fit and predict of each."""
    classes = 0 if name in REGRESSION else int(max(y.max(), y_test.max())) + 1
    Y = targets(y, classes)

    def losses(f):
        if classes:
            f = f if f.ndim == 1 else f.argmax(axis=1)
            return (f != y_test).astype(float)
        return (f.reshape(-1) - y_test) ** 2

    def row(label, choose, model, fit_y, change=lambda f: f):
        t_fit, _ = cpu(lambda: model.fit(X, fit_y))
        t_new, f = cpu(lambda: model.predict(X_test))
        return label, losses(change(f)), choose, t_fit, t_new

    def in_cells(label, model):
        """Fit once with everything chosen, and once with what was chosen given."""
        t_all, _ = cpu(lambda: model.fit(X, y))
        t_new, f = cpu(lambda: model.predict(X_test))
        k = model.kernel_
        again = clone(model).set_params(
            kernel=k.name, gamma=k.gamma, alpha=model.alpha_
        )
        if hasattr(model, "coupling_"):
            again.set_params(coupling=model.coupling_, trend=model.trend_)
        t_fit, _ = cpu(lambda: again.fit(X, y))
        return label, losses(f), max(t_all - t_fit, 0.0), t_fit, t_new

    kind = CellKernelClassifier if classes else CellKernelRegressor
    experts = BayesianCommitteeClassifier if classes else BayesianCommitteeRegressor
    rows = [
        in_cells("cells", kind()),
        in_cells("cells, no trend", kind(trend=False)),
        in_cells("cells, learned metric", kind(metric="learned")),
        in_cells("cells, by precision", experts(random_state=0)),
    ]
    t, (kernel, alpha) = cpu(lambda: chosen_nystroem(X, Y))
    rows += [
        row(f"Nystroem({m}) + Ridge", t, NystroemRidge(kernel, alpha, m), Y)
        for m in components
    ]
    t, (model, offset) = cpu(lambda: chosen_random(X, y, classes))
    rows.append(
        row("random subsets of 200", t, model, y - offset, lambda f: f + offset)
    )
    if len(X) <= _DENSE:
        t, (kernel, alpha) = cpu(lambda: chosen_ridge(X, Y))
        rows.append(row("KernelRidge", t, DenseRidge(kernel, alpha), Y))
    boost = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    rows.append(row("HistGradientBoosting", 0.0, boost(random_state=0), y))
    return rows


#: Coupling and border points of each cell, first those that the others are compared with.
_COUPLED = ((0.0, 32), (10.0, 32), (100.0, 128))


def borders(names):
    """Jumps between cells on their borders, and what coupling does to the error."""
    rows = []
    for name in names or ("friedman 1", "piston", "torque", "waves", "weierstrass"):
        X, y, X_test, y_test = split(name)
        first = train_cells(X, y[:, None], None, CellOptions(700))
        k, found = first.model.kernel, []
        for nu, n in _COUPLED:
            options = CellOptions(
                700, k.name, k.gamma, first.alpha, (nu,), n, precision="double"
            )
            fitted = train_cells(X, y[:, None], None, options)
            model = fitted.model
            cell = model.tree.cell_of(X_test)
            cells = [np.flatnonzero(cell == c) for c in range(model.n_cells)]
            fresh = border_points(model.tree, X_test, cells, 16)
            found.append(
                (
                    (model.predict(X_test)[:, 0] - y_test) ** 2,
                    _jump(model, first.borders),
                    _jump(model, fresh),
                    _step(model, fresh, X_test.std()),
                )
            )
        alone, *coupled = found
        for (nu, n), (e, at, between, step) in zip(_COUPLED[1:], coupled, strict=True):
            rows.append(
                [
                    name, f"{nu:g}", str(n), f"{alone[1]:.3f}", f"{alone[1] / at:.0f}",
                    f"{alone[2]:.3f}", f"{alone[2] / between:.1f}", f"{step:.0e}",
                    f"{alone[0].mean():.4f}", f"{e.mean():.4f}",
                    f"{wilcoxon(e - alone[0]).pvalue:.0e}",
                ]
            )  # fmt: skip
    columns = [
        "data", "nu", "points", "at 32", "x less", "between", "x less", "of f",
        "MSE, 0", "MSE", "p",
    ]  # fmt: skip
    title = "root mean square jump between cells of 700; of f itself; errors"
    show(title, columns, rows)


def _jump(model, at):
    """Return the root mean square of f_i - f_j on the border of i and j."""
    f = [np.empty(len(at.owner)) for _ in range(2)]
    for values, owner in zip(f, (at.owner, at.other), strict=True):
        for c in np.unique(owner):
            values[owner == c] = model.cell_values(c, at.points[owner == c])[:, 0]
    return float(np.sqrt(np.mean((f[0] - f[1]) ** 2)))


def _step(model, at, scale):
    """Return that of f itself, from one side of a border to the other, 1e-9 apart."""
    e = 1e-9 * scale * np.random.default_rng(0).normal(size=at.points.shape)
    f = model.predict(at.points + e) - model.predict(at.points - e)
    return float(np.sqrt(np.mean(f**2)))


def million(sizes):
    """Seconds and memory at N and 10 N, on two threads."""
    rows, rng = [], np.random.default_rng(0)
    for N in [int(n) for n in sizes] or (100_000, 1_000_000):
        X = rng.normal(size=(N + 10_000, 10))
        y = np.sin(2 * X[:, 0]) * X[:, 1] + np.cos(X[:, 2] * X[:, 3]) + X[:, 4] / 2
        y += 0.2 * rng.normal(size=len(y))
        model = CellKernelRegressor(n_jobs=2)
        start = time.perf_counter()
        spent, _ = cpu(lambda m=model, X=X, y=y, N=N: m.fit(X[:N], y[:N]))
        wall = time.perf_counter() - start
        t, f = cpu(lambda m=model, X=X, N=N: m.predict(X[N:]))
        most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        error = np.mean((f - y[N:]) ** 2)
        rows.append(
            [
                f"{N:,}",
                f"{wall:.1f}",
                f"{spent:.1f}",
                f"{most:.2f}",
                f"{t:.2f}",
                f"{error:.4f}",
            ]
        )
    columns = ["rows", "fit s", "CPU s", "peak GB", "predict 10,000 s", "MSE"]
    show("ten columns, two threads; the noise is 0.04", columns, rows)
