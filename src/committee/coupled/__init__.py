"""Couple: kernel submodels on disjoint subsets, trained together."""

from committee.coupled.classifier import CoupledKernelClassifier
from committee.coupled.expansion import KernelMember
from committee.coupled.gram import GramBlocks, Layout
from committee.coupled.kernel_loo import leave_one_out
from committee.coupled.lssvm import LSSVMClassifier, LSSVMRegressor
from committee.coupled.regressor import CoupledKernelRegressor
from committee.coupled.search import search_coupled
from committee.coupled.search_cells import SearchResult
from committee.coupled.system import CoupledSolution, solve_coupled

__all__ = [
    "CoupledKernelClassifier",
    "CoupledKernelRegressor",
    "CoupledSolution",
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
