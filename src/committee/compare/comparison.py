"""compare(): ranks and tests for a table of scores."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from scipy import stats

from committee._hints import how_to_install
from committee._notebook import Columns, Shown
from committee._typing import FloatArray
from committee.compare.significance import (
    WinLossTie,
    bonferroni_dunn,
    friedman,
    holm,
    iman_davenport,
    nemenyi,
    rank_methods,
    signed_rank,
    standard_error,
    win_loss_tie,
)


@dataclass(frozen=True, repr=False)
class Comparison(Shown):
    """Result of `compare`; prints as a table.

    With a control, the keys of the dictionaries on pairs are the other methods, which are
    compared with the control. Without one the keys are pairs `(a, b)`, and a is compared
    with b.

    Attributes
    ----------
    mean_ranks : dict
        For each method, the mean of its ranks over the data sets; 1 is best.
    friedman_p, iman_davenport_p : float
        p-values of "all methods are equal".
    critical_difference : float
        By Bonferroni-Dunn with a control, by Nemenyi without.
    differences : dict
        Differences of mean ranks; positive is worse.
    significant : dict
        True if the difference is at least the critical difference.
    holm_p : dict
        p-values of the differences, adjusted by Holm's method.
    signed_rank_p : dict
        p-values of Wilcoxon's signed-rank test on the scores, not adjusted.
    by_mean : dict
        `WinLossTie` by the mean scores.
    by_ttest, by_rank_sum : dict or None
        `WinLossTie` by a test on the runs of each data set; None without runs.
    methods, datasets : tuple
        Names, or numbers without names.
    control : object or None
    alpha, run_alpha : float
    lower_is_better : bool

    Examples
    --------
    >>> from committee.compare import compare
    >>> result = compare([[0.1, 0.2, 0.3], [0.1, 0.3, 0.2], [0.1, 0.2, 0.3]], control=0)
    >>> result.mean_ranks
    {0: 1.0, 1: 2.33..., 2: 2.66...}
    >>> str(result.by_mean[2])
    '0-3-0'
    """

    mean_ranks: dict[Hashable, float]
    friedman_p: float
    iman_davenport_p: float
    critical_difference: float
    differences: dict[Any, float]
    significant: dict[Any, bool]
    holm_p: dict[Any, float]
    signed_rank_p: dict[Any, float]
    by_mean: dict[Any, WinLossTie]
    by_ttest: dict[Any, WinLossTie] | None
    by_rank_sum: dict[Any, WinLossTie] | None
    methods: tuple[Hashable, ...]
    datasets: tuple[Hashable, ...]
    control: Hashable | None
    alpha: float
    run_alpha: float
    lower_is_better: bool

    def _parts(self) -> Iterator[str | Columns]:
        """Yield the tests as sentences, and a row for each method, the best first."""
        direction = "lowest" if self.lower_is_better else "highest"
        found = self.iman_davenport_p < self.alpha
        verdict = "the methods differ" if found else "no difference was found"
        which, test = "of any two mean ranks", "Nemenyi"
        if self.control is not None:
            which, test = f"to {self.control}", "Bonferroni-Dunn"
        yield (
            f"{len(self.methods)} methods on {len(self.datasets)} data sets; "
            f"rank 1 has the {direction} score."
        )
        yield (
            f"Friedman p = {self.friedman_p:.2g}, Iman-Davenport p = "
            f"{self.iman_davenport_p:.2g}: {verdict} (alpha = {self.alpha:g})."
        )
        yield f"Critical difference {which}: {self.critical_difference:.2f} ({test})."
        yield ""
        yield _columns(_rows(self))

    def to_frame(self) -> Any:
        """Return the rows of the printed table as a pandas data frame.

        Examples
        --------
        >>> from committee.compare import compare
        >>> compare([[1.0, 2.0], [1.0, 3.0]], control=0).to_frame().shape
        (2, 6)
        """
        try:
            import pandas as pd
        except ImportError:
            raise ImportError(
                f"to_frame needs pandas: {how_to_install('shell')}. print(comparison) "
                "works without it."
            ) from None
        table = _rows(self)
        return pd.DataFrame(list(table.values()), index=pd.Index(table, name="method"))


def compare(
    scores: Any,
    control: Hashable | None = None,
    alpha: float = 0.10,
    lower_is_better: bool = True,
    *,
    run_alpha: float = 0.05,
) -> Comparison:
    """Compare methods over data sets by their ranks.

        differ  if  |mean rank_a - mean rank_b| >= CD = q sqrt(k (k + 1) / (6 N))

    for k methods on N data sets, with q by Bonferroni-Dunn against a control and by
    Nemenyi for all pairs. Interpret the differences only if the test of Iman and Davenport
    finds that the methods differ at all.

    Parameters
    ----------
    scores : array, data frame or mapping
        Data sets x methods; or runs, as data sets x methods x runs or
        `{data set: {method: runs}}`, which are ranked by their means. In a data frame
        of pandas or polars the columns are methods; a column of text, or else the
        index, has the names of the data sets.
    control : column name, or its number for an array, default=None
        The method that all others are compared with. By default all pairs are compared.
    alpha : float, default=0.10
        Level of the critical difference.
    lower_is_better : bool, default=True
        Errors if True, accuracies if False.
    run_alpha : float, default=0.05
        Level of the tests on the runs of each data set.

    Returns
    -------
    Comparison

    References
    ----------
    J. Demsar, "Statistical comparisons of classifiers over multiple data sets",
    JMLR 7 (2006).

    Examples
    --------
    >>> from committee.compare import compare
    >>> errors = {
    ...     "sonar": {"small": [0.21, 0.22, 0.20], "large": [0.25, 0.24, 0.26]},
    ...     "wine": {"small": [0.03, 0.02, 0.02], "large": [0.03, 0.03, 0.02]},
    ...     "iris": {"small": [0.04, 0.04, 0.05], "large": [0.05, 0.06, 0.06]},
    ... }
    >>> compare(errors, control="large")
    2 methods on 3 data sets; rank 1 has the lowest score.
    Friedman p = 0.083, Iman-Davenport p = 0: the methods differ (alpha = 0.1).
    Critical difference to large: 0.95 (Bonferroni-Dunn).
    <BLANKLINE>
    method  mean rank  minus large  verdict  Holm p  signed-rank p  w-l-t  by t-test
    small        1.00        -1.00   better  0.0833          0.250  3-0-0      2-0-1
    large        2.00
    """
    for name, level in (("alpha", alpha), ("run_alpha", run_alpha)):
        if not 0 < level < 1:
            raise ValueError(
                f"{name} must be a significance level between 0 and 1. Got {level!r}."
            )
    table = read_scores(scores)
    pairs = _pairs(table, control)
    ranks = rank_methods(table.means, lower_is_better=lower_is_better)
    n, k = ranks.shape
    mean_ranks = ranks.mean(axis=0)
    critical = (nemenyi if control is None else bonferroni_dunn)(n, k, alpha)
    differences = {key: float(mean_ranks[i] - mean_ranks[j]) for key, (i, j) in pairs}
    means = table.means.T
    runs = None if table.runs is None else list(zip(*table.runs, strict=True))

    def wins(columns: Any, by: Any) -> dict[Any, WinLossTie]:
        how: dict[str, Any] = {"alpha": run_alpha, "lower_is_better": lower_is_better}
        return {
            key: win_loss_tie(columns[i], columns[j], by=by, **how)
            for key, (i, j) in pairs
        }

    return Comparison(
        mean_ranks=dict(zip(table.methods, mean_ranks.tolist(), strict=True)),
        friedman_p=friedman(ranks).p,
        iman_davenport_p=iman_davenport(ranks).p,
        critical_difference=critical,
        differences=differences,
        significant={key: abs(d) >= critical for key, d in differences.items()},
        holm_p=holm(
            {
                key: float(2 * stats.norm.sf(abs(d) / standard_error(n, k)))
                for key, d in differences.items()
            }
        ),
        signed_rank_p={key: signed_rank(means[i], means[j]) for key, (i, j) in pairs},
        by_mean=wins(means, "mean"),
        by_ttest=None if runs is None else wins(runs, "t-test"),
        by_rank_sum=None if runs is None else wins(runs, "rank-sum"),
        methods=table.methods,
        datasets=table.datasets,
        control=control,
        alpha=alpha,
        run_alpha=run_alpha,
        lower_is_better=lower_is_better,
    )


_Pairs = list[tuple[Any, tuple[int, int]]]


def _pairs(table: Scores, control: Hashable | None) -> _Pairs:
    """Return the keys of a comparison, each with its two columns."""
    methods = table.methods
    if control is None:
        numbers = combinations(range(len(methods)), 2)
        return [((methods[i], methods[j]), (i, j)) for i, j in numbers]
    if control not in methods:
        raise ValueError(
            f"control must be one of the methods {list(methods)}. Got {control!r}."
        )
    c = methods.index(control)
    return [(method, (i, c)) for i, method in enumerate(methods) if i != c]


def _rows(result: Comparison) -> dict[Hashable, dict[str, Any]]:
    """Return one row for each method, the best first."""
    make = _alone if result.control is None else _against_control
    best_first = sorted(result.methods, key=result.mean_ranks.__getitem__)
    return {
        method: {"mean rank": result.mean_ranks[method], **make(result, method)}
        for method in best_first
    }


def _against_control(result: Comparison, method: Hashable) -> dict[str, Any]:
    """Return the comparison of a method with the control; empty for the control."""
    if method == result.control:
        return {}
    difference = result.differences[method]
    verdict = "worse" if difference > 0 else "better"
    row = {
        f"minus {result.control}": difference,
        "verdict": verdict if result.significant[method] else "unclear",
        "Holm p": result.holm_p[method],
        "signed-rank p": result.signed_rank_p[method],
        "w-l-t": str(result.by_mean[method]),
    }
    if result.by_ttest is not None:
        row["by t-test"] = str(result.by_ttest[method])
    return row


def _alone(result: Comparison, method: Hashable) -> dict[str, Any]:
    """Return the methods whose mean ranks differ significantly from this one."""
    rank = result.mean_ranks
    others = [
        b if method == a else a
        for (a, b), significant in result.significant.items()
        if significant and method in (a, b)
    ]
    return {
        "better than": ", ".join(str(m) for m in others if rank[m] > rank[method]),
        "worse than": ", ".join(str(m) for m in others if rank[m] < rank[method]),
    }


def _columns(table: dict[Hashable, dict[str, Any]]) -> Columns:
    """Return the rows as text."""
    header = max(table.values(), key=len)
    cells = [["method", *header]]
    for method, row in table.items():
        cells.append([str(method), *(_cell(row.get(name), name) for name in header)])
    return Columns(cells, "<>")


def _cell(value: Any, name: str) -> str:
    """Format p-values with three digits and ranks with two decimals."""
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:#.3g}" if name.endswith(" p") else f"{value:.2f}"
    return str(value)


# --- the table of scores --------------------------------------------------------------


@dataclass(frozen=True)
class Scores:
    """Finite scores of k >= 2 methods on N >= 2 data sets.

    Attributes
    ----------
    methods, datasets : tuple
        Names or numbers.
    means : array of shape (N, k)
    runs : list or None
        `runs[i][j]` has the runs of method j on data set i; None for means alone.
    """

    methods: tuple[Hashable, ...]
    datasets: tuple[Hashable, ...]
    means: FloatArray
    runs: list[list[FloatArray]] | None = None


def read_scores(scores: Any) -> Scores:
    """Return the table of scores; raise ValueError if no test is defined for it."""
    if isinstance(scores, Mapping):
        table = _from_mapping(scores)
    elif hasattr(scores, "columns"):
        table = _from_frame(scores)
    else:
        table = _from_array(scores)
    _check(table)
    return table


def _from_array(scores: Any) -> Scores:
    """Read an array; methods and data sets are numbered, a third axis has runs."""
    values = _floats(scores, "scores")
    if values.ndim not in (2, 3):
        raise ValueError(
            "scores must be data sets x methods, or data sets x methods x runs. Got "
            f"an array of shape {values.shape}."
        )
    datasets, methods = (tuple(range(size)) for size in values.shape[:2])
    if values.ndim == 2:
        return Scores(methods, datasets, values)
    return _from_runs(methods, datasets, [list(row) for row in values])


def _from_frame(frame: Any) -> Scores:
    """Read a frame of methods; a column of text or the index names the data sets."""
    columns = {name: np.asarray(frame[name]) for name in frame.columns}
    text = [name for name, column in columns.items() if column.dtype.kind not in "fiub"]
    if len(text) > 1:
        raise ValueError(
            "A data frame of scores has a column of numbers for each method, and at "
            f"most one column of text, with the data sets. The columns {text} do not "
            "hold numbers."
        )
    if text:
        datasets = tuple(columns.pop(text[0]).tolist())
    else:
        datasets = tuple(getattr(frame, "index", range(len(frame))))
    if len(columns) != len(frame.columns) - len(text):
        raise ValueError(f"Methods need different names. Got {list(frame.columns)}.")
    values = [column.astype(np.float64) for column in columns.values()]
    return Scores(
        tuple(columns), datasets, np.array(values).T.reshape(len(frame), len(columns))
    )


def _from_mapping(scores: Mapping[Any, Any]) -> Scores:
    """Read {data set: {method: runs}}."""
    methods: tuple[Hashable, ...] = ()
    for name, row in scores.items():
        if not isinstance(row, Mapping):
            raise TypeError(
                "A mapping of scores must read {data set: {method: runs}}. Got "
                f"{type(row).__name__} for data set {name!r}."
            )
        methods = methods or tuple(row)
        if set(row) != set(methods):
            raise ValueError(
                f"Every data set needs the same methods. {name!r} has {list(row)}, "
                f"the first has {list(methods)}."
            )
    runs = [
        [np.atleast_1d(_floats(row[m], f"{m!r} on {name!r}")) for m in methods]
        for name, row in scores.items()
    ]
    return _from_runs(methods, tuple(scores), runs)


def _from_runs(
    methods: tuple[Hashable, ...],
    datasets: tuple[Hashable, ...],
    runs: list[list[FloatArray]],
) -> Scores:
    """Return the table of runs and their means; raise ValueError for single runs."""
    fewest = min((len(cell) for row in runs for cell in row), default=2)
    if fewest < 2:
        raise ValueError(
            "Tests on runs need at least 2 runs of each method on each data set. Got "
            f"{fewest}; pass the mean scores as data sets x methods instead."
        )
    # Exact sums: the same runs in another order tie.
    means = [[math.fsum(cell) / len(cell) for cell in row] for row in runs]
    return Scores(
        methods, datasets, np.array(means).reshape(len(runs), len(methods)), runs
    )


def _floats(values: Any, name: str) -> FloatArray:
    """Return numbers as floats."""
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"{name} must be a numeric table with rows of equal length."
        ) from None


def _check(table: Scores) -> None:
    """Raise ValueError for a table that is too small, or not finite."""
    n, k = table.means.shape
    if k < 2:
        raise ValueError(f"compare needs at least 2 methods, in columns. Got {k}.")
    if n < 2:
        raise ValueError(
            f"compare needs at least 2 data sets, in rows. Got {n}; for the runs of "
            "two methods on one data set use scipy.stats.mannwhitneyu or ttest_ind."
        )
    failed = np.argwhere(~np.isfinite(table.means))
    if len(failed):
        i, j = failed[0]
        raise ValueError(
            f"Method {table.methods[j]!r} has no finite score on data set "
            f"{table.datasets[i]!r} ({len(failed)} missing scores): leave out the method "
            "or the data set, or fill in a score for failures."
        )
