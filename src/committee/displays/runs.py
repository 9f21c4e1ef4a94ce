"""Box plots of paired runs: the same splits, several methods."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import FloatArray
from committee.displays.style import (
    BLUE,
    GREY,
    VERMILION,
    Display,
    check_names,
    line_alpha,
    literal,
    number_of,
)

#: More runs than these are not joined by lines.
_MOST_LINES = 60


class PairedRunsDisplay(Display):
    """Scores of methods on the same runs as box plots, run by run joined by lines.

    Boxes alone hide the pairing: methods with the same box can differ in every run.
    With a `control` the boxes are of the differences to it, d_rm = s_rm - s_rc.

    Parameters
    ----------
    scores : array or frame of shape (runs, methods)
        Columns of a frame name the methods.
    names : sequence of names, optional
        Numbers unless given.
    control : int or str, optional
        Number or name of the method that the others are compared with.
    ylabel : str, default="score"

    Attributes
    ----------
    scores, names, ylabel
        As given.
    control : int or None
        The number of the control.
    values : array of shape (runs, methods)
        What is drawn: the scores, or the differences.
    mean, se : arrays of shape (methods,)
        Mean of `values` and its standard error.
    quartiles : array of shape (3, methods)
        First quartile, median and third quartile of `values`.

    Examples
    --------
    >>> from committee import PairedRunsDisplay
    >>> runs = [[0.3, 0.2], [0.5, 0.3], [0.4, 0.4]]
    >>> display = PairedRunsDisplay(runs, names=["tree", "EP"], control="tree")
    >>> display.values[:, 1].round(1).tolist(), display.mean.round(1).tolist()
    ([-0.1, -0.2, 0.0], [0.0, -0.1])
    >>> display.plot().ax_.get_ylabel()
    'score - that of tree'
    """

    def __init__(
        self,
        scores: Any,
        *,
        names: Any = None,
        control: int | str | None = None,
        ylabel: str = "score",
    ) -> None:
        if names is None:
            names = getattr(scores, "columns", None)
        self.scores: FloatArray = np.asarray(scores, dtype=np.float64)
        if self.scores.ndim != 2 or 0 in self.scores.shape:
            raise ValueError(
                "scores must be of shape (runs, methods), with at least one of each. "
                f"Got shape {self.scores.shape}."
            )
        if not np.isfinite(self.scores).all():
            raise ValueError(
                "scores must be finite: a run counts for all methods or for none. "
                f"Drop the runs {np.flatnonzero(~np.isfinite(self.scores).all(axis=1))}"
            )
        runs, methods = self.scores.shape
        self.names = check_names(names, methods, "methods")
        self.control = None if control is None else number_of(control, self.names)
        self.ylabel = ylabel
        self.values = self.scores
        if self.control is not None:
            self.values = self.scores - self.scores[:, [self.control]]
        self.mean: FloatArray = self.values.mean(axis=0)
        spread = self.values.std(axis=0, ddof=1) if runs > 1 else np.nan
        self.se: FloatArray = np.full(methods, spread / np.sqrt(runs))
        self.quartiles: FloatArray = np.quantile(self.values, [0.25, 0.5, 0.75], axis=0)

    @classmethod
    def from_scores(
        cls,
        scores: Any,
        *,
        names: Any = None,
        control: int | str | None = None,
        ylabel: str = "score",
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the scores of several methods on the same runs.

        Parameters
        ----------
        scores, names, control, ylabel
            As for the class.
        ax : matplotlib Axes, optional
        **kwargs
            For the boxes.
        """
        display = cls(scores, names=names, control=control, ylabel=ylabel)
        return display.plot(ax, **kwargs)

    def _figsize(self) -> tuple[float, float]:
        return max(4.0, 1.8 + 0.55 * len(self.names)), 4.2

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw a box for each method, and a line for each run."""
        runs, methods = self.values.shape
        place = np.arange(methods)
        if self.control is not None:
            ax.axhline(0.0, color=GREY, lw=0.8)
        if runs <= _MOST_LINES:
            faint = {"color": GREY, "lw": 0.7, "alpha": line_alpha(runs), "zorder": 1}
            ax.plot(place, self.values.T, **faint)
        ax.boxplot(
            self.values,
            **{
                "positions": place,
                "widths": 0.5,
                "boxprops": {"color": BLUE, "lw": 1.4},
                "whiskerprops": {"color": BLUE, "ls": "--"},
                "capprops": {"color": BLUE},
                "medianprops": {"color": VERMILION, "lw": 2.0},
                "flierprops": {"marker": "o", "ms": 3, "mec": BLUE},
                **kwargs,
            },
        )
        ax.plot(place, self.mean, "D", color=VERMILION, ms=4, mec="white", label="mean")
        crowded = methods * max(len(literal(name)) for name in self.names) > 60
        ax.set_xticks(place, [literal(name) for name in self.names])
        if crowded:
            for text in ax.get_xticklabels():
                text.set(rotation=40, ha="right", rotation_mode="anchor")
        ax.set_xlim(-0.6, methods - 0.4)
        name = literal(self.ylabel)
        if self.control is not None:
            name += f" - that of {literal(self.names[self.control])}"
        ax.set_ylabel(name)
        ax.set_title(f"{runs} paired runs", fontsize="medium")
