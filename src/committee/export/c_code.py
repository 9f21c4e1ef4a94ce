"""A committee of trees as a header in C, without allocation, for devices."""

from __future__ import annotations

import os
import re
import textwrap
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from committee._files import replaced_atomically
from committee._format import printable
from committee._typing import FloatArray
from committee.ensembles.tree_sum import TreeSum, TreeTable
from committee.export.tree_sums import tree_sum

#: Numbers of x, thresholds and leaves.
DTYPES = ("float32", "int16")
#: The largest number of an int16; the least one is a missing value.
_LARGEST = 32767


def to_c(
    committee: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    dtype: str = "float32",
) -> str:
    """Return a committee of trees as a header in C99, and write it to a file.

        s(x) = base + unit sum_m h_m(x),   p(x) = link(s(x))

    The header needs `<math.h>` and `<stdint.h>` and allocates nothing. Its names begin
    with the name of the file, `model` by default:

    - `float model_predict(const float *x)` for regression;
    - for classes `int model_predict(x)`, the number of the class,
      `const char *model_label(int k)`, and `void model_predict_proba(x, float *p)`,
      which includes the calibration and the offsets of the committee.

    Parameters
    ----------
    committee : CommitteeClassifier or CommitteeRegressor
        A committee of trees on the columns of X, as for `save(compact=True)`. Forests,
        boosters and loaded compact files are accepted too.
    path : path, default=None
        File to write. An existing file is replaced only when the header is complete.
    dtype : {"float32", "int16"}, default="float32"
        "float32" takes the same branches as the committee for all x in single
        precision. "int16" stores x, thresholds and leaves as 16-bit integers and needs
        floating point only for the last sum; `model_quantize` converts x. Rows within
        one quantisation step of a threshold may take the other branch.

    Returns
    -------
    header : str

    Raises
    ------
    ValueError
        If a member is not a tree, the link has no counterpart in C, or numbers are too
        large for single precision.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from committee import Bagging, CommitteeClassifier, to_c
    >>> committee = CommitteeClassifier(generator=Bagging(3), random_state=0)
    >>> header = to_c(committee.fit(*load_iris(return_X_y=True)))
    >>> "static inline int model_predict(const float *x)" in header
    True
    """
    if dtype not in DTYPES:
        raise ValueError(f"dtype must be one of {', '.join(DTYPES)}. Got {dtype!r}.")
    found = tree_sum(committee)
    _check_size(found)
    name = "model" if path is None else _identifier(Path(path).stem)
    number = "float" if dtype == "float32" else "int16_t"
    single = dtype == "float32"
    parts = [_tables(found, dtype)]
    walk = {"number": number, "total": "float" if single else "int32_t"}
    walk["missing"] = "isnan(v)" if single else "v == INT16_MIN"
    walk["add"] = (
        "total[$_target[m]] += $_value[leaf];"
        if found.trees.value.shape[1] < len(found.base)
        else "for (int k = 0; k < @_N_SUMS; k++)\n"
        "        total[k] += $_value[leaf * @_N_SUMS + k];"
    )
    parts += [_WALK.format(**walk), "" if single else _QUANTIZE]
    if is_classifier(found):
        parts.append(_classes(found, number))
    else:
        parts.append(_NUMBER.format(number=number))
    body = "".join(parts).replace("$", name).replace("@", name.upper())
    guard = f"{name.upper()}_H"
    text = (
        f"{_comment(found, dtype)}#ifndef {guard}\n#define {guard}\n\n#include <math.h>\n#include <stdint.h>\n\n"
        f"{body}\n#endif\n"
    )
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(text.encode("ascii"))
    return text


def _check_size(found: TreeSum) -> None:
    """Raise ValueError if a sum of leaf values may be infinite in single precision."""
    table = found.trees
    largest = abs(found.base).max() + len(table) * abs(table.value).max()
    if largest > np.finfo(np.float32).max:
        raise ValueError(
            "Numbers in C are in single precision, up to 3.4e+38. Sums of leaf values "
            f"reach {largest:.2g}: train on y in a larger unit."
        )


