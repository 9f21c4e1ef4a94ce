"""Every data set of the studies by its name: drawn, bundled, from a folder, fetched."""

from __future__ import annotations

import os
import warnings
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Literal

import numpy as np

from committee._typing import BoolArray, FloatArray, IntArray
from committee.studies import generators
from committee.studies.boards import deal_hands, label_hands, tic_tac_toe

#: Drawn from a formula, with the rows that the papers use for training and testing.
DRAWN = {
    **dict.fromkeys(generators.SURFACES, 1250),
    "sine": 80,
    "synth": 1250,
    "twonorm": 7400,
    "ringnorm": 7400,
    "waveform": 5000,
    "poker": 25010,
}
#: Shipped with scikit-learn, under its names.
BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
#: Binary sets of Raetsch, Onoda and Mueller with fixed splits: raetsch_NAME.npz.
RAETSCH = tuple(
    f"raetsch_{name}"
    for name in (
        "banana", "breast-cancer", "diabetis", "flare-solar", "german", "heart",
        "image", "ringnorm", "splice", "thyroid", "titanic", "twonorm", "waveform",
    )
)  # fmt: skip
#: Sets of a folder, and where OpenML has them: NAME.npz, or the number there.
STORED = {"adult": 1590, "australian": 40981, "boston": 531, "poker-hand": None}


@dataclass(frozen=True, eq=False)
class Dataset:
    """Inputs, targets and what is known about them.

    Attributes
    ----------
    name : str
    X : array of shape (N, D)
    y : array of shape (N,)
        Numbers, or class codes 0..K-1.
    task : {"regression", "classification"}
    source : str
        Where the rows come from.
    clean : array of shape (N,) or None
        Targets without their noise, where they are known.
    train, test : arrays of shape (S, n) or None
        Row numbers of S fixed splits. A row number may occur more than once.
    categorical : array of shape (D,) or None
        True for columns that hold codes of categories.

    Examples
    --------
    >>> from committee.studies import load
    >>> iris = load("iris")
    >>> iris.X.shape, iris.task
    ((150, 4), 'classification')
    """

    name: str
    X: FloatArray
    y: FloatArray | IntArray
    task: Literal["regression", "classification"]
    source: str
    clean: FloatArray | None = None
    train: IntArray | None = None
    test: IntArray | None = None
    categorical: BoolArray | None = None


