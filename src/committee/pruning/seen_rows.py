"""Detect rows that the ensemble was trained on, and decide on out-of-bag votes.

Members that have memorised the rows look perfect there. Weights learned on such rows keep
one member and ruin the ensemble without a sign.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from scipy.stats import binom

from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.ensembles import Roster
from committee.ensembles.forests import is_tree
from committee.ensembles.member_features import bare_tree
from committee.losses import error_losses
from committee.votes import Votes

#: True: the training rows, out of bag. False: rows to be taken as fresh.
Oob = bool | Literal["auto"]

#: Members whose mean error is below this share of that of a guess tell nothing.
_PERFECT = 2e-3
#: Rows below which perfect members are no surprise.
_FEW_ROWS = 30
#: Standard errors by which members must know the rows that they have seen.
_CLEARLY = 5.0
#: Rows that are looked at, at most; how many must pass for rows of the training, where all
#: do, and where that is no chance.
_LOOKED_AT, _ALL_OF, _AT_LEAST = 300, 10, 5
#: Probability that a row of others passes for one of the training, and that so many do.
_BY_CHANCE, _ALL_BY_CHANCE = 0.01, 1e-6
#: Squared error that is rounding, as a share of the variance of y.
_EXACT = 1e-20

_GO_ON = "oob=False takes them as they are."
_BY_HEART = (
    "These are rows that the ensemble was trained on. Its members have memorised them, so "
    "weights learned on them are worth little."
)
_TRAINED = (
    f"{_BY_HEART} Members now vote out of bag, each on the rows that it did not see. "
    f"oob=True says so without this warning; {_GO_ON}"
)
_REORDERED = (
    "These are the rows that the ensemble was trained on, but in another order: which "
    "member saw which row is known for the order of the training only. Give them in "
    f"that order, or rows that it was not trained on; {_GO_ON}"
)
_PART = (
    "These seem to be some of the rows that the ensemble was trained on, or all of them "
    "in another order, alone or with others: its members err on none that they have seen. Give all of them in "
    f"the order of the training, or rows that it was not trained on; {_GO_ON}"
)
_MIXED = (
    "Some of these rows seem to be among those that the ensemble was trained on, {} of {} "
    "that can tell: its members err on none that they have seen. What is learned on them "
    f"is worth little. Leave them out; {_GO_ON}"
)


def check_oob(oob: Any) -> Oob:
    """Return the option, True, False or "auto"."""
    if isinstance(oob, (bool, np.bool_)):
        return bool(oob)
    if isinstance(oob, str) and oob == "auto":
        return "auto"
    raise ValueError(f'oob must be True, False or "auto". Got {oob!r}.')


def settle_oob(oob: Oob, roster: Roster, X: Any) -> tuple[bool | None, str]:
    """Return whether members vote out of bag, and what the user should know.

    X is as the members take it. None: only their predictions can tell. Raises
    ValueError for training rows that no member may judge, and for out-of-bag votes on
    other rows.
    """
    if oob is False:
        return False, ""
    rows = None if roster.recognise is None else roster.recognise(X)
    if oob == "auto":
        if rows is None:
            return None, ""
        if rows == "same" and roster.held_out is not None:
            return True, _TRAINED
        if rows == "another order" and roster.held_out is not None:
            raise ValueError(_REORDERED)
        if rows in ("same", "another order"):
            raise ValueError(
                f"{_BY_HEART} {roster.no_oob_reason} A CommitteeClassifier or "
                "CommitteeRegressor weighs members on rows that they did not see by "
                f"itself, cross-fitted those of a Pool. {_GO_ON}"
            )
        return False, ""
    if rows in ("others", "another order") and roster.held_out is not None:
        raise ValueError(
            "oob=True needs the rows that the ensemble was trained on, in their order. "
            "These are others, or in another order."
        )
    return True, ""


def settle_by_losses(
    F: FloatArray, y: FloatArray | IntArray, roster: Roster
) -> tuple[bool, str]:
    """Return the same once F is known: members may know what they should have seen.

        d_n = mean loss of members that did not see row n - that of those that did

    If these are the training rows and members memorise rows, d is above zero on
    average, by five standard errors; on other rows it is zero. Members that do not
    memorise rows do no harm either way.
    """
    held_out = roster.held_out
    if held_out is None or roster.output == "scores":
        return False, ""
    try:
        mask = held_out(len(y))
    except ValueError:  # so many rows cannot be those of the training
        return False, ""
    losses = member_losses(F, y)
    rows = mask.any(axis=1) & ~mask.all(axis=1)
    if rows.sum() < _FEW_ROWS:
        return False, ""
    losses, mask = losses[rows], mask[rows]
    d = losses.mean(axis=1, where=mask) - losses.mean(axis=1, where=~mask)
    learned = d.mean() > _CLEARLY * d.std() / np.sqrt(len(d))
    return (True, _TRAINED) if learned else (False, "")


def refuse_seen_rows(
    losses: FloatArray, y: FloatArray | IntArray, roster: Roster
) -> str:
    """Refuse a part of the training rows, in any order, by what members get wrong.

        W_n = {m : wrong on row n},   O_i = {m : not trained on row i}

    Members that memorise rows are right on all rows that they were trained on, so that
    a row n that is row i of the training has W_n within O_i. On another row that holds
    for some i with p_n <= N q^|W_n|, q the mean share of O_i. Rows with p_n < 0.01 can
    tell: raises ValueError where it holds for all of them, ten at least. Trees of several
    columns have no nearest row that decides alone. There it is also raised where it
    holds for half of the rows, and for a smaller part, if that is no chance, the user is
    to be told what is returned.
    """
    mask = None if roster.left_out is None else roster.left_out()
    if mask is None or roster.output == "scores":
        return ""
    wrong = losses > _EXACT * np.var(y)
    enough = np.log(_BY_CHANCE / len(mask)) / np.log(mask.mean())
    rows = np.flatnonzero(wrong.sum(axis=1) > enough)
    if len(rows) > _LOOKED_AT:
        rows = rows[np.linspace(0, len(rows) - 1, _LOOKED_AT).astype(np.intp)]
    bits = np.packbits(mask, axis=0)
    seen = sum(_is_left_out_by(bits, wrong[n]) for n in rows)
    if seen < _AT_LEAST:
        return ""
    by_chance = binom.sf(seen - 1, len(rows), _BY_CHANCE)
    mixed = by_chance < _ALL_BY_CHANCE and all(map(_has_columns, roster.members))
    if seen == len(rows) >= _ALL_OF or (mixed and 2 * seen >= len(rows)):
        raise ValueError(_PART)
    return _MIXED.format(seen, len(rows)) if mixed else ""


def _has_columns(member: Member) -> bool:
    """Whether a member is a tree of several columns."""
    return is_tree(member) and bare_tree(member).n_features_in_ > 1


def _is_left_out_by(bits: Any, members: BoolArray) -> bool:
    """Whether a row of a mask (N, M) is True for all of some members, (M,).

    `bits` (N / 8, M) are the bits of the mask, eight rows in a byte.
    """
    return bool(np.bitwise_and.reduce(bits[:, members], axis=1).any())


def note_on_perfect_members(
    losses: FloatArray, y: FloatArray | IntArray, roster: Roster
) -> str:
    """Return what to say of rows on which all members are (nearly) always right.

        mean_m error_m < 0.002 error of a guess

    The guess is the most frequent class, or the mean of y. Rounds of a booster are
    never right by themselves.
    """
    if len(y) < _FEW_ROWS or roster.output == "scores":
        return ""
    guess = float(np.var(y))
    if roster.classes is not None:
        guess = 1 - np.bincount(y.astype(np.intp)).max() / len(y)
    if losses.mean() >= _PERFECT * guess:
        return ""
    return (
        "Every member is right on nearly all of these rows, so that they hardly tell the "
        "members apart. If the ensemble has seen them in training, give rows that it has "
        "not seen, or oob=True with all of its training rows in their order. oob=False "
        "is without this warning."
    )


def check_recorded_oob(roster: Roster, votes: Votes) -> None:
    """Refuse rows whose out-of-bag predictions differ from those of the ensemble.

    Without the right rows in their order the mask of unseen rows is wrong, and pruning
    would be misled without a sign.
    """
    if votes.held_out is None or roster.oob_prediction is None:
        return
    filled = votes.filled
    recorded = roster.oob_prediction.reshape(len(votes.y), -1)
    known = filled.counted & np.isfinite(recorded).all(axis=1)
    same = np.isclose(
        filled.mean[known], roster.oob_prediction[known], rtol=1e-6, atol=1e-6
    )
    # A regressor writes 0 where no member had a vote; a few rows may do so.
    if same.mean() < 0.9:
        raise ValueError(
            "oob=True needs the rows that the ensemble was trained on, in their "
            "order. Its own out-of-bag predictions are not those of these rows."
        )


def member_losses(F: FloatArray, y: FloatArray | IntArray) -> FloatArray:
    """Return squared errors, or 1 for a wrong class, of every member by row, (N, M)."""
    if F.ndim == 2:
        return error_losses(F, y)
    slabs = np.moveaxis(F, 1, 0)  # one contiguous slab for each member
    codes = slabs[..., 1] > slabs[..., 0] if F.shape[2] == 2 else slabs.argmax(axis=2)
    return np.asarray(codes != y, dtype=np.float64).T
