"""Recognise training rows by the counts in leaves, or by a stored digest.

A tree records the number of its training rows in each leaf. Rows that reach the leaves in
exactly these numbers are its training rows, because other rows are very unlikely to. Our
own committees store a digest of some of their rows. Neither uses y, and neither depends
on weights of rows or classes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from hashlib import blake2b
from itertools import islice, repeat
from typing import Any, Literal

import numpy as np
from scipy.sparse import issparse
from scipy.stats import poisson
from sklearn.tree import BaseDecisionTree
from sklearn.utils import check_array

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee._validation import n_rows, safe_indexing
from committee.ensembles.member_features import OnColumns, bare_tree

#: "same": the training rows, in their order if that matters. "another order": the
#: training rows in another order, or a part of them. "others": other rows.
Recognised = Literal["same", "another order", "others"]
#: Given X prepared for the members; returns None if it cannot be decided.
Recognise = Callable[[Any], Recognised | None]
#: Given X, yields for each tree the leaf of each row, (N,), and the number of training
#: rows in each leaf, which may miss a whole number by rounding.
Leaves = Callable[[Any], Iterator[tuple[IntArray, Any]]]

#: Largest probability with which other rows are taken for training rows.
IMPROBABLE = 1e-9
#: Maximum number of trees that are compared; tiny trees give little evidence each.
_TREES = 100
#: Maximum number of trees of a booster that are compared.
_ROUNDS = 30
#: Number of rows in a digest.
_DIGESTED = 32


def rows_of_trees(
    trees: Sequence[Member],
    X: Any,
    drawn: Callable[[], Iterable[IntArray]] | None = None,
) -> Recognised | None:
    """Compare the counts of rows in the leaves of trees with the training counts.

        log p = log P(counts equal the training counts | other rows)

    Trees are compared in turn until p is below 1e-9.

    Parameters
    ----------
    trees : sequence of estimators
        Each a tree, or a tree on some of the columns.
    X : array or sparse matrix of shape (N, n_features)
    drawn : callable, default=None
        Returns the training rows of each tree. None means that trees were trained on all
        rows in any order, or on samples that were not recorded.

    Returns
    -------
    rows : {"same", "another order", "others"} or None
        None if some member is not a tree, or trees are too small to decide.
    """
    if not len(trees) or not all(
        isinstance(bare_tree(t), BaseDecisionTree) for t in trees
    ):
        return None
    if not hasattr(X, "shape") or hasattr(X, "columns"):
        X = check_array(X, dtype=None, accept_sparse="csr", ensure_all_finite=False)
    samples = repeat(None) if drawn is None else drawn()
    evidence = {"same": 0.0, "another order": 0.0}
    for tree, sample in zip(trees[:_TREES], samples, strict=False):
        for kind, log_p in _of_tree(tree, X, sample).items():
            evidence[kind] += log_p
        if evidence["same"] < np.log(IMPROBABLE):
            return "same"
        if min(evidence.values()) == np.inf:
            return None if _was_weighted(tree, sample) else "others"
    # No tree excludes training rows, but that may be chance.
    contained = evidence["another order"] < np.log(IMPROBABLE)
    return "another order" if contained else None


def rows_of_leaves(leaves: Leaves, X: Any) -> Recognised | None:
    """Compare the counts of rows in the leaves of a booster with the training counts.

    The first trees are compared. Returns None for other rows, for too few leaves, or for
    trees that were trained on samples of the rows.
    """
    log_p = 0.0
    for leaf, shares in islice(leaves(X), _ROUNDS):
        trained = np.rint(shares).astype(np.intp)
        here = np.bincount(leaf.astype(np.intp), minlength=len(trained))
        if not np.array_equal(here, trained):
            return None
        log_p += log_p_of(trained[trained > 0])
        if log_p < np.log(IMPROBABLE):
            return "same"
    return None


def rows_of_committee(
    members: Sequence[Member], held_out: BoolArray | None, known: str | None, X: Any
) -> Recognised | None:
    """Compare X with the digest of a committee's training rows, or with its trees."""
    if known is not None and digest(X) == known:
        return "same"
    if held_out is None:
        return rows_of_trees(members, X)
    if len(held_out) != n_rows(X):
        return "others"
    return rows_of_trees(
        members, X, lambda: (np.flatnonzero(~column) for column in held_out.T)
    )


