"""Weights of a committee, for all rows and behind a gate."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from scipy.sparse import issparse

from committee._typing import FloatArray, IntArray
from committee._validation import (
    check_row_weights,
    check_weights,
    column_names,
    safe_indexing,
)
from committee.diagnostics import GateUsage, gate_usage
from committee.displays.sources import (
    combiner_of,
    core_of,
    gate_weights_of,
    known_names,
    weights_of,
)
from committee.displays.style import (
    BLACK,
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    VERMILION,
    Display,
    check_names,
    literal,
)
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
        None means the numbers of the members.

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
        cls, estimator: Any, *, names: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the weights of a fitted committee, another ensemble or a combiner.

        Parameters
        ----------
        estimator : committee, any ensemble that `prune` takes, or combiner
            Standard deviations are drawn for `EPPruner`, `ARDPruner` and `MCMCPruner`.
        names : sequence of M names, default=None
            None means the columns of F, or the names of a `Pool`.
        **kwargs
            `ax`, and arguments of `Axes.plot`, which draws the points.
        """
        return cls.compute(estimator, names=names).plot(**kwargs)

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


#: Colours of the members with the largest shares; all others are grey.
_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, "#cc79a7", "#56b4e9", "#f0e442", BLACK)


class GateDisplay(Display):
    """Scatter plot of two columns, coloured by the member with the largest weight.

    The smaller this weight, the fainter the point. The eight members with the largest
    shares have colours of their own.

    Parameters
    ----------
    points : array of shape (N, 2)
        The rows on two columns.
    G : array of shape (N, M)
        Weights of the members for each row.
    names : sequence of M names, default=None
        None means the numbers of the members.
    labels : pair of str, default=None
        Names of the two columns.

    Attributes
    ----------
    points : array of shape (N, 2)
    winner : array of shape (N,)
        Member with the largest weight in each row.
    weight : array of shape (N,)
        Its weight.
    usage : GateUsage
        Shares of the members and entropy.
    names : list of str
    labels : pair of str
    order : array of shape (M,)
        Members by their share, largest first.

    Examples
    --------
    >>> from committee import GateDisplay
    >>> display = GateDisplay([[0.0, 1.0], [1.0, 0.0]], [[0.9, 0.1], [0.2, 0.8]])
    >>> display.winner.tolist()
    [0, 1]
    """

    def __init__(
        self, points: Any, G: Any, *, names: Any = None, labels: Any = None
    ) -> None:
        G = check_row_weights(G, np.shape(G))
        self.points: FloatArray = check_row_weights(points, (len(G), 2))
        self.usage: GateUsage = gate_usage(G)
        self.winner: IntArray = G.argmax(axis=1)
        self.weight: FloatArray = G.max(axis=1)
        self.names = check_names(names, G.shape[1], "members")
        self.labels = ("first column", "second column") if labels is None else labels
        self.order: IntArray = np.argsort(-self.usage.share, kind="stable")

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        columns: Any = None,
        names: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the gate of a committee or of a mixture of experts.

        Parameters
        ----------
        estimator : committee with a gate, or mixture
            It may be inside a pipeline or a search.
        X : array-like or frame of shape (N, n_features)
        columns : pair of column numbers or names, default=None
            Columns of X to draw on the x and the y axis. By default the two columns of
            numbers in which the members with the largest weight differ most.
        names : sequence of M names, default=None
        **kwargs
            `ax`, and arguments of `Axes.scatter`, which draws the points.
        """
        G = gate_weights_of(estimator, X)
        if G is None:
            raise TypeError(
                "GateDisplay draws weights that depend on x, of a committee with a gate "
                f"or of a mixture of experts. Got {type(core_of(estimator)).__name__} without "
                "a gate."
            )
        if names is None:
            names = getattr(core_of(estimator), "member_names_", None)
        return cls.compute(G, X, columns=columns, names=names).plot(**kwargs)

    @classmethod
    def compute(cls, G: Any, X: Any, *, columns: Any = None, names: Any = None) -> Self:
        """Return the display without drawing it.

        Parameters
        ----------
        G : array of shape (N, M)
            Weights of the members for each row.
        X, columns, names
            Parameters of `from_estimator`.
        """
        if columns is None:
            points, labels = _telling_columns(X, np.argmax(G, axis=1))
        else:
            points, labels = _picked_columns(X, columns)
        return cls(points, G, names=names, labels=labels)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw a cloud for each member that has the largest weight in some row."""
        style = {"s": 14, "linewidths": 0, "rasterized": len(self.points) > 5000}
        n, share = len(_COLOURS), self.usage.answers
        clouds: list[tuple[Any, str, str]] = [
            ([m], colour, literal(self.names[m]))
            for m, colour in zip(self.order, _COLOURS, strict=False)
        ]
        clouds.append((self.order[n:], GREY, "others"))
        for members, colour, name in clouds:
            rows = np.isin(self.winner, members)
            if rows.any():
                label = f"{name}, {share[members].sum():.0%}"
                alpha = 0.25 + 0.75 * self.weight[rows]
                options = {"alpha": alpha, "label": label, **style, **kwargs}
                ax.scatter(*self.points[rows].T, color=colour, **options)
        ax.set(xlabel=literal(self.labels[0]), ylabel=literal(self.labels[1]))
        title = (
            f"member with the largest weight (entropy {self.usage.entropy:.2f} of 1)"
        )
        ax.set_title(title, fontsize="medium")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")


