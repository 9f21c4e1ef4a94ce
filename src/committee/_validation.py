"""Checks of arguments; the only module that uses scikit-learn's private helpers."""

from __future__ import annotations

import copy
from collections.abc import Callable
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np
from sklearn.base import _fit_context
from sklearn.utils import _safe_indexing as safe_indexing
from sklearn.utils import assert_all_finite, check_array
from sklearn.utils._metadata_requests import _routing_enabled as routing_enabled
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import _check_method_params as index_params
from sklearn.utils.validation import _check_sample_weight as sklearn_sample_weight
from sklearn.utils.validation import _get_feature_names as column_names
from sklearn.utils.validation import column_or_1d, validate_data

from committee._typing import BoolArray, FloatArray, IntArray

#: What other modules import from scikit-learn through this one.
__all__ = [
    "HasMethods",
    "Interval",
    "StrOptions",
    "column_names",
    "index_params",
    "routing_enabled",
    "safe_indexing",
]

#: Types of None and of the missing values of pandas, which may not be installed.
_MISSING = {"NoneType", "NAType", "NaTType"}

#: Numbers whose squares, and sums of many of them, are numbers.
_LARGEST = 1e150
#: The least and the largest positive weight of a row: products of three are numbers.
_LIGHTEST, _HEAVIEST = 1e-100, 1e100

#: The constraint of a parameter that is an integer >= 1.
AT_LEAST_ONE = Interval(Integral, 1, None, closed="left")
#: The constraint of a parameter that is a number of things, or their share of all.
COUNT_OR_SHARE = [AT_LEAST_ONE, Interval(Real, 0, 1, closed="right")]

_F = TypeVar("_F", bound=Callable[..., Any])


def fit_context(*, prefer_skip_nested_validation: bool) -> Callable[[_F], _F]:
    """Validate the declared parameters before `fit` runs."""
    decorate: Callable[[_F], _F] = _fit_context(
        prefer_skip_nested_validation=prefer_skip_nested_validation
    )
    return decorate


def gradient_start(booster: Any, X: Any) -> FloatArray:
    """Return the array to which GradientBoosting* adds its trees."""
    start: FloatArray = booster._raw_predict_init(X)
    return start


def histogram_parts(booster: Any) -> tuple[Any, BoolArray, bool]:
    """Return how HistGradientBoosting* prepares X for its trees.

    The encoder of its categories or None, a mask of the columns that are categories
    then, and True if it expects bins instead of X, as it does during its fit.
    """
    categorical = np.asarray(booster._bin_mapper.is_categorical_, dtype=bool)
    return booster._preprocessor, categorical, hasattr(booster, "_in_fit")


def histogram_rounds(booster: Any) -> tuple[list[Any], FloatArray]:
    """Return the rounds of HistGradientBoosting* and its start, of shape (T,).

    A round is a list of T predictors; their leaves are in `nodes["value"]`.
    """
    return booster._predictors, booster._baseline_prediction.reshape(-1)


def with_histogram_rounds(booster: Any, rounds: list[Any], start: FloatArray) -> Any:
    """Return a HistGradientBoosting* with other rounds and another start."""
    other = copy.copy(booster)
    other._predictors = rounds
    other._baseline_prediction = start.reshape(1, -1)
    return other


def transformed_columns(transformer: Any) -> list[tuple[Any, Any, Any]]:
    """Return the parts of a fitted ColumnTransformer, each with its columns.

    Columns are returned as they were selected, and as the numbers of the columns.
    """
    numbers = transformer._transformer_to_input_indices
    return [
        (part, columns, numbers.get(name))
        for name, part, columns in transformer.transformers_
    ]


def neighbour_points(model: Any) -> tuple[Any, Any, Any]:
    """Return the points of an estimator of neighbours, their tree and their targets.

    All are None before `fit`. The tree is None for brute force, and the targets are None
    if it was fitted without y.
    """
    names = ("_fit_X", "_tree", "_y")
    points, tree, targets = (getattr(model, name, None) for name in names)
    return points, tree, targets


def libsvm_parts(model: Any) -> tuple[Any, Any, Any, tuple[Any, Any]]:
    """Return the arrays of SVC, SVR and related models that libsvm reads.

    The number of vectors in each class, coefficients, intercepts, and the two arrays for
    probabilities.
    """
    slopes = model._probA, model._probB
    return model._n_support, model._dual_coef_, model._intercept_, slopes


def count_of(given: Any, n: int) -> int:
    """Return how many of n things a `COUNT_OR_SHARE` stands for: of a share, one or more."""
    return int(given) if isinstance(given, Integral) else max(1, round(given * n))


def n_rows(X: Any) -> int:
    """Return N of an array, a sparse matrix, a frame or a list."""
    return int(X.shape[0]) if hasattr(X, "shape") else len(X)


