"""Pruning by evidence: a sparse prior on every weight, learned from the data."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from scipy.special import log_ndtr, softmax
from sklearn.exceptions import ConvergenceWarning

from committee._progress import step_printer
from committee._typing import FloatArray
from committee._validation import Interval, StrOptions
from committee.combiners.base import Combiner, Problem
from committee.combiners.likelihoods import (
    centred_rows,
    held_out_moments,
    offset_dominates,
    signed_rows,
)
from committee.ep import (
    Path,
    PathStep,
    classification_path,
    moments_path,
    regression_path,
)


class Inclusion(NamedTuple):
    """Why members were kept or dropped.

    Attributes
    ----------
    strength : array of shape (M,)
        Posterior mean of a weight over its standard deviation; 0 if dropped.
    evidence : array of shape (M,)
        Log evidence that is lost without the member, or for one that was dropped
        what it could bring at most, given the others.
    """

    strength: FloatArray
    evidence: FloatArray


class EvidencePruner(Combiner):
    """What `EPPruner` and `ARDPruner` share: the evidence sequence and its path."""

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "max_members": [None, Interval(Integral, 1, None, closed="left")],
        "rule": [StrOptions({"min-loo", "max-evidence", "one-se"})],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "max_iter": [Interval(Integral, 1, None, closed="left")],
        "tol": [Interval(Real, 0, None, closed="neither")],
        "verbose": ["boolean"],
    }

    _truncated: ClassVar[bool]

    max_members: int | None
    rule: Any
    likelihood: str
    max_iter: int
    tol: float
    verbose: bool
    path_: Path
    posterior_: PathStep
    loo_: float
    log_evidence_: float
    inclusion_: Inclusion
    likelihood_: str
    n_iter_: int
    converged_: bool

    def _weigh(self, problem: Problem) -> FloatArray:
        self.likelihood_ = self._which_likelihood(problem)
        options: dict[str, Any] = {
            "truncated": self._truncated,
            "max_members": self.max_members,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": step_printer() if self.verbose else None,
        }
        self._spread = 0.0
        if self.likelihood_ == "probit":
            rows = signed_rows(problem)
            path = classification_path(
                rows.F, sample_weight=rows.weight, group=rows.group, **options
            )
            self._keep(path)
            self._spread = _mean_variance(rows.F, self.posterior_)
        elif problem.held_out is not None or offset_dominates(problem):
            moments, unit = held_out_moments(problem)
            self._keep(_in_units(moments_path(moments, **options), unit))
        else:
            self._keep(_gaussian_path(problem, options))
        return self.posterior_.weights.copy()

    def _which_likelihood(self, problem: Problem) -> str:
        """Return "probit" for two classes and "gaussian" otherwise, unless told."""
        if self.likelihood == "probit" and problem.n_classes is None:
            raise ValueError(
                "The 'probit' likelihood is for votes: F of shape (N, M, K). Got "
                f"shape {problem.F.shape}; take likelihood='gaussian' or 'auto'."
            )
        if self.likelihood == "auto":
            return "probit" if problem.n_classes == 2 else "gaussian"
        return self.likelihood

    def _keep(self, path: Path) -> None:
        """Choose a point on the path and store what it says."""
        step = path.step(self.rule)
        self.path_, self.posterior_ = path, step
        self.loo_, self.log_evidence_ = step.loo_error, step.log_evidence
        self.n_iter_, self.converged_ = path.n_iter, path.converged
        self.inclusion_ = Inclusion(step.strength, step.gain)
        if not path.converged:
            change = np.diff([s.objective for s in path.steps[-2:]], prepend=0.0)[-1]
            warnings.warn(
                f"The evidence still rose by {change:.3g} in step {path.n_iter}; it "
                f"stands still below {self.tol:g} per row. Raise max_iter "
                f"({self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )

    def probabilities(self, scores: FloatArray) -> FloatArray:
        """Turn combined scores into class probabilities.

        Under the probit likelihood a class beats another with probability
        Phi((s_k - s_j) / sqrt(1 + v)), v the mean posterior variance of w'S;
        products over j are scaled to sum one, which for two classes is Phi itself.

        Parameters
        ----------
        scores : array of shape (N, K)
            sum_m w_m F[:, m, :].

        Returns
        -------
        p : array of shape (N, K)
        """
        if self.likelihood_ != "probit" or self._is_equal_vote():
            return super().probabilities(scores)
        margins = scores[:, :, None] - scores[:, None, :]
        log_beats = log_ndtr(margins / np.sqrt(1.0 + self._spread))
        # A class does not compete with itself: its term is the constant log 1/2.
        p: FloatArray = softmax(log_beats.sum(axis=2), axis=1)
        return p

    def _is_equal_vote(self) -> bool:
        """Whether the weights are votes rather than the posterior's."""
        return False


