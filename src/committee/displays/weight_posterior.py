"""EP's posterior over exact draws, on the two axes where it is widest."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray
from committee.combiners import MCMCPruner
from committee.displays.sources import combiner_of, fit_combiner, kind_of
from committee.displays.style import (
    BLACK,
    GREY,
    VERMILION,
    Display,
    legend_above,
    thin,
)

#: Draws that are shown; all of them count.
_MOST_POINTS = 4000
#: Probability mass within each ellipse.
_MASS = (0.5, 0.95)


class PosteriorDisplay(Display):
    """The Gaussian of EP as ellipses over draws of the exact posterior.

        V = U diag(l) U',   l_1 >= l_2 >= ...,    z = (u_1, u_2)'(w - mean)

    EP replaces a posterior with edges by a Gaussian; the picture shows by which. The
    axes are the two directions in which EP's posterior is widest.

    Parameters
    ----------
    mean : array of shape (a,)
        EP's posterior mean of the kept members' weights.
    cov : array of shape (a, a)
        Its covariance.
    samples : array of shape (n, a) or (n_chains, n, a)
        Draws of the same weights.

    Attributes
    ----------
    axes : array of shape (2, a)
        The principal axes, u_1 and u_2.
    variance : array of shape (2,)
        EP's variance along them, l_1 and l_2.
    share : float
        Their share of the whole variance, tr V.
    samples : array of shape (n, 2)
        The draws on these axes, from EP's mean.
    sample_mean : array of shape (2,)
    sample_cov : array of shape (2, 2)

    Examples
    --------
    >>> import numpy as np
    >>> from committee import PosteriorDisplay
    >>> draws = np.random.default_rng(0).normal(size=(1000, 3)) * [1.0, 2.0, 3.0]
    >>> display = PosteriorDisplay(np.zeros(3), np.diag([1.0, 4.0, 9.0]), draws)
    >>> np.abs(display.axes).round().tolist()
    [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]]
    >>> round(display.share, 2)
    0.93
    """

    def __init__(self, mean: Any, cov: Any, samples: Any) -> None:
        mean = np.asarray(mean, dtype=np.float64)
        draws = np.asarray(samples, dtype=np.float64).reshape(-1, len(mean))
        if len(mean) < 2:
            raise ValueError(
                f"Two axes need a committee of at least two members. Got {len(mean)}."
            )
        # eigh sorts upwards: the two widest directions are the last two columns.
        variance, directions = np.linalg.eigh(np.asarray(cov, dtype=np.float64))
        self.axes: FloatArray = directions[:, :-3:-1].T
        # The sign of an axis is free: its largest entry is positive.
        largest = np.abs(self.axes).argmax(axis=1)
        self.axes *= np.sign(self.axes[[0, 1], largest])[:, None]
        self.variance: FloatArray = variance[:-3:-1]
        self.share = float(self.variance.sum() / variance.sum())
        self.samples: FloatArray = (draws - mean) @ self.axes.T
        self.sample_mean: FloatArray = self.samples.mean(axis=0)
        self.sample_cov: FloatArray = np.cov(self.samples.T)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the posterior of a fitted `MCMCPruner`, or of a committee with one.

        Parameters
        ----------
        estimator : MCMCPruner or committee
        ax : matplotlib Axes, optional
        **kwargs
            For the draws.
        """
        combiner = combiner_of(estimator)
        if not isinstance(combiner, MCMCPruner):
            raise TypeError(
                "Draws of the posterior are made by MCMCPruner, which has EP's "
                f"solution beside them. Got {kind_of(estimator)}."
            )
        step = combiner.posterior_
        display = cls(step.weights[step.active], step.cov, combiner.samples_)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        F: Any,
        y: Any,
        *,
        combiner: MCMCPruner | None = None,
        held_out: Any = None,
        sample_weight: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Prune by EP, sample its posterior and draw both.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        y : array of shape (N,)
        combiner : MCMCPruner, optional
            `MCMCPruner(random_state=0)` unless given. A copy is fitted.
        held_out, sample_weight : arrays, optional
            As for the combiner's `fit`.
        ax : matplotlib Axes, optional
        **kwargs
            For the draws.
        """
        if combiner is None:
            combiner = MCMCPruner(random_state=0)
        fitted = fit_combiner(combiner, F, y, held_out, sample_weight)
        return cls.from_estimator(fitted, ax=ax, **kwargs)

    def _figsize(self) -> tuple[float, float]:
        return 5.6, 5.0

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the draws, EP's ellipses of 50 % and 95 %, and both means."""
        shown = self.samples[thin(len(self.samples), _MOST_POINTS)]
        style = {"s": 5, "color": GREY, "alpha": 0.35, "linewidths": 0}
        style |= {"rasterized": True, "label": f"{len(self.samples)} exact draws"}
        ax.scatter(shown[:, 0], shown[:, 1], **{**style, **kwargs})
        ax.plot(*self.sample_mean, "x", color=BLACK, ms=9, mew=2, label="their mean")
        for mass, line in zip(_MASS, ("--", "-"), strict=True):
            ellipse = self._ellipse(mass)
            label = f"EP, {mass:.0%} of its mass"
            ax.plot(*ellipse, line, color=VERMILION, lw=1.8, label=label)
        ax.plot(0.0, 0.0, "+", color=VERMILION, ms=11, mew=2, label="EP's mean")
        ax.set_xlabel(f"first principal axis (both: {self.share:.0%} of the variance)")
        ax.set_ylabel("second principal axis")
        legend_above(ax)

    def _ellipse(self, mass: float) -> FloatArray:
        """Return points around the given mass of a Gaussian in the plane, (2, n)."""
        # The squared radius is chi-square with two degrees of freedom.
        radius = np.sqrt(-2.0 * np.log1p(-mass))
        angle = np.linspace(0.0, 2 * np.pi, 181)
        circle = np.stack([np.cos(angle), np.sin(angle)])
        ellipse: FloatArray = radius * np.sqrt(self.variance)[:, None] * circle
        return ellipse