def check_predictions(F: Any) -> FloatArray:
    """Return F as a finite float array, (N, M) or (N, M, K)."""
    F = check_array(
        F,
        dtype=[np.float64, np.float32],
        allow_nd=True,
        ensure_all_finite=False,
        input_name="F",
    )
    with np.errstate(over="ignore", invalid="ignore"):
        suspect = not np.isfinite(F.sum())
    if suspect:
        _refuse_infinite(F)
    if F.ndim > 3 or (F.ndim == 3 and F.shape[2] < 2):
        raise ValueError(
            "F must have shape (N, M) for regression, or (N, M, K) with K >= 2 "
            f"classes on the last axis. Got shape {F.shape} instead."
        )
    if F.shape[1] == 0:
        raise ValueError(f"F must have at least one member. Got shape {F.shape}.")
    return F  # type: ignore[no-any-return]


def _refuse_infinite(F: FloatArray) -> None:
    """Raise ValueError with the numbers of members whose predictions are not finite."""
    finite = np.asarray(np.isfinite(F).reshape(*F.shape[:2], -1).all(axis=(0, 2)))
    if not finite.all():
        raise ValueError(
            "F contains NaN or infinity: predictions of members must be finite. Check "
            f"members {np.flatnonzero(~finite)[:10].tolist()}."
        )


def refuse_swapped(predictions: Any, y: Any) -> None:
    """Raise ValueError if the shapes tell that targets were given before predictions."""
    if np.ndim(predictions) < np.ndim(y) and np.shape(y)[-1] > 1:
        raise ValueError(
            "Predictions come first and targets second. Got shapes "
            f"{np.shape(predictions)} and {np.shape(y)}: swap the two arguments."
        )


def check_targets(F: FloatArray, y: Any) -> FloatArray | IntArray:
    """Return y to match F: floats for (N, M), class codes for (N, M, K)."""
    y = column_or_1d(y)
    refuse_missing(y)
    if len(y) != len(F):
        raise ValueError(
            f"y must have one entry for each row of F. Got {len(y)} targets for "
            f"{len(F)} rows."
        )
    numbers = as_floats(y)
    if numbers is not None:  # also text such as "nan"
        assert_all_finite(numbers, input_name="y")
    if F.ndim == 3:
        return check_class_codes(y, F.shape[2])
    if numbers is None:
        raise ValueError(
            "For F of shape (N, M) y must contain numbers. Got values such as "
            f"{y[:3].tolist()}; classes need F of shape (N, M, K)."
        )
    return numbers


def refuse_missing(y: Any) -> None:
    """Raise ValueError if a target is missing, or a number that is not finite.

    None and the missing values of pandas count as NaN, also among labels.
    """
    y = np.asarray(y)
    if y.dtype == object:
        values = [np.nan if type(v).__name__ in _MISSING else v for v in y.flat]
        y = np.array([v for v in values if isinstance(v, (float, np.floating))], "f8")
    assert_all_finite(y, input_name="y")


def check_size(A: FloatArray, name: str) -> None:
    """Refuse numbers whose squares are not: distances and sums of squares need them."""
    largest = float(max(A.max(initial=0.0), -A.min(initial=0.0)))
    if largest > _LARGEST:
        raise ValueError(
            f"{name} must not contain a number above {_LARGEST:g}: its square would be "
            f"infinite. Got {largest:.3g}. Scale {name}."
        )


