"""Which member answers where: a gate on two columns."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee._validation import check_row_weights, column_names, safe_indexing
from committee.diagnostics.gate_usage import GateUsage, gate_usage
from committee.displays.sources import core_of, gate_weights_of
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

#: Members with a colour of their own; the rest are grey together.
_COLOURS = (BLUE, ORANGE, GREEN, VERMILION, "#cc79a7", "#56b4e9", "#f0e442", BLACK)


class GateDisplay(Display):
    """Rows on two columns, coloured by the member of largest weight there.

    Points are the fainter, the less of the weight that member has. Eight members, those
    of the largest shares, have colours of their own.

    Parameters
    ----------
    points : array of shape (N, 2)
    G : array of shape (N, M)
        Weights of the members at these points.
    names : sequence of M names, optional
        The members' numbers unless given.
    labels : pair of str, optional
        What the two columns are called.

    Attributes
    ----------
    points : array of shape (N, 2)
    winner : array of shape (N,)
        The member of largest weight at each point.
    weight : array of shape (N,)
        Its weight.
    usage : GateUsage
        Shares and entropy.
    names : list of str
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
        columns: Any = (0, 1),
        names: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the gate of a committee or of a mixture of experts.

        Parameters
        ----------
        estimator : committee with a gate, or mixture
            Or a pipeline or a search around one; columns are those of X before it.
        X : array-like or frame of shape (N, n_features)
        columns : pair of column numbers or names, default=(0, 1)
            What is drawn across and upwards.
        names : sequence of M names, optional
        ax : matplotlib Axes, optional
        **kwargs
            For the points.
        """
        if len(columns) != 2:
            raise ValueError(f"columns must name two columns. Got {columns!r}.")
        G = gate_weights_of(estimator, X)
        if G is None:
            raise TypeError(
                "GateDisplay draws weights that depend on x, of a committee with a gate "
                f"or of a mixture of experts. Got {type(core_of(estimator)).__name__} without "
                "a gate."
            )
        known = column_names(X)
        if not hasattr(X, "shape"):
            X = np.asarray(X)
        try:
            picked = [np.asarray(safe_indexing(X, c, axis=1)).ravel() for c in columns]
        except (IndexError, KeyError) as error:
            raise ValueError(
                f"columns must name two columns of X, by number or by name. Got {columns!r}."
            ) from error
        points = np.column_stack(picked)
        labels = [
            str(c)
            if isinstance(c, str)
            else f"column {c}"
            if known is None
            else known[c]
            for c in columns
        ]
        if names is None:
            names = getattr(core_of(estimator), "member_names_", None)
        return cls(points, G, names=names, labels=labels).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw a cloud for each member that answers somewhere."""
        style = {"s": 14, "linewidths": 0, "rasterized": len(self.points) > 5000}
        share = self.usage.answers
        for m, colour in zip(self.order, _COLOURS, strict=False):
            self._cloud(ax, self.winner == m, colour, m, {**style, **kwargs})
        rest = np.isin(self.winner, self.order[len(_COLOURS) :])
        if rest.any():
            options = {**style, **kwargs}
            label = f"others, {share[self.order[len(_COLOURS) :]].sum():.0%}"
            ax.scatter(*self.points[rest].T, color=GREY, label=label, **options)
        ax.set(xlabel=literal(self.labels[0]), ylabel=literal(self.labels[1]))
        title = f"who answers where (entropy {self.usage.entropy:.2f} of 1)"
        ax.set_title(title, fontsize="medium")
        ax.legend(loc="center left", bbox_to_anchor=(1.0, 0.5), fontsize="small")

    def _cloud(
        self, ax: Any, rows: Any, colour: str, member: int, style: dict[str, Any]
    ) -> None:
        """Draw the points at which one member has the largest weight."""
        if not rows.any():
            return
        label = f"{literal(self.names[member])}, {self.usage.answers[member]:.0%}"
        style = {"alpha": 0.25 + 0.75 * self.weight[rows], **style}
        ax.scatter(*self.points[rows].T, color=colour, label=label, **style)
