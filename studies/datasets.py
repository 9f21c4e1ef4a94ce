"""Every data set of the studies by its name: drawn, enumerated, from a folder, fetched."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from committee._typing import FloatArray, IntArray
from studies import generators
from studies.boards import tic_tac_toe

#: Drawn from a formula, with the rows that the papers use for training and testing.
DRAWN = {
    **dict.fromkeys(generators.SURFACES, 1250),
    "sine": 80,
    "synth": 1250,
    "twonorm": 7400,
    "ringnorm": 7400,
    "waveform": 5000,
}
#: Binary sets of Raetsch, Onoda and Mueller with fixed splits: raetsch_NAME.npz.
RAETSCH = tuple(
    f"raetsch_{name}"
    for name in (
        "banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart",
        "image", "ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform",
    )
)  # fmt: skip
#: Sets that OpenML has where the folder has no NAME.npz, and their numbers there.
OPENML = {"adult": 1590, "australian": 40981, "boston": 531}
NAMES = (*DRAWN, "tic-tac-toe", *RAETSCH, *OPENML)


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, targets and what is known about them.

    Attributes
    ----------
    X : array of shape (N, D)
    y : array of shape (N,)
        Numbers, or class codes 0..K-1.
    source : str
        Where the rows come from.
    clean : array of shape (N,) or None
        Targets without their noise, where they are known.
    train, test : arrays of shape (S, n) or None
        Row numbers of S fixed splits. A row number may occur more than once.
    """

    X: FloatArray
    y: FloatArray | IntArray
    source: str
    clean: FloatArray | None = None
    train: IntArray | None = None
    test: IntArray | None = None


def load(
    name: str,
    *,
    n: int | None = None,
    seed: int = 0,
    data: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Return one of `NAMES`.

    Those that are a formula are drawn, tic-tac-toe is enumerated. The others are read
    from a folder of .npz files with arrays `X` and `y` (and `train_idx`, `test_idx`),
    or `X_train`, `y_train`, `X_test` and `y_test`; adult, australian and boston are
    otherwise fetched from OpenML, once: scikit-learn keeps a copy.

    Parameters
    ----------
    name : str
    n : int, optional
        Rows of a set that is drawn; those of the papers unless given.
    seed : int, default=0
        Of a set that is drawn. The same seed gives the same rows.
    data : path, optional
        The folder; the environment variable COMMITTEE_DATA unless given.
    """
    if name not in NAMES:
        raise ValueError(f"There is no data set {name!r}, only {', '.join(NAMES)}.")
    if name in DRAWN:
        return _draw(name, DRAWN[name] if n is None else n, seed)
    if name == "tic-tac-toe":
        return Dataset(*tic_tac_toe(), "enumerated")
    return _stored(name, data)


def _draw(name: str, n: int, seed: int) -> Dataset:
    """Draw n rows of a formula."""
    rng = np.random.default_rng(seed)
    source = f"drawn with seed {seed}"
    if name in generators.SURFACES:
        X, y, clean = generators.sample_surface(name, n, rng)
        return Dataset(X, y, source, clean)
    X, y = getattr(generators, name)(n, rng)
    return Dataset(X, y, source)


def _stored(name: str, data: str | os.PathLike[str] | None) -> Dataset:
    """Read a set from the folder, or else fetch it."""
    folder = os.environ.get("COMMITTEE_DATA") if data is None else data
    if folder is not None and (path := Path(folder) / f"{name}.npz").exists():
        return _read(name, path)
    needs = f"The data set {name!r} needs {name}.npz and " + (
        "no folder was given" if folder is None else f"it is not in {folder}"
    )
    give = "set COMMITTEE_DATA or give --data DIR, the folder that holds it"
    if name not in OPENML:
        raise FileNotFoundError(f"{needs}: {give}.")
    try:
        return _fetch(name)
    except OSError as error:
        raise FileNotFoundError(
            f"{needs}; OpenML, where it is number {OPENML[name]}, did not answer "
            f"({error}): {give}, or try again with a network."
        ) from None


def _read(name: str, path: Path) -> Dataset:
    """Read one archive, with its splits."""
    with np.load(path) as archive:
        arrays = dict(archive)
    if "X_train" in arrays:
        size = len(arrays["X_train"])
        arrays["X"] = np.concatenate([arrays["X_train"], arrays["X_test"]])
        arrays["y"] = np.concatenate([arrays["y_train"], arrays["y_test"]])
        rows = np.arange(len(arrays["X"]))[None]
        arrays["train_idx"], arrays["test_idx"] = rows[:, :size], rows[:, size:]
    if not {"X", "y"} <= arrays.keys():
        raise ValueError(
            f"{path} must contain the arrays X and y, or X_train, y_train, X_test and "
            f"y_test. Got {sorted(arrays)}."
        )
    dataset = _dataset(name, arrays["X"], arrays["y"], str(path))
    if "train_idx" not in arrays:
        return dataset
    train, test = (arrays[key].astype(np.intp) for key in ("train_idx", "test_idx"))
    return replace(dataset, train=train, test=test)


def _fetch(name: str) -> Dataset:
    """Fetch a set from OpenML; scikit-learn keeps a copy on disk."""
    from sklearn.datasets import fetch_openml

    with warnings.catch_warnings():
        # One more try is the least that scikit-learn takes, and it warns of it.
        warnings.filterwarnings("ignore", "A network error occurred")
        bunch = fetch_openml(
            data_id=OPENML[name],
            as_frame=False,
            parser="liac-arff",
            n_retries=1,
            delay=0.1,
        )
    return _dataset(name, bunch.data, bunch.target, f"OpenML {OPENML[name]}")


def _dataset(name: str, X: Any, y: Any, source: str) -> Dataset:
    """Return numbers, and labels as codes 0..K-1 in their order."""
    X = np.asarray(X, dtype=np.float64)
    if name == "boston":
        return Dataset(X, np.asarray(y, dtype=np.float64), source)
    return Dataset(X, np.unique(y, return_inverse=True)[1].astype(np.intp), source)
