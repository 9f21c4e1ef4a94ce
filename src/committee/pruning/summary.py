"""What pruning cost and gained, in one table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from committee._format import byte_size, change, figures, percent, text_table
from committee._typing import BoolArray, FloatArray

#: Confidence of the bound on the disagreement.
CONFIDENCE = 0.95


@dataclass(frozen=True)
class Summary:
    """The ensemble before pruning and the committee after it.

    Errors are those on the rows that were given to `prune`. With `oob=True` only
    members that did not see a row vote on it.

    Attributes
    ----------
    measure : {"error rate", "mean squared error"}
    n_rows : int
    n_members_before, n_members_after : int
    error_before, error_after : float
        After pruning each row is judged by members that were chosen and weighed
        without it, in five folds (two above 10,000 rows). With `oob` only about a
        third of them vote on a row; on fresh rows all do, and a small committee
        does better.
    difference, difference_se : float
        error_after - error_before, paired by rows, and its standard error.
    cross_fitted : bool
        False where there were too few rows for folds; `error_after` is then the
        error as weighed, and too small.
    error_as_weighed : float
        Error of the committee on the rows that it was weighed on: too small, since
        its members were chosen to be right there.
    loo : float or None
        Leave-one-out error of the weights, where the combiner has one. The choice of
        members has still seen the row. With `oob` and two classes a row on which
        none of the members votes counts as half wrong.
    loo_measure : str
        What it is, if not the same as the others.
    bytes_before, bytes_after : float
        Of the pickled models; NaN for a model that cannot be pickled.
    seconds_before, seconds_after : float
        To predict one row, in a batch of up to 1,000.
    disagreement : float
        Share of rows on which the two predict different classes, or numbers that differ
        by more than the ensemble's root mean squared error; folds as for `error_after`.
    disagreement_upper : float
        Upper 95 % confidence bound of this share (Clopper and Pearson).
    oob : bool
    """

    measure: str
    n_rows: int
    n_members_before: int
    n_members_after: int
    error_before: float
    error_after: float
    difference: float
    difference_se: float
    cross_fitted: bool
    error_as_weighed: float
    loo: float | None
    loo_measure: str
    bytes_before: float
    bytes_after: float
    seconds_before: float
    seconds_after: float
    disagreement: float
    disagreement_upper: float
    oob: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the entries by name, as JSON takes them."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay the entries out in a table."""
        errors = [
            "-" if error is None else figures(error, 4)
            for error in (
                self.error_before,
                self.error_after,
                self.error_as_weighed,
                self.loo,
            )
        ]
        loo_measure = "" if self.loo_measure == self.measure else self.loo_measure
        costs = {
            "bytes": (self.bytes_before, self.bytes_after, byte_size),
            "seconds per row": (
                self.seconds_before,
                self.seconds_after,
                "{:.2g}".format,
            ),
        }
        bound = f"below {percent(self.disagreement_upper)} at {percent(CONFIDENCE)}"
        rows = [
            ("", "before", "after", ""),
            ("members", f"{self.n_members_before:,}", f"{self.n_members_after:,}", ""),
            (self.measure, *errors[:2], change(self.difference, self.difference_se)),
            ("  as weighed", "", errors[2], "on the rows that chose it"),
            ("  leave-one-out", "", errors[3], loo_measure),
            *(
                (name, shown(before), shown(after), percent(after / before))
                for name, (before, after, shown) in costs.items()
            ),
            ("disagreement", "", percent(self.disagreement), bound),
        ]
        kind = "rows"
        if self.oob:
            kind = "out-of-bag rows (about a third of the members vote on each)"
        how = "cross-fitted" if self.cross_fitted else "as weighed: too few for folds"
        return f"{text_table(rows, '<>><')}\non {self.n_rows:,} {kind}, {how}"


def disagreement(differs: BoolArray) -> tuple[float, float]:
    """Return the share of True, and its upper confidence bound.

    The bound p solves P(at most k of n | p) = 1 - confidence.
    """
    k, n = int(differs.sum()), len(differs)
    # binomtest's interval is two-sided or follows the alternative: "less" has 0 below.
    bound = binomtest(k, n, alternative="less").proportion_ci(CONFIDENCE)
    return k / n, float(bound.high)


def paired_difference(
    after: FloatArray, before: FloatArray, weight: FloatArray | None
) -> tuple[float, float]:
    """Return the weighted mean of after - before, and its standard error."""
    s = np.ones(len(after)) if weight is None else weight
    s, gap = s / s.sum(), after - before
    mean = float(s @ gap)
    return mean, float(np.sqrt((s**2) @ (gap - mean) ** 2))
