"""Predictions of members that other tools trained: from files, or from AutoGluon."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import numpy as np

from committee._install import how_to_install
from committee._typing import BoolArray, FloatArray, IntArray

#: What probabilities may miss one by: files may be in half precision, or hold few digits.
_ROUNDING = 0.01


@dataclass(frozen=True, eq=False)
class Predictions:
    """What members predict, whoever trained them.

    Attributes
    ----------
    names : list of str
        Of the M members.
    F : array of shape (N, M) or (N, M, K)
        For a combiner; 0 where a member has no prediction.
    classes : array of shape (K,) or None
        Labels of the last axis, None for numbers.
    held_out : bool array of shape (N, M) or None
        Where members have a prediction; None if everywhere.

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

    def codes(self, y: Any) -> IntArray:
        """Return the numbers 0..K-1 of labels y: the y of a combiner.

        Labels that are text in a file, such as "1", may be numbers in y.
        """
        if self.classes is None:
            raise ValueError("Numbers have no labels: give y to the combiner as it is.")
        labels = np.asarray(self.classes).tolist()
        code_of = {_as_text(label): k for k, label in enumerate(labels)}
        found = [code_of.get(_as_text(label), -1) for label in np.asarray(y).tolist()]
        codes = np.array(found, dtype=np.intp)
        if np.any(codes < 0):
            unknown = str(np.asarray(y)[codes < 0][0])
            raise ValueError(
                f"y has the label {unknown!r}, for which there are no predictions: "
                f"these are of {', '.join(code_of)}."
            )
        return codes

    def by_name(self, weights: FloatArray) -> dict[str, float]:
        """Return the weights that are not zero, largest first, by member."""
        if len(weights) != len(self.names):
            raise ValueError(
                f"weights must have one number for each of {len(self.names)} members. "
                f"Got {len(weights)}."
            )
        order = np.argsort(-np.abs(weights), kind="stable")
        return {self.names[m]: float(weights[m]) for m in order if weights[m] != 0}


def _as_text(label: Any) -> str:
    """Return a label as files have it: 1.0 is 1."""
    whole = isinstance(label, float) and label.is_integer()
    return str(int(label)) if whole else str(label)


def assembled(
    found: Mapping[str, FloatArray], classes: Any, *, where: str = ""
) -> Predictions:
    """Return predictions of shape (N,) or (N, K) by name as one F, or say what is odd.

    With two classes numbers (N,) are the probabilities of the second. A row of NaN is a
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
            f"{len(classes)} classes: one column for each is expected."
        )
    F = np.stack(list(found.values()), axis=1)
    known = ~np.isnan(F)
    whole: BoolArray = np.all(known.reshape(*F.shape[:2], -1), axis=2)
    _check_gaps(F, known, whole, list(found), where)
    if classes is not None:
        _check_probabilities(F, whole, list(found), where)
    held_out = None if whole.all() else whole
    labels = None if classes is None else np.asarray(classes)
    return Predictions(list(found), np.where(known, F, 0.0), labels, held_out)


def _both(values: FloatArray) -> FloatArray:
    """Return the probabilities of two classes, of which those of the second are known."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    return values if values.ndim == 2 else np.stack([1.0 - values, values], axis=1)


def _check_gaps(
    F: FloatArray, known: BoolArray, whole: BoolArray, names: list[str], where: str
) -> None:
    """Refuse infinite numbers, rows with some classes only, and members without rows."""
    odd = known & np.isinf(F)
    if F.ndim == 3:
        odd |= (known.any(axis=2) & ~whole)[:, :, None]
    broken = np.flatnonzero(odd.any(axis=tuple(i for i in range(F.ndim) if i != 1)))
    if len(broken):
        raise ValueError(
            f"{where}{names[broken[0]]} has rows that are infinite, or NaN for some of "
            "the classes. A row without a prediction must be NaN as a whole."
        )
    empty = np.flatnonzero(~whole.any(axis=0))
    if len(empty):
        raise ValueError(f"{where}{names[empty[0]]} has no predictions, all are NaN.")


def _check_probabilities(
    F: FloatArray, whole: BoolArray, names: list[str], where: str
) -> None:
    """Refuse classes (N, M, K) whose values are no probabilities, or votes."""
    odd = np.any((F < -_ROUNDING) | (F > 1 + _ROUNDING), axis=2)
    odd |= np.abs(F.sum(axis=2) - 1) > _ROUNDING
    broken = np.argwhere(odd & whole)
    if len(broken):
        row, m = broken[0]
        raise ValueError(
            f"{where}{names[m]} has {F[row, m].tolist()} in row {row}, which are no "
            "probabilities of classes: these are between 0 and 1 and sum to one. Of "
            "scores or log-odds take a softmax first."
        )


def checked_names(names: Iterable[Any]) -> list[str]:
    """Return names as text, each of which must be there once."""
    found = [str(name) for name in names]
    twice = next((name for name in found if found.count(name) > 1), None)
    if twice is not None:
        raise ValueError(f"There are two members of the name {twice!r}.")
    return found


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


#: How AutoGluon calls the ensembles that it weighs itself, on these same rows.
_WEIGHED = "WeightedEnsemble"


def predictor_predictions(
    predictor: Any, data: Any = None, *, models: Sequence[str] | None = None
) -> Predictions:
    """Return what the models of an AutoGluon `TabularPredictor` predict.

    Without `data` these are its out-of-fold predictions (of the rows that it trained on,
    in their order, if it was fitted with bagging) or those of its validation rows: the
    predictions to weigh the models on. With `data` they are what to combine.

    Nothing of AutoGluon is imported: any object with `problem_type`, `model_names()`,
    `predict_proba_multi(data, models=...)`, `class_labels` and, for regression,
    `predict_multi(data, models=...)` will do.

    Parameters
    ----------
    predictor : TabularPredictor
        For two or more classes or for regression.
    data : frame, optional
        Rows to predict.
    models : sequence of str, optional
        All unless given, but for the `WeightedEnsemble_L*` of AutoGluon, whose weights were
        learned from these same predictions.

    Returns
    -------
    predictions : Predictions

    Examples
    --------
    >>> import numpy as np
    >>> from committee import predictor_predictions
    >>> class Predictor:  # the part of TabularPredictor that is asked
    ...     problem_type, class_labels = "binary", ["no", "yes"]
    ...     def model_names(self):
    ...         return ["LightGBM", "WeightedEnsemble_L2"]
    ...     def predict_proba_multi(self, data=None, models=None):
    ...         return {name: np.array([[0.2, 0.8], [0.7, 0.3]]) for name in models}
    >>> known = predictor_predictions(Predictor())
    >>> known.names, known.codes(["yes", "no"]).tolist()
    (['LightGBM'], [1, 0])
    """
    kind = getattr(predictor, "problem_type", None)
    if kind not in ("binary", "multiclass", "regression"):
        raise ValueError(
            "predictor must be fitted, with the problem_type 'binary', 'multiclass' or "
            f"'regression'. Got {kind!r}."
        )
    if models is None:
        every = checked_names(predictor.model_names())
        models = [name for name in every if not name.startswith(_WEIGHED)]
    names = checked_names(models)
    if not names:
        raise ValueError("predictor has no models but its own weighted ensembles.")
    ask = predictor.predict_multi if kind == "regression" else None
    ask = predictor.predict_proba_multi if ask is None else ask
    # A list of its own: what they depend on may be added to it, and to the answer.
    answer = ask(data, models=list(names))
    classes = None if kind == "regression" else np.asarray(predictor.class_labels)
    found = {name: np.asarray(answer[name], dtype=np.float64) for name in names}
    return assembled(found, classes)
