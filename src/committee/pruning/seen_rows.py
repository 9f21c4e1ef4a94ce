"""`prune` on rows that the ensemble was trained on: out-of-bag votes, or an error.

Members make no errors on rows that they have memorised. Weights learned on such rows keep
one member and ruin the ensemble silently.
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

#: True: training rows, out of bag. False: fresh rows.
Oob = bool | Literal["auto"]

#: Mean error of members, relative to a guess, below which they are warned of.
_PERFECT = 2e-3
#: With fewer rows, perfect members are not suspicious.
_FEW_ROWS = 30
#: Standard errors by which training rows must have less loss than other rows.
_CLEARLY = 5.0
#: Largest number of rows to check. Least number that must match training rows: if all
#: match, and if the number is beyond chance.
_LOOKED_AT, _ALL_OF, _AT_LEAST = 300, 10, 5
#: Probability that a fresh row matches a training row, and that so many do.
_BY_CHANCE, _ALL_BY_CHANCE = 0.01, 1e-6
#: Squared error that is rounding, as a share of the variance of y.
_EXACT = 1e-20

_GO_ON = "oob=False skips this check."
_BY_HEART = (
    "The ensemble was trained on these rows. Its members have memorised them, so weights "
    "learned on them are of little use."
)
_TRAINED = (
    f"{_BY_HEART} Members now vote out of bag, each on the rows that it was not trained "
    f"on. oob=True does the same without this warning; {_GO_ON}"
)
_REORDERED = (
    "The ensemble was trained on these rows in another order, and out-of-bag votes need "
    "the order of the training. Give the rows in that order, or rows that it was not "
    f"trained on; {_GO_ON}"
)
_PART = (
    "These rows seem to be a part of the training rows, or all of them in another order: "
    "members make no errors on rows that they were trained on. Give all training rows in "
    f"their order, or rows that the ensemble was not trained on; {_GO_ON}"
)
_MIXED = (
    "Some of these rows seem to be training rows of the ensemble: {} of {} rows that were "
    "checked. Weights learned on training rows are of little use: leave them out; "
    f"{_GO_ON}"
)


def check_oob(oob: Any) -> Oob:
    """Return the option, True, False or "auto"."""
    if isinstance(oob, (bool, np.bool_)):
        return bool(oob)
    if isinstance(oob, str) and oob == "auto":
        return "auto"
    raise ValueError(f'oob must be True, False or "auto". Got {oob!r}.')


def settle_oob(oob: Oob, roster: Roster, X: Any) -> tuple[bool | None, str]:
    """Return whether members vote out of bag, and a note for the user.

    X is prepared for the members. The first is None if only predictions can decide. Raises
    ValueError for training rows that every member was trained on, and for out-of-bag
    votes on other rows.
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
                "CommitteeRegressor weighs members on held-out rows, and cross-fits the "
                f"members of a Pool. {_GO_ON}"
            )
        return False, ""
    if rows in ("others", "another order") and roster.held_out is not None:
        raise ValueError(
            "oob=True needs the rows that the ensemble was trained on, in their "
            "order. These rows differ, or are in another order."
        )
    return True, ""


def settle_by_losses(
    F: FloatArray, y: FloatArray | IntArray, roster: Roster
) -> tuple[bool, str]:
    """Return whether the rows are training rows by the losses in F, and a note.

        d_n = mean loss of members not trained on row n - mean loss of the other members

    On training rows that members have memorised, d is positive on average, by five
    standard errors; on other rows it is zero. Members that do not memorise rows do no harm
    either way.
    """
    held_out = roster.held_out
    if held_out is None or roster.output == "scores":
        return False, ""
    try:
        mask = held_out(len(y))
    except ValueError:  # another number of rows: not the training rows
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
    """Detect a part of the training rows, in any order, by the errors of members.

        W_n = {m : wrong on row n},   O_i = {m : not trained on row i}

    Members are right on all rows that they have memorised, so if row n is training row i,
    W_n is a subset of O_i. On a fresh row this holds for some i with probability
    p_n <= N q^|W_n|, with q the mean share of O_i. Rows with p_n < 0.01 are checked.
    Raises ValueError if at least ten are checked and W_n is such a subset for all of them.
    For trees of several columns it also raises for half of the rows, and returns a note
    for a smaller part that is beyond chance.
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
    """Return True for a tree of several columns."""
    return is_tree(member) and bare_tree(member).n_features_in_ > 1


def _is_left_out_by(bits: Any, members: BoolArray) -> bool:
    """Whether a row of a mask (N, M) is True for all of some members, (M,).

    `bits` (N / 8, M) are the bits of the mask, eight rows in a byte.
    """
    return bool(np.bitwise_and.reduce(bits[:, members], axis=1).any())


def note_on_perfect_members(
    losses: FloatArray, y: FloatArray | IntArray, roster: Roster
) -> str:
    """Return a note about rows on which all members are (nearly) always right.

        mean_m error_m < 0.002 error of a guess

    The guess is the most frequent class, or the mean of y. Single rounds of a booster are
    not checked.
    """
    if len(y) < _FEW_ROWS or roster.output == "scores":
        return ""
    guess = float(np.var(y))
    if roster.classes is not None:
        guess = 1 - np.bincount(y.astype(np.intp)).max() / len(y)
    if losses.mean() >= _PERFECT * guess:
        return ""
    return (
        "Every member is right on nearly all of these rows, so members can hardly be told "
        "apart. If the ensemble was trained on them, give other rows, or oob=True with all "
        "of its training rows in their order. oob=False suppresses this warning."
    )


def check_recorded_oob(roster: Roster, votes: Votes) -> None:
    """Raise ValueError if the ensemble recorded other out-of-bag predictions.

    With other rows, or another order, the mask of out-of-bag rows is wrong and pruning
    would choose the wrong members.
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
            "order. Its own out-of-bag predictions do not match these rows."
        )


def member_losses(F: FloatArray, y: FloatArray | IntArray) -> FloatArray:
    """Return squared errors, or 1 for a wrong class, of every member by row, (N, M)."""
    if F.ndim == 2:
        return error_losses(F, y)
    slabs = np.moveaxis(F, 1, 0)  # one contiguous slab for each member
    codes = slabs[..., 1] > slabs[..., 0] if F.shape[2] == 2 else slabs.argmax(axis=2)
    return np.asarray(codes != y, dtype=np.float64).T
