"""Trees in C beside m2cgen, emlearn and tl2cgen, and the bytes of every kind of file.

Of a forest (--trees, 100) the first trees (--members, 20), as many by prune() and by
refine(), trained on up to --rows rows (2,000). All tools get the same forest of
scikit-learn, which to_sklearn makes of a committee. Each program is one C file, compiled by
gcc -Os: bytes of its code and constants, CPU seconds to compile, microseconds for a row in a
loop over fresh rows, and the largest difference from Python: of probabilities, or of numbers
in units of their standard deviation. Cells of rivals that are not installed are empty; -- is
a program that took more than a minute to compile, or that is no C: an infinite threshold,
for missing values only, is written as a name.

The second table has the bytes of each model in files: pickled, the same compressed by lzma,
slim-trees with lzma, save, to_onnx, and save(compact=True), which rounds leaves.

--runtime has other tables of the same models: microseconds for a row of `predict` in
Python, onnxruntime and C, called with one row and with a batch of up to 1,000 fresh rows,
in turns on one thread, least of 50 or more; and the time to load files.

--merge has the largest difference between three boosters of 50 rounds that `merge` makes
one, and the weighted sum of their raw scores, in standard deviations of that sum.
"""

import argparse
import copy
import ctypes
import lzma
import pickle
import resource
import subprocess
import tempfile
import time
import warnings
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks._refine_sets import CLASSES, NUMBERS
from benchmarks._timing import show
from committee import (
    compiled,
    load,
    merge,
    prune,
    refine,
    save,
    to_c,
    to_onnx,
    to_sklearn,
)
from committee.probabilities import as_probabilities

SETS = {
    **{name: CLASSES[name] for name in ("image", "splice", "adult", "digits (10)")},
    **{
        name: NUMBERS[name] for name in ("friedman1", "robot arm", "borehole", "boston")
    },
}
#: Files of a model, in their order in the table.
FILES = ("pickle", "lzma", "slim-trees", "save", "ONNX", "compact")
HEADS = ("kB", "CPU seconds to compile", "microseconds a row", "largest difference")
#: Seconds that a compiler may take for a program.
PATIENCE = 60
#: Rows that are predicted.
N_ROWS = 1000

_LOOP = """
void rows(const float *x, long n, float *out);
void rows(const float *x, long n, float *out)
{
    for (long i = 0; i < n; i++, x += %d, out += %d) {
        %s
    }
}
"""


def ours(model, width, n_out, dtype="float32"):
    code = to_c(model, dtype=dtype)
    call = (
        "model_predict_proba({x}, out);" if n_out > 1 else "*out = model_predict({x});"
    )
    if dtype == "int16":
        quantize = f"int16_t q[{width}]; model_quantize(x, q); "
        return code, quantize + call.format(x="q")
    return code, call.format(x="x")


def m2cgen(model, width, n_out):
    import m2cgen

    copied = f"double v[{width}]; for (int j = 0; j < {width}; j++) v[j] = x[j]; "
    if n_out == 1:
        return m2cgen.export_to_c(model), f"{copied}*out = score(v);"
    moved = f"for (int k = 0; k < {n_out}; k++) out[k] = p[k];"
    return m2cgen.export_to_c(model), f"{copied}double p[{n_out}]; score(v, p); {moved}"


def emlearn(model, width, n_out):
    import emlearn

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.h")
        found = emlearn.convert(model, method="inline", dtype="float")
        found.save(file=str(path), name="model")
        code = path.read_text()
    if n_out == 1:
        return code, f"*out = model_predict(x, {width});"
    return code, f"model_predict_proba(x, {width}, out, {n_out});"


