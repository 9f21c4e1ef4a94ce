"""The evidence sequence as a combiner: what EPPruner and ARDPruner share."""

from __future__ import annotations

import warnings
from dataclasses import replace
from numbers import Integral, Real
from typing import Any, ClassVar, NamedTuple

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee._progress import step_printer
from committee._typing import FloatArray
from committee._validation import Interval, StrOptions
from committee.combiners.base import Combiner, Problem
from committee.combiners.likelihoods import (
    centred_rows,
    held_out_moments,
    offset_dominates,
    probit_probabilities,
    signed_rows,
    which_likelihood,
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
        self.likelihood_ = which_likelihood(self.likelihood, problem)
        options: dict[str, Any] = {
            "truncated": self._truncated,
            "max_members": self.max_members,
            "max_iter": self.max_iter,
            "tol": self.tol,
            "callback": step_printer() if self.verbose else None,
            "rule": self.rule,
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
        return probit_probabilities(scores, self._spread)

    def _is_equal_vote(self) -> bool:
        """Whether the weights are votes rather than the posterior's."""
        return False


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
