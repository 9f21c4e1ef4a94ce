"""What refining cost and gained: leaves, depth, bytes and errors, before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from committee._format import byte_size, change_text, error_text, percent, text_table


@dataclass(frozen=True)
class RefinedSize:
    """One committee on the way, and its error beside that of the whole ensemble.

    Attributes
    ----------
    n_members, n_leaves : int
    n_bytes : float
        Of the pickled committee.
    error : float
        On honest rows, as `error_after` of a Refinement.
    difference, difference_se : float
        error - error of the whole, paired by rows, and its standard error.
    """

    n_members: int
    n_leaves: int
    n_bytes: float
    error: float
    difference: float
    difference_se: float


@dataclass(frozen=True)
class Refinement:
    """The ensemble, the trees that were kept of it, and these trees refined.

    Attributes
    ----------
    measure : str
        "error rate" or "RMSE".
    n_rows : int
        Rows that the errors are of.
    n_members_before, n_members_after : int
    leaves_before, leaves_after : int
        Of all trees, of the kept ones.
    depth_before, depth_after : int
        Of the deepest of them.
    bytes_before, bytes_after : float
        Of the pickled models.
    error_before : float
        Of the ensemble on the rows.
    error_plain, error_after : float
        Of so many trees before and after refining: a row is judged by trees that have not
        seen it, with values that were fitted without it. Out of bag these are trees that
        the rows did not choose. For classes all three are of leaves that have forgotten
        a part of the rows, and so a little too large.
    difference_se : float
        Standard error of error_after - error_before, paired by rows.
    n_votes : float
        Trees that vote on a row there, on average. Where there are fewer than kept ones,
        both errors are too large.
    least_rows : int
        Nodes of fewer training rows became leaves.
    ridge : float
        Weight of the distance from the old values, in rows; infinity where the trees are
        better as they were.
    labels : float
        Part of the labels in the targets of classes; the rest is the ensemble's.
    all_rows : bool
        Whether trees were refitted on rows that they had seen, too.
    path : tuple of RefinedSize
        The sizes that were tried, this one among them.
    """

    measure: str
    n_rows: int
    n_members_before: int
    n_members_after: int
    leaves_before: int
    leaves_after: int
    depth_before: int
    depth_after: int
    bytes_before: float
    bytes_after: float
    error_before: float
    error_plain: float
    error_after: float
    difference_se: float
    n_votes: float
    least_rows: int
    ridge: float
    labels: float
    all_rows: bool
    path: tuple[RefinedSize, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Return the entries by name, as JSON takes them."""
        return asdict(self)

    def table(self) -> list[tuple[str, str, str, str]]:
        """Return names, before, after and the share that is left, by lines."""
        counts = {
            "members": (self.n_members_before, self.n_members_after, "{:,}".format),
            "leaves": (self.leaves_before, self.leaves_after, "{:,}".format),
            "deepest tree": (self.depth_before, self.depth_after, "{:,}".format),
            "bytes": (self.bytes_before, self.bytes_after, byte_size),
        }
        return [
            (name, shown(before), shown(after), percent(after / before))
            for name, (before, after, shown) in counts.items()
        ]

    def __str__(self) -> str:
        """Lay out what a user decides by."""
        gap = self.error_after - self.error_before
        errors = [
            (self.measure, "", ""),
            ("the whole ensemble", error_text(self.measure, self.error_before), ""),
            (
                "so many trees, as they were",
                error_text(self.measure, self.error_plain),
                "",
            ),
            (
                "the same, refined",
                error_text(self.measure, self.error_after),
                change_text(self.measure, gap, self.difference_se),
            ),
        ]
        how = (
            f"Errors on {self.n_rows:,} rows that neither the trees that vote there, "
            f"{self.n_votes:.0f} of those kept or like them,\nnor the values of their "
            "leaves have seen."
        )
        if self.ridge == float("inf"):
            how += " The trees stay as they were: refined they were worse."
        counts = text_table([("", "before", "after", ""), *self.table()], "<>><")
        shown = [counts, f"{text_table(errors, '<><')}\n{how}"]
        if len(self.path) > 1:
            shown.append(self._sizes())
        return "\n\n".join(shown)

    def _sizes(self) -> str:
        """Return the path as a table."""
        rows = [("members", "leaves", "bytes", self.measure, "against the whole")]
        rows += [
            (
                f"{size.n_members:,}",
                f"{size.n_leaves:,}",
                byte_size(size.n_bytes),
                error_text(self.measure, size.error),
                change_text(self.measure, size.difference, size.difference_se),
            )
            for size in self.path
        ]
        return text_table(rows, ">>>><")
