"""What pruning cost and gained, in one table."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from committee._format import (
    byte_size,
    change_text,
    duration,
    error_text,
    percent,
    printable,
    text_table,
)
from committee._typing import BoolArray, FloatArray

#: Confidence of the bound on the disagreement.
CONFIDENCE = 0.95
#: Names of members that a summary shows.
_MOST_NAMES = 10


@dataclass(frozen=True)
class Summary:
    """The ensemble before pruning and the committee after it.

    `print` shows the numbers to decide by: errors as they are to be expected on fresh
    rows, bytes, time, and how many rows are decided in another way. `details()` has the
    errors that pruning itself went by, which are too small.

    Attributes
    ----------
    measure : str
        "error rate", "RMSE" or what `prune` was told by `scoring`.
    n_rows : int
    n_members_before, n_members_after : int
    error_before, error_after : float
        On the rows that were given to `prune`, both measured alike: each row is judged
        by members that were chosen and weighed without it, in five folds (two above
        10,000 rows). Out of bag, votes of members that have seen a row are filled
        with the mean and the spread of the others', so that the error is that of
        members that all vote, as they do on fresh rows.
    difference, difference_se : float
        error_after - error_before, paired by rows, and its standard error.
    log_loss_before, log_loss_after, log_loss_difference, log_loss_difference_se
        The same for the probabilities of a classifier; None where it has none. Out of
        bag, plain shares of votes have the log-loss to expect when all vote.
    cross_fitted : bool
        False where there were too few rows for folds; `error_after` is then the
        error as weighed, and too small.
    error_as_weighed : float
        Error of the committee on the rows that it was weighed on: too small, since
        its members were chosen to be right there.
    loo : float or None
        Leave-one-out error of the weights, where the combiner has one: too small,
        since the choice of members has seen the row.
    loo_measure : str
        What it is.
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
    names_after : list of str or None
        Of the members that were kept, where they have names.
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
    is_classifier: bool = True
    log_loss_before: float | None = None
    log_loss_after: float | None = None
    log_loss_difference: float | None = None
    log_loss_difference_se: float | None = None
    names_after: list[str] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return the entries by name, as JSON takes them."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay out what a user decides by."""
        costs = {
            "bytes": (self.bytes_before, self.bytes_after, byte_size),
            "time for a row": (self.seconds_before, self.seconds_after, duration),
        }
        rows = [
            ("", "before", "after", ""),
            ("members", f"{self.n_members_before:,}", f"{self.n_members_after:,}", ""),
            self._error_row(),
            *self._log_loss_row(),
            *(
                (name, shown(before), shown(after), percent(after / before))
                for name, (before, after, shown) in costs.items()
            ),
            self._disagreement_row(),
        ]
        return f"{text_table(rows, '<>><')}\n{self._kept()}{self._how()}"

    def details(self) -> str:
        """Return the errors that pruning itself went by, and why they mislead.

        Returns
        -------
        table : str
        """
        rows = [
            (
                f"{self.measure} on the rows that chose the members",
                error_text(self.measure, self.error_as_weighed),
                "too small: they were chosen to be right there",
            )
        ]
        if self.loo is not None:
            rows.append(
                (
                    f"leave-one-out {self.loo_measure}",
                    error_text(self.loo_measure, self.loo),
                    "too small: the choice of members has seen each row",
                )
            )
        return text_table(rows, "<><")

    def _disagreement_row(self) -> tuple[str, str, str, str]:
        """Return how many rows get another answer, and how many it may be."""
        name, of = "other class", "of the rows"
        if not self.is_classifier:
            name, of = "other number", "of the rows, by more than the RMSE before"
        upper = f"below {percent(self.disagreement_upper)} at {percent(CONFIDENCE)}"
        return name, "", percent(self.disagreement), f"{of}; {upper}"

    def _error_row(self) -> tuple[str, str, str, str]:
        return (
            self.measure,
            error_text(self.measure, self.error_before),
            error_text(self.measure, self.error_after),
            change_text(self.measure, self.difference, self.difference_se),
        )

    def _log_loss_row(self) -> list[tuple[str, str, str, str]]:
        """Return a line about the probabilities, unless the errors are about them."""
        numbers = (
            self.log_loss_before,
            self.log_loss_after,
            self.log_loss_difference,
            self.log_loss_difference_se,
        )
        known = [number for number in numbers if number is not None]
        if len(known) < len(numbers) or self.measure == "log-loss":
            return []
        before, after, gap, se = known
        return [
            (
                "log-loss",
                error_text("log-loss", before),
                error_text("log-loss", after),
                change_text("log-loss", gap, se),
            )
        ]

    def _kept(self) -> str:
        """Return a line with the names of the members, if they have some."""
        if self.names_after is None:
            return ""
        more = len(self.names_after) - _MOST_NAMES
        shown = ", ".join(map(printable, self.names_after[:_MOST_NAMES]))
        return f"kept: {shown}{f' and {more:,} more' if more > 0 else ''}\n"

    def _how(self) -> str:
        """Return on which rows, and how, the errors were measured."""
        if not self.cross_fitted:
            return (
                f"on {self.n_rows:,} rows, too few for folds: the error after is on the "
                "rows that chose\nthe members, and too small"
            )
        rows = f"{self.n_rows:,} rows"
        if self.oob:
            return (
                f"Errors to expect on fresh rows: each of {rows} was judged by members "
                "that had\nneither been trained on it nor chosen by it."
            )
        return (
            f"Errors to expect on fresh rows, if no member was trained on these {rows}: "
            "each\nwas judged by members that it had not chosen."
        )


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


def summary_of(model: Any) -> Summary | None:
    """Return what pruning cost and gained, None for what was not made by prune()."""
    if not hasattr(model, "summary"):
        return None
    try:
        return model.summary()  # type: ignore[no-any-return]
    except ValueError:  # a file or a copy from before the summary was made
        return None
