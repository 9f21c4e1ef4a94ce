"""Look inside: functions of F, y and w that never see X or an estimator."""

from committee.diagnostics.agreement import (
    disagreement,
    double_fault,
    margins,
    pairwise_kappa,
    q_statistic,
)
from committee.diagnostics.correlation import error_correlation
from committee.diagnostics.curves import expected_calibration_error
from committee.diagnostics.decomposition import (
    Ambiguity,
    GateUsage,
    ambiguity,
    gate_usage,
)

__all__ = [
    "Ambiguity",
    "GateUsage",
    "ambiguity",
    "disagreement",
    "double_fault",
    "error_correlation",
    "expected_calibration_error",
    "gate_usage",
    "margins",
    "pairwise_kappa",
    "q_statistic",
]
