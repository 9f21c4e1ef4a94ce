"""Path: the committees of every size that a combiner went through, in one run.

Maximising the evidence, ordering members and greedy selection all pass through a
sequence of committees. A combiner's path holds their weights. The path of a committee
made by `prune` also has errors on rows not used to choose, bytes and seconds, and
returns committees.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from importlib import import_module
from numbers import Integral
from typing import Any, Self

import numpy as np
from scipy.sparse import csr_array

from committee._format import NumberFormat, byte_size, count
from committee._hints import how_to_install
from committee._notebook import Columns, Shown
from committee._typing import BoolArray, FloatArray, IntArray
from committee._validation import as_floats

#: Attribute of a committee that `save` sets on its own copy to keep the whole path.
WHOLE_PATH = "_whole_path"


#: Standard errors by which a smaller committee must be better to be preferred: three,
#: since it is the best of many sizes.
CLEARLY = 3.0


@dataclass(frozen=True, eq=False)
class PathPoint:
    """One committee of a path.

    Attributes
    ----------
    size : int
        Number of members.
    error, error_se : float
        Its error, `path.measure`, and the standard error.
    log_evidence : float
        NaN without an evidence.
    weights : array of shape (M,)
        Zero for members outside.

    Examples
    --------
    >>> from committee import OrderPruner
    >>> F, y = [[1.0, 3.0], [2.0, 6.0]], [1.0, 2.0]
    >>> OrderPruner("best").fit(F, y).path_[0]
    PathPoint(size=1, error=0.0, error_se=0.0, log_evidence=nan)
    """

    size: int
    error: float
    error_se: float
    log_evidence: float
    weights: FloatArray = field(repr=False)


@dataclass(frozen=True, eq=False, repr=False)
class Path(Shown):
    """The committees that a combiner went through, and one rule to choose from them.

    A sequence: `path[k]` is the `PathPoint` of step k, and slices are lists of them.

    Parameters
    ----------
    weights : array of shape (S, M)
        Weights of all M members at each of the S steps, zero for those outside.
    own_error, own_error_se : array of shape (S,)
        The combiner's own error of each committee and its standard error, NaN where
        that is not known.
    own_measure : str
        Name of this error, such as "leave-one-out error rate".
    log_evidence : array of shape (S,), default=None
        NaN for combiners without an evidence.
    note : str
        A remark on the errors.
    scoring : str, callable or None
        The score, where the error is minus a score.
    steps : tuple
        Results of Expectation Propagation for each committee: see `ep.PathStep`.
    n_iter : int
        Moves that were tried on the way.
    converged : bool
        False when they were stopped by their number.
    assessment : Assessment or KeptPath, default=None
        Given by `prune`: errors, costs and committees of the steps, which it measures on
        first use; see `committee.pruning`. A copy has a `KeptPath`.
    floor : float, default=None
        Of committees that weigh log clip(F, floor, 1), see `LogPool`.
    offsets : array of shape (S,) or (S, K), default=None
        Constant that each committee adds to its weighted sum, if it is not zero.
    n_first : int
        The last of the steps, which are the first rounds of a booster: all others are
        compared with them. Their own error is a log-loss or a squared error.
    chosen : int or None
        Step of the committee, or of the combiner's weights, that holds this path.

    Attributes
    ----------
    size : array of shape (S,)
        Number of members at each step.
    error, error_se : array of shape (S,)
        Cross-fitted by `prune`: on rows that were not used for the choice. The combiner's
        own otherwise, and where there were too few rows for folds.
    measure : str
        Name of the error.
    n_bytes, seconds_per_row : array of shape (S,) or None
        Bytes of the pickled committee of each step, and seconds of its members; None on a
        combiner's own path.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from committee import prune
    >>> X, y = load_iris(return_X_y=True)
    >>> forest = RandomForestClassifier(50, random_state=0).fit(X, y)
    >>> small = prune(forest, X, y, oob=True)
    >>> small.path_.choose(3).n_members_ <= 3
    True
    >>> small.path_[small.path_.chosen].size == small.n_members_
    True
    >>> small.combiner_.weights_.shape
    (50,)
    """

    weights: FloatArray
    own_error: FloatArray
    own_error_se: FloatArray
    own_measure: str
    log_evidence: FloatArray = field(default_factory=lambda: np.full(1, np.nan))
    note: str = ""
    scoring: Any = None
    steps: tuple[Any, ...] = ()
    n_iter: int = 0
    converged: bool = True
    assessment: Any = None
    floor: float | None = None
    offsets: FloatArray | None = None
    n_first: int = 0
    chosen: int | None = None
    size: IntArray = field(init=False)

    def __post_init__(self) -> None:
        """Count the members; no evidence is NaN at every step."""
        size = np.count_nonzero(self.weights, axis=1)
        evidence = np.broadcast_to(self.log_evidence, size.shape)
        object.__setattr__(self, "size", size)
        object.__setattr__(self, "log_evidence", evidence.copy())

    def __len__(self) -> int:
        """Return the number of steps."""
        return len(self.weights)

    def __getitem__(self, step: Any) -> Any:
        """Return the committee of a step, or a list of them for a slice."""
        try:
            at = range(len(self))[step]
        except IndexError:
            raise IndexError(
                f"The path has {count(len(self), 'step')}. Got index {step}."
            ) from None
        if isinstance(at, range):
            return [self[k] for k in at]
        return PathPoint(
            size=int(self.size[at]),
            error=float(self.error[at]),
            error_se=float(self.error_se[at]),
            log_evidence=float(self.log_evidence[at]),
            weights=self.weights[at],
        )

    def to_frame(self) -> Any:
        """Return a pandas data frame with a row for each step.

        Its columns are `size`, `error`, `error_se`, `log_evidence` and, where members are
        known, `n_bytes` and `seconds_per_row`, which are measured on first use.
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                f"to_frame needs pandas: {how_to_install('shell')}. print(path) works "
                "without it."
            ) from None
        columns = ("size", "error", "error_se", "log_evidence")
        costs = ("n_bytes", "seconds_per_row")
        found = {name: getattr(self, name) for name in columns + costs}
        known = {name: x for name, x in found.items() if x is not None}
        return pd.DataFrame(known, index=pd.RangeIndex(len(self), name="step"))

    def plot(self, ax: Any = None, **kwargs: Any) -> Any:
        """Draw size against error; see `PruningPathDisplay.from_path`."""
        # A layer above this one, so it is looked up when it is needed.
        displays = import_module("committee.displays")
        return displays.PruningPathDisplay.from_path(self, ax=ax, **kwargs)

    def _parts(self) -> Iterator[str | Columns]:
        """Yield sizes, errors and bytes, as far as they have been measured."""
        sizes = f"{self.size.min():,} to {self.size.max():,} members"
        yield f"Path of {count(len(self), 'committee')}, {sizes}"
        source = self.assessment
        known = None if source is None else source.measured("errors")
        error, se, measure = self.own_error.copy(), self.own_error_se, self.own_measure
        error[len(self) - self.n_first :] = np.nan  # of another kind
        if known is not None:
            error, se, measure = known
        finite = error[np.isfinite(error)]
        written = NumberFormat.of(measure, finite.min() if len(finite) else 0.0)
        columns = {
            "members": [f"{size:,}" for size in self.size],
            measure: [written.spread(*pair) for pair in zip(error, se, strict=True)],
        }
        n_bytes = None if source is None else source.measured("n_bytes")
        if n_bytes is not None:
            columns["bytes, pickled"] = [byte_size(n) for n in n_bytes]
        notes = ["" if here else "not in this copy" for here in self.available]
        if self.chosen is not None:
            notes[self.chosen] = "chosen"
        if any(notes):
            columns[""] = notes
        sides = "".join("<" if name == "" else ">" for name in columns)
        rows = [tuple(columns), *zip(*columns.values(), strict=True)]
        bold = None if self.chosen is None else self.chosen + 1
        yield Columns(rows, sides, bold).ends()

    def at(self, w: FloatArray) -> Path:
        """Return the path with the step of weights w (M,) as the chosen one."""
        same = np.flatnonzero((self.weights == w).all(axis=1))
        return replace(self, chosen=int(same[0]) if len(same) else None)

    @property
    def available(self) -> BoolArray:
        """True for each step that `choose` can return, (S,).

        In a copy or a file these are the steps whose members are stored.
        """
        here = True if self.assessment is None else self.assessment.available
        return np.broadcast_to(here, len(self))

    @property
    def members(self) -> list[IntArray]:
        """Member numbers at each step."""
        return [np.flatnonzero(w) for w in self.weights]

    def offset(self, step: int) -> Any:
        """Return what the committee of a step adds to its weighted sums."""
        return 0.0 if self.offsets is None else self.offsets[step]

    @property
    def error(self) -> FloatArray:
        """Error at each step."""
        return self._errors()[0]

    @property
    def error_se(self) -> FloatArray:
        """Standard error of the error at each step."""
        return self._errors()[1]

    @property
    def measure(self) -> str:
        """Name of the error."""
        return self._errors()[2]

    @property
    def n_bytes(self) -> FloatArray | None:
        """Bytes of the members at each step."""
        return None if self.assessment is None else self.assessment.n_bytes

    @property
    def seconds_per_row(self) -> FloatArray | None:
        """Seconds that the members of each step take for a row."""
        return None if self.assessment is None else self.assessment.seconds_per_row

    def choose(
        self,
        max_members: int | None = None,
        *,
        max_bytes: float | None = None,
        max_seconds: float | None = None,
        within_se: float = 0.0,
        scoring: str | None = None,
        seconds: Any = None,
        n_bytes: Any = None,
        rows: int | None = None,
        runtime: str | None = None,
    ) -> Any:
        """Return a committee within the limits, usually the largest.

            d_k = error_k - error_r,   s_k its standard error,   r the largest size

        More members of one kind are usually better, and neighbouring sizes differ by less
        than the noise. So r is returned, unless a smaller size is clearly better,
        d_k < -3 s_k: then the best of these. These errors are leave-one-out, where the
        combiner has them and `scoring` is not given, else held-out. Of several committees
        of one size, the one with the smallest own error is returned.

        `prune` returns the combiner's own choice, by its rule, which usually has fewer
        members (for example the committee with the smallest leave-one-out error). Without limits this
        method returns the largest size instead, unless a smaller one is clearly better.

        On the path of a booster the first t rounds with the smallest error within the limits are
        returned, unless the committee above is clearly better than these.

        Parameters
        ----------
        max_members : int, default=None
        max_bytes : float, default=None
            Of the pickled committee; on a combiner's path the sum of their `n_bytes`.
        max_seconds : float, default=None
            For one row: of its members in a batch of up to 1,000 rows, or of the whole
            committee with `rows` or `runtime`; on a combiner's path the sum of its
            members' `seconds`.
        within_se : float, default=0
            Give up members while the error stays within this number of its standard
            errors. Sizes below the first one that fails are not considered.
        scoring : str, default=None
            Error to choose by, such as "neg_log_loss" for probabilities. None means the
            error of `prune`. Only on the path of a pruned committee.
        seconds, n_bytes : array-like of shape (M,), default=None
            Costs of each of the M members, instead of measured ones.
        rows : int, default=None
            Number of rows in the calls that `max_seconds` refers to: 1 for single rows.
            A few committees are measured, since larger ones take longer. None means 1
            with a runtime.
        runtime : {"python", "onnx", "c"}, default=None
            Where these calls are made; see `compiled`. None means "python" with `rows`.

        Returns
        -------
        chosen : array of shape (M,), or committee
            The weights, without the offset of the step; for the path of a pruned
            committee a fitted committee, whose `path_` is this one, with errors by
            `scoring`.
        """
        path = self if scoring is None else self._by(scoring)
        if not (within_se == 0 or _is_positive(within_se)):
            raise ValueError(f"within_se must be at least 0. Got {within_se!r}.")
        fits = np.ones(len(path), dtype=bool)
        # Costs are measured on first use, so only those with a limit are looked at.
        serving = rows is not None or runtime is not None
        for name, limit, costs, given in (
            ("max_members", max_members, "size", None),
            ("max_bytes", max_bytes, "n_bytes", n_bytes),
            ("max_seconds", max_seconds, "seconds_per_row", seconds),
        ):
            if limit is None:
                continue
            if name == "max_seconds" and serving:
                fits &= path._served(
                    limit, fits, 1 if rows is None else rows, runtime or "python"
                )
            else:
                known = getattr(path, costs) if given is None else path._sum(given)
                fits &= path._within(name, limit, known, fits)
        own = scoring is None
        step = path._preferred(fits, within_se, own)
        if not path.available[step]:
            step = path._instead(step, fits & path.available, within_se, own)
        if path.assessment is None:
            return path.weights[step].copy()
        made = path.assessment.committee(step)
        made.path_ = replace(made.path_, chosen=step)
        return made

    def step_within(self, max_members: int) -> int:
        """Return the step that `choose(max_members=...)` takes."""
        every = np.ones(len(self), dtype=bool)
        fits = self._within("max_members", max_members, self.size, every)
        return self._preferred(fits, 0.0, True)

    def with_steps(self, steps: Any, offsets: Any = None) -> Path:
        """Return the path of other steps of Expectation Propagation."""
        return self.of_steps(
            steps,
            own_measure=self.own_measure,
            n_iter=self.n_iter,
            converged=self.converged,
            offsets=offsets,
        )

    def with_first(self, first: Path) -> Path:
        """Return this path, and the first rounds of a booster after its steps."""
        own, of_first = self.offsets, np.asarray(first.offsets)
        own = np.zeros(len(self)) if own is None else own
        own = own.reshape(len(self), *[-1] * (of_first.ndim - 1))
        own = np.broadcast_to(own, (len(self), *of_first.shape[1:]))
        return replace(
            self,
            weights=np.vstack([self.weights, first.weights]),
            own_error=np.append(self.own_error, first.own_error),
            own_error_se=np.append(self.own_error_se, first.own_error_se),
            log_evidence=np.append(self.log_evidence, first.log_evidence),
            offsets=np.concatenate([own, of_first]),
            n_first=len(first),
        )

    def _by(self, scoring: str) -> Path:
        """Return the path with errors of another kind."""
        if self.assessment is None:
            raise ValueError(
                "scoring needs the rows: it is for the path_ of a committee that prune() "
                f"returned. The errors of a combiner's path are its {self.own_measure}."
            )
        return replace(self, assessment=self.assessment.by(scoring))

    def for_copy(self, committee: Any, *, whole: bool) -> Path:
        """Return the path as a copy of one of its committees keeps it."""
        if self.assessment is None:
            return self
        return replace(self, assessment=self.assessment.kept(committee, whole))

    def bind(self, committee: Any) -> None:
        """Learn which committee a copy of the path came with."""
        if self.assessment is not None:
            self.assessment.bind(committee)

    def _sum(self, costs: Any) -> FloatArray:
        """Return the sums of the costs of the members at each step."""
        c = as_floats(costs)
        if c is None or c.shape != self.weights.shape[1:] or not np.isfinite(c).all():
            raise ValueError(
                "Costs must be one finite number for each of "
                f"{self.weights.shape[1]} members. Got {costs!r}."
            )
        return np.asarray((self.weights != 0) @ c)

    def _within(self, name: str, limit: Any, cost: Any, fits: Any) -> Any:
        """Return the steps that keep to a limit, of those that fit so far."""
        if not _is_positive(limit):
            raise ValueError(f"{name} must be a positive number. Got {limit!r}.")
        if cost is None:
            raise ValueError(
                f"{name} needs the cost of each member on a combiner's path: give "
                f"{'seconds' if name == 'max_seconds' else 'n_bytes'}=, of shape (M,)."
            )
        within = cost <= limit
        if not (fits & within).any():
            raise ValueError(
                f"No committee on the path has {name}={limit:g}; the least is "
                f"{cost[fits].min():.6g}."
            )
        return within

    def _served(self, limit: Any, fits: Any, rows: Any, runtime: str) -> Any:
        """Return the sizes that serve a row within a limit, by bisection."""
        whole = isinstance(rows, Integral) and int(rows) >= 1
        if self.assessment is None or not _is_positive(limit) or not whole:
            raise ValueError(
                "rows (an int >= 1) and runtime need a positive max_seconds, on the path_ "
                "of a committee that prune() returned. Got "
                f"max_seconds={limit!r}, rows={rows!r}."
            )
        sizes, steps = np.unique(np.where(fits, self.size, 0), return_index=True)
        sizes, steps = sizes[sizes > 0], steps[sizes > 0]
        low, high, least = 0, len(sizes), np.inf
        while low < high:
            middle = (low + high) // 2
            took = self.assessment.served_seconds(int(steps[middle]), rows, runtime)
            low, high = (middle + 1, high) if took <= limit else (low, middle)
            least = min(least, took)
        if low == 0:
            raise ValueError(
                f"No committee on the path predicts within max_seconds={limit:g}. The "
                f"fastest measured took {least:.3g} s."
            )
        return self.size <= sizes[low - 1]

    def _instead(self, step: int, fits: Any, within_se: float, own: bool) -> int:
        """Return another step if the preferred one is not in this copy."""
        missing = (
            f"These limits choose {count(int(self.size[step]), 'member')}, and this copy "
            "does not store all of them"
        )
        remedy = (
            "Use the committee that prune() returned, or "
            "save(committee, file, whole_path=True), which keeps all."
        )
        if not fits.any():
            sizes = ", ".join(map(str, np.unique(self.size[self.available])))
            held = f"it stores committees of {sizes} members"
            held = held if sizes else "it stores no committee"
            raise ValueError(f"{missing}; {held}. {remedy}")
        other = self._preferred(fits, within_se, own)
        warnings.warn(
            f"{missing}. The committee of {count(int(self.size[other]), 'member')} is "
            f"returned instead. {remedy}",
            stacklevel=3,
        )
        return other

    def _preferred(self, fits: Any, within_se: float, own: bool) -> int:
        """Return the step to take, of those that keep to the limits.

        `own` is True if the combiner's own errors may decide.
        """
        is_first = np.arange(len(self)) >= len(self) - self.n_first
        if not np.any(fits & is_first):
            return self._of_choice(fits, within_se, own)
        first = self._of_first(np.flatnonzero(fits & is_first), within_se, own)
        if not np.any(fits & ~is_first):
            return first
        chosen = self._of_choice(fits & ~is_first, within_se, own)
        assert self.assessment is not None
        wins = self.assessment.wins[chosen, first - len(self) + self.n_first]
        return chosen if wins else first

    def _of_first(self, steps: IntArray, within_se: float, own: bool) -> int:
        """Return the step with the smallest error of some first rounds, or a smaller one."""
        error, se = self._errors()[:2]
        if own:
            error, se = self.own_error, self.own_error_se
        error, se = error[steps], se[steps]
        best = int(error.argmin())
        near = error[: best + 1] <= error[best] + within_se * se[best]
        return int(steps[np.flatnonzero(near)[0]] if within_se > 0 else steps[best])

    def _of_choice(self, fits: Any, within_se: float, own: bool) -> int:
        """Return the step to take of the combiner's steps that keep to the limits."""
        loo = self.own_error_se[: len(self) - self.n_first]
        by_loo = own and not np.isnan(loo).any()
        order = self._one_for_each_size(fits)
        clear = np.flatnonzero(self._clearly_better(order, by_loo))
        best = len(order) - 1
        if len(clear):
            error = (self.own_error if by_loo else self.error)[order]
            best = int(clear[error[clear] == error[clear].min()][-1])
        if within_se > 0:
            error, se = self.error[order], np.nan_to_num(self.error_se[order])
            too_far = error[:best] > error[best] + within_se * se[best]
            best = int(np.flatnonzero([True, *too_far])[-1])
        return int(order[best])

    def _one_for_each_size(self, fits: Any) -> IntArray:
        """Return the step with the smallest own error for each size, in rising order."""
        own = np.where(np.isnan(self.own_error), np.inf, self.own_error)
        # Of equal errors the last in this order is the first on the path.
        order = np.lexsort((-np.arange(len(self)), -own, self.size))
        order = order[fits[order]]
        last = np.append(np.diff(self.size[order]) > 0, True)
        return np.asarray(order[last])

    def _clearly_better(self, order: IntArray, by_loo: bool) -> BoolArray:
        """Return d_k < -3 s_k; on the same rows where the losses are known."""
        source = None if by_loo else self.assessment
        paired = None if source is None else source.clearly_better(order)
        if paired is not None:
            return np.asarray(paired)
        error, se = (
            (self.own_error, self.own_error_se) if by_loo else self._errors()[:2]
        )
        error, se = error[order], np.nan_to_num(se[order])
        with np.errstate(invalid="ignore"):
            gap = np.nan_to_num(error - error[-1])
        return np.asarray(gap < -CLEARLY * np.hypot(se, se[-1]))

    def _errors(self) -> tuple[FloatArray, FloatArray, str]:
        found = None if self.assessment is None else self.assessment.errors
        return found or (self.own_error, self.own_error_se, self.own_measure)

    def __getstate__(self) -> dict[str, Any]:
        """Return the fields; most weights are zero, and a file need not hold them."""
        return {**self.__dict__, "weights": csr_array(self.weights)}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore the fields."""
        weights = state["weights"]
        # toarray() would write wherever the indices of a forged file lead.
        weights.check_format(full_check=True)
        self.__dict__.update(state, weights=weights.toarray())

    @classmethod
    def of_steps(cls, steps: Any, **options: Any) -> Self:
        """Return the path of Expectation Propagation's steps."""
        return cls(
            weights=np.array([step.weights for step in steps]),
            own_error=np.array([step.loo_error for step in steps]),
            own_error_se=np.array([step.loo_se for step in steps]),
            log_evidence=np.array([step.log_evidence for step in steps]),
            steps=tuple(steps),
            **options,
        )


def as_equal_votes(w: FloatArray) -> FloatArray:
    """Return 1/k for the k members with a weight, 0 for the others, on the last axis."""
    return np.asarray((w != 0) / np.count_nonzero(w, axis=-1, keepdims=True))


def _is_positive(limit: Any) -> bool:
    """Return True if the limit is a number above zero."""
    return isinstance(limit, (int, float, np.number)) and bool(limit > 0)
