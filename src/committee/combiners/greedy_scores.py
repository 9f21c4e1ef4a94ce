"""Scores of a growing committee: what each candidate would make of them.

Accuracy, log loss and Brier score are sums over rows and are computed for all candidates
at once, in pieces that stay in the cache; other scores one candidate after the other.

Where a member may not vote on a row, its vote is filled with the mean of all that
may, and the committee's mean vote m_n keeps the variance that it would have:

    v_n = sum_{j missing} c_j^2 - (t^2 - b_n^2) / H_n,     Var(m_n) = s_n^2 v_n / t^2

with c_j how often j was picked, t picks in all, b_n of them with a vote on the row, s_n^2
the variance of the H_n votes that there are. The last term is what the filled mean
varies by already. So committees of every size are compared on the same rows.

The area under a ROC curve is the share of pairs, one row of the class and one of another,
that p puts in their order; ties count one half. It takes a sort of N numbers for each
candidate and each class at each step. On many rows the candidates are therefore compared
on a sample of them first, and only those that lead there on all.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn import config_context
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.exceptions import UndefinedMetricWarning
from sklearn.metrics import get_scorer, log_loss, make_scorer

from committee._typing import BoolArray, FloatArray, IntArray
from committee.combiners.likelihoods import signed_rows
from committee.losses import LEAST
from committee.probabilities import as_probabilities
from committee.votes import Votes

#: Rows and numbers in one piece of a sum over rows.
_ROWS, _NUMBERS = 2**13, 2**16

Scoring = str | Callable[..., float]
#: The score of sums T of shape (c, N).
ScoreOfSums = Callable[[FloatArray], float]
#: Losses, (b,), of sums T of shape (b, c, n) on a slice of the rows, with v (b, n), or
#: None where no vote is missing. It may write into the sums.
Loss = Callable[[FloatArray, FloatArray | None, slice], FloatArray]


class RowScore:
    """error = loss(T, v), for T the sums over the picks of each member's slab.

    slabs (M, c, N): what a member adds to the c sums of each row; present (M, N): where
    it votes, None if everywhere; n_votes (N,): H_n; total: where the loss is a sum over
    rows, what to divide it by, else None; race: which candidates can be the best.
    """

    def __init__(
        self,
        slabs: FloatArray,
        loss: Loss,
        total: float | None,
        present: BoolArray | None = None,
        n_votes: FloatArray | None = None,
        race: Race | None = None,
    ) -> None:
        self.slabs, self.loss, self.total = slabs, loss, total
        self.present, self.n_votes, self.race = present, n_votes, race
        self.start()

    def start(self) -> None:
        """Forget all picks."""
        M, c, N = self.slabs.shape
        self.T, self.t = np.zeros((c, N)), 0
        # How often each was picked; by row sum c_j^2 of the missing, picks with a vote.
        self.picks, self.missing, self.b = np.zeros(M), np.zeros(N), np.zeros(N)

    def all_candidates(self) -> FloatArray:
        """Return the error with each of the members added."""
        return self._with(0, len(self.slabs))

    def candidates(self) -> FloatArray:
        """Return the same, infinite for those that others are known to be better than."""
        if self.race is None:
            return self.all_candidates()
        errors, near = np.full(len(self.slabs), np.inf), self.race.near(self.T)
        errors[near] = [self._with(m, m + 1)[0] for m in near]
        return errors

    def add(self, m: int) -> float:
        """Pick m and return the error."""
        error = self._with(m, m + 1)[0]
        self.T += self.slabs[m]
        if self.present is not None:
            self.missing += (2 * self.picks[m] + 1) * ~self.present[m]
            self.b += self.present[m]
        self.picks[m] += 1
        self.t += 1
        return float(error)

    def error(self, w: FloatArray) -> float:
        """Return the error of weights that sum to one."""
        T, v = np.tensordot(w, self.slabs, axes=(0, 0)), None
        if self.present is not None and self.n_votes is not None:
            b = w @ self.present
            v = _variance(w**2 @ ~self.present, b, 1.0, self.n_votes)[None]
        return float(self.loss(T[None], v, slice(None))[0] / (self.total or 1.0))

    def _with(self, first: int, stop: int) -> FloatArray:
        """Return the error with each of members first to stop - 1 added, piece by piece."""
        _, c, N = self.slabs.shape
        n = N if self.total is None else min(_ROWS, N)
        step = max(1, _NUMBERS // (c * n))
        errors = np.zeros(stop - first)
        for start in range(0, N, n):
            rows = slice(start, start + n)
            for m in range(first, stop, step):
                some = slice(m, min(m + step, stop))
                sums = self.slabs[some, :, rows] + self.T[:, rows]
                v = self._variance_with(some, rows)
                errors[m - first : some.stop - first] += self.loss(sums, v, rows)
        return errors / (self.total or 1.0)

    def _variance_with(self, some: slice, rows: slice) -> FloatArray | None:
        """Return v with each of some members picked once more."""
        if self.present is None or self.n_votes is None or self.total is None:
            return None
        present, c = self.present[some, rows], self.picks[some, None]
        missing = self.missing[rows] + (2 * c + 1) * ~present
        return _variance(
            missing, self.b[rows] + present, self.t + 1, self.n_votes[rows]
        )


def _variance(
    missing: FloatArray, b: FloatArray, t: float, H: FloatArray
) -> FloatArray:
    """Return v = sum_{j missing} c_j^2 - (t^2 - b^2) / H, not below zero."""
    v: FloatArray = np.maximum(missing - (t * t - b * b) / H, 0.0)
    return v


def row_score(votes: Votes, scoring: Scoring) -> RowScore:
    """Return minus the score, on the rows with votes."""
    if votes.held_out is not None:
        votes = votes.at(votes.held_out.any(axis=1))
    K = votes.n_classes
    # At most one: sums of ones are exact, so that ties are ties.
    s = votes.row_weights / votes.row_weights.max()
    total: float | None = float(s.sum())
    present = None if votes.held_out is None else votes.held_out.T.copy()
    race = None
    if K is not None and scoring == "accuracy":
        slabs, y = _preferences(votes, K), np.asarray(votes.y, dtype=np.intp)
        loss = _accuracy(y, s, _filled(slabs, present))
    elif K is not None and scoring == "neg_log_loss" and never_negative(votes):
        slabs = _right_and_all(votes)
        loss = _log_loss(K, s, _filled(slabs, present)[0])
    elif K is not None and scoring == "neg_brier_score" and never_negative(votes):
        slabs = np.array(votes.F.transpose(1, 2, 0), dtype=np.float64, order="C")
        y = np.asarray(votes.y, dtype=np.intp)
        loss = _brier(K, y, s, _filled(slabs, present))
    else:
        auc = roc_auc(votes, scoring)
        slabs, score = any_score(votes, scoring) if auc is None else auc
        _filled(slabs, present)
        loss, total = _of_all_rows(score), None
        if auc is not None:
            race = Race.on(slabs, auc[1], votes.sample_weight)
    return RowScore(
        slabs,
        loss,
        total,
        present,
        None if present is None else present.sum(axis=0) + 0.0,
        race,
    )


def _filled(slabs: FloatArray, present: BoolArray | None) -> FloatArray:
    """Fill slabs with the means of the votes that there are; return their deviations s, (c, N)."""
    if present is None:
        return np.zeros(slabs.shape[1:])
    H = present.sum(axis=0)
    mean, squares = np.zeros((2, *slabs.shape[1:]))
    for slab, here in zip(slabs, present, strict=True):
        mean += np.where(here, slab / H, 0.0)
    # In units in which squares stay in range.
    unit = np.abs(mean).max(initial=0.0) or 1.0
    for slab, here in zip(slabs, present, strict=True):
        np.copyto(slab, mean, where=~here)
        squares += ((slab - mean) / unit) ** 2
    squares /= np.maximum(H - 1, 1)
    # The variance of a single vote is unknown.
    if np.any(H == 1) and np.any(H > 1):
        squares[:, H == 1] = squares[:, H > 1].mean(axis=1, keepdims=True)
    return np.asarray(np.sqrt(squares) * unit)


def _preferences(votes: Votes, K: int) -> FloatArray:
    """Return how far members prefer the right class to each wrong one, (M, K-1, N)."""
    S = signed_rows(votes).S.reshape(-1, K - 1, votes.n_members)
    return np.ascontiguousarray(S.transpose(2, 1, 0), dtype=np.float64)


def _accuracy(y: IntArray, s: FloatArray, deviation: FloatArray) -> Loss:
    """Loss of preferences: minus the probability that all of them are positive.

    P(right at n) = Phi( min_k T_nk / (s_nk sqrt(v_n)) ),    1 or 0 where s v = 0
    """
    # Of tied classes argmax takes the first: against a later one a tie is enough.
    later = np.arange(len(deviation))[:, None] >= y

    @np.errstate(over="ignore")
    def loss(T: FloatArray, v: FloatArray | None, rows: slice) -> FloatArray:
        right = np.ones((len(T), T.shape[2]), dtype=bool)
        z = np.full(right.shape, np.inf)
        for k, s_k in enumerate(deviation[:, rows]):
            t = T[:, k]
            wins = (t > 0) | (later[k, rows] & (t == 0))
            right &= wins
            if v is not None:
                sd, certain = s_k * np.sqrt(v), np.where(wins, np.inf, -np.inf)
                np.minimum(z, np.divide(t, sd, out=certain, where=sd > 0), out=z)
        sums: FloatArray = (right if v is None else ndtr(z)) @ s[rows]
        return -sums

    return loss


def _right_and_all(votes: Votes) -> FloatArray:
    """Return the members' scores of the right class, and of all classes, (M, 2, N)."""
    F = votes.F
    right = F[np.arange(len(F)), :, np.asarray(votes.y)]
    return np.stack([right.T, F.sum(axis=2).T], axis=1).astype(np.float64)


