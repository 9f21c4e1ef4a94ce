"""F and y as a likelihood of the weights: rows of a probit, or moments of a Gaussian.

Where a member has no vote nothing counts: in votes an abstention is 0, in
moments a pair of members is judged on the rows that both left out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from committee._parallel import one_thread
from committee._typing import FloatArray, IntArray
from committee.combiners.log_odds import in_logarithms
from committee.distributed import Chunks
from committee.ep import (
    ChunkedProbitRows,
    ChunkedTargets,
    Moments,
    PathStep,
    ProbitRows,
    SweptRows,
    TargetRows,
    Targets,
    error_moments,
    row_moments,
)
from committee.ep.arrays import compact, row_blocks, signed_scale
from committee.votes import Largest, Sums, Votes, weight_and_rows


class Rows(NamedTuple):
    """Rows of a likelihood, `group` of them for each case: F (N group, M).

    y is None for votes, whose sign is in F.
    """

    F: FloatArray
    y: FloatArray | None
    weight: FloatArray | None
    group: int


def signed_rows(problem: Votes) -> Rows:
    """Return how far each member prefers the right class to every wrong one.

        S[n, k] = F[n, :, y_n] - F[n, :, k],    k != y_n

    For two classes this is S_n = y_n F_n, with targets y_n = +-1 and signed votes.
    """
    F, y = problem.F, np.asarray(problem.y)
    N, M, K = F.shape
    S = np.empty((N, K - 1, M))
    for rows in row_blocks(N, M * K):
        F_n, y_n, block = F[rows], y[rows], S[rows]
        n = np.arange(len(F_n))
        right = F_n[n, :, y_n]
        for j in range(K - 1):
            # The j-th wrong class: j itself, or the next one once y_n is passed.
            np.subtract(right, F_n[n, :, j + (j >= y_n)], out=block[:, j])
        if problem.held_out is not None:
            block *= problem.held_out[rows, None, :]
    return Rows(S.reshape(-1, M), None, _repeated(problem, K - 1), K - 1)


def centred_rows(problem: Votes) -> Rows:
    """Return predictions and targets of a regression.

    For classification the one-hot target is regressed on the probability vectors,
    both minus 1/K, one row for each class.
    """
    y = problem.centred_targets()
    K = y.shape[1]
    F = problem.F
    if problem.n_classes is not None:
        F = (F.transpose(0, 2, 1) - 1.0 / K).reshape(-1, problem.n_members)
    return Rows(F, y.reshape(-1), _repeated(problem, K), K)


def vote_rows(
    problem: Votes, floor: float | None = None
) -> tuple[SweptRows, FloatArray]:
    """Return the signed rows, and the factor from their weights to those of F.

    With a floor they are those of log clip(F, floor, 1): S is the log-odds.
    """
    return problem.kept(partial(_votes, floor=floor), _memory_votes, _chunked_votes)


def _votes(problem: Votes, floor: float | None) -> ProbitRows:
    rows = signed_rows(in_logarithms(problem, floor))
    return ProbitRows(rows.F, rows.weight, rows.group)


def _memory_votes(votes: ProbitRows) -> tuple[SweptRows, FloatArray]:
    S, scale = signed_scale(compact(votes.S))
    return ProbitRows(S, votes.weight, votes.group), 1.0 / scale


def _chunked_votes(chunks: Chunks) -> tuple[SweptRows, FloatArray]:
    votes = ChunkedProbitRows(chunks)
    return votes, votes.unit


def gaussian_moments(
    problem: Votes,
) -> tuple[Moments, float, TargetRows | None]:
    """Return the moments of a regression, the unit of its errors, and its rows.

    There are no rows to leave out where members abstain, or where y hardly varies
    beside its mean: the moments are then those of weights that sum to one.
    """
    if problem.masked or offset_dominates(problem):
        return *held_out_moments(problem), None
    moments, rows = problem.kept(_targets, _memory_targets, _chunked_targets)
    return moments, 1.0, rows


def _targets(problem: Votes) -> Targets:
    rows = centred_rows(problem)
    assert rows.y is not None
    loss = None
    if problem.n_classes is not None:
        loss = Misclassified(np.asarray(problem.y))
    return Targets(rows.F, rows.y, rows.weight, loss)


def _memory_targets(rows: Targets) -> tuple[Moments, TargetRows]:
    with one_thread():
        return row_moments(rows.F, rows.y, rows.weight), rows


def _chunked_targets(chunks: Chunks) -> tuple[Moments, TargetRows]:
    rows = ChunkedTargets(chunks)
    return rows.moments(), rows


@dataclass(frozen=True, eq=False)
class Misclassified:
    """A loss: whether the largest of a case's K predictions is wrong."""

    y: IntArray

    def __call__(self, loo: FloatArray) -> FloatArray:
        """Return 1 for a wrong case."""
        wrong = loo.reshape(len(self.y), -1).argmax(axis=1) != self.y
        return np.asarray(wrong, dtype=np.float64)