class EPPruner(EvidencePruner):
    """Prune by Expectation Propagation: sparse, non-negative weights.

        p(w | alpha) = prod_i 2 N(w_i | 0, 1/alpha_i) [w_i > 0]
        regression:       y_n = w'F_n + e,  e ~ N(0, noise)
        classification:   p(y_n | w) = Phi(w'S_n),  S_n = F[n, :, y_n] - F[n, :, k]

    The alphas are raised in evidence one after another; most run to infinity, and
    their members are dropped (Chen, Tino and Yao, 2009). Every committee on the way
    is kept in `path_`, with a leave-one-out error that costs nothing extra.

    Parameters
    ----------
    max_members : int, optional
        Members at most.
    rule : {"min-loo", "max-evidence", "one-se"}, default="min-loo"
        Which point of the path to take: the least leave-one-out error, the largest
        evidence, or the smallest committee within one standard error of the least.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        For classification: a probit term for every wrong class, or Gaussian noise
        on the probability vectors. "auto" is probit for two classes and gaussian for
        more.
    votes : {"posterior", "equal"}, default="posterior"
        Weights are the posterior means, or equal on the members chosen.
    max_iter : int, default=200
        Steps of the sequence at most.
    tol : float, default=1e-4
        The sequence ends when the evidence per row rises by less.
    verbose : bool, default=False
        Print size, leave-one-out error and evidence of every step to standard error.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Never negative, zero for members that were dropped. They need not sum to one.
    support_ : array
        The members that were kept.
    path_ : Path
        Every committee visited: `size`, `loo_error`, `loo_se`, `loo_density`,
        `log_evidence`, `members`, `weights`; `path_.choose(max_members=5)` returns
        the weights of another point without fitting again.
    posterior_ : PathStep
        The chosen point, with the covariance of its weights.
    loo_ : float
        Its leave-one-out error: mean squared error, or share of wrong rows for
        classification. Under the gaussian likelihood with `held_out`, where no row
        has all members, it is the squared error that generalised cross-validation
        expects.
    log_evidence_ : float
    inclusion_ : Inclusion
        For each member `strength` and `evidence`: why it was kept or dropped.
    likelihood_ : str
        The likelihood that was used.
    n_iter_ : int
    converged_ : bool

    References
    ----------
    H. Chen, P. Tino, X. Yao. Predictive ensemble pruning by expectation propagation.
    IEEE Transactions on Knowledge and Data Engineering 21(7), 2009.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import EPPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.3, 0.3, [3.0] * 8]
    >>> pruner = EPPruner().fit(F, y)
    >>> np.flatnonzero(pruner.path_.choose(max_members=2)).tolist()
    [0, 1]
    >>> mean, std = pruner.combine(F, return_std=True)
    """

    _truncated = True
    _parameter_constraints: ClassVar[dict[str, Any]] = {
        **EvidencePruner._parameter_constraints,
        "votes": [StrOptions({"posterior", "equal"})],
    }

    def __init__(
        self,
        *,
        max_members: int | None = None,
        rule: str = "min-loo",
        likelihood: str = "auto",
        votes: str = "posterior",
        max_iter: int = 200,
        tol: float = 1e-4,
        verbose: bool = False,
    ) -> None:
        self.max_members = max_members
        self.rule = rule
        self.likelihood = likelihood
        self.votes = votes
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose

    def _weigh(self, problem: Problem) -> FloatArray:
        w = super()._weigh(problem)
        if self._is_equal_vote():
            return (w > 0) / np.count_nonzero(w)
        return w

    def _is_equal_vote(self) -> bool:
        return self.votes == "equal"

    def combine(self, F: Any, return_std: bool = False) -> Any:
        """Return the committee's output, sum_m w_m f_m.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        return_std : bool, default=False
            For regression, return the predictive standard deviation as well:
            sqrt(noise + F_n' V F_n).

        Returns
        -------
        f_ens : array of shape (N,) or (N, K)
        std : array of shape (N,)
            Only with `return_std`.
        """
        mean = super().combine(F)
        if not return_std:
            return mean
        if self._is_equal_vote():
            raise ValueError("return_std needs the weights of votes='posterior'.")
        if mean.ndim == 2:
            raise ValueError(
                "return_std is for regression; for classification use "
                "probabilities(combine(F))."
            )
        step = self.posterior_
        F_a = np.asarray(F, dtype=np.float64)[:, step.active]
        return mean, np.sqrt(step.noise + np.einsum("na,ab,nb->n", F_a, step.cov, F_a))