def _identifier(name: str) -> str:
    """Return a name that C takes."""
    name = re.sub(r"\W", "_", name, flags=re.ASCII)
    return name if name[:1].isalpha() else f"model_{name}"


def _comment(found: TreeSum, dtype: str) -> str:
    """Return what is in the header: columns, classes, error."""
    version = import_module("committee").__version__  # which imports this module
    n, names = found.n_features_in_, getattr(found, "feature_names_in_", None)
    lines = [f"{len(found.trees)} trees, written by committee {version}."]
    error = found.held_out_error_
    if error is not None:
        se = found.held_out_error_se_
        lines.append(
            f"{found.held_out_error_name_}: {error:.4g}"
            + ("" if se is None else f", standard error {se:.2g}")
        )
    lines.append(
        f"x has {n} numbers of the type {dtype}_t." if dtype == "int16" else ""
    )
    lines += (
        [] if names is None else [f"x[{j}]: {name}" for j, name in enumerate(names)]
    )
    text = "\n   ".join(printable(line) for line in lines if line)
    text = text.encode("ascii", "replace").decode()
    return f"/* {text.replace('*/', '* /').replace('/*', '/ *')} */\n"


def _tables(found: TreeSum, dtype: str) -> str:
    """Return the constants and arrays of the nodes."""
    table, T = found.trees, len(found.base)
    splits = ~table.leaf
    first = np.concatenate([[0], np.cumsum(splits)])[table.start]
    left, right = _children(table)
    value, unit = table.value, found.unit
    feature = table.feature[splits]
    threshold: Any = table.threshold[splits]
    arrays = [
        _array("int32_t", "tree", first),
        _array(_type_of(feature), "feature", feature),
        _array(_type_of(left, right), "left", left),
        _array(_type_of(left, right), "right", right),
        _array("uint8_t", "missing_left", np.packbits(table.missing_left[splits])),
        _array("float", "base", found.base),
    ]
    if dtype == "int16":
        zero, scale = _scales(found.n_features_in_, feature, threshold)
        exact = (threshold.astype(np.float64) - zero[feature]) * scale[feature]
        threshold = np.clip(np.floor(exact), -_LARGEST, _LARGEST).astype(np.int16)
        step = float(np.abs(value).max()) / _LARGEST or 1.0
        value, unit = np.rint(value / step).astype(np.int16), unit * step
        arrays += [_array("float", "zero", zero), _array("float", "scale", scale)]
    number = "float" if dtype == "float32" else "int16_t"
    arrays += [
        _array(number, "threshold", threshold),
        _array(number, "value", value.ravel()),
    ]
    if value.shape[1] < T:
        arrays.append(_array(_type_of(table.target), "target", table.target))
    K = f"#define @_N_CLASSES {len(found.classes_)}\n" if is_classifier(found) else ""
    return (
        f"#define @_N_FEATURES {found.n_features_in_}\n#define @_N_TREES {len(table)}\n"
        f"#define @_N_SUMS {T}\n{K}#define @_UNIT {_float(unit)}\n\n"
        "/* Of each split its column, threshold and children: splits of the tree, or\n"
        "   below zero ~leaf. */\n" + "".join(arrays)
    )


def _children(table: TreeTable) -> tuple[Any, Any]:
    """Return the children of all splits: numbers of splits of the tree, or ~leaf."""
    n_splits, n_leaves = np.cumsum(~table.leaf), np.cumsum(table.leaf)
    roots = np.repeat(table.start[:-1], np.diff(table.start))
    before = [
        count[roots] - flag[roots]
        for count, flag in ((n_splits, ~table.leaf), (n_leaves, table.leaf))
    ]
    split = n_splits - 1 - before[0]
    leaf = n_leaves - 1 - before[1]
    number = np.where(table.leaf, ~leaf, split)
    rows = np.flatnonzero(~table.leaf)
    return number[rows + 1], number[table.right[rows]]


