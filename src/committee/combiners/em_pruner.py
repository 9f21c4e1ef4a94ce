"""Pruning by EM: a mode of the weights, their precisions integrated out."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, dataclass, field
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from committee._typing import FloatArray, IntArray
from committee._validation import AT_LEAST_ONE, Interval, StrOptions, check_weights
from committee.bayes.fit_em import EMFit, fit_gaussian, fit_probit
from committee.combiners.base import Combiner
from committee.combiners.likelihoods import (
    gaussian_moments,
    scaled_to_one,
    signed_rows,
    which_likelihood,
)
from committee.combiners.log_pool import in_logarithms, log_floor, weigh_near
from committee.votes import Votes, in_squared_units


@dataclass(eq=False, repr=False)
class EMPruner(Combiner):
    """Prune by expectation-maximisation: a mode of sparse, non-negative weights.

        max_w  log p(y | w, noise) - sum_i log w_i,    w >= 0
        E-step:  alpha_i = 1 / w_i^2;   for votes also the mean of the latent Gaussian
        M-step:  min 1/2 w'(L + diag alpha) w - h'w,   w >= 0;   noise = RSS / N

    The model of `EPPruner` with alpha integrated out instead of optimised (Chen, Tino
    and Yao, 2006). Members whose weight vanishes are dropped and never added back. The
    objective increases at every step but has many local maxima, so different starts
    give different committees; `EPPruner` was designed to avoid this. By default three
    starts are tried. If the rows cannot distinguish some members, as with out-of-bag
    trees, those with lower indices are kept, although they are not better than the
    others.

    Parameters
    ----------
    start : str or array-like of shape (M,), default="best"
        "best", "equal", "least-squares" or an array.
        Initial weights, which determine the local maximum that is found. "equal" starts
        from equal weights with the best common scale. "least-squares" starts from the
        non-negative least-squares fit without a prior; members with weight zero in this
        fit are never added back. "best" starts from both and from three times the equal
        weights, and keeps the mode with the most posterior mass. An array must not
        contain negative weights.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        As in `EPPruner`.
    pool : {"auto", "votes", "log"}, default="auto"
        As in `EPPruner`: "log" is a logarithmic pool, with weights and offsets fitted
        to the kept members.
    max_iter : int, default=500
    tol : float, default=1e-6
        Stop when no weight changes by more than `tol` times the largest weight.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Non-negative weights, zero for dropped members. They need not sum to one. If all
        of them vanish, the best single member keeps its weight.
    support_ : array
        Indices of the kept members.
    objective_ : array of shape (n_iter_,)
        The objective after each iteration, up to a constant; it never decreases.
        Compare it only between fits from the same start, because w = 0 has the largest
        value.
    starts_ : dict
        For start="best", (number of members, log posterior mass) of the mode found from
        each start; otherwise empty.
    noise_ : float
        Noise variance; 1 for the probit likelihood.
    likelihood_ : str
        The likelihood that was used.
    floor_, offsets_
        For a logarithmic pool, as in `EPPruner`.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    EPPruner : The same model; it needs no initial weights.

    References
    ----------
    H. Chen, P. Tino, X. Yao. A probabilistic ensemble pruning algorithm. ICDM
    Workshops, 2006.
    M. Figueiredo. Adaptive sparseness for supervised learning. IEEE Transactions on
    Pattern Analysis and Machine Intelligence 25(9), 2003.

    Examples
    --------
    >>> import numpy as np
    >>> from committee import EMPruner
    >>> rng = np.random.default_rng(0)
    >>> y = rng.normal(size=200)
    >>> F = y[:, None] + rng.normal(size=(200, 10)) * np.r_[0.3, 0.3, [30.0] * 8]
    >>> EMPruner().fit(F, y).support_.tolist()
    [0, 1, 3]
    """

    _parameter_constraints: ClassVar[dict[str, Any]] = {
        "start": [StrOptions({"best", "equal", "least-squares"}), "array-like"],
        "likelihood": [StrOptions({"auto", "probit", "gaussian"})],
        "pool": [StrOptions({"auto", "votes", "log"})],
        "max_iter": [AT_LEAST_ONE],
        "tol": [Interval(Real, 0, None, closed="neither")],
    }

    takes_chunks: ClassVar[bool] = True
    needs_all: ClassVar[str] = (
        "with the probit likelihood needs all rows in every iteration"
    )
    objective_: FloatArray = field(init=False)
    starts_: dict[str, tuple[int, float]] = field(init=False)
    noise_: float = field(init=False)
    likelihood_: str = field(init=False)
    n_iter_: int = field(init=False)
    converged_: bool = field(init=False)

    _: KW_ONLY
    start: Any = "best"
    likelihood: str = "auto"
    pool: str = "auto"
    max_iter: int = 500
    tol: float = 1e-6

    def _sees_all(self, n_classes: int | None) -> bool:
        two_classes = self.likelihood == "auto" and n_classes == 2
        return two_classes or self.likelihood == "probit" or self.pool == "log"

    def _weigh(self, votes: Votes) -> FloatArray:
        # The rows of a logarithmic pool are probit ones, which EM needs in memory.
        self.floor_ = log_floor(self, votes, averages=not votes.in_memory)
        self.offsets_ = None
        self.likelihood_ = which_likelihood(self.likelihood, votes, self.floor_)
        options: dict[str, Any] = {
            "start": _check_start(self.start, self.n_features_in_, votes.numbers),
            "max_iter": self.max_iter,
            "tol": self.tol,
        }
        if self.likelihood_ == "probit":
            rows = signed_rows(in_logarithms(votes, self.floor_))
            w = self._keep(fit_probit(rows.S, sample_weight=rows.weight, **options))
            if self.floor_ is not None:
                found = weigh_near(votes, np.flatnonzero(w), w, self.floor_)
                w, self.offsets_ = found.weights, found.offsets
            return w
        # Without targets the weights are to sum to one, and moments hold them near it.
        moments, unit, targets = gaussian_moments(votes)
        w = self._keep(fit_gaussian(moments, **options), unit)
        return scaled_to_one(w) if targets is None else w

    def _keep(self, fit: EMFit, unit: float = 1.0) -> FloatArray:
        """Store what the fit found, its noise in units of the errors."""
        self.objective_, self.n_iter_ = fit.objective, fit.n_iter
        self.converged_, self.starts_ = fit.converged, dict(fit.starts)
        self.noise_ = in_squared_units(fit.noise, unit)
        if not fit.converged:
            warnings.warn(
                f"EM has not converged: in iteration {fit.n_iter} a weight changed by "
                f"{fit.change:.3g} of the largest, more than tol={self.tol:g}. Increase "
                f"max_iter ({self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not fit.starts and fit.first_size <= 1 < self._n_in_start(len(fit.weights)):
            warnings.warn(
                f"The first step of EM kept only {fit.first_size} of "
                f"{len(fit.weights)} members, and dropped members are never added "
                "back. Try other starts (start='best', 'least-squares', or weights "
                "closer to a good committee), or EPPruner, which needs no start.",
                stacklevel=4,
            )
        return fit.weights

    def _n_in_start(self, n_members: int) -> int:
        """Return how many members EM began with."""
        named = isinstance(self.start, str)
        return n_members if named else int(np.count_nonzero(self.start))


def _check_start(start: Any, n_members: int, numbers: IntArray | None) -> Any:
    """Return the name of a start, or weights of some members, not negative."""
    if isinstance(start, str):
        return start
    w = check_weights(start, n_members)
    w = w if numbers is None else w[numbers]
    if w.min() < 0 or not w.any():
        raise ValueError(
            "start must contain weights >= 0, at least one of them positive. Got a "
            f"minimum of {w.min():g} and a maximum of {w.max():g}."
        )
    return w
