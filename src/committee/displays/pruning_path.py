"""The pruning path: how good committees of every size are."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from committee._typing import IntArray
from committee.displays.measures import path_errors, split_measure
from committee.displays.sources import (
    all_predictions_of,
    core_of,
    fit_combiner,
    kind_of,
    path_of,
)
from committee.displays.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    Display,
    legend_above,
    twin_axes,
)
from committee.path import Path

#: More sizes than these have a band instead of bars, and no markers.
_MOST_BARS = 40


class PruningPathDisplay(Display):
    """Size of a committee against its error, its evidence and its test error.

    The test error is measured as the error is; the y axis has its name.

    Where several committees of a path have the same size, the line goes through the
    one of least error, and the others are dots.

    Parameters
    ----------
    size : array of shape (steps,)
        Number of members of each committee.
    error : array of shape (steps,)
        Not finite where it is not known.
    error_se : array of shape (steps,), optional
        Its standard error.
    log_evidence : array of shape (steps,), optional
    test_error : array of shape (steps,), optional
    chosen : int, optional
        The size of the committee that was chosen.
    error_name : str, default="error"
        What error and test error are.
    error_label : str, optional
        Which rows the error is on; its name unless given.
    note : str, default=""
        A further line beside the name.

    Attributes
    ----------
    size, error, error_se, log_evidence, test_error, chosen
        As given.
    error_name, error_label, note : str
    best : array
        For each size, in rising order, the step of least error.
    evidence_ax_ : matplotlib Axes or None
        The axes of the evidence, on the right.

    Examples
    --------
    >>> from committee import PruningPathDisplay
    >>> display = PruningPathDisplay([1, 2, 2, 3], [0.3, 0.2, 0.1, 0.15])
    >>> display.best.tolist()
    [0, 2, 3]
    >>> display.plot().ax_.get_xlabel()
    'number of members'
    """

    def __init__(
        self,
        size: Any,
        error: Any,
        *,
        error_se: Any = None,
        log_evidence: Any = None,
        test_error: Any = None,
        chosen: int | None = None,
        error_name: str = "error",
        error_label: str | None = None,
        note: str = "",
    ) -> None:
        self.size: IntArray = np.asarray(size, dtype=np.intp)
        self.error = _column("error", error, len(self.size))
        self.error_se = _column("error_se", error_se, len(self.size))
        self.log_evidence = _column("log_evidence", log_evidence, len(self.size))
        self.test_error = _column("test_error", test_error, len(self.size))
        self.chosen = chosen
        self.error_name = error_name
        self.error_label = error_name if error_label is None else error_label
        self.note = note
        self.best: IntArray = _first_of_each_size(self.size, self.error)

    @classmethod
    def compute(
        cls,
        path: Path,
        *,
        F_test: Any = None,
        y_test: Any = None,
        members: IntArray | None = None,
        sample_weight: Any = None,
        chosen: int | None = None,
    ) -> Self:
        """Return the display of a path, not drawn yet.

        `members` are the numbers of those that F_test is of, all of the path unless
        given; `sample_weight` is that of the test rows.
        """
        _check_both("F_test", F_test, "y_test", y_test)
        test_error = None
        if F_test is not None:
            test_error = path_errors(
                path, F_test, y_test, members=members, sample_weight=sample_weight
            )
        name, label = split_measure(path.measure)
        display = cls(
            path.size,
            path.error,
            error_se=_known(path.error_se),
            log_evidence=_known(path.log_evidence),
            test_error=test_error,
            chosen=chosen,
            error_name=name,
            error_label=label,
            note=path.note if path.measure == path.own_measure else "",
        )
        # Of equals, the one that its combiner prefers.
        display.best = _first_of_each_size(path.size, path.error, path.own_error)
        return display

    @classmethod
    def from_path(
        cls,
        path: Path,
        *,
        F_test: Any = None,
        y_test: Any = None,
        chosen: int | None = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw a path: the `path_` of a pruner or of a pruned committee.

        Parameters
        ----------
        path : Path
        F_test : array of shape (N, M) or (N, M, K), optional
            Predictions of all members on other rows, for the test error. It is
            measured as the error of the path is.
        y_test : array of shape (N,), optional
            Targets, or class codes.
        chosen : int, optional
            A size to mark.
        ax : matplotlib Axes, optional
        **kwargs
            For the line of the error.
        """
        display = cls.compute(path, F_test=F_test, y_test=y_test, chosen=chosen)
        return display.plot(ax, **kwargs)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X_test: Any = None,
        y_test: Any = None,
        *,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Draw the path of a fitted committee or combiner.

        Parameters
        ----------
        estimator : committee or combiner
            One that has a `path_`; a pipeline or a search may be around it.
        X_test : array-like of shape (N, n_features), optional
            Rows that were not used, for the test error. What `prune` returns knows it
            at every size; a committee after `fit`, a copy or a file for the committees
            whose members it has kept.
        y_test : array-like of shape (N,), optional
            Their targets or labels.
        ax : matplotlib Axes, optional
        **kwargs
            For the line of the error.
        """
        _check_both("X_test", X_test, "y_test", y_test)
        core = core_of(estimator)
        path = path_of(core)
        if path is None:
            raise TypeError(
                "A pruning path is kept by EPPruner, ARDPruner, GreedyPruner and the "
                f"orderings such as ReduceErrorPruner. Got {kind_of(core)}."
            )
        F_test = members = None
        if X_test is not None:
            members, F_test, y_test = all_predictions_of(estimator, X_test, y_test)
        chosen = int(np.count_nonzero(core.weights_))
        display = cls.compute(
            path, F_test=F_test, y_test=y_test, members=members, chosen=chosen
        )
        return display.plot(ax, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        F: Any,
        y: Any,
        *,
        combiner: Any = None,
        held_out: Any = None,
        sample_weight: Any = None,
        F_test: Any = None,
        y_test: Any = None,
        ax: Any = None,
        **kwargs: Any,
    ) -> Self:
        """Fit a pruner on predictions and draw its path.

        Parameters
        ----------
        F : array of shape (N, M) or (N, M, K)
        y : array of shape (N,)
        combiner : combiner, optional
            `EPPruner()` unless given. A copy is fitted.
        held_out, sample_weight : arrays, optional
            As for the combiner's `fit`.
        F_test, y_test : arrays, optional
            Other rows, for the test error.
        ax : matplotlib Axes, optional
        **kwargs
            For the line of the error.
        """
        fitted: Any = fit_combiner(combiner, F, y, held_out, sample_weight)
        if not hasattr(fitted, "path_"):
            return cls.from_estimator(fitted)
        chosen = len(fitted.support_)
        display = cls.compute(fitted.path_, F_test=F_test, y_test=y_test, chosen=chosen)
        return display.plot(ax, **kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw error and test error on the left scale, evidence on the right."""
        from matplotlib.ticker import MaxNLocator

        few = len(self.best) <= _MOST_BARS
        self.evidence_ax_ = None
        if self.log_evidence is not None:
            self._plot_evidence(ax, few)
        self._plot_error(ax, few, kwargs)
        if self.test_error is not None:
            style = {"color": VERMILION, "ls": "--", "marker": "s" if few else None}
            curve = self.test_error[self.best]
            ax.plot(self.size[self.best], curve, ms=4, label="test error", **style)
        if self.chosen is not None:
            dots: dict[str, Any] = {"color": GREY, "lw": 1, "ls": (0, (1, 2))}
            ax.axvline(self.chosen, label="chosen size", **dots)
        name = f"{self.error_name}\n({self.note})" if self.note else self.error_name
        ax.set(xlabel="number of members", ylabel=name)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(ax, self.evidence_ax_)

    def _plot_error(self, ax: Any, few: bool, kwargs: dict[str, Any]) -> None:
        """Draw the error of the best committee of each size, and dots for others."""
        size, error = self.size[self.best], self.error[self.best]
        error = np.where(np.isfinite(error), error, np.nan)
        others = np.setdiff1d(np.arange(len(self.size)), self.best)
        ax.plot(self.size[others], self.error[others], ".", ms=3, color=GREY, alpha=0.5)
        style = {"color": BLUE, "marker": "o" if few else None, "ms": 4, "lw": 1.8}
        ax.plot(size, error, **{"label": self.error_label, **style, **kwargs})
        if self.error_se is not None:
            se = self.error_se[self.best]
            band = {"color": BLUE, "alpha": 0.18, "lw": 0, "label": "± standard error"}
            ax.fill_between(size, error - se, error + se, **band)

    def _plot_evidence(self, ax: Any, few: bool) -> None:
        """Draw the evidence on a scale of its own."""
        assert self.log_evidence is not None
        twin = self.evidence_ax_ = twin_axes(ax, "committee-evidence")
        style = {"color": GREEN, "ls": "-.", "marker": "^" if few else None, "ms": 4}
        evidence = self.log_evidence[self.best]
        twin.plot(self.size[self.best], evidence, label="log evidence", **style)
        twin.set_ylabel("log evidence", color=GREEN)


def _first_of_each_size(size: IntArray, *keys: Any) -> IntArray:
    """Return for each size, in rising order, the step that is least by the keys."""
    known = [np.where(np.isfinite(key), key, np.inf) for key in keys]
    by_size = np.lexsort((*reversed(known), size))
    first = np.unique(size[by_size], return_index=True)[1]
    steps: IntArray = by_size[first]
    return steps


def _check_both(rows: str, X: Any, targets: str, y: Any) -> None:
    """Refuse test rows without targets, and targets without rows."""
    if (X is None) != (y is None):
        given, missing = (targets, rows) if X is None else (rows, targets)
        raise ValueError(
            f"A test error needs both {rows} and {targets}. Got {given} alone: pass "
            f"{missing} as well."
        )


def _column(name: str, values: Any, n: int) -> Any:
    """Return one number for each step, or None."""
    if values is None:
        return None
    column = np.asarray(values, dtype=np.float64)
    if column.shape != (n,):
        raise ValueError(
            f"{name} must have one number for each of the {n} steps. Got shape "
            f"{column.shape}."
        )
    return column


def _known(values: Any) -> Any:
    """Return the values, or None where none of them is known."""
    return None if np.isnan(values).all() else values
