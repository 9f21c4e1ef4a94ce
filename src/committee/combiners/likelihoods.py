"""F and y as a likelihood of the weights: rows of a probit, or moments of a Gaussian.

In votes an abstention is 0; in moments a pair of members is compared on the rows that both
left out.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import partial

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.combiners.log_pool import in_logarithms
from committee.ep.arrays import compact, row_blocks, signed_scale
from committee.ep.chunked_rows import ChunkedProbitRows, ChunkedTargets, TargetRows
from committee.ep.gaussian_rows import Moments, Targets, error_moments
from committee.ep.probit_rows import ProbitRows
from committee.ep.recorded_rows import SweptRows
from committee.votes import Largest, Sums, Votes, weight_and_rows


def signed_rows(votes: Votes) -> ProbitRows:
    """Return how far each member prefers the right class to every wrong one.

        S[n, k] = F[n, :, y_n] - F[n, :, k],    k != y_n

    For two classes this is S_n = y_n F_n, with targets y_n = +-1 and signed votes.
    """
    F, y = votes.F, np.asarray(votes.y)
    N, M, K = F.shape
    S = np.empty((N, K - 1, M))
    for rows in row_blocks(N, M * K):
        F_n, y_n, block = F[rows], y[rows], S[rows]
        n = np.arange(len(F_n))
        right = F_n[n, :, y_n]
        for j in range(K - 1):
            # The j-th wrong class: j itself, or the next one once y_n is passed.
            np.subtract(right, F_n[n, :, j + (j >= y_n)], out=block[:, j])
        if votes.held_out is not None:
            block *= votes.held_out[rows, None, :]
    return ProbitRows(S.reshape(-1, M), _repeated(votes, K - 1), K - 1)


def centred_rows(votes: Votes) -> Targets:
    """Return predictions and targets of a regression, with the loss of its cases.

    For classification the one-hot target is regressed on the probability vectors,
    both minus 1/K, one row for each class.
    """
    y = votes.centred_targets()
    K = y.shape[1]
    F, loss = votes.F, None
    if votes.n_classes is not None:
        F = (F.transpose(0, 2, 1) - 1.0 / K).reshape(-1, votes.n_members)
        loss = Misclassified(np.asarray(votes.y))
    return Targets(F, y.reshape(-1), _repeated(votes, K), loss)


def vote_rows(votes: Votes, floor: float | None = None) -> tuple[SweptRows, FloatArray]:
    """Return the signed rows, and the factor from their weights to weights of F.

    With a floor F is replaced by log clip(F, floor, 1): S is the log-odds.
    """
    rows = votes.kept(partial(_votes, floor=floor), ChunkedProbitRows)
    if isinstance(rows, ChunkedProbitRows):
        return rows, rows.unit
    S, scale = signed_scale(compact(rows.S))
    return ProbitRows(S, rows.weight, rows.group), 1.0 / scale


def _votes(votes: Votes, floor: float | None) -> ProbitRows:
    return signed_rows(in_logarithms(votes, floor))


def gaussian_moments(
    votes: Votes,
) -> tuple[Moments, float, TargetRows | None]:
    """Return the moments of a regression, the unit of its errors, and its rows.

    The rows are None where members abstain, or where y hardly varies
    beside its mean: the moments then describe weights that sum to one.
    """
    if votes.masked or offset_dominates(votes):
        return *held_out_moments(votes), None
    rows = votes.kept(centred_rows, ChunkedTargets)
    return rows.moments(), 1.0, rows


@dataclass(frozen=True, eq=False)
class Misclassified:
    """A loss: whether the largest of a case's K predictions is wrong."""

    y: IntArray

    def __call__(self, loo: FloatArray) -> FloatArray:
        """Return 1 for a wrong case."""
        wrong = loo.reshape(len(self.y), -1).argmax(axis=1) != self.y
        return np.asarray(wrong, dtype=np.float64)


def held_out_moments(votes: Votes) -> tuple[Moments, float]:
    """Return moments for weights that sum to one, and the unit of the errors.

    They follow from the error correlation C: with a mask each pair of members is averaged
    over the rows that both left out, and C is shrunk.
    """
    C, unit = votes.error_correlation()
    return error_moments(C, float(votes.aside(_counted_rows))), unit


def _counted_rows(votes: Votes) -> float:
    """Return the total weight of the rows on which a member has a vote."""
    counted = slice(None) if votes.held_out is None else votes.held_out.any(axis=1)
    return float(votes.row_weights[counted].sum())


def offset_dominates(votes: Votes) -> bool:
    """Return True if y varies by at most a thousandth of its mean.

    F'F would then hold little but the mean, and its differences, by which members
    differ, would be lost to rounding. Weights have to sum to one in any case.
    """
    if votes.n_classes is not None:
        return False
    high, low = votes.aside(_half_range)
    return bool(1e3 * (high.value + low.value) < max(abs(high.value), abs(low.value)))


def _half_range(votes: Votes) -> Sums:
    """Return the largest of y / 2, and of -y / 2."""
    # Halved, so that the extremes of the floating-point range can be subtracted.
    half = np.asarray(votes.y, dtype=np.float64) / 2
    return Sums((Largest(float(half.max())), Largest(float(-half.min()))))


def scaled_to_one(w: FloatArray) -> FloatArray:
    """Return weights that are to sum to one, scaled to do so exactly."""
    # A sum below one half is not one up to rounding, and is left as it is.
    total = float(w.sum())
    return w / total if total > 0.5 else w


def warn_of_light_weights(votes: Votes) -> None:
    """Warn of weights that sum to one: to a likelihood these are a single row."""
    if not votes.weighted:
        return
    total, n_rows = votes.aside(weight_and_rows)
    if total < 0.1 * n_rows:
        warnings.warn(
            "Sample weights count as numbers of rows here, but they sum to "
            f"{total:.3g} for {n_rows:.0f} rows. Scale them to a mean of one.",
            UserWarning,
            stacklevel=5,
        )


def which_likelihood(likelihood: str, votes: Votes, floor: float | None = None) -> str:
    """Return the likelihood; "auto" is "probit" for two classes, else "gaussian"."""
    if floor is not None:
        return "probit"
    if likelihood == "probit" and votes.n_classes is None:
        raise ValueError(
            "The 'probit' likelihood is for votes: F of shape (N, M, K). Got shape "
            f"(N, {votes.n_members}); use likelihood='gaussian' or 'auto'."
        )
    if likelihood == "auto":
        return "probit" if votes.n_classes == 2 else "gaussian"
    return likelihood


def _repeated(votes: Votes, times: int) -> FloatArray | None:
    """Return the sample weights of rows that come several times."""
    s = votes.sample_weight
    return s if s is None or times == 1 else np.repeat(s, times)
