"""Leaves of trees that are kept: other values, and fewer of them."""

from committee.refining.cutting import cut_to, priced_cut
from committee.refining.leaf_values import Squares, leaf_incidence, refit
from committee.refining.made_up_rows import made_up_rows
from committee.refining.nodes import Nodes, shrunk_values

__all__ = [
    "Nodes",
    "Squares",
    "cut_to",
    "leaf_incidence",
    "made_up_rows",
    "priced_cut",
    "refit",
    "shrunk_values",
]
