"""Greedy forward selection with replacement, for the squared error or any score."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names

from committee._typing import FloatArray, IntArray
from committee._validation import AT_LEAST_ONE, StrOptions
from committee.combiners.ballots import TIE
from committee.combiners.base import Combiner
from committee.combiners.greedy_scores import RowScore, row_score
from committee.path import Path
from committee.votes import Votes, in_squared_units


@dataclass(eq=False, repr=False)
class GreedyPruner(Combiner):
    """Repeatedly add the member that improves the committee most (Caruana).

        m_t = argmin_m  error( (sum_{s<t} f_{m_s} + f_m) / t ),    t = 1 ... n_steps
        w_m = (number of times that m was picked) / t,   t the best step on the way

    A member may be picked many times; its weight is its share of the picks. The squared
    error (of probability vectors for classification) needs only the error correlation
    C, so a step costs O(M) for any N. Accuracy, log-loss, Brier score and area under
    the ROC curve take one pass over F per step. Any other score is computed by
    scikit-learn, once for each candidate. With more than 10,000 rows, the area under
    the ROC curve is computed on 10,000 of them first, and on all rows only for the four
    best candidates.

    With `held_out`, the squared error uses the shrunk C of pairs. For other scores, a
    missing vote is replaced by the mean of the votes on the same row. Accuracy,
    log-loss and Brier score also account for the variance of these votes: they estimate
    the score that the chosen members would reach if all of them voted.

    Parameters
    ----------
    n_steps : int, default=50
        Number of picks, including the initial ones.
    scoring : str or callable, default=None
        Score to maximise: the name of a scikit-learn scorer, such as "accuracy",
        "roc_auc", "neg_log_loss" or "r2", or a callable `scorer(estimator, X, y)`.
        None minimises the squared error.
    n_initial : int, default=1
        Number of best single members to start with; 1 is plain greedy selection.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Shares of the picks; they sum to one.
    support_ : array
        Indices of the picked members.
    order_ : array of shape (n_steps,)
        The picks, in order.
    path_ : Path
        Error and weights after every step; `path_.choose` takes another one.

    See Also
    --------
    SimplexWeights : The weights that squared-error selection approaches.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew, A. Ksikes. Ensemble selection from
    libraries of models. ICML, 2004.
    R. Caruana, A. Munson, A. Niculescu-Mizil. Getting the most out of ensemble
    selection. ICDM, 2006.

    Examples
    --------
    >>> from committee import GreedyPruner
    >>> F = [[1.0, 0.0, 3.0], [0.0, 2.0, 3.0], [1.0, 0.0, 3.0], [0.0, 2.0, 3.0]]
    >>> greedy = GreedyPruner(n_steps=5).fit(F, [0.0, 0.0, 0.0, 0.0])
    >>> greedy.order_.tolist(), greedy.weights_.tolist()
    ([0, 0, 1, 0, 0], [0.8, 0.2, 0.0])
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "n_steps": [AT_LEAST_ONE],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "n_initial": [AT_LEAST_ONE],
    }

    takes_chunks: ClassVar[bool] = True
    needs_all: ClassVar[str] = "with scoring looks at all rows for every pick"
    _numbers: ClassVar[tuple[str, ...]] = ("order_",)
    order_: IntArray = field(init=False)
    path_: Path = field(init=False)

    n_steps: int = 50
    _: KW_ONLY
    scoring: str | Callable[..., float] | None = None
    n_initial: int = 1

    def _sees_all(self, n_classes: int | None) -> bool:
        return self.scoring is not None

    def _weigh(self, votes: Votes) -> FloatArray:
        if self.scoring is None:
            objective: _Squared | RowScore = _Squared(*votes.error_correlation())
        else:
            objective = row_score(votes, self.scoring)
        self.order_, error = _select(objective, self.n_steps, self.n_initial)
        # (steps, M): how often each member was picked up to each step.
        counts = (self.order_[:, None] == np.arange(votes.n_members)).cumsum(axis=0)
        weights: FloatArray = counts / np.arange(1, self.n_steps + 1)[:, None]
        self.path_ = Path(
            weights,
            error,
            np.full(len(error), np.nan),
            self._measure(votes.n_classes),
            scoring=self.scoring,
        )
        best: FloatArray = weights[int(error.argmin())].copy()
        return best

    def _measure(self, n_classes: int | None) -> str:
        """Return what is minimised."""
        if self.scoring is not None:
            name = self.scoring if isinstance(self.scoring, str) else "the score"
            return f"minus {name}"
        if n_classes is None:
            return "mean squared error"
        return "squared error of probabilities"


def _select(
    objective: _Squared | RowScore, n_steps: int, n_initial: int
) -> tuple[IntArray, FloatArray]:
    """Return the picks and the error after each of them."""
    objective.start()
    ranking = np.arange(0)
    if n_initial != 1:
        ranking = _ranking(objective.all_candidates(), n_steps)
    order = np.empty(n_steps, dtype=np.intp)
    error = np.empty(n_steps)
    for t in range(n_steps):
        if t < min(n_initial, len(ranking)):
            order[t] = ranking[t]
        else:
            order[t] = _ranking(objective.candidates(), 1)[0]
        error[t] = objective.add(order[t])
    return order, error


def _ranking(error: FloatArray, n: int) -> IntArray:
    """Return the n members with the smallest error, least first; equal ones by number.

    Those that differ by a part of 1e-10 are equal: it may be due to rounding.
    """
    error = error.copy()
    order = np.empty(min(n, len(error)), dtype=np.intp)
    for u in range(len(order)):
        least = error.min()
        order[u] = (error <= least + TIE * abs(least)).argmax()
        error[order[u]] = np.inf
    return order


class _Squared:
    """error(w) = w'Cw, for w = c / t with c the numbers of picks."""

    def __init__(self, C: FloatArray, unit: float) -> None:
        self.C, self.unit = C, unit
        self.start()

    def start(self) -> None:
        """Forget all picks."""
        self.t, self.cCc = 0, 0.0
        self.Cc = np.zeros(len(self.C))

    def all_candidates(self) -> FloatArray:
        """Return the error with each of the members added, in squared units."""
        # (c + e_m)'C(c + e_m) = c'Cc + 2 (Cc)_m + C_mm
        errors: FloatArray = self.cCc + 2 * self.Cc + np.diag(self.C)
        return errors / (self.t + 1) ** 2

    candidates = all_candidates

    def add(self, m: int) -> float:
        """Pick m and return the error."""
        self.cCc += float(2 * self.Cc[m] + self.C[m, m])
        self.Cc += self.C[m]
        self.t += 1
        return in_squared_units(self.cCc / self.t**2, self.unit)
