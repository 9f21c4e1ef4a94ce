"""Static weights, and how far a gate moves away from them.

    g(x) = (1 - share) w + share h(x),   share in [0, 1]

The share is estimated from errors of h on rows that h was not fitted on, then shrunk by a
number of standard errors. This number was chosen on 14 data sets, twelve splits each, with
pools of four members and with bags of trees. The table counts the sets on which the gate
lost more than half a standard error to static weights:

    standard errors             0        1        2        3
    SoftmaxGate, pools, bags    4, 6     1, 4     0, 3     0, 0
    NeighbourGate "soft"        6, 2     3, 0     0, 0     0, 0
    mean gain on pools, in points of error: 0.13, 0.15, 0.06, 0.02 and 0.00, 0.03, 0.05, 0.03

Three standard errors never lose. The price is the gain on sets where a gate is useful.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.combiners import Combiner, SimplexWeights
from committee.votes import Votes

#: Standard errors of its gain by which a share is shrunk.
CLEAR = 3.0


def static_weights(combiner: Combiner | None, votes: Votes) -> FloatArray:
    """Return the weights of a combiner (default: `SimplexWeights()`), with sum one."""
    # A gate weighs probabilities, not their logarithms.
    combiner = (SimplexWeights() if combiner is None else combiner).copy_for("votes")
    combiner.fit(
        votes.F,
        votes.y,
        held_out=votes.held_out,
        sample_weight=votes.sample_weight,
    )
    w: FloatArray = combiner.weights_
    if np.any(w < 0) or not np.any(w > 0):
        raise ValueError(
            "A gate needs static weights that are non-negative and not all zero. "
            f"{type(combiner).__name__} has others: use static=SimplexWeights() or "
            "Average()."
        )
    shares: FloatArray = w / w.sum()
    return shares


def present_shares(G: FloatArray, mask: BoolArray | None) -> FloatArray:
    """Return the weights (M,) or (N, M) of the members present, rows of sum one.

    Where all members present have weight zero, they get equal weights.
    """
    if mask is None:
        return G
    present = np.where(((mask * G).sum(axis=1) > 0)[:, None], G, 1.0) * mask
    return present / present.sum(axis=1, keepdims=True)  # type: ignore[no-any-return]


def in_units(votes: Votes) -> Votes:
    """Return F and y divided by the largest error, so that squares do not overflow.

    Votes for classes are returned as they are.
    """
    if votes.n_classes is not None:
        return votes
    unit = float(np.abs(votes.F - votes.y[:, None]).max()) or 1.0
    return replace(votes, F=votes.F / unit, y=votes.y / unit)


def errors_of(votes: Votes) -> FloatArray:
    """Return F - y, (N, M, 1), or for classes F minus the one-hot target, (N, M, K)."""
    if votes.n_classes is None:
        return (votes.F - votes.y[:, None])[..., None]
    return votes.F - np.eye(votes.n_classes)[votes.y][:, None]


def combined(E: FloatArray, G: FloatArray) -> FloatArray:
    """Return sum_m g_m E_m, (N, K), of errors (N, M, K) and weights (M,) or (N, M)."""
    G = np.broadcast_to(G, E.shape[:2])
    e: FloatArray = np.einsum("nm,nmk->nk", G, E)
    return e


def gate_share(
    static: FloatArray, gated: FloatArray, s: FloatArray
) -> tuple[float, float]:
    """Return the share, and the fraction of the static squared error that it saves.

    `static` and `gated` are the errors (N, K) of w and of h on rows that h was not
    fitted on. s (N,) are the row weights. With d = static - gated the loss of a row is
    |static - share d|^2, and

        best = sum s static'd / sum s |d|^2,   within [0, 1]
        share = best max(0, 1 - (CLEAR se / gain)^2)

    gain is the mean loss that the best share saves, and se its standard error. A gain
    within CLEAR standard errors of zero gives a share of zero.
    """
    s = s / s.sum()
    d = static - gated
    along, squares = (np.einsum("nk,nk->n", a, d) for a in (static, d))
    total = float(s @ squares)
    before = float(s @ np.einsum("nk,nk->n", static, static))
    if total <= 0.0 or before <= 0.0:
        return 0.0, 0.0
    best = float(np.clip(s @ along / total, 0.0, 1.0))
    saved = 2.0 * best * along - best**2 * squares
    gain = float(s @ saved)
    if gain <= 0.0:
        return 0.0, 0.0
    noise = float(s**2 @ (saved - gain) ** 2) / gain**2
    share = best * max(0.0, 1.0 - CLEAR**2 * noise)
    return share, (2.0 * share * float(s @ along) - share**2 * total) / before