def as_floats(values: Any) -> FloatArray | None:
    """Return an array of floats, or None if an entry cannot be converted."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        return None


def check_class_codes(y: Any, n_classes: int) -> IntArray:
    """Return y as integer codes 0..K-1; raise ValueError for anything else."""
    codes = np.asarray(y)
    integral = codes.dtype.kind in "iub" or (
        codes.dtype.kind == "f" and bool(np.all(codes == np.floor(codes)))
    )
    if not integral or codes.min() < 0 or codes.max() >= n_classes:
        raise ValueError(
            f"y must contain the class codes 0..{n_classes - 1}, the positions on the "
            f"last axis of F. Got values such as {codes[:3].tolist()}; "
            "sklearn.preprocessing.LabelEncoder makes codes from labels."
        )
    return codes.astype(np.intp)


def label_codes(y: Any, classes: Any) -> IntArray:
    """Return the position of each label in the classes."""
    refuse_missing(y)
    known = {label: code for code, label in enumerate(np.asarray(classes).tolist())}
    labels = np.asarray(y).tolist()
    strange = [label for label in labels if label not in known]
    if strange:
        raise ValueError(
            f"y contains the label {strange[0]!r}, which is not a class of the ensemble. "
            f"Its classes are {list(known)[:10]}."
        )
    return np.array([known[label] for label in labels], dtype=np.intp)


def check_held_out(held_out: Any, shape: tuple[int, ...]) -> BoolArray | None:
    """Return the (N, M) mask, or None if all of its entries are True."""
    if held_out is None:
        return None
    mask = np.asarray(held_out)
    if mask.dtype != np.bool_ or mask.shape != shape[:2]:
        raise ValueError(
            f"held_out must be a boolean array of shape {shape[:2]}: True where the "
            f"member did not train on the row. Got dtype {mask.dtype} and shape "
            f"{mask.shape}."
        )
    if not mask.any():
        raise ValueError(
            "held_out is False everywhere: no member left out any of the rows (or "
            "there is 1 sample), so their errors cannot be estimated. Pass rows that "
            "the members were not trained on, or held_out=None to use the training "
            "rows."
        )
    return None if mask.all() else mask


def check_columns(estimator: Any, X: Any, *, reset: bool) -> Any:
    """Check the names and number of columns; return frames and sparse matrices as X."""
    if hasattr(X, "columns"):
        names = list(X.columns)
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(
                f"The columns of X need different names: {twice!r} occurs twice."
            )
        validate_data(estimator, X, skip_check_array=True, reset=reset)
        return X
    known = getattr(estimator, "n_features_in_", None)
    nameless = not (reset or hasattr(estimator, "feature_names_in_"))
    if nameless and _is_plain(X) and len(X) and X.shape[1] == known:
        return X  # as below, without the 0.1 ms that the checks of scikit-learn take
    options = {"accept_sparse": ["csr"], "ensure_all_finite": False, "reset": reset}
    try:
        return validate_data(estimator, X, **options)
    except ValueError as error:
        # Text is for members that can read it, such as an encoding pipeline.
        if "could not convert" not in str(error):
            raise
        return validate_data(estimator, X, dtype=None, **options)


def _is_plain(X: Any) -> bool:
    """Return True for a matrix of numbers in single or double precision."""
    return type(X) is np.ndarray and X.ndim == 2 and X.dtype.char in "fd"


def single_rows(X: Any) -> Any:
    """Return finite numbers as C-ordered rows in single precision; None for other X."""
    if not _is_plain(X):
        return None
    with np.errstate(over="ignore"):
        rows = np.ascontiguousarray(X, dtype=np.float32)
    return rows if np.isfinite(rows).all() else None


def check_sample_weight(sample_weight: Any, F: Any) -> FloatArray | None:
    """Return non-negative finite weights with a positive sum, or None."""
    if sample_weight is None:
        return None
    s = sklearn_sample_weight(sample_weight, F, dtype=np.float64)
    if np.any(s < 0) or not np.any(s > 0):
        raise ValueError(
            "sample_weight must be non-negative with at least one positive entry. "
            f"Got a minimum of {s.min():g} and a sum of {s.sum():g}."
        )
    low, high = float(s[s > 0].min()), float(s.max())
    if low < _LIGHTEST or high > _HEAVIEST or high > _HEAVIEST * low:
        raise ValueError(
            f"Positive entries of sample_weight must lie between {_LIGHTEST:g} and "
            f"{_HEAVIEST:g}, and the largest may be {_HEAVIEST:g} times the smallest. "
            f"Got {low:g} to {high:g}: set the weights of unused rows to zero."
        )
    return s  # type: ignore[no-any-return]


def check_weights(w: Any, n_members: int) -> FloatArray:
    """Return member weights of shape (M,), equal ones for None."""
    if w is None:
        return np.full(n_members, 1.0 / n_members)
    w = check_array(w, ensure_2d=False, dtype=np.float64, input_name="w")
    if w.shape != (n_members,):
        raise ValueError(
            f"w must contain one weight for each of the {n_members} members. Got shape "
            f"{w.shape}."
        )
    return w  # type: ignore[no-any-return]


def check_row_weights(G: Any, shape: tuple[int, ...]) -> FloatArray:
    """Return weights of shape (N, M): one for each member on each row."""
    G = check_array(G, dtype=np.float64, input_name="w")
    if G.shape != shape:
        raise ValueError(
            f"w must have shape {shape[1:]} or {shape}: a weight for each member, or one "
            f"for each on every row. Got shape {G.shape}."
        )
    return G  # type: ignore[no-any-return]


def calibrated_classifier(model: Any, curves: Any, classes: Any, method: str) -> Any:
    """Return an entry of `calibrated_classifiers_` of `CalibratedClassifierCV`."""
    from sklearn.calibration import _CalibratedClassifier

    return _CalibratedClassifier(model, curves, classes=classes, method=method)


def sigmoid_curve(slope: float, intercept: float) -> Any:
    """Return the calibrator 1 / (1 + exp(-slope s - intercept)) of scikit-learn."""
    from sklearn.calibration import _SigmoidCalibration

    curve = _SigmoidCalibration()
    curve.a_, curve.b_ = -slope, -intercept
    return curve


def tree_of_nodes(
    n_features: int,
    left: Any,
    right: Any,
    feature: Any,
    threshold: Any,
    missing_left: Any,
) -> Any:
    """Return scikit-learn's compiled tree of these nodes, without values."""
    from sklearn.tree._tree import NODE_DTYPE, Tree

    nodes = np.zeros(len(left), dtype=NODE_DTYPE)
    nodes["left_child"], nodes["right_child"] = left, right
    nodes["feature"], nodes["threshold"] = feature, threshold
    nodes["missing_go_to_left"] = missing_left
    tree = Tree(n_features, np.ones(1, dtype=np.intp), 1)
    tree.__setstate__(
        {
            "max_depth": 0,
            "node_count": len(nodes),
            "nodes": nodes,
            "values": np.zeros((len(nodes), 1, 1)),
        }
    )
    return tree
