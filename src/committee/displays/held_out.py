"""Which rows each member was trained on: the splits of a generator as a picture."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import BoolArray, IntArray
from committee.displays.sources import core_of
from committee.displays.style import BLUE, Display


class HeldOutDisplay(Display):
    """Rows across, members downwards; a row that a member did not see stands out.

    Rows are put in an order in which the first members leave out neighbours, so that the
    parts of a split are blocks (the chapter's Figure 4.1).

    Parameters
    ----------
    held_out : bool array of shape (N, M)
        True where the member did not train on the row.

    Attributes
    ----------
    held_out : array of shape (N, M)
        As given.
    order : array of shape (N,)
        Row numbers in the order in which they are drawn.

    Examples
    --------
    >>> from committee import HeldOutDisplay
    >>> HeldOutDisplay([[False, True], [True, False], [False, True]]).order.tolist()
    [1, 0, 2]
    """

    def __init__(self, held_out: Any) -> None:
        self.held_out: BoolArray = np.asarray(held_out, dtype=bool)
        if self.held_out.ndim != 2:
            raise ValueError(
                f"held_out must have shape (N, M). Got shape {self.held_out.shape}."
            )
        # The first member decides first: its rows come first.
        self.order: IntArray = np.lexsort((~self.held_out).T[::-1])

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the rows of a fitted committee.

        Parameters
        ----------
        estimator : committee
            Fitted with a combiner, on rows that its members leave out.
        ax : matplotlib Axes, optional
        **kwargs
            For `imshow`.
        """
        mask = getattr(core_of(estimator), "held_out_", None)
        if mask is None:
            raise ValueError(
                "The committee does not know rows that its members did not see: fit it "
                "with a combiner and a generator that leaves rows out, as Bagging, "
                "CrossSplits or MiniBatches do, or give the mask to HeldOutDisplay."
            )
        return cls(mask).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the mask."""
        from matplotlib.colors import ListedColormap
        from matplotlib.patches import Patch
        from matplotlib.ticker import MaxNLocator

        style = {"cmap": ListedColormap(["#e8e8e8", BLUE]), "vmin": 0, "vmax": 1}
        picture = self.held_out[self.order].T.astype(float)
        ax.imshow(
            picture, aspect="auto", interpolation="nearest", **{**style, **kwargs}
        )
        ax.set(xlabel="rows, those that leave together side by side", ylabel="member")
        ax.yaxis.set_major_locator(MaxNLocator(integer=True))
        names = {"#e8e8e8": "trained on", BLUE: "left out"}
        handles = [Patch(color=colour, label=name) for colour, name in names.items()]
        ax.legend(
            handles=handles,
            loc="lower center",
            bbox_to_anchor=(0.5, 1.0),
            ncols=2,
            frameon=False,
            fontsize="small",
        )
