"""The matrix F, the prediction of every member on every row, and weighted sums of it.

F has shape (N, M) for regression and (N, M, K) for classification, classes on
the last axis. Members that predict labels only give one vote to one class. A given F is
checked by `check_predictions` in `_validation.py`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.tree import BaseDecisionTree, DecisionTreeClassifier
from sklearn.utils import check_array, get_tags
from sklearn.utils.parallel import delayed

from committee._parallel import results_of, track
from committee._typing import BoolArray, FloatArray, IntArray, Member, Output
from committee._validation import check_row_weights, check_weights, single_rows
from committee.distributed.collections import lazy_rows
from committee.ensembles import Roster, roster_of
from committee.ensembles.member_features import bare_tree
from committee.probabilities import pooled_terms

#: The option of trees for X that is checked already.
_CHECKED = {"check_input": False}
#: Methods that return what `tree_.predict` returns; a subclass may have others.
_OF_TREES = {DecisionTreeClassifier.predict_proba, BaseDecisionTree.predict}


def member_predictions(
    ensemble: Any, X: Any, *, n_jobs: int | None = None
) -> FloatArray:
    """Return F, the predictions of every member of an ensemble.

    Parameters
    ----------
    ensemble : fitted ensemble
        A committee; a forest, a bagging, voting, stacking or boosting model; a
        pipeline or a search around one of these; or a plain list of fitted
        estimators of any kinds. `prune` lists all kinds.
    X : array-like or frame of shape (N, n_features)
        For a Dask array or frame the result is a lazy Dask array.
    n_jobs : int, default=None
        Number of members that predict in parallel.

    Returns
    -------
    F : array of shape (N, M) or (N, M, K)
        The K classes are `classes_` of the ensemble; for a list the sorted union of the
        members' classes. A class that a member was not trained on has probability zero.
        For the rounds of a booster, F contains scores.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from committee import member_predictions
    >>> members = [Ridge(alpha=a).fit([[0.0], [1.0]], [0.0, 1.0]) for a in (0.0, 1.0)]
    >>> member_predictions(members, [[1.0]]).round(3).tolist()
    [[1.0, 0.667]]
    """
    if hasattr(ensemble, "member_predictions"):
        return ensemble.member_predictions(X, n_jobs=n_jobs)  # type: ignore[no-any-return]
    return _ensemble_predictions(ensemble, X, n_jobs=n_jobs)


def _member_axes(ensemble: Any) -> tuple[int, ...]:
    """Return the shape of F behind the rows."""
    roster = roster_of(ensemble)
    return (len(roster), *roster.output_shape)


@lazy_rows(tail=_member_axes, check=False)
def _ensemble_predictions(
    ensemble: Any, X: Any, *, n_jobs: int | None = None
) -> FloatArray:
    roster = roster_of(ensemble)
    return predict_members(roster, roster.prepared(X), n_jobs=n_jobs)


def predict_members(
    roster: Roster, X: Any, *, n_jobs: int | None = None, verbose: bool = False
) -> FloatArray:
    """Return F of a roster; X is prepared for its members."""
    if roster.staged_predictions is not None:
        stream = roster.staged_predictions(X)
    else:
        stream = iter_members(roster, X, n_jobs=n_jobs)
    return _stacked(track(stream, len(roster), "predicting", verbose), len(roster))


def predict_all(
    members: Sequence[Member],
    X: Any,
    *,
    classes: Any = None,
    output: Output = "soft",
    n_jobs: int | None = None,
) -> FloatArray:
    """Return F of the given members, one contiguous slab for each."""
    stream = iter_predictions(members, X, classes=classes, output=output, n_jobs=n_jobs)
    return _stacked(stream, len(members))


def _stacked(stream: Iterator[FloatArray], n_members: int) -> FloatArray:
    """Return F from a stream of predictions, one member after the other."""
    slabs: FloatArray | None = None
    for i, P in enumerate(stream):
        if slabs is None:
            slabs = np.empty((n_members, *P.shape))
        slabs[i] = P
    if slabs is None:
        raise ValueError("There are no members to predict.")
    return np.moveaxis(slabs, 0, 1)


def iter_members(
    roster: Roster, X: Any, *, n_jobs: int | None = None
) -> Iterator[FloatArray]:
    """Yield the predictions of each member of a roster, in order."""
    return iter_predictions(
        roster.members,
        X,
        classes=roster.member_classes,
        output=roster.output,
        n_jobs=n_jobs,
    )


def iter_predictions(
    members: Sequence[Member],
    X: Any,
    *,
    classes: Any = None,
    output: Output = "soft",
    n_jobs: int | None = None,
) -> Iterator[FloatArray]:
    """Yield the predictions of each member, in order for any `n_jobs`."""
    X, options = _checked_once(members, X)
    how = {"classes": classes, "output": output, **options}
    if effective_n_jobs(n_jobs) == 1:
        for member in members:
            yield predict_one(member, X, **how)
        return
    calls = (delayed(predict_one)(member, X, **how) for member in members)
    yield from results_of(calls, n_jobs, prefer="threads")


def predict_one(
    member: Member,
    X: Any,
    *,
    classes: Any = None,
    output: Output = "soft",
    **options: Any,
) -> FloatArray:
    """Return one member's predictions, (N,) or (N, K).

    With `classes`, columns are in their order: probabilities if the member has
    `predict_proba` and `output` is "soft", its scores if `output` is "scores", otherwise
    one vote of 1. Options are passed to the method of the member.
    """
    method = "predict" if classes is None else "predict_proba"
    if options and output == "soft" and getattr(type(member), method) in _OF_TREES:
        found: FloatArray = member.tree_.predict(X)  # without checks of each tree
        return (
            found[:, 0]
            if classes is None
            else in_columns_of(classes, found, member.classes_)
        )
    if classes is None:
        return np.asarray(member.predict(X, **options), dtype=np.float64).reshape(-1)
    if output == "scores":
        return np.asarray(member.scores(X, **options))
    if output == "soft" and hasattr(member, "predict_proba"):
        P = np.asarray(member.predict_proba(X, **options))
        return in_columns_of(classes, P, member.classes_)
    columns = _positions(np.asarray(member.predict(X, **options)), classes)
    one_hot = np.zeros((len(columns), len(classes)))
    one_hot[np.arange(len(columns)), columns] = 1.0
    return one_hot


def _checked_once(members: Sequence[Member], X: Any) -> tuple[Any, dict[str, Any]]:
    """Return X as trees take it, checked once, and the option that skips their check.

    As in a forest, this saves k - 1 passes over X for k trees.
    """
    if not isinstance(X, np.ndarray) or X.dtype == object:
        return X, {}
    trees = [bare_tree(member) for member in members]
    if not all(isinstance(tree, BaseDecisionTree) for tree in trees):
        return X, {}
    rows = single_rows(X)
    if rows is not None:
        return rows, _CHECKED
    # Tags depend on these only, and take longer than a prediction.
    kinds = {(type(tree), tree.splitter, tree.criterion): tree for tree in trees}
    missing = all(get_tags(tree).input_tags.allow_nan for tree in kinds.values())
    X = check_array(
        X, dtype=np.float32, ensure_all_finite="allow-nan" if missing else True
    )
    return X, _CHECKED


def combine(F: FloatArray, w: FloatArray) -> FloatArray:
    """Return the committee's output, f_ens = sum_m w_m f_m.

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    w : array of shape (M,) or (N, M)
        Weights for all rows, or the weights of a gate for each row.

    Returns
    -------
    f_ens : array of shape (N,) or (N, K)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import combine
    >>> combine(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.5, 0.5])).tolist()
    [1.5, 4.0]
    >>> combine(np.array([[1.0, 2.0], [3.0, 5.0]]), np.eye(2)).tolist()
    [1.0, 5.0]
    """
    F = np.asarray(F)
    if F.ndim not in (2, 3):
        raise ValueError(
            f"F must have shape (N, M) or (N, M, K). Got shape {F.shape} instead."
        )
    by_row = np.ndim(w) == 2
    return weighted_sum(
        F, check_row_weights(w, F.shape[:2]) if by_row else check_weights(w, F.shape[1])
    )


def weighted_by_row(F: FloatArray | BoolArray, G: FloatArray) -> FloatArray:
    """Return sum_m G[:, m] F[:, m], of shape (N,) or (N, K); G has shape (N, M)."""
    total: FloatArray = np.einsum("nm...,nm->n...", F, G)
    return total


def weighted_sum(F: FloatArray | BoolArray, w: FloatArray) -> FloatArray:
    """Return sum_m w_m F[:, m], of shape (N,) or (N, K); w has shape (M,) or (N, M)."""
    if w.ndim == 2:
        return weighted_by_row(F, w)
    counts, unit = vote_counts(w)
    if np.all(counts == 1):
        counted: FloatArray = F.sum(axis=1, dtype=np.float64) * unit
        return counted
    return np.tensordot(F, counts, axes=(1, 0)) * unit


def vote_counts(w: FloatArray) -> tuple[FloatArray, float]:
    """Return c, of shape (M,), and u with w = u c.

    If all nonzero weights are equal, c holds 0 and 1: votes are counted first and scaled
    once, so that ties stay ties. Otherwise u is 1.
    """
    support = w[w != 0]
    if len(support) and np.all(support == support[0]):
        return (w != 0).astype(np.float64), float(support[0])
    return w, 1.0


def combined(roster: Roster, X: Any, *, n_jobs: int | None = None) -> FloatArray:
    """Return b + sum_m w_m f_m, one member at a time; X is prepared for the members.

    The result equals `combine(F, w)` and the offset b of the roster, without F in
    memory. A logarithmic pool sums log-probabilities.
    """
    assert roster.weights is not None
    support = np.flatnonzero(roster.weights)
    kept = roster.only(support, roster.weights[support])
    stream = iter_members(kept, X, n_jobs=n_jobs)
    total = np.zeros((X.shape[0], *roster.output_shape))
    counts, unit = vote_counts(roster.weights[support])
    for count, P in zip(counts, stream, strict=True):
        P = pooled_terms(P, roster.floor)
        total += P if count == 1 else count * P
    return total * unit + roster.offset


def in_columns_of(classes: Any, P: FloatArray, own: Any) -> FloatArray:
    """Return P, with columns of the classes `own`, in the columns of `classes`."""
    if np.array_equal(own, classes):
        return P
    full = np.zeros((len(P), len(classes)))
    full[:, _positions(np.asarray(own), classes)] = P
    return full


def _positions(labels: Any, classes: Any) -> IntArray:
    """Return the position of each label in the sorted classes."""
    positions: IntArray = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = np.asarray(classes)[positions] != labels
    if np.any(unknown):
        raise ValueError(
            f"A member predicted the label {labels[unknown].tolist()[0]!r}, which is "
            f"not among the classes {np.asarray(classes).tolist()}."
        )
    return positions