def names() -> list[str]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> from committee.studies import names
    >>> "friedman" in names(), "raetsch_banana" in names()
    (True, True)
    """
    return sorted({*DRAWN, "tic-tac-toe", *BUNDLED, *RAETSCH, *STORED})


def load(
    name: str,
    *,
    n: int | None = None,
    seed: int = 0,
    data: str | os.PathLike[str] | None = None,
) -> Dataset:
    """Return a data set by its name.

    Those that are a formula are drawn, tic-tac-toe is enumerated, some come with
    scikit-learn. The others are read from a folder of .npz files with arrays `X` and
    `y` (and `train_idx`, `test_idx`), or `X_train`, `y_train`, `X_test` and `y_test`;
    adult, australian and boston are otherwise fetched from OpenML, once: scikit-learn
    keeps a copy.

    Parameters
    ----------
    name : str
        One of `names()`.
    n : int, optional
        Rows of a set that is drawn; those of the papers unless given.
    seed : int, default=0
        Of a set that is drawn. The same seed gives the same rows.
    data : path, optional
        The folder; the environment variable COMMITTEE_DATA unless given.

    Returns
    -------
    Dataset

    Examples
    --------
    >>> from committee.studies import load
    >>> load("twonorm", n=100, seed=1).X.shape
    (100, 20)
    """
    if name not in names():
        near = get_close_matches(name, names(), cutoff=0.4) or names()
        raise ValueError(
            f"There is no data set {name!r}; do you mean {', '.join(near)}? "
            "committee.studies.names() lists all."
        )
    if name in DRAWN:
        return _draw(name, DRAWN[name] if n is None else n, seed)
    if n is not None:
        raise ValueError(
            f"{name!r} has as many rows as it has: n is for sets that are drawn from "
            f"a formula, {', '.join(DRAWN)}. Got n={n!r}."
        )
    if name == "tic-tac-toe":
        X, y = tic_tac_toe()
        return _classes(name, X, y, "enumerated", categorical=np.ones(9, dtype=bool))
    return _bundled(name) if name in BUNDLED else _stored(name, data)


def _draw(name: str, n: int, seed: int) -> Dataset:
    """Draw n rows of a formula."""
    if n < 1:
        raise ValueError(f"n must be at least 1 row. Got {n!r}.")
    rng = np.random.default_rng(seed)
    source = f"drawn with seed {seed}"
    if name in generators.SURFACES:
        X, y, clean = generators.sample_surface(name, n, rng)
        return Dataset(name, X, y, "regression", source, clean=clean)
    if name == "poker":
        hands = deal_hands(n, rng)
        return _classes(name, hands, label_hands(hands), source)
    X, y = getattr(generators, name)(n, rng)
    return _classes(name, X, y, source)


def _bundled(name: str) -> Dataset:
    """Return a set that comes with scikit-learn."""
    from sklearn import datasets

    X, y = getattr(datasets, f"load_{name}")(return_X_y=True)
    if name == "diabetes":
        return Dataset(name, X, y, "regression", "scikit-learn")
    return _classes(name, X, y, "scikit-learn")


def _stored(name: str, data: str | os.PathLike[str] | None) -> Dataset:
    """Read a set from the folder, or else fetch it."""
    folder = os.environ.get("COMMITTEE_DATA") if data is None else data
    if folder is not None and (path := Path(folder) / f"{name}.npz").exists():
        return _read(name, path)
    missing = "no folder was given" if folder is None else f"it is not in {folder}"
    number = STORED.get(name)
    if number is None:
        raise FileNotFoundError(
            f"The data set {name!r} needs {name}.npz and {missing}: set COMMITTEE_DATA "
            "or pass data= with the folder that holds it."
        )
    return _fetch(name, number, missing)


def _read(name: str, path: Path) -> Dataset:
    """Read one archive, with its splits."""
    with np.load(path) as archive:
        arrays = dict(archive)
    if "X_train" in arrays:
        size = len(arrays["X_train"])
        # Only part of the million test hands of poker is kept anywhere.
        test = "test" if "X_test" in arrays else "test_part"
        arrays["X"] = np.concatenate([arrays["X_train"], arrays[f"X_{test}"]])
        arrays["y"] = np.concatenate([arrays["y_train"], arrays[f"y_{test}"]])
        rows = np.arange(len(arrays["X"]))[None]
        arrays["train_idx"], arrays["test_idx"] = rows[:, :size], rows[:, size:]
    if not {"X", "y"} <= arrays.keys():
        raise ValueError(
            f"{path} must hold the arrays X and y, or X_train, y_train, X_test and "
            f"y_test. Got {sorted(arrays)}."
        )
    X, y, source = arrays["X"], arrays["y"], str(path)
    if name == "boston":
        return Dataset(name, X.astype(np.float64), y, "regression", source)
    optional = {
        field: arrays[key].astype(kind)
        for field, key, kind in (
            ("train", "train_idx", np.intp),
            ("test", "test_idx", np.intp),
            ("categorical", "categorical", bool),
        )
        if key in arrays
    }
    return _classes(name, X, _codes(y), source, **optional)


def _fetch(name: str, number: int, missing: str) -> Dataset:
    """Fetch a set from OpenML; scikit-learn keeps a copy on disk."""
    from sklearn.datasets import fetch_openml

    try:
        with warnings.catch_warnings():
            # One more try is the least that scikit-learn takes, and it warns of it.
            warnings.filterwarnings("ignore", "A network error occurred")
            bunch = fetch_openml(
                data_id=number,
                as_frame=False,
                parser="liac-arff",
                n_retries=1,
                delay=0.1,
            )
    except OSError as error:
        raise FileNotFoundError(
            f"The data set {name!r} needs {name}.npz and {missing}; OpenML, where it is "
            f"number {number}, did not answer ({error}): set COMMITTEE_DATA or pass "
            "data= with the folder that holds it, or try again with a network."
        ) from None
    source = f"OpenML {number}"
    if name == "boston":
        y = bunch.target.astype(np.float64)
        return Dataset(name, bunch.data.astype(np.float64), y, "regression", source)
    categorical = np.isin(bunch.feature_names, list(bunch.categories or ()))
    y = _codes(bunch.target)
    return _classes(name, bunch.data, y, source, categorical=categorical)


def _classes(name: str, X: Any, y: Any, source: str, **optional: Any) -> Dataset:
    """Return a classification set; y holds class codes."""
    X, y = np.asarray(X, dtype=np.float64), np.asarray(y, dtype=np.intp)
    return Dataset(name, X, y, "classification", source, **optional)


def _codes(y: Any) -> IntArray:
    """Return labels as codes 0..K-1, in the order of the labels."""
    return np.unique(y, return_inverse=True)[1].astype(np.intp)
