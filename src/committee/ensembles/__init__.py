"""Any fitted ensemble as a roster of its members; one adapter for each library."""

from committee.ensembles.adapters import (
    known_columns,
    leaves_rows_out,
    roster_of,
    trees_of,
)
from committee.ensembles.roster import Roster
from committee.ensembles.rounds import Rebuilt, Round, rebuild, rebuilt

__all__ = [
    "Rebuilt",
    "Roster",
    "Round",
    "known_columns",
    "leaves_rows_out",
    "rebuild",
    "rebuilt",
    "roster_of",
    "trees_of",
]
