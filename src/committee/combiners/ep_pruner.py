"""Pruning by evidence: a sparse prior on every weight, learned from the data."""

from __future__ import annotations

from os import PathLike
from typing import Any, ClassVar

from committee._validation import StrOptions
from committee.combiners.evidence_pruner import EvidencePruner


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
    rule : {"min-loo", "max-evidence", "max-density", "one-se"}, default="min-loo"
        Which point of the path to take: the least leave-one-out error, the largest
        evidence, the largest leave-one-out log density (for probabilities), or the
        smallest committee within one standard error of the least error.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        For classification: a probit term for every wrong class, or Gaussian noise
        on the probability vectors. "auto" is probit for two classes and gaussian for
        more.
    votes : {"posterior", "equal"}, default="posterior"
        Weights are the posterior means, or equal on the members chosen.
    pool : {"votes", "log"}, default="votes"
        What is weighed: votes or probabilities F, or log clip(F, floor_, 1), so that S
        are log-odds and the committee is a logarithmic pool, as `LogPool` is, of few
        members; take it with rule="max-density". For classes, under probit rows.
    sequence : {"fast", "printed"}, default="fast"
        How the alphas are found. "fast" raises the evidence less a price for each
        member, by many moves at once. "printed" is that of the paper: one member at a
        time is added, deleted or re-estimated, by the gain of a weight that could be
        negative, so that the evidence need not rise. Its path has many more steps, and
        the last of them more members.
    max_iter : int, default=200
        Steps of the sequence at most.
    tol : float, default=1e-4
        The sequence ends when the evidence per row rises by less; the printed one when
        no single move promises more.
    verbose : bool, default=False
        Print size, leave-one-out error and evidence of every step to standard error.
    checkpoint : path, optional
        A folder in which every sweep of the probit likelihood is kept: a fit that was
        broken off goes on from there, if it is started again with the same rows.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Never negative, zero for members that were dropped. They need not sum to one.
    support_ : array
        The members that were kept.
    path_ : Path
        Every committee visited: `size`, `weights`, `error` (leave-one-out),
        `error_se`, `log_evidence`; `path_.choose(max_members=5)` returns the weights
        of another point without fitting again.
    posterior_ : PathStep
        The chosen point, with the covariance of its weights.
    loo_ : float
        Its leave-one-out error: mean squared error, or share of wrong rows for
        classification. Under the gaussian likelihood with `held_out`, where no row
        has all members, it is the squared error that generalised cross-validation
        expects, as it is for regression where y hardly varies beside its mean. With
        votes="equal" it is still the error of the posterior weights.
    log_evidence_ : float
    inclusion_ : Inclusion
        For each member `strength` and `evidence`: why it was kept or dropped.
    likelihood_ : str
        The likelihood that was used.
    floor_ : float or None
        1 / (N + K) for pool="log".
    slope_ : float
        For pool="log": probabilities are softmax(slope_ s), s the weighted sums, with
        the least log-loss on leave-one-out sums.
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
        "sequence": [StrOptions({"fast", "printed"})],
    }

    def __init__(
        self,
        *,
        max_members: int | None = None,
        rule: str = "min-loo",
        likelihood: str = "auto",
        votes: str = "posterior",
        pool: str = "votes",
        sequence: str = "fast",
        max_iter: int = 200,
        tol: float = 1e-4,
        verbose: bool = False,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.max_members = max_members
        self.rule = rule
        self.likelihood = likelihood
        self.votes = votes
        self.pool = pool
        self.sequence = sequence
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.checkpoint = checkpoint

    def _is_equal_vote(self) -> bool:
        return self.votes == "equal"


class ARDPruner(EvidencePruner):
    """Prune by automatic relevance determination: sparse weights of any sign.

        p(w | alpha) = prod_i N(w_i | 0, 1/alpha_i)

    The evidence sequence of `EPPruner` without the truncation at zero: a relevance
    vector machine on F (Tipping and Faul, 2003). Chen, Tino and Yao compare with it.

    Parameters
    ----------
    max_members : int, optional
        Members at most.
    rule : str, default="max-evidence"
        Which point of the path to take, as in `EPPruner`.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
    pool : {"votes", "log"}, default="votes"
        As in `EPPruner`: with "log" a weight below zero divides by a member's
        probabilities.
    max_iter : int, default=200
    tol : float, default=1e-4
    verbose : bool, default=False
    checkpoint : path, optional
        As in `EPPruner`.

    Attributes
    ----------
    weights_ : array of shape (M,)
    support_, path_, posterior_, loo_, log_evidence_, inclusion_, likelihood_
        As in `EPPruner`.
    floor_, slope_
        As in `EPPruner`, for pool="log".
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
        pool: str = "votes",
        max_iter: int = 200,
        tol: float = 1e-4,
        verbose: bool = False,
        checkpoint: str | PathLike[str] | None = None,
    ) -> None:
        self.max_members = max_members
        self.rule = rule
        self.likelihood = likelihood
        self.pool = pool
        self.max_iter = max_iter
        self.tol = tol
        self.verbose = verbose
        self.checkpoint = checkpoint