def _is_telling(values: Any) -> bool:
    """Return True for finite numbers that vary."""
    if values.dtype.kind not in "fiu" or not np.isfinite(values).all():
        return False
    return bool(np.ptp(values) > 0)


def _telling_columns(X: Any, winner: IntArray) -> tuple[FloatArray, list[str]]:
    """Return the two columns in which rows of different winners differ most.

    Columns are compared by the sum of squares of their ranks between the winners. Raise
    ValueError if fewer than two columns vary.
    """
    X = X if hasattr(X, "shape") else np.asarray(X)
    # A sparse matrix has none.
    columns = [] if issparse(X) else [_column(X, c) for c in range(X.shape[1])]
    varies = [c for c, values in enumerate(columns) if _is_telling(values)]
    if len(varies) < 2:
        raise ValueError(
            "GateDisplay needs two numeric columns that are finite and not constant. "
            f"Got {len(varies)}."
        )
    table = np.column_stack([columns[c] for c in varies]).astype(np.float64)
    ranks = table.argsort(axis=0).argsort(axis=0).astype(np.float64)
    ranks -= ranks.mean(axis=0)
    groups = [ranks[winner == m] for m in np.unique(winner)]
    between = sum(len(group) * group.mean(axis=0) ** 2 for group in groups)
    largest = np.argsort(-between, kind="stable")[:2]
    return table[:, largest], [_name_of(X, varies[i]) for i in largest]


def _picked_columns(X: Any, columns: Any) -> tuple[FloatArray, list[str]]:
    """Return the two columns of X with these numbers or names, and their names."""
    if len(columns) != 2:
        raise ValueError(f"columns must name two columns. Got {columns!r}.")
    X = X if hasattr(X, "shape") else np.asarray(X)
    try:
        picked = [_column(X, c) for c in columns]
    except (IndexError, KeyError) as error:
        raise ValueError(
            f"columns must name two columns of X, by number or by name. Got {columns!r}."
        ) from error
    return np.column_stack(picked), [_name_of(X, c) for c in columns]


def _column(X: Any, c: Any) -> Any:
    """Return a column of X by number or name, (N,)."""
    return np.asarray(safe_indexing(X, c, axis=1)).ravel()


def _name_of(X: Any, c: Any) -> str:
    """Return the name of a column, "column c" if X has no names."""
    if isinstance(c, str):
        return c
    known = column_names(X)
    return f"column {c}" if known is None else str(known[c])
