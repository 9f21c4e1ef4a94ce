"""Couple: kernel machines on subsets of the rows, and what they are measured by."""

from typing import TYPE_CHECKING, Any

from committee._hints import no_such_name
from committee.coupled.bayesian_committee import (
    BayesianCommitteeClassifier,
    BayesianCommitteeRegressor,
)
from committee.coupled.cell_kernel import CellKernelClassifier, CellKernelRegressor
from committee.coupled.coupled_classifier import CoupledKernelClassifier
from committee.coupled.coupled_kernel import CoupledKernelRegressor
from committee.coupled.gram import GramBlocks, KernelMember, Layout
from committee.coupled.lssvm import LSSVMClassifier, LSSVMRegressor
from committee.coupled.search import SearchResult, search_coupled
from committee.coupled.system import leave_one_out, solve_coupled

__all__ = [
    "BayesianCommitteeClassifier",
    "BayesianCommitteeRegressor",
    "CellKernelClassifier",
    "CellKernelRegressor",
    "CoupledKernelClassifier",
    "CoupledKernelRegressor",
    "GramBlocks",
    "KernelMember",
    "LSSVMClassifier",
    "LSSVMRegressor",
    "Layout",
    "SearchResult",
    "leave_one_out",
    "search_coupled",
    "solve_coupled",
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        raise no_such_name(__name__, name)
