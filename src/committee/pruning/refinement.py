"""What refining cost and gained: leaves, depth, bytes and errors, before and after."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from committee._format import byte_size, error_text, percent, text_table


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
        Of so many trees before and after refining, both measured alike: a row is judged
        by trees that have not seen it, with values that were fitted without it.
        `error_after` is None for classes out of bag: the teacher has seen all rows, so
        that only fresh ones can tell.
    n_votes : float
        Trees that vote on a row there, on average. Out of bag others stand in for kept
        trees that have seen a row; where there are too few, both errors are too large.
    ridge : float
        Weight of the distance from the old values, in rows.
    all_rows : bool
        Whether trees were refitted on rows that they had seen, too.
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
    error_after: float | None
    n_votes: float
    ridge: float
    all_rows: bool

    def to_dict(self) -> dict[str, Any]:
        """Return the entries by name, as JSON takes them."""
        return asdict(self)

    def __str__(self) -> str:
        """Lay out what a user decides by."""
        counts = {
            "members": (self.n_members_before, self.n_members_after, "{:,}".format),
            "leaves": (self.leaves_before, self.leaves_after, "{:,}".format),
            "deepest tree": (self.depth_before, self.depth_after, "{:,}".format),
            "bytes": (self.bytes_before, self.bytes_after, byte_size),
        }
        rows = [
            ("", "before", "after", ""),
            *(
                (name, shown(before), shown(after), percent(after / before))
                for name, (before, after, shown) in counts.items()
            ),
        ]
        errors = [
            (self.measure, ""),
            *(
                (name, _shown(self.measure, error))
                for name, error in (
                    ("the whole ensemble", self.error_before),
                    ("the trees that were kept, as they were", self.error_plain),
                    ("the same, refined", self.error_after),
                )
            ),
        ]
        how = (
            f"Errors on {self.n_rows:,} rows that neither the trees that vote there, "
            f"{self.n_votes:.0f} of those kept or like them,\nnor the values of their "
            "leaves have seen."
        )
        return f"{text_table(rows, '<>><')}\n\n{text_table(errors, '<>')}\n{how}"


def _shown(measure: str, error: float | None) -> str:
    return "on fresh rows only" if error is None else error_text(measure, error)