def tl2cgen(model, width, n_out):
    import tl2cgen
    import treelite

    with tempfile.TemporaryDirectory() as folder:
        found = treelite.sklearn.import_model(model)
        tl2cgen.generate_c_code(found, dirpath=folder, params={})
        header = Path(folder, "header.h").read_text()
        code = Path(folder, "main.c").read_text().replace('#include "header.h"', header)
    entry = f"union Entry e[{width}]; double p[{n_out}] = {{0}}; "
    entry += f"for (int j = 0; j < {width}; j++) if (x[j] == x[j]) e[j].fvalue = x[j]; "
    entry += "else e[j].missing = -1; predict(e, 0, p); "
    return code, f"{entry}for (int k = 0; k < {n_out}; k++) out[k] = p[k];"


def in_int16(model, width, n_out):
    return ours(model, width, n_out, dtype="int16")


TOOLS = {
    "to_c": ours,
    "to_c, int16": in_int16,
    "m2cgen": m2cgen,
    "emlearn": emlearn,
    "tl2cgen": tl2cgen,
}


def main(argv=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks ship")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--members", type=int, default=20)
    parser.add_argument("--rows", type=int, default=2000)
    parser.add_argument("--sets", nargs="*", default=list(SETS), choices=list(SETS))
    for name in ("runtime", "merge"):
        parser.add_argument(f"--{name}", action="store_true")
    options = parser.parse_args(argv)
    if options.runtime:
        runtimes(options)
    elif options.merge:
        merges(options)
    else:
        programs_and_files(options)


def programs_and_files(options):
    """Show the tables of C programs, and the bytes of all files."""
    programs, files = {head: [] for head in HEADS}, []
    for name in options.sets:
        forest, pruned, refined, X_new, unit = trained(name, options)
        first = copy.copy(forest)
        first.estimators_ = forest.estimators_[: options.members]
        first.n_estimators = options.members
        models = {f"first {options.members}": first}
        models |= {f"pruned to {pruned.n_members_}": pruned}
        models |= {f"refined to {refined.n_members_}": refined}
        for label, model in {f"forest of {options.trees}": forest, **models}.items():
            sizes = file_bytes(model).values()
            files.append([name, label, *map(kilobytes, sizes)])
            print("files", *files[-1], sep=" | ", flush=True)
        for label, model in models.items():
            plain = model if model is first else to_sklearn(model, calibration=None)
            found = []
            for write in TOOLS.values():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    set_before = np.geterr()  # which emlearn changes
                    found.append(program(write, plain, X_new, unit))
                    np.seterr(**set_before)
            for head, cells in zip(HEADS, zip(*found, strict=True), strict=True):
                programs[head].append([name, label, *cells])
                print(name, label, head, *cells, sep=" | ", flush=True)
    for head, rows in programs.items():
        show(f"Compiled by gcc -Os: {head}", ["set", "model", *TOOLS], rows)
    show("Files, kB", ["set", "model", *FILES], files)


def trained(name, options):
    """Return a forest, 20 of its trees, the same refined, fresh rows, and the unit of y."""
    X, X_new, y, _ = SETS[name](0)
    X, y = X[: options.rows], y[: options.rows]
    X, X_new = (np.asarray(part, dtype=np.float32) for part in (X, X_new))
    kind = RandomForestRegressor if name in NUMBERS else RandomForestClassifier
    forest = kind(options.trees, random_state=0).fit(X, y)
    limit = {"max_members": options.members}
    pruned = prune(forest, X, y, oob=True).path_.choose(**limit)
    refined = refine(forest, X, y, oob=True, random_state=0, **limit)
    return forest, pruned, refined, X_new[:N_ROWS], np.std(y)


