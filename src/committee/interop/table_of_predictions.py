"""F of members that others trained, with their names and their labels."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

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
    >>> from committee import Predictions
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
