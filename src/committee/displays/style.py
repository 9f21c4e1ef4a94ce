"""What all displays share: colours, axes and text that stays text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from committee._format import cut
from committee._install import how_to_install

#: The palette of Okabe and Ito (2008), made for colour-blind readers too.
BLACK, GREY = "#000000", "#6f6f6f"
BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"

#: Names longer than this are cut on a picture.
_WIDTH = 32


class Display(ABC):
    """Numbers that can be drawn, in scikit-learn's style: on `ax_` of `figure_`."""

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the numbers.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            A new figure unless given.
        **kwargs
            Style of what the picture is about; see `from_estimator` or its like.

        Returns
        -------
        self
        """
        try:
            import matplotlib.pyplot as plt
        except ImportError:
            raise ImportError(
                f"{type(self).__name__}.plot needs matplotlib: "
                f"{how_to_install('plot')}."
            ) from None
        self._has_new_figure = ax is None
        if ax is None:
            _, ax = plt.subplots(figsize=self._figsize(), layout="constrained")
        self.ax_, self.figure_ = ax, ax.figure
        self._draw(ax, kwargs)
        return self

    def _figsize(self) -> tuple[float, float]:
        """Return the size of a new figure, in inches."""
        return 6.0, 4.2

    @abstractmethod
    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw on the axes."""


def twin_axes(ax: Any, name: str) -> Any:
    """Return the axes of that name that share x with `ax`, the old ones if any."""
    for other in ax.get_shared_x_axes().get_siblings(ax):
        if other.get_gid() == name:
            return other
    twin = ax.twinx()
    twin.set_gid(name)
    return twin


def legend_above(ax: Any, twin: Any = None) -> None:
    """Name the lines of the axes, and of its twin, above it: there nothing is hidden.

    It is as wide as the axes at most, so that its neighbours keep their room.
    """
    handles, labels = ax.get_legend_handles_labels()
    if twin is not None:
        more = twin.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    # A layout engine may still take some of it for labels.
    room = 0.9 * ax.get_window_extent().width
    for ncols, fontsize in (
        (2 if len(labels) == 4 else 3, "small"),
        (2, "small"),
        (2, "x-small"),
        (1, "small"),
        (1, "x-small"),
    ):
        legend = ax.legend(
            handles,
            labels,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=ncols,
            frameon=False,
            fontsize=fontsize,
            columnspacing=1.2,
        )
        _show_faint(legend)
        if legend.get_window_extent().width <= room:
            return
    # Too long a name for so small a picture: it may stand over, but not squeeze.
    legend.set_in_layout(False)


def legend_inside(ax: Any, loc: str) -> None:
    """Name what is drawn, in a corner of the axes."""
    _show_faint(ax.legend(loc=loc, fontsize="small"))


def _show_faint(legend: Any) -> None:
    """Make what is faint or small because it is many visible in the legend."""
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([25.0])
        elif hasattr(handle, "get_facecolor"):  # bands keep the shade they have
            continue
        handle.set_alpha(1.0)


def literal(text: Any) -> str:
    r"""Return text of the data as matplotlib shows it unchanged, long ones cut.

    A pair of dollars would otherwise be read as mathematics, or as an error in it.
    """
    return cut(" ".join(str(text).split()), _WIDTH).replace("$", r"\$")


def check_names(names: Any, n: int, what: str) -> list[str]:
    """Return n names, of `what`, as text; the numbers 0..n-1 unless given."""
    if names is None:
        return [str(i) for i in range(n)]
    texts = [str(name) for name in names]
    if len(texts) != n:
        raise ValueError(
            f"names must have one entry for each of the {n} {what}. Got {len(texts)}."
        )
    return texts


def number_of(method: Any, names: list[str]) -> int:
    """Return the number of a method that is given by name or number."""
    if str(method) in names:
        return names.index(str(method))
    if isinstance(method, (int, np.integer)) and 0 <= method < len(names):
        return int(method)
    raise ValueError(
        f"control must be one of the methods {names}, or its number. Got {method!r}."
    )


def thin(n: int, most: int) -> Any:
    """Return at most `most` of the numbers 0..n-1, evenly spread, both ends kept."""
    if n <= most:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, most).round().astype(np.intp))


def line_alpha(n: int) -> float:
    """Return how opaque each of n thin lines may be for the picture to be read."""
    return float(np.clip(6.0 / np.sqrt(max(n, 1)) / 4.0, 0.06, 0.75))


def thin_lines(ax: Any, curves: Any, color: str, label: str, **kwargs: Any) -> None:
    """Draw many curves of shape (n, 2), fainter the more there are, under one label."""
    from matplotlib.collections import LineCollection

    n = len(curves)
    style = {"linewidths": 0.9 if n <= 100 else 0.5, "alpha": line_alpha(n)}
    lines = LineCollection(
        curves, colors=color, label=label, rasterized=n > 100, **style, **kwargs
    )
    ax.add_collection(lines)
    ax.autoscale_view()
