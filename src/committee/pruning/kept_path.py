"""The part of a path that a copy or a file keeps: numbers, and some committees."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from committee._format import HELD_OUT, error_name
from committee._typing import BoolArray, FloatArray, IntArray, Member
from committee.calibration import Calibration
from committee.losses import measure_of

#: Attributes of a combiner that belong to the point that it has chosen.
OF_ONE_POINT = ("posterior_", "loo_", "log_evidence_")
#: Attributes of a committee that are computed on first use.
_OF_ONE_COMMITTEE = ("_whole", "_summary", "_calibration", "_held_out_rows")

_NO_ROWS = (
    "The summary cannot be computed again: copies and files keep the path, and a "
    "summary that was computed before, but not the rows. Use the committee that "
    "prune() returned, or prune again."
)


@dataclass(eq=False)
class KeptPath:
    """The committees of a path whose members all are in a copy.

    A copy contains no rows. Errors and comparisons are computed before it is made;
    bytes and seconds only if they were known.

    Attributes
    ----------
    errors : tuple or None
        Error, standard error and measure at each of the S steps; None without folds.
    n_bytes, seconds_per_row : array of shape (S,) or None
    level : int array
        Position of the held-out error of each step but the first rounds: steps of about
        the same size share one.
    better : bool array of shape (D, D)
        True if error i is clearly less than error j.
    wins : bool array
        True if the step of a row is clearly better than the first rounds of a column.
    scale : array of shape (S,)
        Factor of the weights of a step in its committee; NaN if the copy lacks members.
    calibrations : list of S calibrations
        Calibration of each committee, or None.
    numbers, members
        Further members of the path, with `whole_path=True`.
    """

    errors: tuple[FloatArray, FloatArray, str] | None
    n_bytes: FloatArray | None
    seconds_per_row: FloatArray | None
    level: IntArray
    better: BoolArray
    wins: BoolArray
    scale: FloatArray
    calibrations: list[Calibration | None]
    numbers: IntArray
    members: list[Member] = field(default_factory=list)

    def bind(self, committee: Any) -> None:
        """Use the members of the committee that holds this path."""
        self._bound = committee

    @property
    def _owner(self) -> Any:
        """The committee that holds this path."""
        if "_bound" not in self.__dict__:
            raise ValueError(
                "A path that was copied without its committee has numbers only: copy or "
                "save the committee."
            )
        return self._bound

    @property
    def available(self) -> BoolArray:
        """The steps of which there is a committee."""
        return ~np.isnan(self.scale)

    @property
    def members_by_number(self) -> dict[int, Member]:
        """Members of the committee that holds this path, and further ones of the path."""
        owner = self._owner
        return dict(
            zip(
                [*owner.support_.tolist(), *self.numbers.tolist()],
                [*owner.members_, *self.members],
                strict=True,
            )
        )

    @property
    def before(self) -> None:
        """None: the ensemble before pruning is not kept."""
        return None

    def by(self, scoring: str) -> KeptPath:
        """Return this if its errors are of that kind; raise ValueError otherwise."""
        of_classes = self._owner.roster_.classes is not None
        wanted = measure_of(scoring, of_classes=of_classes).name
        if self.errors is None or self.errors[2] != error_name(HELD_OUT, wanted):
            raise ValueError(
                f"scoring={scoring!r} cannot be measured again: copies and files keep "
                "the numbers of the path, but not the rows. Use the committee that "
                f"prune() returned, or prune with scoring={scoring!r} before you save "
                "it."
            )
        return self

    def served_seconds(self, step: int, rows: int, runtime: str) -> float:
        """Raise ValueError: a copy has no rows."""
        raise ValueError(
            "rows and runtime need rows to measure on, and copies and files have none. "
            "Use the committee that prune() returned."
        )

    def measured(self, name: str) -> Any:
        """Return a number that was measured before the copy."""
        return getattr(self, name)

    def clearly_better(self, steps: IntArray) -> BoolArray | None:
        """Return which steps have a clearly lower error than the last of them."""
        if self.errors is None:
            return None
        level = self.level[steps]
        return np.asarray(self.better[level, level[-1]])

    def committee(self, step: int) -> Any:
        """Return the committee of a step."""
        owner = self._owner
        w, offset = owner.path_.weights[step], owner.path_.offset(step)
        support = np.flatnonzero(w)
        everyone = self.members_by_number
        made = copy.copy(owner)
        for name in _OF_ONE_COMMITTEE:
            made.__dict__.pop(name, None)
        made.roster_ = replace(
            owner.roster_,
            members=[everyone[m] for m in support.tolist()],
            names=_names(owner, support),
            weights=self.scale[step] * w[support],
            offset=self.scale[step] * offset,
        )
        made.support_ = support
        made.combiner_ = at_weights(owner.combiner_, w, offset)
        return made

    def calibration(self, w: FloatArray) -> Calibration | None:
        """Return the calibration of the committee with weights w (M,) on the path."""
        for step, found in zip(
            self._owner.path_.weights, self.calibrations, strict=True
        ):
            if found is not None and np.array_equal(step, w):
                return found
        return None

    def held_out_rows(self, committee: Any) -> None:
        """Return None: the copied committee stores its own."""

    def summary(self, committee: Any) -> Any:
        """Raise ValueError, because the rows to measure on are missing."""
        raise ValueError(_NO_ROWS)

    def kept(self, committee: Any, whole: bool) -> KeptPath:
        """Return the path for a copy of one of these committees."""
        everyone = self.members_by_number
        W = self._owner.path_.weights
        stays = self.available & within(W, None if whole else committee.support_)
        extra = extra_members(W[stays], committee.support_)
        return replace(
            self,
            scale=np.where(stays, self.scale, np.nan),
            calibrations=[
                found if stay else None
                for found, stay in zip(self.calibrations, stays, strict=True)
            ],
            numbers=extra,
            members=[everyone[m] for m in extra.tolist()],
        )

    def __getstate__(self) -> dict[str, Any]:
        """Return the attributes without the committee."""
        return {k: v for k, v in self.__dict__.items() if k != "_bound"}

    @classmethod
    def of(cls, live: Any, committee: Any, whole: bool) -> KeptPath:
        """Return the path for a copy of a committee.

        Parameters
        ----------
        live : Assessment
            With the rows.
        committee : CommitteeClassifier or CommitteeRegressor
            A committee of the path.
        whole : bool
            Whether all members of the path are kept.
        """
        W = committee.path_.weights
        stays = within(W, None if whole else committee.support_)
        scale = np.full(len(W), np.nan)
        calibrations: list[Calibration | None] = [None] * len(W)
        for step in np.flatnonzero(stays):
            made, largest = live.committee(step), np.abs(W[step]).argmax()
            at = int(np.searchsorted(made.support_, largest))
            scale[step] = made.weights_[at] / W[step, largest]
            calibrations[step] = getattr(made, "calibration_", None)
        extra = extra_members(W[stays], committee.support_)
        members = live.data.roster.members
        return replace(
            cls.alone(live),
            scale=scale,
            calibrations=calibrations,
            numbers=extra,
            members=[members[m] for m in extra],
        )

    @classmethod
    def alone(cls, live: Any) -> KeptPath:
        """Return the numbers of a path, without any committee."""
        S = len(live.available)
        return cls(
            live.errors,
            live.measured("n_bytes"),
            live.measured("seconds_per_row"),
            live.level,
            np.transpose(
                [live.better_than(j) for j in range(len(live.crossfit.by_size))]
            ),
            live.wins,
            scale=np.full(S, np.nan),
            calibrations=[None] * S,
            numbers=np.empty(0, dtype=np.intp),
        )


def _names(owner: Any, support: IntArray) -> list[str] | None:
    """Return the names of members, or None if they have none."""
    if owner.roster_.names is None:
        return None
    return [owner.combiner_.member_names_[m] for m in support]


def at_weights(combiner: Any, w: FloatArray, offset: FloatArray | float) -> Any:
    """Return a fitted combiner as it would be at another point of its path."""
    moved = copy.copy(combiner)
    # The committee has the path, without a covariance at every step.
    moved.__dict__.pop("path_", None)
    if not np.array_equal(w, combiner.weights_):
        moved.weights_ = w.copy()
        if np.ndim(offset):
            moved.offsets_ = np.array(offset)
        else:
            moved.intercept_ = float(offset)
        for name in OF_ONE_POINT:
            moved.__dict__.pop(name, None)
    return moved


def within(W: FloatArray, members: IntArray | None) -> BoolArray:
    """Return which steps (S,) of weights (S, M) need only these members."""
    others = np.zeros(W.shape[1], dtype=bool)
    if members is not None:
        others = np.isin(np.arange(W.shape[1]), members, invert=True)
    return np.asarray(W.any(axis=1) & ~W[:, others].any(axis=1))


def extra_members(W: FloatArray, support: IntArray) -> IntArray:
    """Return the members with a weight in W that are not in the support."""
    return np.setdiff1d(np.flatnonzero(W.any(axis=0)), support)
