"""Roster: the members of a fitted ensemble, their names, and how they predict."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from committee._typing import BoolArray, FloatArray, IntArray, Link, Member, Output
from committee.ensembles.member_features import OnColumns, bare_tree
from committee.ensembles.training_rows import Recognise, rows_of_committee

_INSTEAD = (
    "sklearn.inspection.permutation_importance takes any committee, and held-out rows."
)


def with_names(
    ensemble: Mapping[str, Member] | Sequence[Any],
) -> tuple[list[Member], list[str] | None]:
    """Return the members of a list, of (name, estimator) pairs or of a dict.

    The names are None if no member has a name. Otherwise members without a name are named
    after their class.

    Examples
    --------
    >>> from sklearn.linear_model import Lasso, Ridge
    >>> from committee.ensembles.roster import with_names
    >>> with_names([("small", Ridge(0.1)), Ridge(9.0), Ridge(99.0), Lasso()])[1]
    ['small', 'Ridge-1', 'Ridge-2', 'Lasso']
    >>> with_names({"a": Ridge()})[1], with_names([Ridge()])[1]
    (['a'], None)
    """
    entries: list[Any] = list(
        ensemble.items() if isinstance(ensemble, Mapping) else ensemble
    )
    members = [entry[1] if _is_pair(entry) else entry for entry in entries]
    return members, names_of(entries) if any(map(_is_pair, entries)) else None


def names_of(entries: Sequence[Any]) -> list[str]:
    """Return different names for estimators and (name, estimator) pairs.

    An estimator without a name is named after its class, or after the last step of its
    pipeline, with a number if several have the same class. Raise ValueError if a given name
    occurs twice.
    """
    kinds = [None if _is_pair(entry) else kind_of_member(entry) for entry in entries]
    names = []
    for i, (entry, kind) in enumerate(zip(entries, kinds, strict=True)):
        if kind is None:
            names.append(str(entry[0]))
        elif kinds.count(kind) > 1:
            names.append(f"{kind}-{kinds[: i + 1].count(kind)}")
        else:
            names.append(kind)
    twice = [name for name, n in Counter(names).items() if n > 1]
    if twice:
        raise ValueError(
            "Members need different names. Got several with the name "
            f"{', '.join(map(repr, twice))}."
        )
    return names


def kind_of_member(member: Member) -> str:
    """Return the class of a member, or of the last step of its pipeline."""
    while isinstance(member, Pipeline):
        member = member.steps[-1][1]
    return type(member).__name__


def _is_pair(entry: Any) -> bool:
    return isinstance(entry, tuple) and len(entry) == 2


@dataclass(frozen=True, eq=False)
class Roster:
    """The members of a fitted ensemble, and how they predict."""

    members: list[Member]
    #: The ensemble's own weights, (M,), which sum to one; None if it does not average its
    #: members (for example, a median or a stacking layer).
    weights: FloatArray | None
    #: Labels in the order of F's last axis, (K,); None for regression.
    classes: Any = None
    #: The same classes as in the members' `classes_`: labels, or codes 0..K-1.
    member_classes: Any = None
    #: Entries of F: probabilities ("soft"), one-hot votes ("hard"), or raw "scores" of
    #: boosting rounds.
    output: Output = "soft"
    #: How weighted sums become probabilities: "mean" (their shares), "slope" (the rule of
    #: the combiner, for weights that sum to one), "softmax" (of scores), or "combiner" (the
    #: rule of the combiner).
    link: Link = "mean"
    #: A logarithmic pool combines log clip(f_m, floor, 1); None: f_m is combined.
    floor: float | None = None
    #: What is added to the weighted sums: a number, or one for each class.
    offset: FloatArray | float = 0.0
    #: A fitted transformer that is applied to X once, before all members.
    transformer: Any = None
    #: Whether the members were trained on plain arrays, whatever X was.
    arrays: bool = False
    #: Given N, returns the mask (N, M) of the rows that members left out, or raises
    #: ValueError if N rows cannot be the training rows.
    held_out: Callable[[int], BoolArray] | None = None
    #: Returns the mask of all training rows; None if it would take too much memory.
    left_out: Callable[[], BoolArray | None] | None = None
    #: The combiner that learned the weights on the rows of `held_out`; None if there is
    #: none.
    combiner: Any = None
    #: Turns weighted sums (N, K) into the ensemble's own probabilities; None: their
    #: shares are.
    probabilities: Callable[[FloatArray], FloatArray] | None = None
    #: Calibrates probabilities (N, K), given also the weighted sums and their variances
    #: (N,) or None.
    calibrated: Callable[..., FloatArray] | None = None
    #: The ensemble's own out-of-bag predictions, (N,) or (N, K), NaN without any. They
    #: identify its training rows.
    oob_prediction: FloatArray | None = None
    #: Compares rows, prepared for the members, with the training rows.
    recognise: Recognise | None = None
    #: If `held_out` is None: the reason, and advice.
    no_oob_reason: str = "It does not record which rows each member was trained on."
    #: Given prepared X, yields the members' predictions in order, faster than one call
    #: for each member.
    staged_predictions: Callable[[Any], Iterator[FloatArray]] | None = None
    #: Of the rounds of a booster in their order: F without any round, a number or (K,).
    #: None for other members, and for a start that depends on x.
    start: FloatArray | float | None = None
    #: Names of the members, if given.
    names: list[str] | None = None

    def __len__(self) -> int:
        """M."""
        return len(self.members)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one row's prediction: () or (K,)."""
        return () if self.member_classes is None else (len(self.member_classes),)

    def only(self, members: IntArray, weights: FloatArray) -> Roster:
        """Return a roster of some of the members, with these weights.

        It has no fields about training rows, which refer to all members.
        """
        return replace(
            self,
            members=[self.members[m] for m in members],
            names=None if self.names is None else [self.names[m] for m in members],
            weights=weights,
            held_out=None,
            left_out=None,
            combiner=None,
            probabilities=None,
            calibrated=None,
            oob_prediction=None,
            recognise=None,
            staged_predictions=None,
            start=None,
        )

    def prepared(self, X: Any) -> Any:
        """Return X prepared for the members: transformed, and as an array if needed."""
        if self.transformer is not None:
            X = self.transformer.transform(X)
        if self.arrays and hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        return X


