"""Refined committees of several sizes, and which of them is wanted."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.pruning.costs import stored_bytes
from committee.pruning.refined_summary import errors_of, finished
from committee.pruning.refined_trees import Refined, Refiner
from committee.pruning.refinement import RefinedSize

#: Members of the committees that are tried where a size has to be found.
SIZES = (5, 10, 20, 40, 80)
#: Shares of the leaves that are tried once the trees are enough.
_SHARES = (0.5, 0.25, 0.125)
#: Bytes of a node: its split, and one number for each output.
_SPLIT, _NUMBER = 64, 8
#: How often leaves are cut until the bytes are few enough.
_ATTEMPTS = 4


class Limits(NamedTuple):
    """What a refined committee may cost, and how far its error may be from the whole."""

    max_members: int | None = None
    max_leaves: int | None = None
    max_bytes: float | None = None
    tolerance: float | None = None

    @property
    def open_size(self) -> bool:
        """Whether the number of members has to be found."""
        return self.max_bytes is not None or self.tolerance is not None


class Tried(NamedTuple):
    """A refined committee and its numbers."""

    refined: Refined
    size: RefinedSize


def refined_within(
    refiner: Refiner, order: IntArray, w: FloatArray, limits: Limits
) -> Any:
    """Return the refined committee that the limits ask for.

    Parameters
    ----------
    refiner : Refiner
    order : int array of shape (k,)
        Members, those to keep first in front.
    w : array of shape (k,)
        Their weights.
    limits : Limits
        Of `max_bytes` the committee of least error is taken, of `tolerance` that of the
        fewest bytes whose error is at most 1 + tolerance times that of the whole.
    """
    search = _Search(refiner, order, w, limits)
    most = len(order) if limits.max_members is None else limits.max_members
    most = min(most, len(order))
    sizes = [most]
    if limits.open_size:
        sizes = [k for k in SIZES if k < most]
        sizes += [most] if limits.max_members is not None or most < SIZES[-1] else []
    for k in sizes:
        search.try_size(k)
        if limits.tolerance is not None and search.within():
            search.try_fewer_leaves(k)
            break
    return search.result()


class _Search:
    """Committees that were tried, smallest first."""

    def __init__(
        self, refiner: Refiner, order: IntArray, w: FloatArray, limits: Limits
    ) -> None:
        self.refiner, self.order, self.w, self.limits = refiner, order, w, limits
        self.found: list[Tried] = []

    def try_size(self, k: int, max_leaves: int | None = None) -> None:
        """Refine k members, and cut them until they fit."""
        kept = np.argsort(self.order[:k], kind="stable")
        members, w = self.order[:k][kept], self.w[:k][kept]
        if w.sum() != 0:
            w = w * (self.w.sum() / w.sum())
        if max_leaves is None:
            max_leaves = self.limits.max_leaves
        if max_leaves is not None and max_leaves < k:
            return
        for _ in range(_ATTEMPTS):
            one = self._measured(self.refiner.refined(members, w, max_leaves))
            most = self.limits.max_bytes
            if most is None or one.size.n_bytes <= most:
                self.found.append(one)
                return
            node = _SPLIT + _NUMBER * self.refiner.y.shape[1]
            excess = (one.size.n_bytes - 0.99 * most) / (2 * node)
            max_leaves = int(one.size.n_leaves - excess)
            if max_leaves < k:
                return

    def try_fewer_leaves(self, k: int) -> None:
        """Cut leaves as long as the error stays within the tolerance."""
        n_leaves = self.found[-1].size.n_leaves
        for share in _SHARES:
            if share * n_leaves < k:
                return
            self.try_size(k, int(share * n_leaves))
            if not self.within():
                return

    def within(self) -> bool:
        """Whether the last is within the tolerance."""
        return bool(self.found) and self._is_within(self.found[-1].size)

    def _is_within(self, size: RefinedSize) -> bool:
        whole = size.error - size.difference
        assert self.limits.tolerance is not None
        return size.error <= (1 + self.limits.tolerance) * whole

    def result(self) -> Any:
        """Return the best committee, with what there is to say about it."""
        if not self.found:
            raise ValueError(
                f"No refined committee has as few as max_bytes={self.limits.max_bytes:,} "
                "bytes: a tree has some 3,000 with a single leaf. Give more bytes."
            )
        within = self.found
        if self.limits.tolerance is not None:
            within = [one for one in self.found if self._is_within(one.size)]
            if not within:
                raise ValueError(self._too_far())
            best = min(within, key=lambda one: one.size.n_bytes)
        else:
            best = min(within, key=lambda one: one.size.error)
        path = tuple(one.size for one in self.found)
        return finished(self.refiner, best.refined, best.size, path)

    def _too_far(self) -> str:
        best = min((one.size for one in self.found), key=lambda size: size.error)
        whole = best.error - best.difference
        most = max(one.size.n_members for one in self.found)
        return (
            f"No refined committee of at most {most:,} trees has an error within "
            f"tolerance={self.limits.tolerance:g} of the whole ensemble: the least is "
            f"{best.error:.4g} with {best.n_members:,} trees, that of the whole "
            f"{whole:.4g}. Give a larger tolerance, or max_members for more trees."
        )

    def _measured(self, refined: Refined) -> Tried:
        error, difference, se = errors_of(self.refiner, refined)
        size = RefinedSize(
            len(refined.committee.support_),
            *(refined.n_leaves, stored_bytes(refined.committee)),
            *(error["after"], difference, se),
        )
        return Tried(refined, size)