def _of_tree(tree: Member, X: Any, sample: IntArray | None) -> dict[str, float]:
    """Return log p by one tree; infinity if the rows cannot be its training rows."""
    columns = np.asarray(tree.columns) if isinstance(tree, OnColumns) else None
    nodes, width = bare_tree(tree).tree_, bare_tree(tree).n_features_in_
    Z = X if columns is None else X[:, columns]
    if Z.shape[1] != width:  # the members will raise
        return {"same": np.inf, "another order": np.inf}
    Z = check_array(
        Z, dtype=np.float32, accept_sparse="csr", ensure_all_finite=False, copy=False
    )
    leaf, is_leaf = nodes.apply(Z), nodes.children_left < 0
    trained = nodes.n_node_samples[is_leaf]

    def counts(rows: Any) -> IntArray:
        return np.asarray(np.bincount(leaf[rows], minlength=len(is_leaf))[is_leaf])

    here = counts(slice(None))
    log_p = {"same": np.inf, "another order": np.inf}
    N, drawn = len(leaf), nodes.weighted_n_node_samples[0]
    if sample is None:
        as_trained = np.array_equal(here, trained)
    elif sample.max() < N:
        # Rows with weights, or repeated rows, depending on the member.
        ways = counts(np.unique(sample)), counts(sample)
        as_trained = any(np.array_equal(way, trained) for way in ways)
    else:
        as_trained = False
    if as_trained:
        log_p["same"] = log_p_of(trained)
    # Each leaf holds at least as many of the N rows as of a bootstrap sample of them.
    if np.isclose(drawn, N) and np.all(here >= trained):
        expected = N * trained / trained.sum()
        log_p["another order"] = float(poisson.logsf(trained - 1, expected).sum())
    # Each leaf holds at most as many rows of a part as of all. Rows far from each other
    # do that in many trees by chance, so one tree alone must be improbable enough.
    elif sample is None and trained.sum() > N and np.all(here <= trained):
        part = float(poisson.logcdf(trained, N * trained / trained.sum()).sum())
        log_p["another order"] = part if part < np.log(IMPROBABLE) else 0.0
    return log_p


def log_p_of(counts: IntArray) -> float:
    """Return log P(n rows fall into leaves with these counts), which are expected."""
    total = counts.sum()
    return float(poisson.logpmf(counts, counts).sum() - poisson.logpmf(total, total))


def _was_weighted(tree: Member, sample: IntArray | None) -> bool:
    """Return True if the tree may have been trained with row weights, some of them zero."""
    nodes = bare_tree(tree).tree_
    drawn = nodes.n_node_samples[0] if sample is None else len(sample)
    return not np.isclose(nodes.weighted_n_node_samples[0], drawn)


def digest(X: Any) -> str:
    """Return N and a hash of some rows, from which rows cannot be recovered.

    It is the same for frames, arrays and sparse matrices with the same numbers.
    """
    N = n_rows(X)
    rows = np.unique(np.linspace(0, N - 1, _DIGESTED).astype(np.intp))
    some = safe_indexing(X, rows)
    some = some.toarray() if issparse(some) else np.asarray(some)
    try:
        numbers: FloatArray = some.astype(np.float64) + 0.0  # -0.0 becomes 0.0
        numbers[np.isnan(numbers)] = np.nan
        content = numbers.tobytes()
    except (TypeError, ValueError):
        content = repr(some.astype(str).tolist()).encode()
    return f"{N}:{blake2b(content, digest_size=16).hexdigest()}"
