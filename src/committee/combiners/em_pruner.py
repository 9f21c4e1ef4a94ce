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
    and Yao, 2006). Members whose weight vanishes are dropped for good. The objective
    rises at every step, but it has many local maxima: other starts end in other
    committees, which is why `EPPruner` was made. By default three starts are tried. Of
    members that the rows cannot tell apart, such as trees out of bag, the ones of lower
    number stay, although they are not better than the others.

    Parameters
    ----------
    start : {"best", "equal", "least-squares"} or array-like of shape (M,), \
            default="best"
        Where to begin, and thereby which local maximum is found. "equal" gives all
        members the same weight, the best multiple of their sum. "least-squares" is the
        best non-negative fit without a prior; the members it leaves out never come
        back. "best" climbs from both and from three times equal weights, and keeps
        the mode with the most posterior mass. Weights of your own must not be
        negative.
    likelihood : {"auto", "probit", "gaussian"}, default="auto"
        As in `EPPruner`.
    pool : {"auto", "votes", "log"}, default="auto"
        As in `EPPruner`: "log" is a logarithmic pool, whose weights and offsets are fitted
        to the members that are left.
    max_iter : int, default=500
    tol : float, default=1e-6
        The iteration ends when no weight changes by more, relative to the largest.

    Attributes
    ----------
    weights_ : array of shape (M,)
        Never negative, zero for members that were dropped. They need not sum to one.
        If all vanish, the best single member keeps its own.
    support_ : array
        The members that were kept.
    objective_ : array of shape (n_iter_,)
        The objective after each iteration, up to a constant; it never falls. Only fits
        from one start can be compared by it, as w = 0 has the largest.
    starts_ : dict
        With start="best", (number of members, log posterior mass) of the mode that each
        start has found; otherwise empty.
    noise_ : float
        Noise variance; 1, the latent noise, for the probit likelihood.
    likelihood_ : str
        The likelihood that was used.
    floor_, offsets_
        As in `EPPruner`, of a logarithmic pool.
    n_iter_ : int
    converged_ : bool

    See Also
    --------
    EPPruner : The same model, without a start to choose.

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
                f"A weight still changed by {fit.change:.3g} of the largest in "
                f"iteration {fit.n_iter}; EM stands still below {self.tol:g}. Raise "
                f"max_iter ({self.max_iter}) or tol.",
                ConvergenceWarning,
                stacklevel=4,
            )
        if not fit.starts and fit.first_size <= 1 < self._n_in_start(len(fit.weights)):
            warnings.warn(
                f"The first step of EM left {fit.first_size} of {len(fit.weights)} "
                "members, and none comes back. Compare with other starts "
                "(start='best', 'least-squares', or weights nearer to a good "
                "committee), or with EPPruner, which has none.",
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
            "start must hold weights >= 0, at least one of them positive. Got a "
            f"minimum of {w.min():g} and a maximum of {w.max():g}."
        )
    return w
