"""Colours, axes and labels that all displays share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, Self

import numpy as np

from committee._format import cut
from committee._hints import how_to_install

#: The palette of Okabe and Ito (2008), made for colour-blind readers too.
BLACK, GREY = "#000000", "#6f6f6f"
BLUE, ORANGE, GREEN, VERMILION = "#0072b2", "#e69f00", "#009e73", "#d55e00"

#: Names longer than this are cut on a picture.
_WIDTH = 32


class Display(ABC):
    """Base class of the displays.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Axes of the last `plot`.
    figure_ : matplotlib Figure
    """

    ax_: Any
    figure_: Any

    def plot(self, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the numbers.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on. None means a new figure.
        **kwargs
            Style of the main line or points; see the other methods of the class.

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
    """Return the axes called `name` that share x with `ax`; make them if needed."""
    for other in ax.get_shared_x_axes().get_siblings(ax):
        if other.get_gid() == name:
            return other
    twin = ax.twinx()
    twin.set_gid(name)
    return twin


def legend_above(ax: Any, twin: Any = None) -> None:
    """Draw a legend of the axes and of its twin above the axes.

    It is at most as wide as the axes, so that neighbouring axes keep their room.
    """
    handles, labels = ax.get_legend_handles_labels()
    if twin is not None:
        more = twin.get_legend_handles_labels()
        handles, labels = handles + more[0], labels + more[1]
    # A layout engine may still need some of the width for labels.
    room = 0.9 * ax.get_window_extent().width
    for ncols in (2 if len(labels) == 4 else 3, 2, 1):
        legend = ax.legend(
            handles,
            labels,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=ncols,
            frameon=False,
            fontsize="small",
            columnspacing=1.2,
        )
        show_faint(legend)
        if legend.get_window_extent().width <= room:
            return
    # The names are too long for this picture: the legend may overlap its neighbours,
    # but must not shrink the axes.
    legend.set_in_layout(False)


def show_faint(legend: Any) -> None:
    """Make the handles of faint lines and small points visible in the legend."""
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([25.0])
        elif hasattr(handle, "get_facecolor"):  # bands keep their shade
            continue
        handle.set_alpha(1.0)


def literal(text: Any) -> str:
    r"""Escape text of the data for matplotlib, and cut it if it is long.

    matplotlib would otherwise parse a pair of dollar signs as mathematics.
    """
    return cut(" ".join(str(text).split()), _WIDTH).replace("$", r"\$")


def check_names(names: Any, n: int, what: str) -> list[str]:
    """Return n names as text, by default the numbers 0..n-1.

    Raise ValueError if there are not n of them; `what` names them in the message.
    """
    if names is None:
        return [str(i) for i in range(n)]
    texts = [str(name) for name in names]
    if len(texts) != n:
        raise ValueError(
            f"names must have one entry for each of the {n} {what}. Got {len(texts)}."
        )
    return texts


def thin(n: int, most: int) -> Any:
    """Return at most `most` of the numbers 0..n-1, evenly spaced, with both ends."""
    if n <= most:
        return np.arange(n)
    return np.unique(np.linspace(0, n - 1, most).round().astype(np.intp))
