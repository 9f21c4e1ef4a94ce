"""Held-out error of refined committees against their size in bytes."""

from __future__ import annotations

from typing import Any, Self

from committee._format import HELD_OUT, byte_size, error_name
from committee.displays.sources import core_of
from committee.displays.style import BLUE, GREY, VERMILION, Display, legend_above
from committee.pruning.summary import Summary, summary_of


class RefinementDisplay(Display):
    """Held-out error of refined committees against their size in bytes.

    Bars are one standard error of the difference from the whole ensemble, which is drawn
    as a star. The numbers beside the points are the numbers of members and of leaves.

    Parameters
    ----------
    summary : committee.pruning.Summary
        `summary()` of a refined committee. The sizes in `summary.refinement.path` are drawn.

    Attributes
    ----------
    summary : Summary

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
    'held-out RMSE'
    """

    def __init__(self, summary: Summary) -> None:
        if getattr(summary, "refinement", None) is None:
            raise TypeError(
                "RefinementDisplay takes the summary() of a committee that refine() "
                f"returned. Got {type(summary).__name__}."
            )
        self.summary = summary

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the path of a refined committee.

        Parameters
        ----------
        estimator : committee
            Result of `refine`, alone or in a pipeline or search. `tolerance` and
            `max_bytes` try several sizes.
        ax : matplotlib Axes, default=None
        **kwargs
            Passed to `Axes.errorbar`, which draws the points.
        """
        found = summary_of(core_of(estimator))
        if found is None or found.refinement is None:
            raise ValueError(
                "Only refined committees have a path of error against bytes: call "
                "refine(ensemble, X, y, tolerance=0.05), or PruningPathDisplay for what "
                "prune() returned."
            )
        return cls(found).plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the sizes, the chosen one and the whole ensemble."""
        found = self.summary
        assert found.refinement is not None
        scale = 100.0 if found.measure == "error rate" else 1.0
        path = sorted(found.refinement.path, key=lambda size: size.n_bytes)
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
        ax.plot(*taken, "o", mfc="none", mec=VERMILION, ms=12, label="chosen")
        whole = found.bytes_before, scale * found.error_before
        ax.plot(*whole, "*", color=GREY, ms=11, label="the whole ensemble")
        ax.axhline(whole[1], color=GREY, lw=0.8, ls=":")
        unit = ", %" if scale > 1 else ""
        ax.set(
            xscale="log",
            xlabel="bytes of the pickled model (points: members / leaves)",
            ylabel=f"{error_name(HELD_OUT, found.measure)}{unit}",
        )
        ax.xaxis.set_major_formatter(lambda n, _: byte_size(n))
        legend_above(ax)
