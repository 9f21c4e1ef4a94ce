"""BudgetPruner: the members whose costs add up to at most a budget."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import clone

from committee._typing import FloatArray, IntArray
from committee._validation import Interval, as_floats
from committee.combiners.base import Combiner, for_all
from committee.combiners.log_pool import LogPool
from committee.combiners.ridge_weights import RidgeWeights
from committee.losses import log_losses, mean_and_se
from committee.predictions import combine
from committee.probabilities import pooled_terms
from committee.votes import Votes


@dataclass(eq=False, repr=False)
class BudgetPruner(Combiner):
    """Weigh members by a combiner, within a budget of seconds, bytes or any cost.

        while sum_{m in S} c_m > B:   S <- S without argmin_{m in S} (L_m - L) / c_m

    L is the log-loss, or the mean squared error, of the weights that the combiner
    learns on the members S. L_m is the loss of the same weights without member m, the
    others scaled to the same sum. The member with the smallest gain per unit of cost is
    removed and the combiner refitted, until the budget is met. Members without a weight
    stay in S. Costs enter this choice only, not the weights of the combiner.

    Parameters
    ----------
    combiner : combiner, default=None
        None means `LogPool()` for classification, `RidgeWeights()` for regression.
    costs : array-like of shape (M,), default=None
        Cost c_m of each member, for example the seconds that it takes for one row. None
        means a cost of 1 for every member.
    budget : float, default=1.0
        Maximum total cost B of the members with a nonzero weight.

    Attributes
    ----------
    weights_ : array of shape (M,)
    combiner_ : combiner
        The combiner, fitted on the kept members.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import BudgetPruner, SimplexWeights
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=300)
    >>> F = y[:, None] + rng.normal(size=(300, 3)) * [0.5, 0.6, 0.7]
    >>> pruner = BudgetPruner(SimplexWeights(), costs=[9.0, 1.0, 1.0], budget=2.0)
    >>> pruner.fit(F, y).support_.tolist()
    [1, 2]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "combiner": [Combiner, None],
        "costs": ["array-like", None],
        "budget": [Interval(Real, 0, None, closed="neither")],
    }

    combiner_: Combiner = field(init=False)

    combiner: Combiner | None = None
    _: KW_ONLY
    costs: Any = None
    budget: float = 1.0

    def _weigh(self, votes: Votes) -> FloatArray:
        c = self._checked_costs(votes)
        S = np.flatnonzero(c <= self.budget)
        if not len(S):
            raise ValueError(
                f"No member costs at most budget={self.budget:g}; the smallest cost is "
                f"{c.min():.3g}."
            )
        while True:
            fitted = self._fitted(votes, S)
            w = fitted.weights_
            kept = np.flatnonzero(w) if w.any() else np.arange(len(S))
            if c[S[kept]].sum() <= self.budget * (1 + 1e-12):
                break
            worth = _worth(fitted, votes, S, kept) / c[S[kept]]
            S = np.delete(S, kept[worth.argmin()])
        self.combiner_ = fitted
        self.floor_, self.offsets_ = fitted.floor_, fitted.offsets_
        self.intercept_ = fitted.intercept_
        return np.asarray(for_all(w, S, votes.n_members))

    def _checked_costs(self, votes: Votes) -> FloatArray:
        """Return the costs of the members that vote; raise ValueError if they are wrong."""
        M = votes.n_members if votes.numbers is None else int(votes.numbers.max()) + 1
        c: Any = np.ones(M) if self.costs is None else as_floats(self.costs)
        few = np.ndim(c) != 1 or len(c) < M or (votes.numbers is None and len(c) != M)
        if few or not (np.isfinite(c).all() and (c >= 0).all()):
            raise ValueError(
                f"costs must be one finite number of at least 0 for each of {M} members. "
                f"Got {self.costs!r}."
            )
        c = c if votes.numbers is None else c[votes.numbers]
        return np.asarray(np.maximum(c, 1e-12 * c.max(initial=1.0)))

    def _fitted(self, votes: Votes, S: IntArray) -> Combiner:
        """Return the combiner, fitted on the members S."""
        combiner = self.combiner
        if combiner is None:
            combiner = RidgeWeights() if votes.n_classes is None else LogPool()
        made: Combiner = votes.of_members(S).fit(clone(combiner))
        return made

    def copy_for(self, pool: str) -> Self:
        """Return an unfitted copy whose combiner weighs votes or logarithms."""
        made = super().copy_for(pool)
        if self.combiner is not None:
            made.combiner = self.combiner.copy_for(pool)
        return made

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Return class probabilities (N, K) of combined scores, as `combiner` does."""
        return self.combiner_.probabilities(scores)

    def linked(self, scores: FloatArray) -> FloatArray:
        """Return the probabilities that a committee calibrates, as `combiner` does."""
        return self.combiner_.linked(scores)


def _worth(combiner: Combiner, votes: Votes, S: IntArray, kept: IntArray) -> FloatArray:
    """Return L_m - L for each of the kept members."""
    F = votes.F[:, S[kept]]
    if votes.held_out is not None:
        F = _filled(F, votes.held_out[:, S[kept]])
    terms, w = pooled_terms(F, combiner.floor_), combiner.weights_[kept]

    def loss(w: FloatArray) -> float:
        output = combine(terms, w) + combiner.offset
        if votes.n_classes is None:
            losses = (output - votes.y) ** 2
        else:
            p = np.maximum(combiner.probabilities(output), 1.0 / (len(F) + F.shape[2]))
            losses = log_losses(p, np.asarray(votes.y, dtype=np.intp))
        return mean_and_se(losses, votes.sample_weight)[0]

    found = []
    for m in range(len(w)):
        others = np.where(np.arange(len(w)) == m, 0.0, w)
        total = others.sum()
        found.append(loss(others * (w.sum() / total) if total > 0 else others))
    return np.array(found) - loss(w)


def _filled(F: FloatArray, mask: Any) -> FloatArray:
    """Return F with the mean of the members that vote on a row where others do not."""
    present = mask.reshape(*mask.shape, *[1] * (F.ndim - 2))
    n = np.maximum(present.sum(axis=1, keepdims=True), 1)
    mean = np.where(present, F, 0.0).sum(axis=1, keepdims=True) / n
    return np.asarray(np.where(present, F, mean))