def equal_weights(n: int) -> FloatArray:
    """Return n weights that sum to one."""
    return np.full(n, 1.0 / n)


def with_rows(roster: Roster, mask: BoolArray | None, known: str | None) -> Roster:
    """Return a committee's roster with the held-out mask (N, M) and the digest of rows."""
    return replace(
        roster,
        held_out=None if mask is None else partial(_checked_mask, mask),
        left_out=None if mask is None else lambda: mask,
        recognise=partial(rows_of_committee, roster.members, mask, known),
        no_oob_reason=(
            "The committee did not record which rows its members left out. It records "
            'them if it was fitted in memory with a combiner and weigh_on="held-out"; '
            "a pruned committee does not. Pass rows that it was not trained on, "
            "without oob."
        ),
    )


def _checked_mask(mask: BoolArray, n_rows: int) -> BoolArray:
    """Return a recorded mask (N, M); raise ValueError for another number of rows."""
    if len(mask) != n_rows:
        raise ValueError(
            f"oob=True needs the {len(mask)} rows that the committee was trained on, in "
            f"their order. Got {n_rows} rows."
        )
    return mask


def unseen_rows(seen: Sequence[IntArray], n_rows: int) -> BoolArray:
    """Return the mask (N, M): False where a member was trained on the row."""
    mask = np.ones((n_rows, len(seen)), dtype=bool)
    for m, rows in enumerate(seen):
        mask[rows, m] = False
    return mask


def feature_importances(roster: Roster, n_features: int) -> FloatArray:
    """Return the weighted mean of the members' feature importances, which sum to one.

        i_j = sum_m |w_m| i_mj / sum_m |w_m|,    sum_j i_mj = 1

    The importances of a tree without splits are zero. Raises AttributeError if a member
    has no importances, or if members were trained on other columns than those of X.
    """
    if roster.transformer is not None:
        raise AttributeError(
            "Its members were trained on columns that a transformer made of X. "
            + _INSTEAD
        )
    assert roster.weights is not None
    total = np.zeros(n_features)
    for member, w in zip(roster.members, roster.weights, strict=True):
        total += abs(w) * _of_member(member, n_features)
    return total / total.sum() if total.any() else total


def _of_member(member: Member, n_features: int) -> FloatArray:
    """Return the importances of one member for all columns, which sum to one or zero."""
    bare, columns = bare_tree(member), np.arange(n_features)
    if isinstance(member, OnColumns):
        columns = np.asarray(member.columns)
    own = getattr(bare, "feature_importances_", None)
    if own is None:
        raise AttributeError(
            f"Members of the kind {type(bare).__name__} have no feature_importances_. "
            + _INSTEAD
        )
    spread = np.zeros(n_features)
    np.add.at(spread, columns, np.asarray(own, dtype=np.float64))
    return spread / spread.sum() if spread.any() else spread
