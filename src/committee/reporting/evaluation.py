"""Predictions and errors on the rows of the page, of the members and combined."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import label_codes
from committee.base_committee import BaseCommittee
from committee.diagnostics import error_correlation
from committee.displays.sources import core_of, gate_weights_of, known_members
from committee.ensembles import Roster, roster_of
from committee.losses import (
    NORMAL,
    Score,
    classification_scores,
    decided,
    effective_rows,
    error_losses,
    mean_and_se,
    regression_scores,
    wilson,
)
from committee.predictions import iter_members, vote_counts
from committee.probabilities import (
    as_probabilities,
    pooled_terms,
    softmax_probabilities,
)
from committee.votes import checked_rows

#: Largest size of F that is kept, 128 MB; F is kept for a sample of rows otherwise.
_KEPT_NUMBERS = 2**24
_FEWEST_ROWS = 200
#: Largest number of members that are compared in pairs.
_MOST_IN_PAIRS = 1000
#: Relative difference of errors that counts as rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class Answer:
    """Predictions of one kind for the N rows of the page.

    Attributes
    ----------
    predicted : array of shape (N,)
        Class codes, or numbers.
    p : array of shape (N, K) or None
        Class probabilities, if they are known.
    """

    predicted: Any
    p: FloatArray | None = None

    def scores(self, y: Any, s: FloatArray | None = None) -> dict[str, Score]:
        """Return scores for targets y (N,), class codes or floats, and row weights s."""
        if y.dtype.kind == "f":
            return regression_scores(y, self.predicted, s)
        return classification_scores(y, self.predicted, self.p, s)


def answer(roster: Roster, output: FloatArray) -> Answer:
    """Return the predictions of weighted sums (N,) or (N, K)."""
    if output.ndim == 1:
        return Answer(output)
    if roster.probabilities is not None:
        p = roster.probabilities(output)
    elif roster.output == "scores":
        p = softmax_probabilities(output)
    else:
        p = as_probabilities(output)
    return Answer(output.argmax(axis=1), p)


def own_answer(ensemble: Any, roster: Roster, X: Any, output: FloatArray) -> Answer:
    """Return the predictions of an ensemble, from its weighted sums if it averages."""
    if roster.weights is not None:
        found = answer(roster, output)
        if found.p is None or _keeps_order(ensemble):
            return found
        return Answer(found.p.argmax(axis=1), found.p)
    p = None
    if roster.classes is not None and hasattr(ensemble, "predict_proba"):
        p = np.asarray(ensemble.predict_proba(X), dtype=np.float64)
    predicted = np.asarray(ensemble.predict(X))
    if roster.classes is None:
        return Answer(predicted.astype(np.float64))
    return Answer(label_codes(predicted, np.asarray(roster.classes)), p)


def _keeps_order(ensemble: Any) -> bool:
    """Return True if the class of the largest sum is predicted, as with one slope."""
    found = getattr(ensemble, "calibration_", None)
    return found is None or bool(found.keeps_order)


def constant(y: Any, s: FloatArray | None, classes: Any) -> Answer:
    """Return the most frequent class with the shares of all classes, or the mean."""
    N = len(y)
    if classes is None:
        return Answer(np.full(N, np.average(y, weights=s)))
    shares = np.bincount(y, s, minlength=len(classes))
    p = np.broadcast_to(shares / shares.sum(), (N, len(shares)))
    return Answer(np.full(N, int(shares.argmax())), p)


@dataclass(frozen=True)
class ComparedError:
    """An error with its 95 % interval, and its difference from the committee's error.

    Attributes
    ----------
    error : float
    low, high : float
        Wilson's interval for error rates; for an RMSE the roots of the ends of a normal
        interval of the squared error. NaN for a single row.
    gap, gap_se : float
        The error minus the committee's error, paired by rows, and its standard error.
    """

    error: float
    low: float
    high: float
    gap: float
    gap_se: float

    @property
    def is_same(self) -> bool:
        """True if both predictions have the same error on every row, up to rounding."""
        least = _ROUNDING * self.error
        return abs(self.gap) <= least and not self.gap_se > least


@dataclass(frozen=True, eq=False)
class EvaluatedMembers:
    """The predictions of the members on N rows, alone and combined.

    The whole F may not fit into memory: F is kept for a random sample of n rows, and
    weighted sums for all rows.

    Attributes
    ----------
    roster : Roster
        All available members; members that pruning left out have weight zero.
    numbers : array of shape (M,)
        Their numbers in the ensemble that was pruned.
    X : array-like of shape (N, n_features)
        The rows as the members take them.
    y : array of shape (N,)
        Class codes, or numbers.
    sample_weight : array of shape (N,) or None
    answers : dict of Answer
        In the order of the page: "committee", "before" (the ensemble before pruning, if
        it is available), "equal" (votes of the kept members), "best" (member), "constant".
    errors : array of shape (M,)
        Error rate, or root mean squared error, of each member alone.
    drawn : array of shape (n,)
        The sampled rows.
    slabs : array of shape (M, n) or (M, n, K)
        F on these rows.
    is_training : bool
        Whether the members were trained on these rows, as far as that can be found out.
    gate : array of shape (N, M) or None
        Weights of a gate; None if weights do not depend on x.
    """

    roster: Roster
    numbers: IntArray
    X: Any
    y: FloatArray | IntArray
    sample_weight: FloatArray | None
    answers: dict[str, Answer]
    errors: FloatArray
    drawn: IntArray
    slabs: FloatArray
    is_training: bool
    gate: FloatArray | None = None

    @property
    def is_classifier(self) -> bool:
        """True if the targets are classes."""
        return self.roster.classes is not None

    @property
    def measure(self) -> str:
        """Name of the errors."""
        return "error rate" if self.is_classifier else "RMSE"

    @property
    def own(self) -> Answer:
        """Predictions of the committee."""
        return self.answers["committee"]

    @property
    def best(self) -> int:
        """The member with the smallest error on these rows."""
        return int(self.errors.argmin())

    @property
    def F(self) -> FloatArray:
        """Predictions on the sampled rows, (n, M) or (n, M, K)."""
        return np.moveaxis(self.slabs, 0, 1)

    @property
    def drawn_y(self) -> FloatArray | IntArray:
        """Targets of the sampled rows."""
        return self.y[self.drawn]

    @property
    def drawn_weight(self) -> FloatArray | None:
        """Weights of the sampled rows."""
        s = self.sample_weight
        return None if s is None else s[self.drawn]

    @cached_property
    def leading(self) -> IntArray:
        """The members that are compared in pairs: all, or those with large weights."""
        M, w = len(self.errors), self.roster.weights
        if M <= _MOST_IN_PAIRS:
            return np.arange(M)
        order = np.arange(M) if w is None else np.argsort(-np.abs(w), kind="stable")
        return np.sort(order[:_MOST_IN_PAIRS])

    @cached_property
    def correlation(self) -> FloatArray:
        """Error correlation C of the leading members on the sampled rows."""
        F = self.F[:, self.leading]
        return error_correlation(F, self.drawn_y, sample_weight=self.drawn_weight)

    @cached_property
    def scores(self) -> dict[str, dict[str, Score]]:
        """Scores of each answer by name; the first is `measure`."""
        y, s = self.y, self.sample_weight
        return {key: answer.scores(y, s) for key, answer in self.answers.items()}

    @cached_property
    def comparisons(self) -> dict[str, ComparedError]:
        """Errors of all answers, compared with the committee's error."""
        return {key: self._compared(key) for key in self.answers}

    def _compared(self, key: str) -> ComparedError:
        score = self.scores[key][self.measure]
        gap = score - self.scores["committee"][self.measure]
        n = effective_rows(self.sample_weight, len(self.y))
        if n < 1 + 1e-9:
            return ComparedError(score.value, np.nan, np.nan, gap.value, np.nan)
        if self.is_classifier:
            low, high = wilson(score.value, n)
        else:
            mean, half = score.value**2, NORMAL * 2 * score.value * score.se
            low, high = np.sqrt([max(0.0, mean - half), mean + half]).tolist()
        return ComparedError(score.value, low, high, gap.value, gap.se)


