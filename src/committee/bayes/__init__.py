"""Relatives of Expectation Propagation: EM, and samples of the exact posterior."""

from committee.bayes.chains import effective_sample_size, split_r_hat
from committee.bayes.em import EMFit, fit_gaussian, fit_probit
from committee.bayes.gibbs import sample_probit, sample_truncated
from committee.bayes.left_out import targets_left_out, votes_left_out

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