def _scales(
    width: int, feature: Any, threshold: FloatArray
) -> tuple[FloatArray, FloatArray]:
    """Return zero and scale of each column: x -> (x - zero) scale, in 16 bits.

    A column whose thresholds are whole numbers or halves holds whole numbers, and is
    left as it is. Others use the range of their thresholds.
    """
    zero, scale = np.zeros(width), np.ones(width)
    for j in range(width):
        t = threshold[feature == j].astype(np.float64)
        t = t[np.isfinite(t)]
        if not len(t) or (np.all(2 * t % 1 == 0) and np.abs(t).max() < _LARGEST):
            continue
        zero[j] = np.float32((t.min() + t.max()) / 2)
        half = max(t.max() - zero[j], zero[j] - t.min())
        scale[j] = np.float32((_LARGEST - 1) / half) if half > 0 else 1.0
    return zero, scale


def _type_of(*numbers: Any) -> str:
    """Return the smallest type of C that holds whole numbers."""
    low = min(min(n.min(initial=0) for n in numbers), 0)
    high = max(n.max(initial=0) for n in numbers)
    kinds = ("int8", "int16", "int32") if low < 0 else ("uint8", "uint16", "int32")
    fits = (k for k in kinds if np.iinfo(k).min <= low and high <= np.iinfo(k).max)
    return f"{next(fits)}_t"


def _array(kind: str, name: str, values: Any) -> str:
    """Return an array as C; it has one entry at least."""
    shown = [_float(v) for v in values] if kind == "float" else map(str, values)
    text = textwrap.fill(", ".join(shown) or "0", 96, break_long_words=False)
    return f"static const {kind} $_{name}[{max(len(values), 1)}] = {{\n{text}}};\n"


def _float(value: Any) -> str:
    """Return a number in single precision."""
    single = np.float32(value)
    if not np.isfinite(single):
        return "INFINITY" if single > 0 else "-INFINITY"
    text = f"{float(single):.9g}"
    return f"{text}f" if "." in text or "e" in text else f"{text}.0f"


_WALK = """
/* The leaf of a tree. */
static inline int32_t $_leaf(int32_t m, const {number} *x)
{{
    const int32_t first = $_tree[m];
    int32_t at = $_tree[m + 1] > first ? 0 : -1;
    while (at >= 0) {{
        const int32_t i = first + at;
        const {number} v = x[$_feature[i]];
        const int left = {missing} ? ($_missing_left[i / 8] >> (7 - i % 8)) & 1
                                   : v <= $_threshold[i];
        at = left ? $_left[i] : $_right[i];
    }}
    return ~at;
}}

static inline void $_add(int32_t m, int32_t leaf, {total} *total)
{{
    leaf += $_tree[m] + m;
    {add}
}}

/* s = base + unit * the sum of all trees. */
static inline void $_scaled(const {total} *total, float *s)
{{
    for (int k = 0; k < @_N_SUMS; k++)
        s[k] = $_base[k] + @_UNIT * (float)total[k];
}}

static inline void $_sums(const {number} *x, float *s)
{{
    {total} total[@_N_SUMS] = {{0}};
    for (int32_t m = 0; m < @_N_TREES; m++) $_add(m, $_leaf(m, x), total);
    $_scaled(total, s);
}}
"""

_QUANTIZE = """
/* Whole numbers of x; NaN becomes INT16_MIN. */
static inline void $_quantize(const float *x, int16_t *q)
{
    for (int j = 0; j < @_N_FEATURES; j++) {
        const float z = rintf((x[j] - $_zero[j]) * $_scale[j]);
        q[j] = isnan(z) ? INT16_MIN
                        : (int16_t)(z > 32767.0f ? 32767.0f
                                                 : z < -32767.0f ? -32767.0f : z);
    }
}
"""

_NUMBER = """
static inline float $_predict(const {number} *x)
{{
    float s[1];
    $_sums(x, s);
    return s[0];
}}
"""