def runtimes(options):
    """Show microseconds for a row of one and of a batch, and of loading the files."""
    serving, loading = [], []
    for name in options.sets:
        _, pruned, refined, X_new, _ = trained(name, options)
        found = {f"pruned to {pruned.n_members_}": pruned}
        found |= {f"refined to {refined.n_members_}": refined}
        for label, model in found.items():
            cells = []
            for rows in (X_new[:1], X_new):
                runs = [model, compiled(model, "onnx"), compiled(model, "c")]
                cells += microseconds([run.predict for run in runs], rows)
            serving.append([name, label, str(len(X_new)), *cells])
            print(*serving[-1], sep=" | ", flush=True)
        loading.append([name, f"refined to {refined.n_members_}", *loaded(refined)])
        print(*loading[-1], sep=" | ", flush=True)
    heads = [
        f"{rows}: {kind}" for rows in ("1", "N") for kind in ("Python", "onnx", "c")
    ]
    show("predict: microseconds for a row", ["set", "model", "N", *heads], serving)
    heads = ["kB", "ms", "compact kB", "ms"]
    show("load: kB of the file, and milliseconds", ["set", "model", *heads], loading)


def microseconds(calls, rows):
    """Return the least of several times for a row, of calls in turns."""
    number, times = max(1, 10 // len(rows)), np.full(len(calls), np.inf)
    for _ in range(200 if number > 1 else 50):
        for i, call in enumerate(calls):
            start = time.perf_counter()
            for _ in range(number):
                call(rows)
            took = (time.perf_counter() - start) / number / len(rows)
            times[i] = min(times[i], took)
    return [f"{1e6 * t:.{0 if t > 2e-5 else 2 if t < 2e-6 else 1}f}" for t in times]


def loaded(model):
    """Return kB and the least milliseconds to load of both kinds of file."""
    cells = []
    with tempfile.TemporaryDirectory() as folder:
        for compact in (False, True):
            path, times = Path(folder, f"m{compact}"), []
            save(model, path, compact=compact)
            for _ in range(10):
                start = time.perf_counter()
                load(path)
                times.append(time.perf_counter() - start)
            size = path.stat().st_size
            cells += [kilobytes(size), f"{1e3 * min(times):.1f}"]
    return cells


def boosters(name):
    """Return the class of a booster of each library that is installed."""
    end = "Regressor" if name in NUMBERS else "Classifier"
    found = {
        "GradientBoosting": ("sklearn.ensemble", {"n_estimators": 50}),
        "HistGradientBoosting": ("sklearn.ensemble", {"max_iter": 50}),
        "LGBM": ("lightgbm", {"n_estimators": 50, "verbose": -1}),
        "XGB": ("xgboost", {"n_estimators": 50}),
        "CatBoost": (
            "catboost",
            {"iterations": 50, "verbose": 0, "allow_writing_files": False},
        ),
    }
    return {
        kind: partial(getattr(import_module(module), kind + end), **how)
        for kind, (module, how) in found.items()
        if find_spec(module) is not None
    }


def merges(options):
    """Show how far merged boosters are from the weighted sum of the raw scores."""
    rows, kinds, w = [], [], (0.5, 0.3, 0.2)
    for name in options.sets:
        X, X_new, y, _ = SETS[name](0)
        X, y = X[: options.rows], y[: options.rows]
        kinds, cells = boosters(name), []
        for kind, make in kinds.items():
            if kind == "GradientBoosting" and np.isnan(X).any():  # which it refuses
                cells.append("")
                continue
            models = [make().fit(X[i::3], y[i::3]) for i in range(3)]
            f = np.tensordot(w, [raw(model, X_new) for model in models], axes=1)
            cells.append(
                f"{abs(raw(merge(models, w), X_new) - f).max() / np.std(f):.0e}"
            )
        rows.append([name, *cells])
        print(*rows[-1], sep=" | ", flush=True)
    title = "merge: largest difference, in standard deviations of the raw scores"
    show(title, ["set", *kinds], rows)


def raw(model, X):
    """Return the raw scores of a booster by its own library."""
    how = {
        "lightgbm": {"raw_score": True},
        "xgboost": {"output_margin": True},
        "catboost": {"prediction_type": "RawFormulaVal"},
    }.get(type(model).__module__.split(".")[0])
    if how is None:
        f = getattr(model, "decision_function", model.predict)(X)
    else:
        f = model.predict(X, **how)
    return np.asarray(f, dtype=float)


def program(write, model, X, unit):
    """Return the cells of HEADS; empty ones for a tool that is not installed."""
    n_out = len(model.classes_) if hasattr(model, "classes_") else 1
    if n_out > 1:  # refined leaves may be below zero, where to_c cuts
        unit, cut = 1.0, as_probabilities
        expected = cut(model.predict_proba(X))
    else:
        cut, expected = np.asarray, model.predict(X)[:, None]
    try:
        code, call = write(model, X.shape[1], n_out)
    except ImportError:
        return [""] * len(HEADS)
    with tempfile.TemporaryDirectory() as folder:
        source = f"{code}\n{_LOOP % (X.shape[1], n_out, call)}"
        Path(folder, "m.c").write_text(source)
        command = ["gcc", "-Os", "-w", "-fPIC", "-c", "m.c", *_includes()]
        before = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime
        done = subprocess.run(command, cwd=folder, check=False, preexec_fn=_patience)
        seconds = resource.getrusage(resource.RUSAGE_CHILDREN).ru_utime - before
        if done.returncode:  # of rivals only: "inf" is no number in C
            slow = seconds > 0.9 * PATIENCE
            return ["--", f"> {PATIENCE}" if slow else "no C", "--", "--"]
        counted = subprocess.run(
            ["size", "m.o"], cwd=folder, check=True, capture_output=True, text=True
        )
        text, data, *_ = map(int, counted.stdout.splitlines()[1].split()[:3])
        link = ["gcc", "-shared", "-o", "m.so", "m.o", "-lm"]
        subprocess.run(link, cwd=folder, check=True)
        rows = ctypes.CDLL(str(Path(folder, "m.so"))).rows
    out = np.zeros((len(X), n_out), dtype=np.float32)
    rows.argtypes = [ctypes.c_void_p, ctypes.c_long, ctypes.c_void_p]
    times = []
    for _ in range(5):
        start = time.process_time()
        rows(X.ctypes.data, len(X), out.ctypes.data)
        times.append(time.process_time() - start)
    return [
        f"{(text + data) / 1000:.1f}",
        f"{seconds:.2f}",
        f"{1e6 * min(times) / len(X):.2f}",
        f"{abs(cut(out) - expected).max() / unit:.1e}",
    ]


def _patience():
    """Limit the CPU seconds of a compiler, and of the processes that it starts."""
    resource.setrlimit(resource.RLIMIT_CPU, (PATIENCE, PATIENCE))


def _includes():
    try:
        import emlearn
    except ImportError:
        return []
    return ["-I", emlearn.includedir]


def file_bytes(model):
    """Return the bytes of the files of a model by FILES, NaN where there is none."""
    plain = to_sklearn(model) if hasattr(model, "roster_") else model
    content = pickle.dumps(plain, protocol=5)
    found = [len(content), len(lzma.compress(content)), _slim(plain)]
    with tempfile.TemporaryDirectory() as folder:
        for how in FILES[3:]:
            path = Path(folder, how)
            if how != "ONNX":
                save(model, path, compact=how == "compact")
            elif hasattr(model, "roster_"):
                to_onnx(model, path)
            found.append(path.stat().st_size if path.exists() else float("nan"))
    return dict(zip(FILES, found, strict=True))


def kilobytes(size):
    return "" if np.isnan(size) else f"{size / 1000:,.{size < 10_000:d}f}"


def _slim(model):
    """Return the bytes of slim-trees with lzma, NaN where it cannot write the model."""
    try:
        from slim_trees import dumps_sklearn_compressed
    except ImportError:
        return float("nan")
    try:
        return len(dumps_sklearn_compressed(model, compression="lzma"))
    except Exception:  # noqa: BLE001 (of whatever scikit-learn it was made for)
        return float("nan")


if __name__ == "__main__":
    main()
