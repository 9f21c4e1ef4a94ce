"""Trees in C beside m2cgen, emlearn and tl2cgen, and the bytes of every kind of file.

Of a forest of 100 trees the first 20, 20 by prune() and 20 by refine(). All tools get the
same forest of scikit-learn, which to_sklearn makes of a committee. Each program is one C
file, compiled by gcc -Os: bytes of its code and constants, CPU seconds to compile,
microseconds for a row in a loop over fresh rows, and the largest difference from Python: of
probabilities, or of numbers in units of their standard deviation. Cells of rivals that are
not installed are empty; -- is a program that took more than a minute to compile, or that
is no C: an infinite threshold, for missing values only, is written as a name.

The second table has the bytes of each model in files: pickled, the same compressed by lzma,
slim-trees with lzma, save, to_onnx, and save(compact=True), which rounds leaves.
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
from pathlib import Path

import numpy as np
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

from benchmarks._refine_sets import CLASSES, NUMBERS
from benchmarks._timing import show
from committee import prune, refine, save, to_c, to_onnx, to_sklearn
from committee.probabilities import as_probabilities

SETS = {
    **{name: CLASSES[name] for name in ("image", "splice", "adult", "digits (10)")},
    **{
        name: NUMBERS[name] for name in ("friedman1", "robot arm", "borehole", "boston")
    },
}
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
    options = parser.parse_args(argv)
    programs, files = {head: [] for head in HEADS}, []
    for name in options.sets:
        X, X_new, y, _ = SETS[name](0)
        X, y = X[: options.rows], y[: options.rows]
        X, X_new = (np.asarray(part, dtype=np.float32) for part in (X, X_new[:N_ROWS]))
        kind = RandomForestRegressor if name in NUMBERS else RandomForestClassifier
        forest = kind(options.trees, random_state=0).fit(X, y)
        limit = {"max_members": options.members}
        pruned = prune(forest, X, y, oob=True).path_.choose(**limit)
        refined = refine(forest, X, y, oob=True, **limit)
        first = copy.copy(forest)
        first.estimators_ = forest.estimators_[: options.members]
        first.n_estimators = options.members
        models = {f"first {options.members}": first}
        models |= {f"pruned to {pruned.n_members_}": pruned}
        models |= {f"refined to {refined.n_members_}": refined}
        files.append([name, f"forest of {options.trees}", *sizes(forest)])
        for label, model in models.items():
            files.append([name, label, *sizes(model)])
            plain = model if model is first else to_sklearn(model, calibration=None)
            found = []
            for write in TOOLS.values():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    set_before = np.geterr()  # which emlearn changes
                    found.append(program(write, plain, X_new, np.std(y)))
                    np.seterr(**set_before)
            for head, cells in zip(HEADS, zip(*found, strict=True), strict=True):
                programs[head].append([name, label, *cells])
                print(name, label, head, *cells, sep=" | ", flush=True)
            print(name, label, "files", *files[-1][2:], sep=" | ", flush=True)
    for head, rows in programs.items():
        show(f"Compiled by gcc -Os: {head}", ["set", "model", *TOOLS], rows)
    heads = ["pickle", "lzma", "slim-trees", "save", "ONNX", "compact"]
    show("Files, kB", ["set", "model", *heads], files)


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


def sizes(model):
    """Return kilobytes of the files of a model."""
    plain = to_sklearn(model) if hasattr(model, "roster_") else model
    content = pickle.dumps(plain, protocol=5)
    found = [len(content), len(lzma.compress(content)), _slim(plain)]
    with tempfile.TemporaryDirectory() as folder:
        for how in ("save", "onnx", "compact"):
            path = Path(folder, how)
            if how != "onnx":
                save(model, path, compact=how == "compact")
            elif hasattr(model, "roster_"):
                to_onnx(model, path)
            else:
                found.append(float("nan"))
                continue
            found.append(path.stat().st_size)
    return ["" if np.isnan(size) else f"{size / 1000:,.0f}" for size in found]


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
