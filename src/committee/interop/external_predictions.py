"""Predictions of members that other tools trained, read from files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from committee._hints import how_to_install
from committee._typing import BoolArray, FloatArray, IntArray

#: Largest difference of a sum of probabilities from one: files may be in half precision,
#: or hold few digits.
_ROUNDING = 0.01


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of members that were trained elsewhere.

    Attributes
    ----------
    names : list of str
        Names of the M members.
    F : array of shape (N, M) or (N, M, K)
        Predictions, for a combiner; 0 where a member has no prediction.
    classes : array of shape (K,) or None
        Labels of the last axis; None for regression.
    held_out : bool array of shape (N, M) or None
        True where a member has a prediction; None if everywhere.
    y : array of shape (N,) or None
        Targets of the rows, as the `fit` of a combiner takes them: numbers, or class
        codes 0..K-1. None if they are not known.

    Examples
    --------
    >>> import numpy as np
    >>> from committee.interop import Predictions
    >>> known = Predictions(["boosting", "linear", "forest"], np.zeros((100, 3)))
    >>> known.by_name(np.array([0.3, 0.0, 0.7]))
    {'forest': 0.7, 'boosting': 0.3}
    """

    names: list[str]
    F: FloatArray
    classes: Any = None
    held_out: BoolArray | None = None
    y: Any = None

    def __repr__(self) -> str:
        """Return the names and numbers of members, rows and classes."""
        N, M = self.F.shape[:2]
        of = "" if self.classes is None else f", {len(self.classes)} classes"
        return f"Predictions of {M} members for {N} rows{of}: {', '.join(self.names)}"

    def codes(self, y: Any) -> IntArray:
        """Return class codes 0..K-1 of labels y, for the `fit` of a combiner.

        A label that is text in a file, such as "1", may be a number in y.
        """
        if self.classes is None:
            raise ValueError(
                "Regression targets have no labels: pass y to the combiner unchanged."
            )
        labels = np.asarray(self.classes).tolist()
        code_of = {_as_text(label): k for k, label in enumerate(labels)}
        found = [code_of.get(_as_text(label), -1) for label in np.asarray(y).tolist()]
        codes = np.array(found, dtype=np.intp)
        if np.any(codes < 0):
            unknown = str(np.asarray(y)[codes < 0][0])
            raise ValueError(
                f"y has the label {unknown!r}, but predictions have the classes "
                f"{', '.join(code_of)} only."
            )
        return codes

    def by_name(self, weights: FloatArray) -> dict[str, float]:
        """Return nonzero weights by name, the largest first."""
        if len(weights) != len(self.names):
            raise ValueError(
                f"weights must have one number for each of {len(self.names)} members. "
                f"Got {len(weights)}."
            )
        order = np.argsort(-np.abs(weights), kind="stable")
        return {self.names[m]: float(weights[m]) for m in order if weights[m] != 0}