def evaluate_members(
    ensemble: Any, X: Any, y: Any, *, sample_weight: Any = None, n_jobs: Any = None
) -> EvaluatedMembers:
    """Predict the rows by every member of a fitted ensemble, and measure the errors.

    Parameters
    ----------
    ensemble : fitted ensemble
        Any that `prune` takes. For the result of `prune`, the members that were left out
        predict as well.
    X : array-like of shape (N, n_features)
    y : array-like of shape (N,)
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    n_jobs : int, default=None
        Number of members that predict in parallel.
    """
    own, core = roster_of(ensemble), core_of(ensemble)
    numbers, roster = known_members(core, own)
    G = gate_weights_of(ensemble, X)
    if G is not None:
        # The mean weights of the gate on these rows are shown as the weights.
        roster = replace(roster, weights=G.mean(axis=0))
    given = X
    if isinstance(ensemble, BaseCommittee):
        X = ensemble._check_X(X, reset=False)
    elif not hasattr(X, "shape"):
        X = np.asarray(X)
    y, _, s = checked_rows(roster, X, y, oob=False, sample_weight=sample_weight)
    prepared = roster.prepared(X)
    stream = iter_members(roster, prepared, n_jobs=n_jobs)
    source = getattr(getattr(core, "path_", None), "assessment", None)
    before = None if source is None else source.before
    whole = None if before is None else before[1]
    sums = _summed(y, s, roster, stream, whole)
    plain = replace(own, probabilities=None)
    answers = {"committee": own_answer(ensemble, own, given, sums.own)}
    if before is not None and ensemble is core:
        answers["before"] = own_answer(before[0], before[1], given, sums.before)
    answers |= {"equal": answer(plain, sums.equal), "best": answer(plain, sums.best)}
    answers["constant"] = constant(y, s, own.classes)
    recognise = own.recognise if before is None else before[1].recognise
    return EvaluatedMembers(
        roster,
        numbers,
        prepared,
        y,
        s,
        answers,
        sums.errors,
        sums.drawn,
        sums.slabs,
        recognise is not None and recognise(prepared) in ("same", "another order"),
        G,
    )