def held_out_moments(problem: Votes) -> tuple[Moments, float]:
    """Return moments for weights that sum to one, and the unit of the errors.

    They come from the error correlation C alone: with a mask from that of pairs of
    members, each over the rows that both left out, shrunk.
    """
    C, unit = problem.error_correlation()
    return error_moments(C, float(problem.aside(_counted_rows))), unit


def _counted_rows(problem: Votes) -> float:
    """Return the total weight of the rows on which a member has a vote."""
    counted = slice(None) if problem.held_out is None else problem.held_out.any(axis=1)
    return float(problem.row_weights[counted].sum())


def offset_dominates(problem: Votes) -> bool:
    """Whether y hardly varies beside its mean: a thousandth of it, or less.

    F'F would then hold little but the mean, and its differences, by which members
    differ, would be lost to rounding. Weights have to sum to one in any case.
    """
    if problem.n_classes is not None:
        return False
    high, low = problem.aside(_half_range)
    return bool(1e3 * (high.value + low.value) < max(abs(high.value), abs(low.value)))


def _half_range(problem: Votes) -> Sums:
    """Return the largest of y / 2, and of -y / 2."""
    # Halved, so that the extremes of the floating-point range can be subtracted.
    half = np.asarray(problem.y, dtype=np.float64) / 2
    return Sums((Largest(float(half.max())), Largest(float(-half.min()))))


def scaled_to_one(w: FloatArray) -> FloatArray:
    """Return weights that are to sum to one, scaled to do so exactly."""
    # A sum below one half is not one up to rounding, and is left as it is.
    total = float(w.sum())
    return w / total if total > 0.5 else w


def vote_spread(rows: SweptRows, factor: FloatArray, step: PathStep) -> float:
    """Return the mean posterior variance of w'S over rows."""
    # The rows are those of w / factor, and so must be the covariance.
    here = 1.0 / factor[step.active]
    return rows.mean_variance(step.active, step.cov * here * here[:, None])


def voting_share(problem: Votes, w: FloatArray) -> float:
    """Return the mean share of the weights that has a vote on a row."""
    if not problem.masked or not w.sum() > 0:
        return 1.0
    voting, n_rows = problem.aside(_voting_weight, w)
    return float(voting / n_rows / w.sum())


def _voting_weight(problem: Votes, w: FloatArray) -> FloatArray:
    """Return the sum over rows of the weights of members with a vote, and their number."""
    assert problem.held_out is not None
    mask = problem.held_out
    return np.array([mask.sum(axis=0) @ w, len(mask)])


def warn_of_light_weights(problem: Votes) -> None:
    """Warn of weights that sum to one: to a likelihood these are a single row."""
    if not problem.weighted:
        return
    total, n_rows = problem.aside(weight_and_rows)
    if total < 0.1 * n_rows:
        warnings.warn(
            "A sample_weight counts as a number of rows here: these sum to "
            f"{total:.3g} for {n_rows:.0f} rows. Scale them to a mean of one.",
            UserWarning,
            stacklevel=5,
        )


def which_likelihood(
    likelihood: str, problem: Votes, floor: float | None = None
) -> str:
    """Return "probit" for two classes or a log pool, else "gaussian", unless given."""
    if floor is not None:
        return "probit"
    if likelihood == "probit" and problem.n_classes is None:
        raise ValueError(
            "The 'probit' likelihood is for votes: F of shape (N, M, K). Got shape "
            f"(N, {problem.n_members}); take likelihood='gaussian' or 'auto'."
        )
    if likelihood == "auto":
        return "probit" if problem.n_classes == 2 else "gaussian"
    return likelihood


def _repeated(problem: Votes, times: int) -> FloatArray | None:
    """Return the sample weights of rows that come several times."""
    s = problem.sample_weight
    return s if s is None or times == 1 else np.repeat(s, times)
