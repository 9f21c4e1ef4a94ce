"""The matrix F: what every member says on every row, and what they say together.

F has shape (N, M) for regression and (N, M, K) for classification, classes on
the last axis. Members that speak in labels only cast one vote for one class.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from joblib import effective_n_jobs
from sklearn.base import is_classifier
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_is_fitted

from committee._typing import FloatArray, IntArray, Member, Votes
from committee._validation import check_weights


def member_predictions(
    ensemble: Any, X: Any, *, n_jobs: int | None = None
) -> FloatArray:
    """Return F, the predictions of every member of an ensemble.

    Parameters
    ----------
    ensemble : committee or sequence of fitted estimators
        A fitted `CommitteeClassifier` or `CommitteeRegressor`, or a plain list
        of fitted scikit-learn estimators of mixed kinds.
    X : array-like or frame of shape (N, n_features)
    n_jobs : int, optional
        Members that predict at the same time.

    Returns
    -------
    F : array of shape (N, M) or (N, M, K)
        For classifiers the K classes are the sorted union of the members'
        classes; a class that a member never saw has probability zero.

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
    members = _as_members(ensemble)
    kinds = {bool(is_classifier(member)) for member in members}
    if len(kinds) != 1:
        raise ValueError(
            "An ensemble is made of classifiers or of regressors. Got both kinds."
        )
    classes = None
    if kinds == {True}:
        for member in members:
            check_is_fitted(member, "classes_")
        classes = np.unique(np.concatenate([member.classes_ for member in members]))
    return predict_all(members, X, classes=classes, n_jobs=n_jobs)


def predict_all(
    members: Sequence[Member],
    X: Any,
    *,
    classes: Any = None,
    votes: Votes = "soft",
    n_jobs: int | None = None,
) -> FloatArray:
    """Return F of the given members, one contiguous slab for each."""
    slabs: FloatArray | None = None
    stream = iter_predictions(members, X, classes=classes, votes=votes, n_jobs=n_jobs)
    for i, P in enumerate(stream):
        if slabs is None:
            slabs = np.empty((len(members), *P.shape))
        slabs[i] = P
    if slabs is None:
        raise ValueError("There are no members to ask.")
    return np.moveaxis(slabs, 0, 1)


def iter_predictions(
    members: Sequence[Member],
    X: Any,
    *,
    classes: Any = None,
    votes: Votes = "soft",
    n_jobs: int | None = None,
) -> Iterator[FloatArray]:
    """Yield each member's predictions in order, whatever `n_jobs` is."""
    if effective_n_jobs(n_jobs) == 1:
        for member in members:
            yield predict_one(member, X, classes=classes, votes=votes)
        return
    parallel = Parallel(n_jobs=n_jobs, prefer="threads", return_as="generator")
    jobs = (delayed(predict_one)(m, X, classes=classes, votes=votes) for m in members)
    yield from parallel(jobs)


def predict_one(
    member: Member, X: Any, *, classes: Any = None, votes: Votes = "soft"
) -> FloatArray:
    """Return one member's predictions, (N,) or (N, K).

    With `classes` given, columns follow them: probabilities where the member
    has `predict_proba` and `votes` is "soft", otherwise one vote of 1.
    """
    if classes is None:
        return np.asarray(member.predict(X), dtype=np.float64).reshape(-1)
    if votes == "soft" and hasattr(member, "predict_proba"):
        return _align(np.asarray(member.predict_proba(X)), member.classes_, classes)
    columns = _positions(np.asarray(member.predict(X)), classes)
    one_hot = np.zeros((len(columns), len(classes)))
    one_hot[np.arange(len(columns)), columns] = 1.0
    return one_hot


def combine(F: FloatArray, w: FloatArray) -> FloatArray:
    """Return the committee's output, f_ens = sum_m w_m f_m.

    Parameters
    ----------
    F : array of shape (N, M) or (N, M, K)
    w : array of shape (M,)

    Returns
    -------
    f_ens : array of shape (N,) or (N, K)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import combine
    >>> combine(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([0.5, 0.5])).tolist()
    [1.5, 4.0]
    """
    F = np.asarray(F)
    if F.ndim not in (2, 3):
        raise ValueError(
            f"F must have shape (N, M) or (N, M, K). Got shape {F.shape} instead."
        )
    return np.tensordot(F, check_weights(w, F.shape[1]), axes=(1, 0))


def as_probabilities(scores: FloatArray) -> FloatArray:
    """Cut scores at zero and scale rows to sum one; the largest stays largest."""
    if scores.ndim != 2:
        raise ValueError(
            f"Probabilities need scores of shape (N, K). Got shape {scores.shape}."
        )
    p = np.maximum(scores, 0.0)
    total = p.sum(axis=1, keepdims=True)
    empty = total[:, 0] <= 0
    if np.any(empty):
        p[empty, scores[empty].argmax(axis=1)] = 1.0
        total = p.sum(axis=1, keepdims=True)
    p /= total
    return p


def _align(P: FloatArray, member_classes: Any, classes: Any) -> FloatArray:
    """Put the columns of P where its classes stand, zeros elsewhere."""
    if np.array_equal(member_classes, classes):
        return P
    full = np.zeros((len(P), len(classes)))
    full[:, _positions(np.asarray(member_classes), classes)] = P
    return full


def _positions(labels: Any, classes: Any) -> IntArray:
    """Return where each label stands in the sorted classes."""
    positions: IntArray = np.searchsorted(classes, labels).clip(max=len(classes) - 1)
    unknown = np.asarray(classes)[positions] != labels
    if np.any(unknown):
        raise ValueError(
            f"A member predicted the label {labels[unknown].tolist()[0]!r}, which is "
            f"not among the classes {np.asarray(classes).tolist()}."
        )
    return positions


def _as_members(ensemble: Any) -> list[Member]:
    """Return the fitted estimators of a list, or say what is accepted."""
    if not isinstance(ensemble, (list, tuple)) or not ensemble:
        raise TypeError(
            "The ensemble must be a fitted CommitteeClassifier or CommitteeRegressor, "
            "or a non-empty list of fitted estimators (for a forest, "
            f"list(forest.estimators_)). Got {type(ensemble).__name__} instead."
        )
    return list(ensemble)
