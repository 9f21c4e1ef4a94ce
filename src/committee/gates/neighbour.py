"""NeighbourGate: weights by accuracy among the nearest rows (dynamic selection)."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import gen_batches

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import AT_LEAST_ONE, StrOptions
from committee.combiners import Combiner
from committee.gates.base import (
    Gate,
    combined,
    errors_of,
    gate_share,
    in_units,
    present_shares,
    static_weights,
)
from committee.votes import Votes

#: Rows that are weighed at once.
_BLOCK = 4096
#: Rows that the share is estimated on: zero with fewer, a sample with more.
_LEAST_ROWS = 10
_MOST_ROWS = 5000


@dataclass(eq=False, repr=False)
class NeighbourGate(Gate):
    """Weights by the accuracy of the members among the nearest rows.

    The k rows nearest to x are found on columns with mean zero and variance one.

    - "soft": h_m ~ w_m e_m / e_m(x), with static weights w. e_m is the mean squared error
      over all rows, and e_m(x) the mean of e_m and the mean squared error among the
      neighbours (for classes, of probabilities against one-hot targets). The weights are
      (1 - share) w + share h(x). The share has the smallest error on the rows of `fit`, each
      predicted without itself, and is then shrunk by three standard errors of its gain.
    - "ola": the most accurate member among the neighbours (Woods, Kegelmeyer and Bowyer
      1997); for regression, the one with the smallest squared error. Members that tie
      get equal weights.
    - "knora-e": the members that are right on all neighbours; if there are none, on the
      nearest k - 1, and so on (Ko, Sabourin and Britto 2008).
    - "knora-u": one vote for each neighbour on which the member is right.
    - "des-p": the members that are right more often than chance, 1 / K (Woloszynski et
      al. 2012).

    If no member qualifies, all get equal weights. If a member made no prediction for any
    neighbour, its accuracy on all its rows is used; with "knora-e" and "knora-u" it gets
    no weight.

    Parameters
    ----------
    method : {"soft", "ola", "knora-e", "knora-u", "des-p"}, default="soft"
        Regression takes "soft" and "ola".
    n_neighbors : int, default=7
        k. With fewer rows all of them are neighbours.
    columns : list of column numbers or names, default=None
        Columns of X that the gate uses, without NaN and inf. None means all columns.
    static : combiner, default=None
        Learns the static weights w of "soft" on the same F, such as `Average()` for
        members of one bag. None means `SimplexWeights()`. Other methods ignore it.

    Attributes
    ----------
    neighbors_ : NearestNeighbors
        Fitted on the scaled columns.
    gate_share_ : float
        The share of "soft"; one for the other methods.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import NeighbourGate
    >>> X = np.linspace(-1, 1, 41)[:, None]
    >>> F = np.c_[-X, X]  # member 0 is right for x < 0, member 1 for x > 0
    >>> gate = NeighbourGate("ola", n_neighbors=3).fit(X, F, np.abs(X[:, 0]))
    >>> gate.weights([[-0.9], [0.9]]).tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **Gate._parameter_constraints,
        "method": [StrOptions({"soft", "ola", "knora-e", "knora-u", "des-p"})],
        "n_neighbors": [AT_LEAST_ONE],
        "static": [Combiner, None],
    }

    gate_share_: float = field(init=False)

    method: str = "soft"
    _: KW_ONLY
    n_neighbors: int = 7
    columns: Any = None
    static: Combiner | None = None

    def _learn(self, Z: FloatArray, votes: Votes) -> None:
        """Store the rows, and the loss or success of every member on each."""
        if votes.n_classes is None and self.method not in ("soft", "ola"):
            raise ValueError(
                f"NeighbourGate(method={self.method!r}) is for classification. For "
                'regression use method="soft" or "ola".'
            )
        mask, votes = votes.held_out, in_units(votes)
        self._present: BoolArray = np.ones((len(Z), 1), bool) if mask is None else mask
        if self.method == "soft" or votes.n_classes is None:
            worth = (errors_of(votes) ** 2).sum(axis=2)
        else:
            right = votes.F.argmax(axis=2) == votes.y[:, None]
            worth = right.astype(np.float64)
        self._worth: FloatArray = np.where(self._present, worth, 0.0)
        self._row_weights = votes.row_weights / votes.row_weights.mean()
        s = self._row_weights[:, None] * self._present
        counted = np.maximum(s.sum(axis=0), np.finfo(float).tiny)
        self._overall: FloatArray = (s * self._worth).sum(axis=0) / counted
        k = min(self.n_neighbors, len(Z))
        self.neighbors_ = NearestNeighbors(n_neighbors=k)
        self.neighbors_.fit(Z)
        self.gate_share_ = 1.0
        if self.method == "soft":
            self._static: FloatArray = static_weights(self.static, votes)
            self.gate_share_ = self._share(Z, votes)

    def _share(self, Z: FloatArray, votes: Votes) -> float:
        """Return the share of h, estimated on rows that are not their own neighbours."""
        N = len(Z)
        if N < _LEAST_ROWS:
            return 0.0
        rows = np.arange(N)
        if N > _MOST_ROWS:
            rows = np.random.RandomState(0).choice(N, _MOST_ROWS, replace=False)
        k = min(self.neighbors_.n_neighbors, N - 1)
        near = self.neighbors_.kneighbors(Z[rows], k + 1, return_distance=False)
        # Drop the row itself; the last neighbour if more than k rows are equal to it.
        own = near == rows[:, None]
        own[~own.any(axis=1), -1] = True
        near = near[~own].reshape(len(rows), k)
        mask = None if votes.held_out is None else votes.held_out[rows]
        E = errors_of(votes.at(rows))
        static, gated = (
            combined(E, present_shares(G, mask))
            for G in (self._static, self._soft(near))
        )
        return gate_share(static, gated, self._row_weights[rows])[0]

    def _weigh(self, Z: FloatArray) -> FloatArray:
        """Return G, block by block."""
        G = np.empty((len(Z), self.n_members_))
        for rows in gen_batches(len(Z), _BLOCK):
            G[rows] = self._among(
                self.neighbors_.kneighbors(Z[rows], return_distance=False)
            )
        return G

    def _among(self, near: IntArray) -> FloatArray:
        """Return the weights (n, M) of rows with these neighbours (n, k)."""
        if self.method == "knora-e":
            return _shares(_longest(self._streaks(near)))
        if self.method == "knora-u":
            return _shares(self._sums(near)[0])
        if self.method == "soft":
            share = self.gate_share_
            return (1.0 - share) * self._static + share * self._soft(near)
        local = self._local(near)
        if self.method == "des-p":
            assert self._n_classes is not None
            return _shares(local > 1.0 / self._n_classes)
        best = local.min if self._n_classes is None else local.max
        return _shares(local == best(axis=1, keepdims=True))

    def _soft(self, near: IntArray) -> FloatArray:
        """Return h (n, M)."""
        return _shares(self._static * _relative(self._overall, self._local(near)))

    def _sums(self, near: IntArray) -> tuple[FloatArray, FloatArray]:
        """Return sums of worth and of presence over the neighbours, (n, M) each."""
        total = np.zeros((len(near), self.n_members_))
        present = np.zeros_like(total)
        for rows in near.T:
            s = self._row_weights[rows, None]
            total += s * self._worth[rows]
            present += s * self._present[rows]
        return total, present

    def _local(self, near: IntArray) -> FloatArray:
        """Return mean worth (n, M) among the neighbours; without any, overall worth."""
        total, present = self._sums(near)
        known = present > 0
        return np.where(known, total / np.where(known, present, 1.0), self._overall)

    def _streaks(self, near: IntArray) -> IntArray:
        """Return how many of the nearest rows a member passes without an error, (n, M).

        Rows on which it abstains are skipped. A member that is right on none has zero.
        """
        correct = self._worth > 0
        failed = self._present & ~correct
        alive = np.ones((len(near), self.n_members_), dtype=bool)
        length = np.zeros(alive.shape, dtype=np.intp)
        right = np.zeros(alive.shape, dtype=bool)
        for rows in near.T:
            alive &= ~failed[rows]
            right |= alive & correct[rows]
            length += alive
        return np.where(right, length, 0)


def _longest(streaks: IntArray) -> Any:
    """Return a mask of the longest streaks in each row; False where all are zero."""
    longest = streaks.max(axis=1, keepdims=True)
    return (streaks == longest) & (longest > 0)


def _shares(counts: Any) -> FloatArray:
    """Return rows scaled to sum to one; equal shares where a row is all zero."""
    shares = np.asarray(counts, dtype=np.float64)
    shares = np.where(shares.any(axis=1, keepdims=True), shares, 1.0)
    return shares / shares.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def _relative(overall: FloatArray, local: FloatArray) -> FloatArray:
    """Return e / (e + e(x)), (n, M); one half for a member without errors."""
    both = overall + local
    return np.where(both > 0, overall / np.where(both > 0, both, 1.0), 0.5)
