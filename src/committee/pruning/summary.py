"""Summary: errors and costs before and after pruning or refining."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from scipy.stats import binomtest

from committee._format import (
    HELD_OUT,
    LEAVE_ONE_OUT,
    byte_size,
    change_text,
    count,
    duration,
    error_name,
    error_text,
    percent,
    printable,
    text_table,
)
from committee._notebook import Columns, Shown
from committee._typing import BoolArray
from committee.held_out import HeldOutPredictions, compared
from committee.losses import LOG_LOSS, Measure, mean_and_se

#: Name, before, after and a note.
Line = tuple[str, str, str, str]

#: Confidence of the bound on the disagreement.
CONFIDENCE = 0.95
#: Names of members that a summary shows.
_MOST_NAMES = 10


@dataclass(frozen=True)
class RefinedSize:
    """One of the sizes that were tried, compared with the whole ensemble.

    Attributes
    ----------
    n_members, n_leaves : int
    n_bytes : float
        Of the pickled committee.
    error : float
        On held-out rows, as `error_after` of the Summary.
    difference, difference_se : float
        error - error of the whole ensemble, paired by rows, and its standard error.
    """

    n_members: int
    n_leaves: int
    n_bytes: float
    error: float
    difference: float
    difference_se: float


@dataclass(frozen=True)
class Refinement:
    """Sizes and settings of refined trees, before and after.

    Attributes
    ----------
    leaves_before, leaves_after : int
        Of all trees, of the kept ones.
    depth_before, depth_after : int
        Of the deepest tree.
    error_plain : float
        Error of the same number of trees before refining. Out of bag, these trees were not
        chosen on the rows that they predict.
    error_refined : float
        Error of the same number of trees after refining. The trees stay as they are if this is larger
        than `error_plain`. `error_after` of the Summary also includes the error of this
        choice: rows of each fold are predicted by what the other folds choose.
    least_rows : int
        Nodes with fewer training rows became leaves.
    ridge : float
        Weight of the distance from the old values, in rows; infinity if the trees
        are better unrefined.
    labels : float
        Share of the labels in the targets of classes; the rest is the ensemble's output.
    path : tuple of RefinedSize
        The sizes that were tried, this one among them.
    """

    leaves_before: int
    leaves_after: int
    depth_before: int
    depth_after: int
    error_plain: float
    error_refined: float
    least_rows: int
    ridge: float
    labels: float
    path: tuple[RefinedSize, ...] = ()


@dataclass(frozen=True)
class Rival:
    """The alternative for a booster: its first rounds, or a choice of rounds.

    Attributes
    ----------
    n_members : int
    is_first : bool
        True for the first rounds, False for the choice of the combiner.
    error : float
        On held-out rows, as `error_after` of the Summary.
    """

    n_members: int
    is_first: bool
    error: float


@dataclass(frozen=True, repr=False)
class Summary(Shown):
    """The ensemble before pruning and the committee after it.

    `print` shows the errors to expect on fresh rows, bytes, time, and how many predictions
    change. `details()` has the errors on the rows used to choose the members, which are
    too small.

    Attributes
    ----------
    measure : str
        "error rate", "RMSE", or the error that `scoring` of `prune` selects.
    n_rows : int
    n_members_before, n_members_after : int
    error_before, error_after : float
        On the rows passed to `prune`, measured in the same way: each row is predicted by
        members that were chosen and weighed without it, in five folds (two above 10,000
        rows). Out of bag, missing votes are filled with the mean and the spread of the
        other members' votes, because on fresh rows all members vote.
    error_after_se : float or None
        Standard error of `error_after`.
    difference, difference_se : float
        error_after - error_before, paired by rows, and its standard error.
    log_loss_before, log_loss_after, log_loss_difference, log_loss_difference_se
        The same for the probabilities of a classifier; None if it has none. Out of
        bag, the log-loss of plain shares of votes is the one to expect if all vote.
    cross_fitted : bool
        False if there were too few rows for folds; `error_after` is then
        `error_as_weighed`, which is too small.
    error_as_weighed : float
        Error of the committee on the rows that it was weighed on. It is too small,
        because the members were chosen on these rows.
    loo : float or None
        Leave-one-out error of the weights, if the combiner has one. It is too small,
        because the members were chosen with the row.
    loo_measure : str
        Measure of `loo`, for example "squared error".
    bytes_before, bytes_after : float
        Of the pickled models, NaN for a model that cannot be pickled; or of all files (see
        `bytes_name`).
    seconds_before, seconds_after : float
        To predict one row, in a batch of up to 1,000.
    disagreement : float
        Share of rows on which the two predict different classes, or numbers that differ
        by more than the ensemble's root mean squared error; folds as for `error_after`.
    disagreement_upper : float
        Upper 95 % confidence bound of this share (Clopper and Pearson).
    oob : bool
    names_after : list of str or None
        Names of the kept members, if they have names.
    refinement : Refinement or None
        How trees were refined; None for `prune` without `refine`.
    rival : Rival or None
        Of a booster: its first rounds if a choice of rounds is kept, the choice if the
        booster was stopped early.
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
    refinement: Refinement | None = None
    error_after_se: float | None = None
    rival: Rival | None = None
    bytes_name: str = "bytes, pickled"

    @property
    def error_name(self) -> str:
        """Name of the error, such as "held-out error rate"; "error rate" on few rows."""
        return error_name(HELD_OUT, self.measure) if self.cross_fitted else self.measure

    def to_dict(self) -> dict[str, Any]:
        """Return the entries as a JSON-serialisable dict."""
        return asdict(self)

    def rows(self) -> list[Line]:
        """Return the lines of the table: name, before, after and a note."""
        return [*self._size_lines(), *self._error_lines(), *self._cost_lines()]

    def _parts(self) -> Iterator[str | Columns]:
        """Yield the table to decide by, and the sizes that were tried."""
        yield Columns([("", "before", "after", ""), *self.rows()], "<>><")
        if self.names_after is not None:
            yield self._kept(self.names_after)
        yield self.how()
        found = self.refinement
        if found is not None and len(found.path) > 1:
            yield ""
            yield self._sizes(found)

    def _size_lines(self) -> Iterator[Line]:
        """Yield the numbers of members and, of refined trees, leaves and depth."""
        before, after = self.n_members_before, self.n_members_after
        note = "none left out" if after == before > 1 else ""
        yield "members", f"{before:,}", f"{after:,}", note
        found = self.refinement
        if found is not None:
            for name, before, after in (
                ("leaves", found.leaves_before, found.leaves_after),
                ("deepest tree", found.depth_before, found.depth_after),
            ):
                yield name, f"{before:,}", f"{after:,}", percent(after / before)

    def _error_lines(self) -> Iterator[Line]:
        """Yield the errors, of what else could be kept as well, and the log-loss."""
        measure = self.measure
        before, after = self.error_before, self.error_after
        yield _compared(measure, before, after, self.difference, self.difference_se)
        if self.refinement is not None:
            yield from self._plain_lines(self.refinement)
        if self.rival is not None:
            name, note = self._rival_text(self.rival)
            yield name, "", error_text(measure, self.rival.error), note
        log_loss = (
            self.log_loss_before,
            self.log_loss_after,
            self.log_loss_difference,
            self.log_loss_difference_se,
        )
        if None not in log_loss and measure != "log-loss":
            yield _compared("log-loss", *log_loss)

    def _plain_lines(self, found: Refinement) -> Iterator[Line]:
        """Yield the errors of as many trees without and with refining."""
        stay = found.ridge == float("inf")
        note = "the trees stay as they were: refined they were worse" if stay else ""
        plain = error_text(self.measure, found.error_plain)
        refined = error_text(self.measure, found.error_refined)
        yield "  as many, unrefined", "", plain, note
        yield "  as many, refined", "", refined, "" if stay else "taken"

    def _rival_text(self, rival: Rival) -> tuple[str, str]:
        """Return the name of the rival, and a note that compares it."""
        if rival.is_first:
            return f"  the first {count(rival.n_members, 'round')}", "clearly worse"
        n, of = self.n_members_after, self.n_members_before
        kept = f"stopped early at {count(n, 'round')}" if n < of else "all rounds stay"
        name = f"  {count(rival.n_members, 'chosen round')}"
        return name, f"not clearly better: {kept}"

    def _cost_lines(self) -> Iterator[Line]:
        """Yield bytes, time, and how many rows get another answer."""
        for name, before, after, shown in (
            (self.bytes_name, self.bytes_before, self.bytes_after, byte_size),
            ("time for a row", self.seconds_before, self.seconds_after, duration),
        ):
            yield name, shown(before), shown(after), percent(after / before)
        name, of = "other class", "of the rows"
        if not self.is_classifier:
            name, of = "other number", "of the rows, by more than the RMSE before"
        upper = f"below {percent(self.disagreement_upper)} at {percent(CONFIDENCE)}"
        yield name, "", percent(self.disagreement), f"{of}; {upper}"

    def _sizes(self, found: Refinement) -> Columns:
        """Return the sizes that were tried."""
        rows = [
            ("members", "leaves", "bytes, pickled", self.measure, "against the whole")
        ]
        rows += [
            (
                f"{size.n_members:,}",
                f"{size.n_leaves:,}",
                byte_size(size.n_bytes),
                error_text(self.measure, size.error),
                change_text(self.measure, size.difference, size.difference_se),
            )
            for size in found.path
        ]
        return Columns(rows, ">>>><")

    def details(self) -> str:
        """Return the errors on the rows used to choose the members; they are too small.

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
                    error_name(LEAVE_ONE_OUT, self.loo_measure),
                    error_text(self.loo_measure, self.loo),
                    "too small: the choice of members has seen each row",
                )
            )
        return text_table(rows, "<><")

    def _kept(self, names: list[str]) -> str:
        """Return a line with the names of the members."""
        more = len(names) - _MOST_NAMES
        shown = ", ".join(map(printable, names[:_MOST_NAMES]))
        return f"kept: {shown}{f' and {more:,} more' if more > 0 else ''}"

    def how(self) -> str:
        """Return a description of how, and on which rows, the errors were measured."""
        if not self.cross_fitted:
            return (
                f"on {self.n_rows:,} rows, too few for folds: the error after is on the "
                "rows that chose\nthe members, and too small"
            )
        rows = f"{self.n_rows:,} rows"
        if self.oob:
            return (
                f"Errors to expect on fresh rows: each of {rows} was predicted by "
                "members\nthat were neither trained on it nor chosen by it."
            )
        return (
            f"Errors to expect on fresh rows, if no member was trained on these {rows}: "
            "each\nwas predicted by members that were chosen without it."
        )


def _compared(measure: str, before: Any, after: Any, gap: Any, se: Any) -> Line:
    """Return the line of an error before and after, and their difference."""
    return (
        measure,
        error_text(measure, before),
        error_text(measure, after),
        change_text(measure, gap, se),
    )


def disagreement(differs: BoolArray) -> tuple[float, float]:
    """Return the share of True, and its upper confidence bound.

    The bound p solves P(at most k of n | p) = 1 - confidence.
    """
    k, n = int(differs.sum()), len(differs)
    # binomtest's interval is two-sided or follows the alternative: "less" has 0 below.
    bound = binomtest(k, n, alternative="less").proportion_ci(CONFIDENCE)
    return k / n, float(bound.high)


def compared_errors(
    before: HeldOutPredictions,
    after: HeldOutPredictions,
    as_weighed: HeldOutPredictions,
    measure: Measure,
) -> dict[str, Any]:
    """Return the entries of a Summary that are errors, by name."""
    both = after.counted & before.counted
    error = compared(before, after, measure)
    share, upper = disagreement(_differs(before, after)[both])
    of_classes, log_loss = before.votes.n_classes is not None, {}
    if of_classes and before.p is not None:
        found = compared(before, after, LOG_LOSS)._asdict()
        log_loss = {f"log_loss_{name}": value for name, value in found.items()}
    return {
        "measure": measure.name,
        "n_rows": int(both.sum()),
        "error_before": error.before,
        "error_after": error.after,
        "error_after_se": after.error(measure, before.counted)[1],
        "difference": error.difference,
        "difference_se": error.difference_se,
        "error_as_weighed": compared(before, as_weighed, measure).after,
        "disagreement": share,
        "disagreement_upper": upper,
        "oob": before.votes.masked,
        "is_classifier": of_classes,
        **log_loss,
    }


def _differs(before: HeldOutPredictions, after: HeldOutPredictions) -> BoolArray:
    """Whether the two predict different classes, or numbers that are far apart."""
    if before.votes.n_classes is not None:
        return np.asarray(before.values != after.values)
    far = np.sqrt(max(mean_and_se(before.losses, before.row_weights)[0], 0.0))
    return np.asarray(np.abs(before.values - after.values) > far)


def summary_of(model: Any) -> Summary | None:
    """Return the summary of a model; None if `prune` or `refine` did not make it."""
    if not hasattr(model, "summary"):
        return None
    try:
        return model.summary()  # type: ignore[no-any-return]
    except ValueError:  # a file or a copy from before the summary was made
        return None
