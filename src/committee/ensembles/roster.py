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
from committee.ensembles.training_rows import Recognise, rows_of_committee


def with_names(
    ensemble: Mapping[str, Member] | Sequence[Any],
) -> tuple[list[Member], list[str] | None]:
    """Return the members of a list, of (name, estimator) pairs or of a dict.

    The names are None where no member has been given one; otherwise the others get
    those of their kinds.

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
    """Return the given names of estimators and (name, estimator) pairs, all different.

    The others have the names of their classes, behind a pipeline that of its last step,
    with a number where there are several.
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
            "Members need names of their own. Got several of the name "
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
    #: The ensemble's own weights, (M,), with sum one; None where it does not average
    #: its members (a median, a second layer).
    weights: FloatArray | None
    #: Labels in the order of F's last axis, (K,); None for regression.
    classes: Any = None
    #: The same classes as the members name them: labels, or codes 0..K-1.
    member_classes: Any = None
    #: Probabilities, one vote for a class each, or the raw scores of boosting rounds.
    output: Output = "soft"
    #: What turns weighted sums into probabilities: their shares, a softmax whose slope
    #: was fitted, the softmax of scores, or the rule of the combiner that weighed the
    #: members.
    link: Link = "mean"
    #: Of a logarithmic pool, which weighs log clip(f_m, floor, 1); None: f_m itself.
    floor: float | None = None
    #: A fitted transformer that is applied to X once, before all members.
    transformer: Any = None
    #: Whether the members were trained on plain arrays, whatever X was.
    arrays: bool = False
    #: Given N, returns the mask (N, M) of the rows that members did not see, or
    #: raises ValueError if these cannot be the training rows.
    held_out: Callable[[int], BoolArray] | None = None
    #: Returns the mask of all rows of the training, whichever rows are at hand; None
    #: where it would take too much memory.
    left_out: Callable[[], BoolArray | None] | None = None
    #: What learned the weights, on the rows that `held_out` knows; None where nothing
    #: did, or it is not known.
    combiner: Any = None
    #: Turns weighted sums (N, K) into probabilities, for an ensemble with a rule of its
    #: own; `link` says it otherwise.
    probabilities: Callable[[FloatArray], FloatArray] | None = None
    #: The last step of these: calibrates probabilities (N, K), given the weighted sums and
    #: their variances (N,) or None.
    calibrated: Callable[..., FloatArray] | None = None
    #: The ensemble's own out-of-bag predictions, (N,) or (N, K), NaN where no member had
    #: a vote: by these its training rows are recognised.
    oob_prediction: FloatArray | None = None
    #: Tells whether rows, as the members take them, are those of the training.
    recognise: Recognise | None = None
    #: Where `held_out` is None: why, and what to do about it.
    no_oob_reason: str = "It does not record which rows each member was trained on."
    #: Given X as the members take it, yields their predictions in order, faster than
    #: one member at a time.
    staged_predictions: Callable[[Any], Iterator[FloatArray]] | None = None
    #: What the members are called, where somebody has named them.
    names: list[str] | None = None

    def __len__(self) -> int:
        """M."""
        return len(self.members)

    @property
    def output_shape(self) -> tuple[int, ...]:
        """Shape of one row's prediction: () or (K,)."""
        return () if self.member_classes is None else (len(self.member_classes),)

    def only(self, members: IntArray, weights: FloatArray) -> Roster:
        """Return some of the members with other weights.

        What is known of the training rows stays behind: it is about all members.
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
        )

    def prepared(self, X: Any) -> Any:
        """Return X as the members take it."""
        if self.transformer is not None:
            X = self.transformer.transform(X)
        if self.arrays and hasattr(X, "columns"):
            X = check_array(X, dtype=None, ensure_all_finite=False)
        return X


def equal_weights(n: int) -> FloatArray:
    """Return n weights with sum one."""
    return np.full(n, 1.0 / n)


def with_rows(roster: Roster, mask: BoolArray | None, known: str | None) -> Roster:
    """Return the roster of a committee with what is known of its training rows.

    That is the mask of those that members did not see, (N, M), and a digest.
    """
    return replace(
        roster,
        held_out=None if mask is None else partial(_checked_mask, mask),
        left_out=None if mask is None else lambda: mask,
        recognise=partial(rows_of_committee, roster.members, mask, known),
        no_oob_reason=(
            "It does not know rows that its members have not seen: a committee does "
            "that was fitted in memory with a combiner and "
            'weigh_on="held-out", and one that was pruned before does not. Give '
            "rows that it was not trained on, without oob."
        ),
    )


def _checked_mask(mask: BoolArray, n_rows: int) -> BoolArray:
    """Return a recorded mask (N, M), once it is clear that N rows can be its rows."""
    if len(mask) != n_rows:
        raise ValueError(
            f"oob=True needs the {len(mask)} rows that the committee was trained on, in "
            f"their order. Got {n_rows} rows."
        )
    return mask


def unseen_rows(seen: Sequence[IntArray], n_rows: int) -> BoolArray:
    """Return the mask (N, M): True where a row is not among those a member saw."""
    mask = np.ones((n_rows, len(seen)), dtype=bool)
    for m, rows in enumerate(seen):
        mask[rows, m] = False
    return mask