def _as_text(label: Any) -> str:
    """Return a label as text, as in files: 1.0 becomes "1"."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def assembled(
    found: Mapping[str, FloatArray], classes: Any, *, where: str = ""
) -> Predictions:
    """Return predictions (N,) or (N, K) by name as one F; raise if they do not match.

    With two classes, numbers (N,) are the probabilities of the second. A row of NaN is a
    row without a prediction.
    """
    first, like = next(iter(found.items()))
    if classes is not None and len(classes) == 2:
        found = {name: _both(values) for name, values in found.items()}
        like = found[first]
    for name, values in found.items():
        if values.shape != like.shape:
            raise ValueError(
                f"{where}{name} has predictions of shape {values.shape}, {first} of shape "
                f"{like.shape}: all must be of the same rows and classes."
            )
    if classes is None and like.ndim == 2:
        classes = np.arange(like.shape[1])
    if classes is not None and (like.ndim, like.shape[-1]) != (2, len(classes)):
        raise ValueError(
            f"{where}{first} has predictions of shape {like.shape}, and there are "
            f"{len(classes)} classes: expected one column for each."
        )
    F = np.stack(list(found.values()), axis=1)
    known = ~np.isnan(F)
    whole = np.asarray(known if F.ndim == 2 else known.all(axis=2))
    _check_gaps(F, known, whole, list(found), where)
    if classes is not None:
        _check_probabilities(F, whole, list(found), where)
    held_out = None if whole.all() else whole
    labels = None if classes is None else np.asarray(classes)
    return Predictions(list(found), np.where(known, F, 0.0), labels, held_out)


def _both(values: FloatArray) -> FloatArray:
    """Return probabilities (N, 2) of two classes, given the second ones."""
    return values if values.ndim == 2 else np.stack([1.0 - values, values], axis=1)


def _check_gaps(
    F: FloatArray, known: BoolArray, whole: BoolArray, names: list[str], where: str
) -> None:
    """Raise for infinite numbers, rows with some classes only, and members without rows."""
    odd = known & np.isinf(F)
    if F.ndim == 3:
        odd |= (known.any(axis=2) & ~whole)[:, :, None]
    broken = np.flatnonzero(odd.any(axis=tuple(i for i in range(F.ndim) if i != 1)))
    if len(broken):
        raise ValueError(
            f"{where}{names[broken[0]]} contains infinity, or rows with NaN for only "
            "some classes. Mark a missing prediction by NaN in all classes."
        )
    empty = np.flatnonzero(~whole.any(axis=0))
    if len(empty):
        raise ValueError(f"{where}{names[empty[0]]} has no predictions: all are NaN.")


def _check_probabilities(
    F: FloatArray, whole: BoolArray, names: list[str], where: str
) -> None:
    """Raise ValueError if values (N, M, K) are not probabilities."""
    odd = np.any((F < -_ROUNDING) | (F > 1 + _ROUNDING), axis=2)
    odd |= np.abs(F.sum(axis=2) - 1) > _ROUNDING
    broken = np.argwhere(odd & whole)
    if len(broken):
        row, m = broken[0]
        raise ValueError(
            f"{where}{names[m]} has {F[row, m].tolist()} in row {row}. Probabilities "
            "of classes must be between 0 and 1 and sum to one. Apply a softmax to scores "
            "or log-odds first."
        )


def checked_names(names: Iterable[Any]) -> list[str]:
    """Return names as text; raise ValueError for a name that occurs twice."""
    found = [str(name) for name in names]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"Two members have the name {twice!r}.")
    return found


_ENDINGS = (".npy", ".parquet")


def read_predictions(
    folder: str | PathLike[str],
    *,
    names: Iterable[str] | None = None,
    classes: Any = None,
    like: Predictions | None = None,
) -> Predictions:
    """Read the predictions of members from a folder, with one file for each member.

    The file name is the name of the member. A file contains numbers (N,), or probabilities
    (N, K) with a column for each class; for two classes the column of the second is
    enough. The columns of a Parquet file are named by the labels, in any order. All files
    have the same rows in the same order; if files have an index, it is compared. A row
    of NaN means that the member was trained on the row, or has no prediction for it.

    Nothing is unpickled; a file with Python objects raises ValueError.

    Parameters
    ----------
    folder : path
        Folder with `.npy` and `.parquet` files; Parquet needs pandas and pyarrow.
    names : iterable of str, default=None
        File names without ending, in the order of the members. None means all files, in
        alphabetical order.
    classes : array-like of shape (K,), default=None
        Labels, in the order of the columns of `.npy` files. None means that
        arrays (N,) are predictions of a regression, and K columns are the classes 0..K-1,
        or the names
        of Parquet columns.
    like : Predictions, default=None
        Predictions on other rows, whose names and classes are used.

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
            raise ValueError(
                "like defines the names and classes: leave out names and classes."
            )
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
                f"{path.name}: its index differs from that of {first}; all files must "
                "contain the same rows in the same order."
            )
        if rows is not None and index is None:
            index, first = rows, path.name
        found[name] = values
    made = assembled(found, labels, where=f"{Path(folder).name}/")
    if like is not None and made.F.shape[2:] != like.F.shape[2:]:
        raise ValueError(
            "like and the files must both be for classification, or both "
            "for regression."
        )
    return made


def _paths(folder: Path, names: Iterable[str] | None) -> dict[str, Path]:
    """Return the file of each member."""
    if not folder.is_dir():
        raise ValueError(
            f"{folder} is not a folder of prediction files. A table with a column for each "
            "member needs no reading: for numbers its values are F."
        )
    files = [path for path in sorted(folder.iterdir()) if path.suffix in _ENDINGS]
    stems = checked_names(path.stem for path in files)
    if not files:
        raise ValueError(
            f"{folder} has no .npy or .parquet files. Write one file for each "
            "member, for example with np.save(folder / 'forest.npy', predictions)."
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
    """Return numbers (N,) or (N, K), the labels of columns or None, the index or None."""
    if path.suffix == ".npy":
        try:
            values, columns, index = np.load(path, allow_pickle=False), None, None
        except (ValueError, EOFError, OSError, MemoryError) as error:
            raise ValueError(
                f"{path.name} is not a complete array of numbers; Python objects are not "
                "read. Save it with np.save(path, np.asarray(predictions, dtype=float))."
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
        raise ValueError(f"{path.name} is not a Parquet file: {error}") from error


def _order(columns: Any, labels: Any, path: Path) -> list[int]:
    """Return the columns in the order of the labels."""
    place = {label: i for i, label in enumerate(columns.tolist())}
    wanted = [str(label) for label in labels]
    if len(place) != len(columns) or sorted(wanted) != sorted(place):
        raise ValueError(
            f"{path.name} must have one column for each class, named after it: "
            f"{', '.join(wanted)}. Got {', '.join(columns)}."
        )
    return [place[label] for label in wanted]
