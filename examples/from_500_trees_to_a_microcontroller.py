"""
How do 500 trees fit into a microcontroller?
============================================

A forest of 500 trees reads handwritten digits, and needs 24 megabytes. `refine` keeps 20
and fits their leaves again; then they become a compact file, ONNX, or C.
"""

import ctypes
import pickle
import subprocess
import tempfile
from functools import partial
from pathlib import Path
from timeit import repeat

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from committee import compiled, load, prune, refine, save, to_c, to_onnx

X, X_new, y, y_new = train_test_split(*load_digits(return_X_y=True), random_state=0)
forest = RandomForestClassifier(500, random_state=0).fit(X, y)
pruned = prune(forest, X, y, oob=True).path_.choose(max_members=20)
small = refine(forest, X, y, oob=True, max_members=20, max_leaves=1200, random_state=0)

# %%
# One committee in three files. The C program uses 16-bit integers.
folder = Path(tempfile.mkdtemp())
save(small, folder / "m.trees", compact=True)
to_onnx(small, folder / "m.onnx")
to_c(small, folder / "m.h", dtype="int16")
program = "void ask(short *x, float *p) { m_predict_proba(x, p); }"
(folder / "m.c").write_text(f'#include "m.h"\n{program}\n')
for how in ("-c -o m.o m.c", "-shared -o m.so m.o -lm"):
    subprocess.run(["gcc", "-Os", "-fPIC", *how.split()], cwd=folder, check=True)
ask = ctypes.CDLL(str(folder / "m.so")).ask
ask.argtypes = [ctypes.c_void_p, ctypes.c_void_p]


def in_c(X):
    p = np.empty((len(X), 10), np.float32)
    for x, out in zip(X.astype(np.int16), p, strict=True):
        ask(x.ctypes.data, out.ctypes.data)
    return p


# %%
# The cost of each, and its predictions for fresh rows.
size = {path.suffix: path.stat().st_size for path in folder.iterdir()}
stages = {
    "500 trees, pickled": (len(pickle.dumps(forest)), forest.predict_proba),
    "20 pruned, pickled": (len(pickle.dumps(pruned)), pruned.predict_proba),
    "20 refined, pickled": (len(pickle.dumps(small)), small.predict_proba),
    "compact file": (size[".trees"], load(folder / "m.trees").predict_proba),
    "ONNX file": (size[".onnx"], compiled(small).predict_proba),
    "compiled C": (size[".o"], in_c),
}
figure, axes = plt.subplots(1, 3, figsize=(10, 3), sharey=True, layout="constrained")
for name, (n_bytes, predict) in stages.items():
    p = predict(X_new)
    micros = 1e6 * min(repeat(partial(predict, X_new[:1]), number=10)) / 10
    wrong, loss = np.mean(p.argmax(axis=1) != y_new), log_loss(y_new, p)
    print(f"{name}: {n_bytes:,} bytes, {micros:.0f} µs, {wrong:.1%} wrong, {loss:.3f}")
    for ax, value in zip(axes, (n_bytes / 1000, micros, loss), strict=True):
        ax.barh(name, value, color="C0", log=ax is not axes[2])
titles = ("kilobytes", "µs for a row", "log-loss on fresh rows")
for ax, title in zip(axes, titles, strict=True):
    ax.set(title=title)
axes[0].invert_yaxis()
plt.show()
