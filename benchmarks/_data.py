"""Data sets for benchmarks: where they lie, and how they are read."""

import os
from pathlib import Path

import numpy as np

RAETSCH = (
    "banana",
    "breast-cancer",
    "diabetis",
    "flare-solar",
    "german",
    "heart",
    "image",
    "ringnorm",
    "splice",
    "thyroid",
    "titanic",
    "twonorm",
    "waveform",
)


def folder() -> Path:
    """Return COMMITTEE_DATA, or ../shared/data beside the repository."""
    beside = Path(__file__).resolve().parents[2] / "shared" / "data"
    return Path(os.environ.get("COMMITTEE_DATA", beside))


def load(name: str) -> dict[str, np.ndarray]:
    """Return the arrays of one archive of the data folder."""
    path = folder() / f"{name}.npz"
    if not path.exists():
        raise SystemExit(
            f"The benchmark needs {path.name}, which is not in {folder()}: set "
            "COMMITTEE_DATA to the folder that holds the data sets."
        )
    with np.load(path) as archive:
        return dict(archive)


def raetsch(name: str, split: int) -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test of one predefined split; y is 0 or 1."""
    z = load(f"raetsch_{name}")
    X, y = z["X"].astype(float), (z["y"] > 0).astype(int)
    train, test = z["train_idx"][split], z["test_idx"][split]
    return X[train], y[train], X[test], y[test]


def poker() -> tuple[np.ndarray, ...]:
    """Return X, y, X_test, y_test of the poker hands; y is the rank, 0 to 9."""
    z = load("poker-hand")
    return (
        z["X_train"].astype(float),
        z["y_train"].astype(int),
        z["X_test_part"].astype(float),
        z["y_test_part"].astype(int),
    )
