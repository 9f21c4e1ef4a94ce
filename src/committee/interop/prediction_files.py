"""Out-of-fold predictions in files, one for each member: `.npy` or Parquet."""

from __future__ import annotations

from collections.abc import Iterable
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from committee._install import how_to_install
from committee._typing import FloatArray
from committee.interop.table_of_predictions import (
    Predictions,
    assembled,
    checked_names,
)

_ENDINGS = (".npy", ".parquet")


def read_predictions(
    folder: str | PathLike[str],
    *,
    names: Iterable[str] | None = None,
    classes: Any = None,
    like: Predictions | None = None,
) -> Predictions:
    """Read what members predict from a folder: a file for each, named after it.

    A file has numbers (N,), or a column of probabilities for each class, (N, K); of two
    classes one column is enough, that of the second. The columns of a Parquet file are
    named by the labels, in any order, and its rows are those of all other files, in the
    same order: where files have an index, these are compared. A row of NaN is one that
    the member was trained on, or has no prediction for.

    Nothing is unpickled: a file of Python objects is refused.

    Parameters
    ----------
    folder : path
        With `.npy` and `.parquet` files; Parquet needs pandas and pyarrow.
    names : iterable of str, optional
        File names without ending, in the order of the members. All files unless given,
        in the order of the alphabet.
    classes : array-like of shape (K,), optional
        Labels, in the order of the columns of `.npy` files. Without them numbers (N,) are
        those of a regression, and K columns are the classes 0..K-1, or those that
        Parquet columns are named by.
    like : Predictions, optional
        Predictions on other rows: the same names and classes are read.

    Returns
    -------
    predictions : Predictions
        With `names`, `F`, `classes` and `held_out`.

    See Also
    --------
    predictor_predictions : The same from an AutoGluon predictor.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from committee import SimplexWeights, read_predictions
    >>> folder = Path(tempfile.mkdtemp())
    >>> y = np.array([0.0, 1.0, 2.0, 3.0])
    >>> np.save(folder / "good.npy", y + [0.1, -0.1, 0.1, -0.1])
    >>> np.save(folder / "poor.npy", np.zeros(4))
    >>> known = read_predictions(folder)
    >>> known.names, known.F.shape
    (['good', 'poor'], (4, 2))
    >>> known.by_name(SimplexWeights().fit(known.F, y).weights_)
    {'good': 1.0}
    """
    if like is not None:
        if names is not None or classes is not None:
            raise ValueError("like has the names and classes: leave out the others.")
        names, classes = like.names, like.classes
    paths = _paths(Path(folder), names)
    found: dict[str, FloatArray] = {}
    labels, index, first = classes, None, ""
    for name, path in paths.items():
        values, columns, rows = _read(path)
        if columns is not None and values.ndim == 2 and values.shape[1] > 1:
            labels = columns if labels is None else labels
            values = values[:, _order(columns, labels, path)]
        if rows is not None and index is not None and not rows.equals(index):
            raise ValueError(
                f"{path.name} has other rows than {first}, or another order, by their "
                "index: all files must be of the same rows."
            )
        if rows is not None and index is None:
            index, first = rows, path.name
        found[name] = values
    made = assembled(found, labels, where=f"{Path(folder).name}/")
    if like is not None and made.F.shape[2:] != like.F.shape[2:]:
        raise ValueError("like has classes, and these are numbers, or the reverse.")
    return made


def _paths(folder: Path, names: Iterable[str] | None) -> dict[str, Path]:
    """Return the file of each member."""
    if not folder.is_dir():
        raise ValueError(f"{folder} is no folder of prediction files.")
    files = [path for path in sorted(folder.iterdir()) if path.suffix in _ENDINGS]
    stems = checked_names(path.stem for path in files)
    if not files:
        raise ValueError(
            f"{folder} has no .npy or .parquet files. Write one for each member, such as "
            "by np.save(folder / 'forest.npy', predictions)."
        )
    by_name = dict(zip(stems, files, strict=True))
    if names is None:
        return by_name
    wanted = checked_names(names)
    missing = [name for name in wanted if name not in by_name]
    if missing:
        raise ValueError(
            f"{folder} has no file of {', '.join(missing[:10])}. There are "
            f"{', '.join(stems[:10])}."
        )
    return {name: by_name[name] for name in wanted}


def _read(path: Path) -> tuple[FloatArray, Any, Any]:
    """Return numbers (N,) or (N, K), labels of columns, and the index; None without."""
    if path.suffix == ".npy":
        try:
            values, columns, index = np.load(path, allow_pickle=False), None, None
        except (ValueError, EOFError, OSError) as error:
            raise ValueError(
                f"{path.name} is no array of numbers, or not all of it: Python objects are "
                "not read. Write it by np.save of np.asarray(predictions, dtype=float)."
            ) from error
    else:
        frame = _frame(path)
        columns, index = np.array([str(c) for c in frame.columns]), frame.index
        values = frame.to_numpy()
    if values.dtype.kind not in "fiub" or values.ndim not in (1, 2) or not values.size:
        raise ValueError(
            f"{path.name} must have numbers of shape (N,) or (N, K). Got shape "
            f"{values.shape} and type {values.dtype}."
        )
    values = np.asarray(values, dtype=np.float64)
    return values[:, 0] if values.shape[1:] == (1,) else values, columns, index


def _frame(path: Path) -> Any:
    try:
        import pandas as pd
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ImportError(
            f"Parquet files are read by pandas and pyarrow: {how_to_install('shell')}"
        ) from error
    try:
        return pd.read_parquet(path, engine="pyarrow")
    except (ValueError, OSError) as error:
        raise ValueError(f"{path.name} is no Parquet file: {error}") from error


def _order(columns: Any, labels: Any, path: Path) -> list[int]:
    """Return the columns in the order of the labels."""
    place = {label: i for i, label in enumerate(columns.tolist())}
    wanted = [str(label) for label in labels]
    if len(place) != len(columns) or sorted(wanted) != sorted(place):
        raise ValueError(
            f"{path.name} has the columns {', '.join(columns)}, and the classes are "
            f"{', '.join(wanted)}: one column for each, named by it, is expected."
        )
    return [place[label] for label in wanted]