_SHARES = """    float sum = 0.0f;
    int best = 0;
    for (int k = 0; k < @_N_CLASSES; k++) {
        if (s[k] > s[best]) best = k;
        p[k] = s[k] > 0.0f ? s[k] : 0.0f;
        sum += p[k];
    }
    if (!(sum > 0.0f)) sum = p[best] = 1.0f;
    for (int k = 0; k < @_N_CLASSES; k++) p[k] /= sum;
"""
_SOFTMAX = """    for (int k = 0; k < @_N_CLASSES; k++) p[k] = {z};
    $_softmax(p);
"""

_CLASSES = """
static inline const char *$_label(int k)
{{
    static const char *const labels[@_N_CLASSES] = {{{labels}}};
    return labels[k];
}}

static inline void $_softmax(float *p)
{{
    float largest = p[0], sum = 0.0f;
    for (int k = 1; k < @_N_CLASSES; k++)
        if (p[k] > largest) largest = p[k];
    for (int k = 0; k < @_N_CLASSES; k++) sum += p[k] = expf(p[k] - largest);
    for (int k = 0; k < @_N_CLASSES; k++) p[k] /= sum;
}}

static inline void $_link(const float *s, float *p)
{{
{arrays}{link}}}

static inline void $_predict_proba(const {number} *x, float *p)
{{
    float s[@_N_SUMS];
    $_sums(x, s);
    $_link(s, p);
}}

/* The number of the class of sums s. */
static inline int $_class(const float *s)
{{
{decide}    int best = 0;
    for (int k = 1; k < @_N_CLASSES; k++)
        if (s[k] > s[best]) best = k;
    return best;
}}

static inline int $_predict(const {number} *x)
{{
    float s[@_N_SUMS];
    $_sums(x, s);
    return $_class(s);
}}
"""


def _classes(found: TreeSum, number: str) -> str:
    """Return the functions of a classifier."""
    link, K = found.link, len(found.classes_)
    calibration = link.calibration
    arrays = ""
    if calibration is not None:
        arrays = _local("slope", np.broadcast_to(calibration.slope, K))
        offset = np.zeros(K) if calibration.offset is None else calibration.offset
        arrays += _local("offset", offset)
    if link.kind == "sigmoid":
        steps = _SOFTMAX.format(z=f"k ? {_float(link.scale)} * s[0] : 0.0f")
    elif link.kind == "softmax":
        steps = _SOFTMAX.format(z=f"{_float(link.scale)} * s[k]")
    else:
        steps = _SHARES
    if calibration is not None and calibration.floor is None:
        steps = _SOFTMAX.format(z="slope[k] * s[k] + offset[k]")
    elif calibration is not None:
        z = f"slope[k] * logf(fmaxf(p[k], {_float(calibration.floor)})) + offset[k]"
        steps += _SOFTMAX.format(z=z)
    decide = ""
    if link.kind == "sigmoid":
        decide = "    const float two[2] = {0.0f, s[0]};\n    s = two;\n"
    elif not link.keeps_order:
        decide = "    float p[@_N_CLASSES];\n    $_link(s, p);\n    s = p;\n"
    labels = ", ".join(_text(str(label)) for label in found.classes_)
    return _CLASSES.format(
        number=number, arrays=arrays, link=steps, decide=decide, labels=labels
    )


def _local(name: str, values: Any) -> str:
    """Return an array inside a function."""
    shown = textwrap.fill(", ".join(map(_float, values)), 90)
    return f"    static const float {name}[@_N_CLASSES] = {{{shown}}};\n"


def _text(label: str) -> str:
    """Return a text in C, whose bytes are those of UTF-8."""
    plain = re.compile(rb"[\w .,:;<>=+-]", re.ASCII)
    parts = (
        one.decode() if plain.fullmatch(one) else f"\\{one[0]:03o}"
        for one in (bytes([byte]) for byte in label.encode())
    )
    return f'"{"".join(parts)}"'
