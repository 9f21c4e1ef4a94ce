"""Weights of a committee, with the standard deviations of their posterior."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_weights
from committee.displays.sources import (
    combiner_of,
    core_of,
    known_names,
    weights_of,
)
from committee.displays.style import BLUE, GREY, Display, check_names, literal
from committee.held_out import share_unit

#: Largest number of bars that have a name each.
_MOST_NAMES = 50
#: Smallest number of members with equal weights that are drawn as one bar.
_MANY_EQUAL = 10
#: Relative difference of weights that counts as rounding.
_ROUNDING = 1e-9


class WeightsDisplay(Display):
    """Nonzero weights, largest first, with the standard deviations of their posterior.

        w_m +- sqrt(V_mm)    for the members with w_m != 0

    Ten members or more with equal weights and no posterior are drawn as one bar.
    `from_estimator` scales non-negative weights to sum to one.

    Parameters
    ----------
    weights : array of shape (M,)
    std : array of shape (M,), default=None
        Posterior standard deviations.
    names : sequence of M names, default=None
        Default: the indices of the members.

    Attributes
    ----------
    weights : array of shape (M,)
    std : array of shape (M,) or None
    names : list of str
    order : array
        Members with a nonzero weight, largest weight first.
    bars : list of arrays
        Members of each bar in this order: one member, or all with the same weight.

    Examples
    --------
    >>> from committee import WeightsDisplay
    >>> display = WeightsDisplay([0.0, 0.2, 0.8], names=["tree", "ridge", "svm"])
    >>> display.order.tolist()
    [2, 1]
    >>> display.plot().ax_.get_xlabel()
    'weight'
    """

    def __init__(self, weights: Any, *, std: Any = None, names: Any = None) -> None:
        self.weights: FloatArray = check_weights(weights, len(weights))
        M = len(self.weights)
        self.std = None if std is None else check_weights(std, M)
        self.names = check_names(names, M, "members")
        kept = np.flatnonzero(self.weights)
        largest = np.argsort(-np.abs(self.weights[kept]), kind="stable")
        self.order: IntArray = kept[largest]
        self.bars: list[IntArray] = _bars(self.weights, self.order, self.std is None)

    def bar_name(self, bar: IntArray) -> str:
        """Return the label of a bar: a member's name, or the number of members."""
        if len(bar) == 1:
            return str(self.names[bar[0]])
        return f"{len(bar):,} members, each"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Any = None, ax: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted committee, another ensemble or a combiner.

        Parameters
        ----------
        estimator : committee, any ensemble that `prune` takes, or combiner
            Standard deviations are drawn for `EPPruner`, `ARDPruner` and `MCMCPruner`.
        names : sequence of M names, default=None
            Names of the columns of F, or of the members of a `Pool`, by default.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.plot`, which draws the points.
        """
        return cls.compute(estimator, names=names).plot(ax, **kwargs)

    @classmethod
    def compute(cls, estimator: Any, *, names: Any = None) -> Self:
        """Return the display without drawing it; parameters as for `from_estimator`."""
        core = core_of(estimator)
        combiner = combiner_of(core)
        w = weights_of(core if combiner is None else combiner)
        std = posterior_std(combiner)
        if w is None:
            raise TypeError(
                f"A {type(core).__name__} does not average its members, so they have "
                "no weights to draw."
            )
        if names is None:
            names = known_names(core)
        unit = share_unit(w)
        return cls(w / unit, std=None if std is None else std / unit, names=names)

    def _figsize(self) -> tuple[float, float]:
        n = len(self.bars)
        return 6.0, (1.2 + 0.2 * max(n, 5) if n <= _MOST_NAMES else 5.0)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the members with a nonzero weight from top to bottom."""
        n = len(self.bars)
        named = n <= _MOST_NAMES
        ax.axvline(0.0, color=GREY, lw=0.8)
        first = np.array([bar[0] for bar in self.bars], dtype=np.intp)
        place, w = np.arange(1, n + 1), self.weights[first]
        thin = {"lw": max(0.5, 150 / n), "alpha": 0.4, "rasterized": True}
        line: dict[str, Any] = {"lw": 1.4} if named else thin
        ax.hlines(place, 0.0, w, color=GREY, **line)
        if self.std is not None:
            ends = w - self.std[first], w + self.std[first]
            ax.hlines(place, *ends, color=BLUE, **line)
        style = {"color": BLUE, "ms": 6 if named else 2.5, "marker": "o", "ls": "none"}
        ax.plot(w, place, **{**style, **kwargs})
        ax.set_ylim(n + 0.6, 0.4)
        title = f"{len(self.order)} of {len(self.weights)} members"
        ax.set_title(title, fontsize="medium")
        spread = "" if self.std is None else " ± posterior standard deviation"
        ax.set_xlabel(f"weight{spread}")
        if named:
            ax.set_yticks(place, [literal(self.bar_name(bar)) for bar in self.bars])
        ax.set_ylabel("member" if named else "members, largest weight first")


def _bars(w: FloatArray, order: IntArray, joined: bool) -> list[IntArray]:
    """Return the members of each bar; with `joined`, many equal weights are one bar."""
    ends = np.flatnonzero(np.abs(np.diff(w[order])) > _ROUNDING * np.abs(w[order[1:]]))
    bars: list[IntArray] = []
    for run in np.split(order, ends + 1):
        if joined and len(run) >= _MANY_EQUAL:
            bars.append(run)
        else:
            bars.extend(run[:, None])
    return bars


def posterior_std(combiner: Any) -> FloatArray | None:
    """Return the posterior standard deviations of the weights, (M,), or None.

    Standard deviations of the draws, or sqrt(V_mm) of a Gaussian posterior. None if the
    weights are not the mean of the posterior: equal votes, or another committee of the
    path.
    """
    if hasattr(combiner, "samples_"):
        active = combiner.posterior_.active
        spread = combiner.samples_.std(axis=(0, 1))
    elif hasattr(combiner, "posterior_"):
        step = combiner.posterior_
        if not np.allclose(step.weights, combiner.weights_):
            return None
        active, spread = step.active, np.sqrt(np.diag(step.cov))
    else:
        return None
    std = np.zeros(len(combiner.weights_))
    std[active] = spread
    return std
