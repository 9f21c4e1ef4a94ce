"""The checked rows of a fit: in memory, or in chunks of Dask collections.

Subsets and coupling points of the rows are given or drawn.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from sklearn.cluster import KMeans
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y, validate_data

from committee._typing import FloatArray, IntArray
from committee._validation import (
    check_sample_weight,
    check_size,
    count_of,
    refuse_missing,
)
from committee.cells.choose import Part
from committee.cells.groups import RowChunks
from committee.distributed.chunks import Chunks
from committee.distributed.collections import (
    check_block,
    check_chunk_weight,
    check_lead,
    check_same_rows,
    columns_of,
    naming,
    numbered,
    row_chunks,
)
from committee.kernels import warn_of_scales
from committee.targets import as_numbers, at_least_two, refuse_mixed

#: The share of copies among the rows from which on they are worth a warning.
_COPIES = 0.1


class Rows(NamedTuple):
    """Checked rows: X (N, d), targets Y (N, T) of the submodels, sample weights s.

    y are the targets for combiners: floats, (N,) or (N, T), or class codes.
    """

    X: FloatArray
    y: Any
    Y: FloatArray
    s: FloatArray | None

    @property
    def target_shape(self) -> tuple[int, ...]:
        """The shape of one row of y."""
        return self.y.shape[1:]  # type: ignore[no-any-return]

    def classes(self) -> Any:
        """Return the labels of all rows, (K,), of which two must count."""
        check_classification_targets(self.y)
        at_least_two(np.unique(self.y[self.counted()]))
        return np.unique(self.y)

    def coded(self, classes: Any) -> Rows:
        """Return the rows with class codes instead of labels, and targets +-1."""
        codes = np.searchsorted(classes, self.y)
        return self._replace(y=codes, Y=signed_targets(codes, len(classes)))

    def take(self, rows: IntArray) -> Rows:
        """Return some of the rows, by numbers in increasing order."""
        s = None if self.s is None else self.s[rows]
        return Rows(self.X[rows], self.y[rows], self.Y[rows], s)

    def numbers(self) -> IntArray:
        """Return the numbers of the rows of `chunks`."""
        return self.counted()

    def chunks(self) -> RowChunks:
        """Return the rows with a positive weight, as cells take them."""
        X, _, Y, s = self.take(self.counted())
        return RowChunks.in_memory(X, Y, s)

    @property
    def n_rows(self) -> int:
        """N."""
        return len(self.X)

    def counted(self) -> IntArray:
        """Return the numbers of rows with a positive weight."""
        return np.arange(len(self.X)) if self.s is None else np.flatnonzero(self.s)


def regression_rows(X: Any, y: Any, s: Any, estimator: Any = None) -> Rows:
    """Return checked rows with numbers as targets; s has been checked."""
    if y is not None:
        refuse_missing(y)
    X, y = check_X_y(X, y, dtype=np.float64, multi_output=True, estimator=estimator)
    y = as_numbers(y)
    check_size(X, "X")
    return Rows(X, y, y.reshape(len(y), -1), s)


def label_rows(X: Any, y: Any, s: Any, estimator: Any = None) -> Rows:
    """Return checked rows with labels, and no targets yet; s has been checked."""
    if y is not None:
        refuse_missing(y)
        refuse_mixed(y)
    X, y = check_X_y(X, y, dtype=np.float64, estimator=estimator)
    check_size(X, "X")
    # Each label twice: in a chunk of few rows scikit-learn would warn of too many classes.
    check_classification_targets(np.repeat(np.unique(y), 2))
    return Rows(X, y, np.zeros((len(y), 0)), s)


def memory_rows(
    estimator: Any, check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> Rows:
    """Return checked rows, and set `n_features_in_` and the like of the estimator."""
    rows = check(X, y, None, estimator)
    if estimator.gamma is None:
        warn_of_scales(rows.X, estimator.kernel)
    validate_data(estimator, X, skip_check_array=True)
    return rows._replace(s=check_sample_weight(sample_weight, rows.X))


def signed_targets(codes: IntArray, n_classes: int) -> FloatArray:
    """Return targets +-1: (N, 1) for two classes, else one column a class, (N, K)."""
    Y = np.where(codes[:, None] == np.arange(n_classes), 1.0, -1.0)
    return Y[:, 1:] if n_classes == 2 else Y


def codes_of(Y: FloatArray) -> IntArray:
    """Return the class codes that `signed_targets` made into Y."""
    return (Y[:, 0] > 0).astype(np.intp) if Y.shape[1] == 1 else Y.argmax(axis=1)


def warn_of_copies(X: FloatArray, Y: FloatArray) -> None:
    """Warn where many rows (N, d) and their targets (N, T) are copies of others.

    Leave-one-out finds the target of a row in its copy. Where equal rows have unequal
    targets they were measured again rather than copied, and nothing is wrong.
    """
    N = len(X)
    points = _n_distinct(X)
    # Rows that are all different need no second look.
    if N - points <= _COPIES * N or _n_distinct(np.hstack([X, Y])) != points:
        return
    warnings.warn(
        f"{N - points:,} of {N:,} rows are duplicates of others, in X and y. "
        "Leave-one-out predicts a row from its duplicate, so the chosen ridge is too "
        "small, and errors and intervals look better than they are. Drop the "
        "duplicates; sample_weight may be the number of times that a row occurs.",
        UserWarning,
        stacklevel=2,
    )


def _n_distinct(A: FloatArray) -> int:
    """Return the number of distinct rows, by a hash of 64 bits for each."""
    factors = np.random.default_rng(0).integers(2**63, size=A.shape[1], dtype=np.uint64)
    # Adding zero turns -0.0 into 0.0; products of integers wrap around. The low bits of a
    # float, and so of a product, are often zero: high bits are mixed in.
    bits = (np.ascontiguousarray(A, dtype=np.float64) + 0.0).view(np.uint64)
    hashes = ((bits ^ (bits >> np.uint64(29))) * (2 * factors + np.uint64(1))).sum(
        axis=1
    )
    return len(np.unique(hashes))


class Facts(NamedTuple):
    """A summary of a chunk, which needs no rows.

    `n_counted` are rows with a positive weight; labels are the classes of all rows and
    of those that count, None for regression.
    """

    n_counted: int
    target_shape: tuple[int, ...]
    labels: Any
    counted_labels: Any


class ChunkedRows:
    """`Rows` in chunks that stay on their workers; facts are None for an empty chunk."""

    def __init__(self, parts: Chunks, facts: Sequence[Facts | None]) -> None:
        self.parts, self.facts = parts, facts

    @property
    def known(self) -> list[Facts]:
        """The facts of the chunks that have rows."""
        return [fact for fact in self.facts if fact is not None]

    @property
    def target_shape(self) -> tuple[int, ...]:
        """The shape of one row of y."""
        return self.known[0].target_shape

    def classes(self) -> Any:
        """Return the labels of all rows, (K,), of which two must count."""
        counted = [fact.counted_labels for fact in self.known]
        at_least_two(np.unique(np.concatenate(counted)))
        return np.unique(np.concatenate([fact.labels for fact in self.known]))

    def coded(self, classes: Any) -> ChunkedRows:
        """Return the rows with class codes instead of labels, and targets +-1."""
        return ChunkedRows(self.parts.map(Rows.coded, classes), self.facts)

    def numbers(self) -> None:
        """Rows of chunks have no numbers here."""

    def chunks(self) -> RowChunks:
        """Return the rows with a positive weight, as cells take them."""
        sizes = [0 if fact is None else fact.n_counted for fact in self.facts]
        return RowChunks(self.parts.map(_counted_part), sizes)


def chunked_rows(
    estimator: Any, check: Callable[..., Rows], X: Any, y: Any, sample_weight: Any
) -> ChunkedRows:
    """Return rows in chunks, checked on their workers, and set the estimator's columns.

    Some rows must have a positive weight.
    """
    check_lead(X=X, y=y, sample_weight=sample_weight)
    columns = columns_of(X)
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None.")
    # A number is the weight of every row and has no chunks.
    number = sample_weight is None or np.isscalar(sample_weight)
    if not number and np.ndim(sample_weight) == 0:
        raise ValueError(
            "sample_weight must have one entry for each row, or be a plain number. Got "
            "a 0-dimensional array."
        )
    blocks = row_chunks(X=X, y=y, sample_weight=None if number else sample_weight)
    lead = blocks["X"]
    assert lead is not None
    s = sample_weight if number else blocks["sample_weight"]
    chunks = numbered(len(lead)).map(_checked, check, columns, lead, blocks["y"], s)
    chunks = chunks.kept()
    facts: list[Facts | None] = chunks.map(_facts_of).values()
    known = [fact for fact in facts if fact is not None]
    if not known:
        raise ValueError("X must have at least one row. Every chunk is empty.")
    if not any(fact.n_counted for fact in known):
        raise ValueError("sample_weight must have at least one positive entry.")
    validate_data(estimator, columns, skip_check_array=True)
    return ChunkedRows(chunks, facts)


def _checked(
    number: int, check: Callable[..., Rows], columns: Any, X: Any, y: Any, s: Any
) -> Rows | None:
    """Return the rows of one chunk, or None."""
    with naming(number):
        check_same_rows(X=X, y=y)
        if len(X) == 0:
            return None
        check_block(X, columns)
        return check(X, y, check_chunk_weight(s, len(X)))


def _facts_of(rows: Rows) -> Facts:
    counted = rows.counted()
    is_labels = rows.Y.shape[1] == 0  # `label_rows` has no targets yet
    return Facts(
        len(counted),
        rows.target_shape,
        np.unique(rows.y) if is_labels else None,
        np.unique(rows.y[counted]) if is_labels else None,
    )


def _counted_part(rows: Rows) -> Part | None:
    """Return the rows of a chunk that count, None where there are none."""
    counted = rows.counted()
    if not len(counted):
        return None
    X, _, Y, s = rows if rows.s is None else rows.take(counted)
    return Part(X, Y, np.ones(len(X)) if s is None else s)


#: Rows that weigh the members, and at least so many per member.
_WEIGHING_ROWS, _ROWS_PER_MEMBER = 1000, 2


def draw_subsets(
    rows: IntArray, n_members: int, rng: np.random.RandomState
) -> list[IntArray]:
    """Return sorted, disjoint, random subsets; sizes differ by one row at most.

    Raise ValueError if a subset would have less than two rows.
    """
    if len(rows) < 2 * n_members:
        raise ValueError(
            f"n_members={n_members} needs at least {2 * n_members} training rows, two "
            f"for each subset. Got n_samples={len(rows)}."
        )
    parts = np.array_split(rng.permutation(rows), n_members)
    return [np.sort(part) for part in parts]


def check_subsets(
    subsets: Any, n_members: int | None, n_rows: int, counted: IntArray
) -> list[IntArray]:
    """Return given subsets sorted, without the rows that do not count.

    Parameters
    ----------
    subsets : sequence of array-likes of row numbers
        D_j, disjoint. Rows may be in none.
    n_members : int or None
        None means any number of subsets.
    n_rows : int
    counted : array of row numbers
        Rows with a positive weight.
    """
    is_list = np.iterable(subsets) and not isinstance(subsets, str)
    # Lists of different lengths become an array of objects, refused below.
    found = [_as_array(part) for part in subsets] if is_list else []
    if not found or n_members not in (None, len(found)):
        number = "" if n_members is None else f"{n_members} "
        each = "expert" if n_members is None else f"of n_members={n_members}"
        raise ValueError(
            f"subsets must be {number}lists of row numbers, one for each {each}. "
            f"Got {len(found) if is_list else repr(subsets)}."
        )
    for j, part in enumerate(found):
        if part.ndim != 1 or not len(part) or part.dtype.kind not in "iu":
            raise ValueError(
                f"subsets[{j}] must be a non-empty list of row numbers. Got dtype "
                f"{part.dtype} and shape {part.shape}."
            )
        if not (part.min() >= 0 and part.max() < n_rows):
            raise ValueError(
                f"subsets[{j}] must have row numbers from 0 to {n_rows - 1}. Got "
                f"{part.min()} to {part.max()}."
            )
    numbers, times = np.unique(np.concatenate(found), return_counts=True)
    if np.any(times > 1):
        raise ValueError(
            f"subsets must be disjoint. Row {numbers[times > 1][0]} occurs "
            f"{times.max()} times."
        )
    kept = [np.intersect1d(part, counted).astype(np.intp) for part in found]
    if not all(len(part) for part in kept):
        empty = [len(part) for part in kept].index(0)
        raise ValueError(
            f"subsets[{empty}] must have at least one row with a positive weight."
        )
    return kept


def _as_array(part: Any) -> Any:
    try:
        return np.asarray(part)
    except ValueError:
        return np.asarray(part, dtype=object)


def draw_coupling(
    X: FloatArray, n_coupling: float, coupling_set: str, rng: np.random.RandomState
) -> FloatArray:
    """Return X_c, (n_c, d): some of the training rows X, centres, or points in their box.

    A float `n_coupling` is a fraction of the training rows.
    """
    n = count_of(n_coupling, len(X))
    if coupling_set == "box":
        low, high = X.min(axis=0), X.max(axis=0)
        return rng.uniform(low, high, size=(n, len(low)))
    if n > len(X):
        raise ValueError(
            f"n_coupling={n} points cannot be drawn from {len(X)} training rows: "
            'give at most that many, or coupling_set="box".'
        )
    if coupling_set == "centres":
        # Copies of a row have one centre.
        n = min(n, len(np.unique(X, axis=0)))
        return np.asarray(KMeans(n, n_init=1, random_state=rng).fit(X).cluster_centers_)
    return X[np.sort(rng.choice(len(X), size=n, replace=False))]


def draw_weighing(
    rows: IntArray, n_members: int, rng: np.random.RandomState
) -> IntArray:
    """Return at most 1000 rows to weigh on, or two for each member, sorted."""
    n = max(_WEIGHING_ROWS, _ROWS_PER_MEMBER * n_members)
    return np.sort(rng.permutation(rows)[:n])
