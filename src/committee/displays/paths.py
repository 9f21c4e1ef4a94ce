"""Errors against size: the pruning path, and refined committees."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Self

import numpy as np

from committee._format import HELD_OUT, LEAVE_ONE_OUT, byte_size, error_name
from committee._typing import FloatArray, IntArray
from committee._validation import check_predictions, check_targets
from committee.combiners.greedy_scores import row_score
from committee.displays.sources import all_predictions_of, combiner_of, core_of, path_of
from committee.displays.style import (
    BLUE,
    GREEN,
    GREY,
    VERMILION,
    Display,
    legend_above,
    twin_axes,
)
from committee.losses import (
    OF_CLASSES,
    OF_NUMBERS,
    Measure,
    decided,
    error_losses,
    mean_and_se,
)
from committee.path import Path
from committee.predictions import weighted_sum
from committee.probabilities import pooled_terms
from committee.pruning.summary import Summary, summary_of
from committee.votes import Votes

#: Lines with more sizes than this have no markers.
_MOST_MARKERS = 40
#: Measures of `prune` by their shown names.
_MEASURES = {m.name: m for m in (*OF_CLASSES.values(), *OF_NUMBERS.values())}
#: Numbers that are predicted in one product: 32 MB.
_BLOCK = 2**22


@dataclass(eq=False, repr=False)
class PruningPathDisplay(Display):
    """Error, evidence and test error of committees against their size.

    The test error is the same measure on other rows. If several committees of a path
    have the same size, the line goes through the one with the smallest error, and the others
    are dots.

    Parameters
    ----------
    size : array of shape (steps,)
        Number of members of each committee.
    error : array of shape (steps,)
        NaN or infinite if it is not known.
    error_se : array of shape (steps,), default=None
        Standard error of the error.
    log_evidence : array of shape (steps,), default=None
    test_error : array of shape (steps,), default=None
    chosen : int, default=None
        Size of the chosen committee.
    error_name : str, default="error"
        Name of the measure, for the y axis.
    error_label : str, default=""
        Kind of the error, for the legend. Empty means `error_name`.
    note : str, default=""
        A second line of the label of the y axis.

    Attributes
    ----------
    size, error, error_se, log_evidence, test_error, chosen
        As given.
    error_name, error_label, note : str
    best : array
        For each size, in increasing order, the step with the smallest error.
    evidence_ax_ : matplotlib Axes or None
        Axes of the evidence, on the right.

    Examples
    --------
    >>> from committee import PruningPathDisplay
    >>> display = PruningPathDisplay([1, 2, 2, 3], [0.3, 0.2, 0.1, 0.15])
    >>> display.best.tolist()
    [0, 2, 3]
    >>> display.plot().ax_.get_xlabel()
    'number of members'
    """

    size: Any
    error: Any
    _: KW_ONLY
    error_se: Any = None
    log_evidence: Any = None
    test_error: Any = None
    chosen: int | None = None
    error_name: str = "error"
    error_label: str = ""
    note: str = ""
    best: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Check that the columns have one number for each step."""
        self.size = np.asarray(self.size, dtype=np.intp)
        for name in ("error", "error_se", "log_evidence", "test_error"):
            setattr(self, name, _column(name, getattr(self, name), len(self.size)))
        self.error_label = self.error_label or self.error_name
        self.best = _first_of_each_size(self.size, self.error)

    @classmethod
    def compute(
        cls,
        path: Path,
        *,
        F_test: Any = None,
        y_test: Any = None,
        members: IntArray | None = None,
        sample_weight: Any = None,
    ) -> Self:
        """Return the display of a path without drawing it.

        Parameters
        ----------
        path : Path
        F_test : array of shape (N, M) or (N, M, K), default=None
            Predictions of the members on other rows, for the test error.
        y_test : array of shape (N,), default=None
            Targets, or class codes.
        members : array of shape (M,), default=None
            Numbers of the members in F_test. None means all members of the path.
        sample_weight : array-like of shape (N,), default=None
            Weights of the test rows.
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
            chosen=None if path.chosen is None else path[path.chosen].size,
            error_name=name,
            error_label=label,
            note=path.note if path.measure == path.own_measure else "",
        )
        # Among equal errors, the step that the combiner prefers.
        display.best = _first_of_each_size(path.size, path.error, path.own_error)
        return display

    @classmethod
    def from_path(
        cls, path: Path, *, F_test: Any = None, y_test: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the `path_` of a pruner or of a pruned committee.

        Parameters
        ----------
        path, F_test, y_test
            Parameters of `compute`.
        **kwargs
            `ax`, and arguments of `Axes.plot` for the line of the error.
        """
        return cls.compute(path, F_test=F_test, y_test=y_test).plot(**kwargs)

    @classmethod
    def from_estimator(
        cls, estimator: Any, X_test: Any = None, y_test: Any = None, **kwargs: Any
    ) -> Self:
        """Draw the path of a fitted committee or combiner.

        Parameters
        ----------
        estimator : committee or combiner
            It has a `path_`, and may be inside a pipeline or a search.
        X_test : array-like of shape (N, n_features), default=None
            Rows that were not used, for the test error. The result of `prune` has a test
            error at every size. A committee after `fit`, a copy or a file has one for the
            committees of the members it has kept.
        y_test : array-like of shape (N,), default=None
            Targets or labels of these rows.
        **kwargs
            `ax`, and arguments of `Axes.plot` for the line of the error.
        """
        _check_both("X_test", X_test, "y_test", y_test)
        core = core_of(estimator)
        path = path_of(core)
        if path is None:
            combiner = combiner_of(core)
            got = f"{type(core).__name__} without a combiner"
            raise TypeError(
                "EPPruner, ARDPruner, GreedyPruner and ordering pruners have a pruning "
                f"path. Got {got if combiner is None else type(combiner).__name__}."
            )
        F_test = members = None
        if X_test is not None:
            members, F_test, y_test = all_predictions_of(estimator, X_test, y_test)
        display = cls.compute(path, F_test=F_test, y_test=y_test, members=members)
        return display.plot(**kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw both errors on the left scale and the evidence on the right."""
        from matplotlib.ticker import MaxNLocator

        few, size = len(self.best) <= _MOST_MARKERS, self.size[self.best]
        self.evidence_ax_ = None
        if self.log_evidence is not None:
            twin = self.evidence_ax_ = twin_axes(ax, "committee-evidence")
            style = {
                "color": GREEN,
                "ls": "-.",
                "marker": "^" if few else None,
                "ms": 4,
            }
            twin.plot(size, self.log_evidence[self.best], label="log evidence", **style)
            twin.set_ylabel("log evidence", color=GREEN)
        self._plot_error(ax, few, kwargs)
        if self.test_error is not None:
            style = {"color": VERMILION, "ls": "--", "marker": "s" if few else None}
            ax.plot(size, self.test_error[self.best], ms=4, label="test error", **style)
        if self.chosen is not None:
            dots: dict[str, Any] = {"color": GREY, "lw": 1, "ls": (0, (1, 2))}
            ax.axvline(self.chosen, label="chosen size", **dots)
        name = f"{self.error_name}\n({self.note})" if self.note else self.error_name
        ax.set(xlabel="number of members", ylabel=name)
        ax.xaxis.set_major_locator(MaxNLocator(integer=True))
        legend_above(ax, self.evidence_ax_)

    def _plot_error(self, ax: Any, few: bool, kwargs: dict[str, Any]) -> None:
        """Draw the smallest error of each size as a line, and the others as dots."""
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


def _first_of_each_size(size: IntArray, *keys: Any) -> IntArray:
    """Return the least step by the keys for each size, in increasing order of size."""
    known = [np.where(np.isfinite(key), key, np.inf) for key in keys]
    by_size = np.lexsort((*reversed(known), size))
    first = np.unique(size[by_size], return_index=True)[1]
    steps: IntArray = by_size[first]
    return steps


def _check_both(rows: str, X: Any, targets: str, y: Any) -> None:
    """Raise ValueError for test rows without targets, or targets without rows."""
    if (X is None) != (y is None):
        given, missing = (targets, rows) if X is None else (rows, targets)
        raise ValueError(
            f"A test error needs both {rows} and {targets}. Got only {given}: pass "
            f"{missing} as well."
        )


def _column(name: str, values: Any, n: int) -> Any:
    """Return the values as an array with one number for each step, or None."""
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
    """Return the values, or None if all of them are NaN."""
    return None if np.isnan(values).all() else values


def split_measure(measure: str) -> tuple[str, str]:
    """Split the measure of a path into its name and the kind of the error.

    Examples
    --------
    >>> from committee.displays.paths import split_measure
    >>> split_measure("held-out error rate"), split_measure("RMSE")
    (('error rate', 'held-out'), ('RMSE', 'on the weighing rows'))
    """
    for kind in (LEAVE_ONE_OUT, HELD_OUT):
        if measure.startswith(kind):
            return measure.removeprefix(kind).strip(), kind
    return measure, "on the weighing rows"


def path_errors(
    path: Path,
    F: Any,
    y: Any,
    *,
    members: IntArray | None = None,
    sample_weight: FloatArray | None = None,
) -> FloatArray:
    """Return the error of every committee of a path on other rows, (S,).

    The measure is `path.measure`. F has the predictions of the given members, by default
    of all members of the path. The error is NaN for committees with other members, and
    for scores that are not defined on these rows.
    """
    F = check_predictions(F)
    y = check_targets(F, y)
    n_members = path.weights.shape[1]
    if members is None:
        members = np.arange(n_members)
        if F.shape[1] != n_members:
            raise ValueError(
                f"The path has {n_members} members, and the test error needs the "
                f"predictions of all of them. Got {F.shape[1]} members: pass F_test of "
                "the whole ensemble to from_path."
            )
    missing = np.setdiff1d(np.arange(n_members), members)
    known = np.flatnonzero(~path.weights[:, missing].any(axis=1))
    errors = np.full(len(path.weights), np.nan)
    F = pooled_terms(F, path.floor)
    with suppress(ValueError):  # for example no AUC on rows of one class
        errors[known] = list(_errors(path, known, F, y, members, sample_weight))
    return errors


def _errors(
    path: Path,
    steps: IntArray,
    F: FloatArray,
    y: Any,
    members: IntArray,
    sample_weight: FloatArray | None,
) -> Iterator[float]:
    """Yield the errors of the committees of some steps."""
    W, s = path.weights[steps][:, members], sample_weight
    if path.scoring is not None and path.measure == path.own_measure:
        score = row_score(Votes(F, y, None, s), path.scoring)
        yield from (score.error(w) for w in W)
        return
    name, _ = split_measure(path.measure)
    measure = _MEASURES.get(name, Measure(name))
    if measure.losses is not None and F.ndim == 3:
        outputs = _probabilities(path, steps, F, members)
    else:
        sums = zip(steps, _outputs(F, W), strict=True)
        outputs = (found + path.offset(step) for step, found in sums)
    for output in outputs:
        if measure.losses is not None:
            losses = measure.losses(output, y, np.ones(len(y)) if s is None else s)
        elif output.ndim > 1 and "squared" in path.measure:
            losses = ((output - np.eye(output.shape[1])[y]) ** 2).sum(axis=1)
        else:
            losses = error_losses(decided(output), y)
        yield measure.shown(mean_and_se(losses, s)[0], 0.0)[0]


def _probabilities(
    path: Path, steps: IntArray, F: FloatArray, members: IntArray
) -> Iterator[FloatArray]:
    """Yield the probabilities of the committees of some steps, NaN without a committee."""
    available = path.available
    for step in steps:
        if not available[step]:
            yield np.full((len(F), F.shape[2]), np.nan)
            continue
        # The committee itself turns sums into probabilities.
        made = path.assessment.committee(step)
        at = np.searchsorted(members, made.support_)
        sums = weighted_sum(F[:, at], made.weights_)
        yield made._probabilities(sums + made.roster_.offset)


def _outputs(F: FloatArray, W: FloatArray) -> Iterator[FloatArray]:
    """Yield the weighted sums of many committees, W of shape (S, M)."""
    slabs = np.ascontiguousarray(np.moveaxis(F, 1, 0))  # (M, N) or (M, N, K)
    at_once = max(1, _BLOCK * slabs.shape[0] // slabs.size)
    for start in range(0, len(W), at_once):
        yield from np.tensordot(W[start : start + at_once], slabs, axes=(1, 0))


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
    def from_estimator(cls, estimator: Any, **kwargs: Any) -> Self:
        """Draw the path of a refined committee.

        Parameters
        ----------
        estimator : committee
            Result of `refine`, alone or in a pipeline or search. `tolerance` and
            `max_bytes` try several sizes.
        **kwargs
            `ax`, and arguments of `Axes.errorbar`, which draws the points.
        """
        found = summary_of(core_of(estimator))
        if found is None or found.refinement is None:
            raise ValueError(
                "Only refined committees have a path of error against bytes: call "
                "refine(ensemble, X, y, tolerance=0.05), or PruningPathDisplay for what "
                "prune() returned."
            )
        return cls(found).plot(**kwargs)

    def _draw(self, ax: Any, kwargs: dict[str, Any]) -> None:
        """Draw the sizes, the chosen one and the whole ensemble."""
        found = self.summary
        assert found.refinement is not None
        scale = 100.0 if found.measure == "error rate" else 1.0
        path = sorted(found.refinement.path, key=lambda size: size.n_bytes)
        style = {"fmt": "o", "color": BLUE, "capsize": 2, "label": "refined"}
        points = [(s.n_bytes, scale * s.error, scale * s.difference_se) for s in path]
        ax.errorbar(*zip(*points, strict=True), **{**style, **kwargs})
        for size in path:
            text = f"{size.n_members:,} / {size.n_leaves:,}"
            look = {"textcoords": "offset points", "fontsize": "x-small", "color": GREY}
            ax.annotate(text, (size.n_bytes, scale * size.error), xytext=(5, 5), **look)
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
