"""The critical difference diagram: mean ranks of methods over data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np

from committee._typing import FloatArray, IntArray
from committee.displays.style import BLACK, VERMILION, Display, check_names, literal

#: Height of a row of text in inches, and the row of the bar above the scale.
_ROW, _BAR = 0.26, 2.6


class CriticalDifferenceDisplay(Display):
    """Mean ranks of methods over data sets; bars join methods that do not differ.

        i and j differ  if  |R_i - R_j| >= CD = q_alpha sqrt(k (k + 1) / (6 N))

    With a control, only differences from the control are tested. One bar joins it with
    the methods that do not differ from it, and its name is bold.

    Parameters
    ----------
    mean_ranks : dict, or array of shape (k,)
        1 is best. The keys of a dictionary are the names.
    critical_difference : float
    names : sequence of k names, default=None
        None means the numbers of the methods.
    control : name or int, default=None
        Name or number of the control.

    Attributes
    ----------
    mean_ranks : array of shape (k,)
    critical_difference : float
    names : list of str
    control : int or None
        Number of the control.
    order : array of shape (k,)
        Numbers of the methods, best first.
    groups : list of arrays
        Largest sets of methods that do not differ from each other, or from the control;
        best method first.

    References
    ----------
    J. Demšar. Statistical comparisons of classifiers over multiple data sets. Journal
    of Machine Learning Research 7, 2006.

    Examples
    --------
    >>> from committee import CriticalDifferenceDisplay
    >>> display = CriticalDifferenceDisplay(
    ...     [2.9, 1.2, 1.9], 0.9, names=["tree", "EP", "bagging"]
    ... )
    >>> [group.tolist() for group in display.groups]
    [[1, 2]]
    >>> display.plot().ax_.get_xlabel()
    'mean rank'
    """

    def __init__(
        self,
        mean_ranks: Any,
        critical_difference: float,
        *,
        names: Any = None,
        control: Any = None,
    ) -> None:
        if isinstance(mean_ranks, Mapping):
            names = list(mean_ranks) if names is None else names
            mean_ranks = list(mean_ranks.values())
        self.mean_ranks: FloatArray = np.asarray(mean_ranks, dtype=np.float64)
        self.critical_difference = float(critical_difference)
        k = len(self.mean_ranks) if self.mean_ranks.ndim == 1 else 0
        if k < 2 or not np.isfinite(self.mean_ranks).all():
            raise ValueError(
                "mean_ranks must have one finite rank for each of at least two methods: "
                f"rank only data sets that all ran on. Got {self.mean_ranks.tolist()}."
            )
        if not self.critical_difference >= 0:
            raise ValueError(
                f"critical_difference must be a number >= 0. Got {critical_difference}."
            )
        self.names = check_names(names, k, "methods")
        self.control = None if control is None else _number_of(control, self.names)
        self.order: IntArray = np.argsort(self.mean_ranks, kind="stable")
        self.groups = self._groups()

    @classmethod
    def from_comparison(cls, comparison: Any, **kwargs: Any) -> Self:
        """Draw the result of `committee.compare.compare`.

        Parameters
        ----------
        comparison : Comparison
        **kwargs
            `ax`, and arguments of `Axes.plot` for the bars that join methods.
        """
        ranks, difference = comparison.mean_ranks, comparison.critical_difference
        return cls(ranks, difference, control=comparison.control).plot(**kwargs)

    def _figsize(self) -> tuple[float, float]:
        rows = (len(self.order) + 1) // 2
        return 7.0, _ROW * (rows + 0.5 * len(self.groups) + _BAR + 2)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the ranks on a line, the names on both sides, and the bars."""
        k = len(self.order)
        rows, bars = (k + 1) // 2, len(self.groups)
        for g, group in enumerate(self.groups):
            style = {"color": VERMILION, "lw": 4, "solid_capstyle": "butt"}
            ends = self.mean_ranks[group[[0, -1]]] + [-0.02 * k / 5, 0.02 * k / 5]
            y = -0.5 - 0.5 * g
            ax.plot(ends, [y, y], **{**style, **kwargs})
        self._plot_names(ax, -0.5 - 0.5 * bars)
        self._plot_difference(ax)
        self._frame(ax, -0.5 - 0.5 * bars - rows)

    def _groups(self) -> list[IntArray]:
        """Return the longest runs of methods whose ranks differ by less than CD."""
        order, rank = self.order, self.mean_ranks[self.order]
        if self.control is not None:
            near = np.abs(rank - self.mean_ranks[self.control])
            return [order[near < self.critical_difference]]
        groups, reached = [], 0
        for first in range(len(order)):
            stop = first + int(
                (rank[first:] - rank[first] < self.critical_difference).sum()
            )
            if stop > max(reached, first + 1):
                groups.append(order[first:stop])
            reached = max(reached, stop)
        return [group for group in groups if len(group) > 1]

    def _plot_names(self, ax: Any, top: float) -> None:
        """Draw a line from each rank to its name: better half left, the others right."""
        k = len(self.order)
        left = (k + 1) // 2
        reach = 0.02 * (k - 1)
        for place, m in enumerate(self.order):
            on_left = place < left
            y = top - (place if on_left else k - 1 - place) - 0.5
            x = 1 - reach if on_left else k + reach
            rank = self.mean_ranks[m]
            ax.plot([rank, rank, x], [0, y, y], color=BLACK, lw=0.8)
            parts = [literal(self.names[m]), f"{rank:.2f}"]
            style = {"va": "center", "fontsize": "small", "textcoords": "offset points"}
            style |= {"fontweight": "bold"} if m == self.control else {}
            style |= {"ha": "right"} if on_left else {"ha": "left"}
            text = "  ".join(parts if on_left else parts[::-1])
            ax.annotate(text, (x, y), xytext=(-4 if on_left else 4, 0), **style)

    def _plot_difference(self, ax: Any) -> None:
        """Draw the critical difference as a bar above the scale."""
        cd = self.critical_difference
        ax.plot([1, 1 + cd], [_BAR, _BAR], color=BLACK, lw=1.5, marker="|", ms=7)
        style = {"va": "bottom", "fontsize": "small", "textcoords": "offset points"}
        ax.annotate(f"critical difference {cd:.2f}", (1, _BAR), xytext=(0, 5), **style)

    def _frame(self, ax: Any, bottom: float) -> None:
        """Put the scale of ranks on top, and leave room for the names."""
        k = len(self.order)
        # Half the figure at most is text; a letter takes a hundredth of the width.
        longest = max(len(literal(name)) for name in self.names) + 8
        side = min(0.011 * longest, 0.33)
        room = (k - 1) * side / (1 - 2 * side)
        right = max(k + room, 1 + 1.05 * self.critical_difference)
        ax.set(xlim=(1 - room, right), ylim=(bottom - 0.2, _BAR + 1.2), yticks=[])
        step = max(1, round(k / 12))
        ax.set_xticks(np.arange(1, k + 1, step))
        for name in ("left", "right", "bottom"):
            ax.spines[name].set_visible(False)
        ax.spines["top"].set(visible=True, position=("data", 0.0), bounds=(1, k))
        ax.xaxis.set_ticks_position("top")
        ax.xaxis.set_label_position("top")
        ax.set_xlabel("mean rank")


def _number_of(method: Any, names: list[str]) -> int:
    """Return the number of a method given by its name or its number."""
    if str(method) in names:
        return names.index(str(method))
    if isinstance(method, (int, np.integer)) and 0 <= method < len(names):
        return int(method)
    raise ValueError(
        f"control must be one of the methods {names}, or its number. Got {method!r}."
    )
