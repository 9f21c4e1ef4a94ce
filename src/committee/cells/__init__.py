"""Kernel machines in cells, coupled at their borders: functions of arrays."""

from committee.cells.choose import CellOptions, choose_kernel
from committee.cells.joint import BorderPoints, JointSystem, border_points
from committee.cells.machine import Border, CellFit, solve_cell
from committee.cells.model import CellModel, CellVariance
from committee.cells.train import CellTraining, LeftOut, train_cells
from committee.cells.tree import CellTree, Shares, border_width, grow_tree

__all__ = [
    "Border",
    "BorderPoints",
    "CellFit",
    "CellModel",
    "CellOptions",
    "CellTraining",
    "CellTree",
    "CellVariance",
    "JointSystem",
    "LeftOut",
    "Shares",
    "border_points",
    "border_width",
    "choose_kernel",
    "grow_tree",
    "solve_cell",
    "train_cells",
]
