"""Relatives of Expectation Propagation: EM, and samples of the exact posterior."""

from committee.bayes.chains import effective_sample_size, split_r_hat
from committee.bayes.em import EMFit, fit_gaussian, fit_probit
from committee.bayes.gibbs import sample_probit, sample_truncated

__all__ = [
    "EMFit",
    "effective_sample_size",
    "fit_gaussian",
    "fit_probit",
    "sample_probit",
    "sample_truncated",
    "split_r_hat",
]