def _log_loss(K: int, s: FloatArray, deviation: FloatArray) -> Loss:
    """Loss of the right class and of all: minus the expected log of their ratio p.

    -E log p = -log p + Var(p) / (2 p^2),    at most the loss of a certain mistake
    """

    @np.errstate(over="ignore")
    def loss(T: FloatArray, v: FloatArray | None, rows: slice) -> FloatArray:
        p, total = T[:, 0], T[:, 1]
        if not total.all():
            p[total == 0], total[total == 0] = 1.0 / K, 1.0
        spread = None
        if v is not None:
            spread = v * (deviation[rows] / np.maximum(p, LEAST * total)) ** 2
        p /= total
        np.maximum(p, LEAST, out=p)
        losses = -np.log(p, out=p)
        if spread is not None:
            losses = np.minimum(losses + 0.5 * spread, -np.log(LEAST))
        sums: FloatArray = losses @ s[rows]
        return sums

    return loss


def _brier(K: int, y: IntArray, s: FloatArray, deviation: FloatArray) -> Loss:
    """Loss of all classes: the expected squared distance of p = T / sum T from y.

    E sum_k (p_k - [k = y])^2 = 1 - 2 p_y + sum_k (p_k^2 + Var(p_k)),    at most 2

    For two classes it is half of that, as in scikit-learn.
    """
    unit = 0.5 if K == 2 else 1.0

    def loss(T: FloatArray, v: FloatArray | None, rows: slice) -> FloatArray:
        total = T.sum(axis=1)
        empty = total == 0
        if empty.any():
            T = np.where(empty[:, None], 1.0 / K, T)
            total[empty] = 1.0
        p = T / total[:, None]
        losses = 1.0 - 2.0 * np.take_along_axis(p, y[None, None, rows], axis=1)[:, 0]
        losses += (p * p).sum(axis=1)
        if v is not None:
            spread = deviation[:, rows] / total[:, None]
            losses += v * (spread * spread).sum(axis=1)
            np.minimum(losses, 2.0, out=losses)
        sums: FloatArray = unit * (losses @ s[rows])
        return sums

    return loss


