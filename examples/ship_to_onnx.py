"""
How do I ship it to where there is no Python?
=============================================

`to_onnx` writes one file that onnxruntime serves from C, Java, JavaScript or a phone.
The pruned model is a small file with short answers.
"""

# %%
# A forest, and what `prune` leaves of it.
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import train_test_split

from committee import prune, to_onnx

X, X_test, y, y_test = train_test_split(*load_digits(return_X_y=True), random_state=0)
X, X_test = X.astype(np.float32), X_test.astype(np.float32)
forest = RandomForestClassifier(200, random_state=0).fit(X, y)
small = prune(forest, X, y, oob=True)
whole = prune(forest, X, y, oob=True, combiner="average")

# %%
# The file gives the same labels and probabilities, without scikit-learn or committee.
found = {}
with tempfile.TemporaryDirectory() as folder:
    for name, model in (("all 200 trees", whole), (f"{small.n_members_} trees", small)):
        path = Path(folder) / "digits.onnx"
        to_onnx(model, path)
        session = onnxruntime.InferenceSession(path)
        labels, p = session.run(None, {"X": X_test})
        assert (labels == model.predict(X_test)).all()
        assert abs(p - model.predict_proba(X_test)).max() < 1e-5
        start = time.perf_counter()
        for row in X_test:
            session.run(None, {"X": row[None]})
        seconds = (time.perf_counter() - start) / len(X_test)
        error = 100 * np.mean(labels != y_test)
        found[name] = (path.stat().st_size / 1e6, 1e6 * seconds, error)
        print(f"{name}: %.2f MB, %.0f µs for a row, %.1f %% wrong" % found[name])

# %%
import matplotlib.pyplot as plt

figure, axes = plt.subplots(1, 3, figsize=(9, 3), layout="constrained")
for i, title in enumerate(["megabytes", "µs for one row", "wrong test rows in %"]):
    axes[i].bar(list(found), [row[i] for row in found.values()], color=["C7", "C0"])
    axes[i].set_title(title)
plt.show()
