"""Kernel machines in cells, coupled at their borders: functions of arrays."""

from committee.cells.choose import CellOptions
from committee.cells.joint import JointSystem, border_points
from committee.cells.machine import solve_cell
from committee.cells.model import CellModel
from committee.cells.train import CellTraining, train_cells
from committee.cells.tree import border_width, grow_tree

__all__ = [
    "CellModel",
    "CellOptions",
    "CellTraining",
    "JointSystem",
    "border_points",
    "border_width",
    "grow_tree",
    "solve_cell",
    "train_cells",
]
