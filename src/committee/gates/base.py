"""Gate, the base class: `fit(X, F, y)`, then `weights(X)` returns G of shape (N, M).

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

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import (
    check_columns,
    check_held_out,
    check_predictions,
    check_sample_weight,
    check_targets,
    fit_context,
    safe_indexing,
)
from committee.combiners import Combiner, SimplexWeights
from committee.predictions import weighted_by_row
from committee.votes import Votes


class Gate(ABC, BaseEstimator):
    """Base class of weights that depend on x.

        f_ens(x) = sum_m g_m(x) f_m(x),    g_m(x) >= 0,  sum_m g_m(x) = 1

    A subclass implements `_learn(Z, votes)` and `_weigh(Z)`. Z holds the columns that
    the gate uses, scaled to mean zero and variance one on the rows of `fit`.

    Parameters
    ----------
    columns : list of column numbers or names, default=None
        Columns of X that the gate uses, without NaN and inf. None means all columns.
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {"columns": ["array-like", None]}

    columns: Any
    n_members_: int
    _centre: FloatArray
    _scale: FloatArray

    @fit_context(prefer_skip_nested_validation=True)
    def fit(
        self,
        X: Any,
        F: Any,
        y: Any,
        *,
        held_out: Any = None,
        sample_weight: Any = None,
    ) -> Self:
        """Learn the weights from predictions on rows that the members were not trained on.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M) or (N, M, K)
            Predictions of the members for these rows: held out, cross-fitted or fresh.
        y : array of shape (N,)
            Targets, or class codes 0..K-1.
        held_out : bool array of shape (N, M), default=None
            True where the member did not train on the row. Other entries of F are
            ignored. None means all entries are used.
        sample_weight : array-like of shape (N,), default=None
            Weights of the rows. Only their ratios matter.

        Returns
        -------
        self
        """
        X, F = self._inputs(X, reset=True), check_predictions(F)
        if len(X) != len(F):
            raise ValueError(
                f"X and F must have the same rows. Got {len(X)} rows of X and {len(F)} "
                "of F."
            )
        X, votes = _usable(
            X,
            Votes(
                F,
                check_targets(F, y),
                check_held_out(held_out, F.shape),
                check_sample_weight(sample_weight, F),
            ),
        )
        self._centre, self._scale = centre_and_scale(X, votes.row_weights)
        self.n_members_ = votes.n_members
        self._n_classes = votes.n_classes
        self._learn(self._scaled(X), votes)
        return self

    def weights(self, X: Any) -> FloatArray:
        """Return g(x), the weight of every member on every row.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)

        Returns
        -------
        G : array of shape (N, M)
            Weights >= 0; each row sums to one.
        """
        check_is_fitted(self)
        return self._weigh(self._scaled(self._inputs(X, reset=False)))

    def combine(self, X: Any, F: Any) -> FloatArray:
        """Return sum_m g_m(x) f_m(x).

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        F : array of shape (N, M) or (N, M, K)

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        """
        F, G = check_predictions(F), self.weights(X)
        wanted = (*G.shape, *([] if self._n_classes is None else [self._n_classes]))
        if F.shape != wanted:
            raise ValueError(
                f"F must have shape {wanted}: the rows of X, and the members that this "
                f"{type(self).__name__} was fitted on. Got shape {F.shape}."
            )
        return weighted_by_row(F, G)

    def check_inputs(self, X: Any) -> None:
        """Raise ValueError if the gate cannot use X, before any member is trained.

        Parameters
        ----------
        X : array-like or frame of shape (N, n_features)
        """
        clone(self)._inputs(X, reset=True)

    def __sklearn_is_fitted__(self) -> bool:
        """Return True once `fit` has been called."""
        return hasattr(self, "n_members_")

    @abstractmethod
    def _learn(self, Z: FloatArray, votes: Votes) -> None:
        """Learn from Z (N, d) and the votes on the same rows."""

    @abstractmethod
    def _weigh(self, Z: FloatArray) -> FloatArray:
        """Return G (N, M)."""

    def _inputs(self, X: Any, *, reset: bool) -> FloatArray:
        """Return the columns that the gate uses, as an array of floats."""
        if hasattr(X, "shape") or hasattr(X, "columns"):
            check_columns(self, X, reset=reset)
        else:
            X = check_columns(self, X, reset=reset)
        try:
            if self.columns is not None:
                X = safe_indexing(X, list(self.columns), axis=1)
            return check_array(X, dtype=np.float64, input_name="X")  # type: ignore[no-any-return]
        except (IndexError, KeyError) as error:
            raise ValueError(
                f"columns must be some of the {self.n_features_in_} columns of X, by "
                f"number or by name. Got {self.columns!r}."
            ) from error
        except (TypeError, ValueError) as error:
            error.add_note(
                f"{type(self).__name__} uses the values of X: name columns of finite "
                f"numbers, {type(self).__name__}(columns=[...])."
            )
            raise

    def _scaled(self, X: FloatArray) -> FloatArray:
        Z: FloatArray = (X - self._centre) / self._scale
        return Z


def centre_and_scale(X: FloatArray, s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return mean and standard deviation of the columns, of rows with weights s.

    The scale of a constant column is one, also if rounding makes its deviation nonzero.
    """
    centre = np.average(X, axis=0, weights=s)
    spread = np.sqrt(np.average((X - centre) ** 2, axis=0, weights=s))
    return centre, np.where(spread <= 1e-12 * np.abs(centre), 1.0, spread)


def _usable(X: FloatArray, votes: Votes) -> tuple[FloatArray, Votes]:
    """Leave out rows of weight zero, and rows on which every member abstains."""
    use = votes.row_weights > 0
    if votes.held_out is not None:
        use &= votes.held_out.any(axis=1)
    if use.all():
        return X, votes
    if not use.any():
        raise ValueError(
            "No row has both a positive sample_weight and a member that did not train "
            "on it: the members' errors cannot be estimated. Pass rows that the "
            "members were not trained on."
        )
    return X[use], votes.at(use)


@dataclass(frozen=True)
class LinearGate:
    """g(x) = (1 - share) w + share h(x), h a product of softmaxes of B z.

    z = (1, (x - centre) / scale) of some columns. A node is B (b, 1 + d) and, for each of
    the M members, the number of its branch there; b if the member is not below the node.
    """

    columns: IntArray
    centre: FloatArray
    scale: FloatArray
    nodes: Sequence[tuple[FloatArray, IntArray]]
    static: FloatArray
    share: float


#: Standard errors of its gain by which a share is shrunk.
CLEAR = 3.0


def static_weights(combiner: Combiner | None, votes: Votes) -> FloatArray:
    """Return the weights of a combiner (default: `SimplexWeights()`), which sum to one."""
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
    """Return the weights (M,) or (N, M) of the members present, rows that sum to one.

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