def _of_all_rows(score: ScoreOfSums) -> Loss:
    """Loss of sums that are scored one by one, on all rows."""

    def loss(T: FloatArray, v: FloatArray | None, rows: slice) -> FloatArray:
        return np.array([-score(sums) for sums in T])

    return loss


def never_negative(votes: Votes) -> bool:
    """Return True if no vote is below zero; then sums of votes need no clipping."""
    if votes.held_out is None:
        return bool(votes.F.min() >= 0)
    return bool(votes.F.min(axis=2)[votes.held_out].min() >= 0)


def roc_auc(votes: Votes, scoring: Scoring) -> tuple[FloatArray, Areas] | None:
    """Return slabs and score of an area under the ROC curve, None for other scores.

    By sorting it takes a hundredth of the time of scikit-learn's function, which checks
    its arrays for every candidate.
    """
    K, y = votes.n_classes, np.asarray(votes.y, dtype=np.intp)
    if K is None or scoring not in ("roc_auc", "roc_auc_ovr"):
        return None
    if (K > 2 and scoring == "roc_auc") or not never_negative(votes):
        return None
    classes = np.unique(y)
    if len(classes) < 2:
        raise ValueError(
            f"scoring={scoring!r} needs rows of at least two classes. All rows with a "
            f"positive weight are of class {classes[0]}."
        )
    codes = classes if K > 2 else np.array([1])
    return area_slabs(votes, codes), Areas(y, codes, votes.sample_weight)


