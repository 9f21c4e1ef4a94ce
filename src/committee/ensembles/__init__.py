"""Any fitted ensemble as a roster: its members and how they speak."""

from committee.ensembles.dissect import roster_of
from committee.ensembles.roster import Roster

__all__ = ["Roster", "roster_of"]