class ARDPruner(EvidencePruner):
    """Prune by automatic relevance determination: sparse weights of any sign.

        p(w | alpha) = prod_i N(w_i | 0, 1/alpha_i)

    The evidence sequence of `EPPruner` without the truncation at zero: a relevance
    vector machine on F (Tipping and Faul, 2003). Chen, Tino and Yao compare with it.

    Parameters
    ----------
    max_members : int, optional
        Members at most.
    rule : {"min-loo", "max-evidence", "one-se"}, default="max-evidence"
        Which point of the path to take.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
    max_iter : int, default=200
    tol : float, default=1e-4
    verbose : bool, default=False

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_, path_, posterior_, loo_, log_evidence_, inclusion_, likelihood_
        As in `EPPruner`.
    n_iter_ : int
    converged_ : bool

    Examples
    --------
    >>> import numpy as np
    >>> from committee import ARDPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.1, [3.0] * 9]
    >>> int(abs(ARDPruner().fit(F, y).weights_).argmax())
    0
    """

    _truncated = False

    def __init__(
        self,
        *,
        max_members: int | None = None,
        rule: str = "max-evidence",
        likelihood: str = "auto",
        max_iter: int = 200,
        tol: float = 1e-4,
        verbose: bool = False,
    ) -> None:
        self.max_members = max_members
        self.rule = rule
        self.likelihood = likelihood
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose


def _gaussian_path(problem: Problem, options: dict[str, Any]) -> Path:
    """Run the sequence on rows that every member speaks on."""
    rows = centred_rows(problem)
    assert rows.y is not None
    return regression_path(
        rows.F,
        rows.y,
        sample_weight=rows.weight,
        loss=_misclassified(problem) if problem.n_classes is not None else None,
        **options,
    )


def _misclassified(problem: Problem) -> Any:
    """Return a loss: whether the largest of a case's K predictions is wrong."""
    y = np.asarray(problem.y)

    def loss(loo: FloatArray) -> FloatArray:
        wrong: FloatArray = loo.reshape(len(y), -1).argmax(axis=1) != y
        return wrong.astype(np.float64)

    return loss


def _mean_variance(S: FloatArray, step: PathStep) -> float:
    """Return the mean over rows of S_n' V S_n, the posterior variance of a vote."""
    total = 0.0
    for start in range(0, len(S), 2**14):
        S_a = S[start : start + 2**14, step.active]
        total += float(np.einsum("na,ab,nb->", S_a, step.cov, S_a, optimize=True))
    return total / len(S)


def _in_units(path: Path, unit: float) -> Path:
    """Return the path with errors and noise in the units of y."""
    if unit == 1.0:
        return path
    with np.errstate(over="ignore", under="ignore"):
        square = np.float64(unit) ** 2
        steps = tuple(
            replace(
                step,
                noise=float(step.noise * square),
                loo_error=float(step.loo_error * square),
                loo_se=float(step.loo_se * square),
            )
            for step in path.steps
        )
    return Path(steps, path.converged, path.n_iter)
