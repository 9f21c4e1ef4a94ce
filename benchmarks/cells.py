"""Kernel machines in cells against Nystroem, random subsets, one machine and boosting.

Seconds are CPU seconds of one thread, `python -m benchmarks cells` limits BLAS itself.
Test rows are looked at once, by what was chosen on training rows.
"""

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
from committee import CoupledKernelClassifier, CoupledKernelRegressor
from committee.cells import CellOptions, border_points, train_cells

#: The largest training set of the dense machine.
_DENSE = 10_000
#: Of Nystroem: the last takes most of the minutes, and `--few` leaves it out.
COMPONENTS = [300, 1000, 3000]
COLUMNS = [
    "model", "error", "+-", "choose s", "fit s", "predict s",
    "fit x", "both x", "predict x",
]  # fmt: skip


def main(argv: list[str]) -> None:
    parts = {
        "regression": lambda names: table(names or REGRESSION),
        "classification": lambda names: table(names or CLASSIFICATION),
        "large": lambda names: table(names or ("waves", "friedman 1"), 100_000),
        "small": lambda names: table(names or ("torque", "magic"), 12_500),
        "borders": borders,
        "million": million,
    }
    if "--few" in argv:
        COMPONENTS.remove(3000)
    name, *rest = [word for word in argv if word != "--few"] or ["all"]
    wanted = ["regression", "classification", "borders"] if name == "all" else [name]
    with threadpool_limits(1):
        for part in wanted:
            parts[part](rest)


def cpu(call):
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def table(names, most=20_000):
    """One table for each set; ratios are to the cells of default settings."""
    for name in names:
        data = split(name, most=most)
        if data is not None:
            show(*_compared(name, *data))


def _compared(name, X, y, X_test, y_test):
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

    def in_cells(label, **options):
        """Fit once with everything chosen, and once with what was chosen given."""
        model = kind(subsets="cells", **options)
        t_all, _ = cpu(lambda: model.fit(X, y))
        t_new, f = cpu(lambda: model.predict(X_test))
        k = model.kernel_
        again = clone(model).set_params(
            kernel=k.name, gamma=k.gamma, alpha=model.alpha_, coupling=model.coupling_
        )
        t_fit, _ = cpu(lambda: again.fit(X, y))
        return label, losses(f), max(t_all - t_fit, 0.0), t_fit, t_new

    kind = CoupledKernelClassifier if classes else CoupledKernelRegressor
    rows = [
        in_cells("cells"),
        in_cells("cells, learned metric", metric="learned"),
    ]
    t, (kernel, alpha) = cpu(lambda: chosen_nystroem(X, Y))
    rows += [
        row(f"Nystroem({m}) + Ridge", t, NystroemRidge(kernel, alpha, m), Y)
        for m in COMPONENTS
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
    _, _, our_choice, our_fit, our_new = rows[0]
    our_all = our_choice + our_fit
    lines = [
        [
            label, f"{e.mean():.4f}", f"{e.std() / np.sqrt(len(e)):.4f}", f"{choose:.2f}",
            f"{fit:.2f}", f"{new:.3f}", f"{fit / our_fit:.1f}",
            f"{(choose + fit) / our_all:.1f}", f"{new / our_new:.1f}",
        ]
        for label, e, choose, fit, new in rows
    ]  # fmt: skip
    what = "wrong labels" if classes else "MSE of a target of variance one"
    size = f"{len(X):,} rows, {X.shape[1]} columns"
    return f"{name}: {size}; {what}; x: times the cells'", COLUMNS, lines


def borders(names):
    """Jumps between cells on their borders, and what coupling does to the error."""
    rows = []
    for name in names or ("friedman 1", "piston", "torque", "waves", "weierstrass"):
        X, y, X_test, y_test = split(name)
        first = train_cells(X, y[:, None], None, CellOptions(700))
        k, at, losses = first.model.kernel, {}, {}
        for nu in (0.0, 10.0):
            options = CellOptions(700, k.name, k.gamma, first.alpha, (nu,))
            fitted = train_cells(X, y[:, None], None, options)
            model = fitted.model
            losses[nu] = (model.predict(X_test)[:, 0] - y_test) ** 2
            cell = model.tree.cell_of(X_test)
            cells = [np.flatnonzero(cell == c) for c in range(model.tree.n_cells)]
            fresh = border_points(model.tree, X_test, cells, 16)
            at[nu] = (
                _jump(model, first.borders),
                _jump(model, fresh),
                _step(model, fresh, X_test.std()),
            )
        ratios = [a / b for a, b in zip(at[0.0], at[10.0], strict=True)]
        p = wilcoxon(losses[10.0] - losses[0.0]).pvalue
        rows.append(
            [
                name, str(X.shape[1]), f"{first.coupling:g}", f"{at[0.0][0]:.3f}",
                f"{ratios[0]:.0f}", f"{at[0.0][1]:.3f}", f"{ratios[1]:.1f}",
                f"{at[10.0][2]:.0e}", *(f"{e.mean():.4f}" for e in losses.values()),
                f"{p:.0e}",
            ]
        )  # fmt: skip
    columns = [
        "data", "columns", "LOO takes", "coupled points", "x less", "fresh points",
        "x less", "f", "MSE 0", "MSE 10", "p",
    ]  # fmt: skip
    title = "root mean square jump between cells of 700; of f itself; coupling 0 and 10"
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
        model = CoupledKernelRegressor(subsets="cells", n_jobs=2)
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