class _Sums(NamedTuple):
    """Weighted sums of the members' predictions, (N,) or (N, K), and their errors."""

    own: FloatArray
    equal: FloatArray
    before: FloatArray
    best: FloatArray
    errors: FloatArray
    drawn: IntArray
    slabs: FloatArray


def _summed(
    y: FloatArray | IntArray,
    s: FloatArray | None,
    roster: Roster,
    stream: Iterator[FloatArray],
    before: Roster | None,
) -> _Sums:
    """Sum over the members, one after the other."""
    N, M = len(y), len(roster)
    K = () if roster.classes is None else (len(roster.classes),)
    drawn = _drawn(N, M * (K[0] if K else 1))
    w = np.zeros(M) if roster.weights is None else roster.weights
    members = np.ones(M) if roster.weights is None else (w != 0).astype(np.float64)
    # Weights, and floors of logarithms; equal votes average probabilities in any case.
    wanted = [(w, roster.floor), (members / max(1.0, members.sum()), None)]
    if before is not None and before.weights is not None:
        wanted.append((before.weights, before.floor))
    counted = [(*vote_counts(weights), floor) for weights, floor in wanted]
    sums = np.zeros((3, N, *K))
    slabs, errors, best = np.empty((M, len(drawn), *K)), np.full(M, np.inf), sums[0]
    for m, P in enumerate(stream):
        for total, (counts, _, floor) in zip(sums, counted, strict=False):
            if counts[m]:
                total += counts[m] * pooled_terms(P, floor)
        slabs[m] = P[drawn]
        error, _ = mean_and_se(error_losses(decided(P), y), s)
        best = P if error < errors.min() else best
        errors[m] = error
    for total, (_, unit, _) in zip(sums, counted, strict=False):
        total *= unit
    sums[0] += roster.offset
    sums[2] += 0.0 if before is None else before.offset
    own, equal, whole = sums
    errors = errors if K else np.sqrt(errors)
    return _Sums(own, equal, whole, best, errors, drawn, slabs)


def _drawn(n_rows: int, width: int) -> IntArray:
    """Return all rows, or a random sample for which F is small enough, in order."""
    most = max(_FEWEST_ROWS, _KEPT_NUMBERS // width)
    if n_rows <= most:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, most, replace=False))