def any_score(votes: Votes, scoring: Scoring) -> tuple[FloatArray, ScoreOfSums]:
    """Return slabs, the predictions and 1, and the score of the ratios of their sums."""
    F, y, K = votes.F, votes.y, votes.n_classes
    columns = F.T[:, None] if K is None else F.transpose(1, 2, 0)
    slabs = np.concatenate([columns, np.ones_like(columns[:, :1])], axis=1)
    scorer, predictor = _scorer(scoring, K), _predictor(y, K, scoring)
    s = votes.sample_weight
    known = {} if s is None else {"sample_weight": s}

    def score(T: FloatArray) -> float:
        try:
            with (
                config_context(assume_finite=True, skip_parameter_validation=True),
                warnings.catch_warnings(
                    action="ignore", category=UndefinedMetricWarning
                ),
            ):
                value = float(scorer(predictor, (T[:-1] / T[-1]).T, y, **known))
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"scoring={scoring!r} cannot be computed on these predictions"
                f"{' with sample_weight' if known else ''}: {error}"
            ) from error
        if not np.isfinite(value):
            raise ValueError(
                f"scoring={scoring!r} must be a finite number on the rows of the fit. "
                f"Got {value}."
            )
        return value

    return slabs.astype(np.float64), score


def _scorer(scoring: Scoring, K: int | None) -> Any:
    """Return the scorer; the log loss gets the labels of classes without rows."""
    if scoring == "neg_log_loss" and K is not None:
        return make_scorer(
            log_loss,
            greater_is_better=False,
            response_method="predict_proba",
            labels=np.arange(K),
        )
    return get_scorer(scoring)


def _predictor(y: Any, K: int | None, scoring: Scoring) -> Any:
    if K is None:
        return _Values()
    # Scores of probabilities take only the classes that occur in y.
    return _Classes(np.arange(K) if scoring == "neg_log_loss" else np.unique(y))


class _Values(RegressorMixin, BaseEstimator):
    """Predicts what it is given."""

    def predict(self, X: FloatArray) -> FloatArray:
        """Return the only column."""
        return X[:, 0]


class _Classes(ClassifierMixin, BaseEstimator):
    """Predicts the probabilities that it is given, of the classes that there are."""

    def __init__(self, classes: IntArray) -> None:
        self.classes = classes
        self.classes_ = classes

    def predict(self, X: FloatArray) -> IntArray:
        """Return the class with the largest score, of all."""
        return np.asarray(X.argmax(axis=1), dtype=np.intp)

    def predict_proba(self, X: FloatArray) -> FloatArray:
        """Return the scores as probabilities."""
        return as_probabilities(X[:, self.classes])


#: Rows of the sample, and how many candidates are compared on all rows after it.
_SAMPLE, _LEFT = 10_000, 4
#: Least share of a class: areas of rarer ones differ by chance on a sample.
_RARE = 0.02


