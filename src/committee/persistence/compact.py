"""Compact files: a sum of trees as flat arrays, a few bytes for each node.

The payload has, for all trees in preorder:

    leaf       1 bit for each node
    missing    1 bit for each split
    feature    1, 2 or 4 bytes for each split
    threshold  4 bytes for each split, a float32
    value      t numbers for each leaf: float64, or whole numbers q, v = step (q + lowest)

Preorder and one bit say which nodes are children of which, so no file describes a cycle
or a child outside its tree. First bytes of all numbers come first, which compresses better.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from committee._typing import BoolArray, FloatArray
from committee._validation import as_floats
from committee.calibration import Calibration
from committee.ensembles.tree_sum import (
    Link,
    TreeSum,
    TreeSumClassifier,
    TreeSumRegressor,
    TreeTable,
    preorder_children,
)
from committee.persistence.array_checks import adds_to_its_sums
from committee.persistence.file_format import PAYLOAD, TREES

#: Default change of the output, in standard errors of the error.
TOLERANCE = 0.1
_LINKS = ("shares", "softmax", "sigmoid")
_WHOLE = ("|u1", "<u2", "<u4")
#: Types of labels by the kind of their array.
_LABELS = {"i": "i8", "u": "u8", "f": "f8", "b": "?", "U": "U", "O": "O"}
_FACTS = ("held_out_error_", "held_out_error_se_", "held_out_error_name_")


def packed(
    found: TreeSum, tolerance: float | None
) -> tuple[dict[str, bytes], dict[str, float]]:
    """Return the files of an archive, and how far rounded leaves move the sums."""
    table, step = found.trees, _step(found, tolerance)
    leaf, (value, lowest) = table.leaf, _rounded(table.value, step)
    feature = table.feature[~leaf].astype(_least_type(found.n_features_in_ - 1))
    names = getattr(found, "feature_names_in_", None)
    said = {
        "n_trees": len(table),
        "n_nodes": len(leaf),
        "n_values": table.value.shape[1],
        "feature": feature.dtype.str,
        "value": value.dtype.str,
        "step": step,
        "lowest": lowest,
        "targets": table.target.tolist(),
        "base": found.base.tolist(),
        "unit": found.unit,
        "n_features": found.n_features_in_,
        "feature_names": None if names is None else list(map(str, names)),
        **{name: getattr(found, name) for name in _FACTS},
    }
    if is_classifier(found):
        said |= _labels(np.asarray(found.classes_)) | _link(found.link)
    payload = [
        np.packbits(leaf),
        np.packbits(table.missing_left[~leaf]),
        *map(_first_bytes_first, (feature, table.threshold[~leaf], value)),
    ]
    files = {
        TREES: json.dumps(said, allow_nan=False).encode(),
        PAYLOAD: b"".join(part.tobytes() for part in payload),
    }
    last = table.leaf_number[table.start[1:] - 1]  # the last leaf of each tree
    off = np.abs(_values(value, step, lowest) - table.value).max(axis=1)
    worst = np.maximum.reduceat(off, np.concatenate([[0], last[:-1] + 1]))
    return files, {
        "step": step,
        "rms_change": found.unit * step * float(np.sqrt(_n_terms(found) / 12)),
        "largest_change": found.unit * float(worst.sum()),
    }


def _step(found: TreeSum, tolerance: float | None) -> float:
    """Return the difference of neighbouring leaf values; zero where they are exact.

        step = tolerance se / (c unit sqrt(M / 12))

    Rounding errors of the M trees of a sum are independent and uniform, so the output,
    and with it the error, moves by tolerance se at most, in the root mean square. c is
    the largest slope of a probability in a sum.
    """
    se = found.held_out_error_se_
    if tolerance is None:
        tolerance = 0.0 if se is None else TOLERANCE
    number = as_floats(tolerance)
    if number is None or number.ndim or not 0 <= number < np.inf:
        raise ValueError(f"tolerance must be a number, 0 or more. Got {tolerance!r}.")
    if tolerance == 0:
        return 0.0
    if se is None:
        raise ValueError(
            "tolerance is in units of the standard error of the held-out error, which is "
            "not known here: save a committee of prune or refine, or give tolerance=0 for "
            "exact leaves."
        )
    noise = _steepness(found) * found.unit * np.sqrt(_n_terms(found) / 12)
    step = float(tolerance * se / noise)
    return step if np.ptp(found.trees.value) < 2**32 * step else 0.0


def _n_terms(found: TreeSum) -> int:
    """Return the number of trees that add up in a sum."""
    return int(np.bincount(found.trees.target).max())


def _steepness(found: TreeSum) -> float:
    """Return the largest slope of a probability in a sum; 1 for shares and numbers."""
    link, calibration = found.link, found.link.calibration
    steep = 1.0 if link.kind == "shares" else link.scale / 4
    if calibration is not None:
        slope = float(np.max(calibration.slope))
        steep = slope / 4 if calibration.floor is None else slope * steep
    return steep


def _rounded(value: FloatArray, step: float) -> tuple[Any, int]:
    """Return whole numbers and the least of them; the values where they are exact."""
    if step == 0:
        return value.astype("<f8"), 0
    q = np.rint(value / step)
    lowest = int(q.min())
    return (q - lowest).astype(_least_type(int(q.max()) - lowest)), lowest


def _values(value: Any, step: float, lowest: int) -> FloatArray:
    """Return the leaf values of whole numbers; exact values as they are."""
    found: FloatArray = value.astype(np.float64)
    return found if step == 0 else step * (found + lowest)


def _least_type(largest: int) -> str:
    """Return the smallest type for whole numbers from 0."""
    return next(kind for kind in _WHOLE if largest <= np.iinfo(kind).max)


def _first_bytes_first(numbers: Any) -> Any:
    """Return the bytes of numbers (n,) or (n, t), byte by byte, column by column."""
    flat = np.ascontiguousarray(numbers.T).reshape(-1)
    return flat.view(np.uint8).reshape(len(flat), numbers.dtype.itemsize).T


def _labels(classes: Any) -> dict[str, Any]:
    """Return labels and their kind; raise ValueError for kinds that JSON lacks."""
    kind, values = classes.dtype.kind, classes.tolist()
    if kind not in _LABELS or (kind == "O" and set(map(type, values)) != {str}):
        raise ValueError(
            "Labels in compact files are text, numbers or booleans. Got labels such as "
            f"{values[0]!r}: use save without compact."
        )
    return {"labels": kind, "classes": values}


def _link(link: Link) -> dict[str, Any]:
    """Return a link as JSON."""
    found, parts = link.calibration, None
    if found is not None:
        parts = {
            "slope": np.asarray(found.slope).tolist(),
            "floor": found.floor,
            "offset": None if found.offset is None else found.offset.tolist(),
        }
    return {"link": link.kind, "scale": link.scale, "calibration": parts}


# --- reading -------------------------------------------------------------------------


def unpacked(members: Mapping[str, bytes]) -> TreeSum:
    """Return the sum of trees in an archive; raise ValueError unless all parts fit."""
    said = json.loads(members[TREES])
    base, width = _numbers(said["base"]), _count(said["n_features"])
    names, kind = said["feature_names"], TreeSumRegressor
    parts: dict[str, Any] = {
        **{name: said[name] for name in _FACTS},
        "trees": _table(said, members[PAYLOAD]),
        "base": base,
        "unit": _number(said["unit"]),
        "n_features_in_": width,
    }
    if names is not None:
        _require(len(names) == width and {*map(type, names)} == {str}, "names are text")
        parts["feature_names_in_"] = np.array(names, dtype=object)
    n_sums = 1
    if "classes" in said:
        kind, classes = (
            TreeSumClassifier,
            np.array(said["classes"], dtype=_LABELS[said["labels"]]),
        )
        K, link = len(classes), _read_link(said, len(classes))
        different = classes.ndim == 1 and len({*classes.tolist()}) == K > 1
        _require(different, "labels differ")
        n_sums = 1 if link.kind == "sigmoid" and K == 2 else K
        parts |= {"classes_": classes, "link": link}
    found = kind.made(**parts)
    _require(len(base) == n_sums and adds_to_its_sums(found), "trees fit their sums")
    return found


def _table(said: Mapping[str, Any], payload: bytes) -> TreeTable:
    """Return the trees of a payload."""
    n, M, t = (_count(said[name]) for name in ("n_nodes", "n_trees", "n_values"))
    n_leaves, n_splits = (n + M) // 2, (n - M) // 2
    step, lowest = _number(said["step"]), int(_number(said["lowest"]))
    _require(step >= 0 and said["feature"] in _WHOLE, "types are known")
    _require(said["value"] in (_WHOLE if step else ("<f8",)), "types are known")
    parts, at = [], 0
    for kind, count in (
        ("<u1", -(-n // 8)),
        ("<u1", -(-n_splits // 8)),
        (said["feature"], n_splits),
        ("<f4", n_splits),
        (said["value"], n_leaves * t),
    ):
        size = np.dtype(kind).itemsize
        flat = np.frombuffer(payload[at : at + count * size], np.uint8)
        _require(len(flat) == count * size, "the payload has the size of its trees")
        at += count * size
        turned = np.ascontiguousarray(flat.reshape(size, count).T)
        parts.append(turned.view(kind).reshape(count))
    leaf, missing, feature, threshold, value = parts
    leaf = np.unpackbits(leaf)[:n].astype(bool)
    right, start = preorder_children(leaf, M)
    values = _values(value.reshape(t, n_leaves).T, step, lowest)
    _require(at == len(payload), "the payload has the size of its trees")
    _require(bool(np.isfinite(values).all()), "leaves are finite")
    _require(not np.isnan(threshold).any(), "thresholds are numbers")
    return TreeTable(
        _of_splits(leaf, feature.astype(np.intp), -1),
        _of_splits(leaf, threshold, np.float32(0)),
        right,
        _of_splits(leaf, np.unpackbits(missing)[:n_splits].astype(bool), False),
        np.ascontiguousarray(values),
        start,
        _numbers(said["targets"], M).astype(np.intp),
    )


def _of_splits(leaf: BoolArray, values: Any, other: Any) -> Any:
    """Return values for all nodes, given those of the splits and one for leaves."""
    found = np.full(len(leaf), other)
    found[~leaf] = values
    return found


def _read_link(said: Mapping[str, Any], K: int) -> Link:
    """Return a link; raise ValueError unless its numbers are those of K classes."""
    _require(said["link"] in _LINKS, "the link is known")
    scale, parts = _number(said["scale"]), said["calibration"]
    if parts is None:
        return Link(said["link"], scale)
    slope, floor, offset = parts["slope"], parts["floor"], parts["offset"]
    slope = _numbers(slope, K) if isinstance(slope, list) else _number(slope)
    _require(bool(np.all(slope > 0)), "slopes are above zero")
    _require(floor is None or 0 < _number(floor) < 1, "the floor is a probability")
    offset = None if offset is None else _numbers(offset, K)
    return Link(said["link"], scale, Calibration(slope, floor, offset))


def _require(holds: bool, what: str) -> None:
    """Raise ValueError unless this holds."""
    if not holds:
        raise ValueError(f"a compact file in which {what} was expected")


def _number(value: Any) -> float:
    """Return a finite number."""
    _require(type(value) in (int, float) and abs(value) < 1e300, "numbers are finite")
    return float(value)


def _count(value: Any) -> int:
    """Return a whole number above zero."""
    _require(type(value) is int and 0 < value < 2**31, "counts are above zero")
    return int(value)


def _numbers(values: Any, n: int | None = None) -> FloatArray:
    """Return finite numbers, n of them if it is given."""
    _require(isinstance(values, list) and n in (None, len(values)), "lengths match")
    return np.array([_number(value) for value in values])
