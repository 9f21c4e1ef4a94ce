"""Relatives of Expectation Propagation: EM, and samples of the exact posterior."""

from committee.bayes.fit_em import EMFit, fit_gaussian, fit_probit
from committee.bayes.gibbs import (
    effective_sample_size,
    sample_probit,
    sample_truncated,
    split_r_hat,
    targets_left_out,
    votes_left_out,
)

__all__ = [
    "EMFit",
    "effective_sample_size",
    "fit_gaussian",
    "fit_probit",
    "sample_probit",
    "sample_truncated",
    "split_r_hat",
    "targets_left_out",
    "votes_left_out",
]