class Areas:
    """The mean of the areas of several classes, each against the rest.

    Parameters
    ----------
    y : array of shape (N,)
        Class codes.
    codes : array of shape (c,)
        The classes.
    s : array of shape (N,), optional
        Weights of the rows.
    """

    def __init__(self, y: IntArray, codes: IntArray, s: FloatArray | None) -> None:
        self.y, self.codes = y, codes
        self._areas = [_area(y == k, s) for k in codes]
        self._p = np.empty(len(y))

    def __call__(self, T: FloatArray) -> float:
        """Return the mean area of p = T[:-1] / T[-1], T of shape (c + 1, N)."""
        # Without a vote all classes are alike.
        total = np.where(T[-1] > 0, T[-1], 1.0)
        areas = [
            area(np.divide(t, total, out=self._p))
            for area, t in zip(self._areas, T, strict=False)
        ]
        return float(np.mean(areas))


def _area(is_class: BoolArray, s: FloatArray | None) -> Callable[[FloatArray], float]:
    """Return the function from p to the area under its curve, rows of weight s."""
    inside, outside = np.flatnonzero(is_class), np.flatnonzero(~is_class)
    if s is None:
        n_pairs = 2 * len(inside) * len(outside)

        def plain(p: FloatArray) -> float:
            # The others below each row, in order: sorted keys are found fast.
            x, q = np.sort(p[inside]), np.sort(p[outside])
            beaten = q.searchsorted(x).sum() + q.searchsorted(x, side="right").sum()
            return float(beaten / n_pairs)

        return plain
    a, b = s[inside] / s[inside].sum(), s[outside] / s[outside].sum()

    def weighted(p: FloatArray) -> float:
        up, across = np.argsort(p[inside]), np.argsort(p[outside])
        x, q = p[inside][up], p[outside][across]
        share = np.append(0.0, np.cumsum(b[across]))
        beaten = share[q.searchsorted(x)] + share[q.searchsorted(x, side="right")]
        return float(0.5 * (a[up] @ beaten))

    return weighted


def area_slabs(votes: Votes, codes: IntArray) -> FloatArray:
    """Return what members add to T: p of the classes, and of all, (M, c + 1, N)."""
    N, M, K = votes.F.shape
    slabs, one = np.empty((M, len(codes) + 1, N)), np.empty((K, N))
    for m in range(M):
        one[:] = votes.F[:, m].T
        slabs[m, :-1] = one[codes]
        one.sum(axis=0, out=slabs[m, -1])
    return slabs


class Race:
    """Finds the candidates with the largest areas, on a sample of the rows.

    All candidates are compared on 10,000 rows, and only the best four of them on all rows.

    Parameters
    ----------
    slabs : array of shape (M, c + 1, n)
        What members add to T on the rows of the sample.
    rows : array of shape (n,)
    areas : Areas
        Of these rows.
    """

    def __init__(self, slabs: FloatArray, rows: IntArray, areas: Areas) -> None:
        self.slabs, self.rows, self.areas = slabs, rows, areas

    @classmethod
    def on(cls, slabs: FloatArray, areas: Areas, s: FloatArray | None) -> Race | None:
        """Return the race of slabs (M, c + 1, N); None of few rows, in all or of a class.

        The rows of each class are evenly spaced, so that each class has its share.
        """
        N, counts = len(areas.y), np.unique(areas.y, return_counts=True)[1]
        if N <= _SAMPLE or counts.min() < _RARE * N:
            return None
        by_class = np.argsort(areas.y, kind="stable")
        rows = by_class[np.linspace(0, N - 1, _SAMPLE).round().astype(np.intp)]
        weights = None if s is None else s[rows]
        return cls(slabs[..., rows], rows, Areas(areas.y[rows], areas.codes, weights))

    def near(self, T: FloatArray) -> IntArray:
        """Return the candidates that lead, for sums T (c + 1, N)."""
        T = T[:, self.rows]
        areas = np.array([self.areas(slab + T) for slab in self.slabs])
        return np.argsort(-areas, kind="stable")[:_LEFT]
