"""Refined committees: error against bytes, beside the whole ensemble."""

from __future__ import annotations

from typing import Any, Self

from committee._format import byte_size
from committee.displays.sources import core_of
from committee.displays.style import BLUE, GREY, VERMILION, Display, legend_above
from committee.pruning.refinement import Refinement


class RefinementDisplay(Display):
    """Bytes of refined committees against their error on honest rows.

    Bars are one standard error of the difference from the whole ensemble, which is the
    star. Numbers beside the points are members and leaves.

    Parameters
    ----------
    refinement : committee.pruning.Refinement
        `refinement_` of a refined committee; its `path` is drawn.

    Attributes
    ----------
    refinement : Refinement
        As given.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.ensemble import RandomForestRegressor
    >>> from committee import RefinementDisplay, refine
    >>> X, y = load_diabetes(return_X_y=True)
    >>> forest = RandomForestRegressor(50, random_state=0).fit(X, y)
    >>> small = refine(forest, X, y, tolerance=0.2, oob=True)
    >>> display = RefinementDisplay.from_estimator(small)
    >>> display.ax_.get_ylabel()
    'RMSE on honest rows'
    """

    def __init__(self, refinement: Refinement) -> None:
        if not isinstance(refinement, Refinement):
            raise TypeError(
                "RefinementDisplay takes the refinement_ of a committee that refine() "
                f"returned. Got {type(refinement).__name__}."
            )
        self.refinement = refinement

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the path of a refined committee.

        Parameters
        ----------
        estimator : committee
            What `refine` returned, best with `tolerance` or `max_bytes`: these try
            several sizes. A pipeline or a search may be around it.
        ax : matplotlib Axes, optional
        **kwargs
            For the points, an `errorbar`.
        """
        found = getattr(core_of(estimator), "refinement_", None)
        if found is None:
            raise ValueError(
                "Only refined committees have a path of error against bytes: call "
                "refine(ensemble, X, y, tolerance=0.05), or PruningPathDisplay for what "
                "prune() returned."
            )
        return cls(found).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the sizes, the one that was taken and the whole."""
        found = self.refinement
        scale = 100.0 if found.measure == "error rate" else 1.0
        path = sorted(found.path, key=lambda size: size.n_bytes)
        style = {"fmt": "o", "color": BLUE, "capsize": 2, "label": "refined"}
        ax.errorbar(
            [size.n_bytes for size in path],
            [scale * size.error for size in path],
            [scale * size.difference_se for size in path],
            **{**style, **kwargs},
        )
        for size in path:
            ax.annotate(
                f"{size.n_members:,} / {size.n_leaves:,}",
                (size.n_bytes, scale * size.error),
                xytext=(5, 5),
                textcoords="offset points",
                fontsize="x-small",
                color=GREY,
            )
        taken = found.bytes_after, scale * found.error_after
        ax.plot(*taken, "o", mfc="none", mec=VERMILION, ms=12, label="taken")
        whole = found.bytes_before, scale * found.error_before
        ax.plot(*whole, "*", color=GREY, ms=11, label="the whole ensemble")
        ax.axhline(whole[1], color=GREY, lw=0.8, ls=":")
        unit = ", %" if scale > 1 else ""
        ax.set(
            xscale="log",
            xlabel="bytes of the pickled model (points: members / leaves)",
            ylabel=f"{found.measure} on honest rows{unit}",
        )
        ax.xaxis.set_major_formatter(lambda n, _: byte_size(n))
        legend_above(ax)
