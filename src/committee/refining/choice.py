"""How many leaves, how strong a ridge, which targets: chosen on held-out rows.

A row is held out if the trees that vote on it were not trained on it, and neither the
leaf values nor the teacher used it. The settings that predict a row are chosen on rows
of other folds, so that the error is not the error of the best of many choices.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import NamedTuple

import numpy as np

from committee._format import count
from committee._parallel import track
from committee._typing import BoolArray, FloatArray, IntArray
from committee.refining.cutting import cut_to
from committee.refining.group_errors import GroupVotes, missing_variance, p_wrong
from committee.refining.problem import PLAIN, Cut, Problem, Settings, folds_of

#: For numbers: rows of a leaf, and lambda for each tree, the strongest first.
LEAST_ROWS = (5, 10, 20, 40)
RIDGES = (20.0, 6.0, 2.0, 0.6)
#: For classes: smaller leaves for clean labels, and less of the labels for noisy ones. The
#: first is taken unless another is clearly better. Chosen on sets that `benchmarks refine` does not have.
OF_CLASSES = (
    Settings(20, 1.5, labels=0.5, shrink=20.0, share=0.7),
    Settings(20, 1.5, labels=0.0, shrink=20.0),
    Settings(20, 5.0, labels=0.0, shrink=20.0),
    Settings(5, 0.5, labels=1.0, shrink=5.0, share=0.5),
    Settings(40, 5.0, labels=0.0, shrink=20.0),
)
#: Without a teacher.
OF_CLASSES_ALONE = (Settings(20, 1.5, shrink=20.0),)
#: Standard errors by which others must be better than the first, for classes.
_CLEARLY = 2.0
#: Share by which squared errors of numbers are too large out of bag, at s = 1. On five
#: generated sets, 5 to 100 trees, it was between 0 and 0.14.
_STRUCTURE = 0.06
#: Tolerance of the normal equations while candidates are compared.
_ROUGHLY = 1e-2


@dataclass(frozen=True, eq=False)
class Candidate:
    """Settings, and what they predict on held-out rows.

    Attributes
    ----------
    settings : Settings
    n_leaves : int
        Number of leaves of k trees.
    output : array of shape (N, T)
        Mean of the groups.
    losses : array of shape (N,)
        Expected losses of k trees that all vote: squared errors, or probabilities of a
        wrong class.
    squares : array of shape (N,)
        Expected squared distances |y_n - f_n|^2.
    spread : array of shape (N,)
        Standard deviation of the votes of numbers.
    """

    settings: Settings
    n_leaves: int
    output: FloatArray
    losses: FloatArray
    squares: FloatArray
    spread: FloatArray


def settings_of(problem: Problem) -> tuple[Settings, ...]:
    """Return the settings to compare: for numbers every cut with every ridge."""
    if problem.of_classes:
        return OF_CLASSES_ALONE if problem.teacher_targets is None else OF_CLASSES
    return tuple(Settings(least, ridge) for least in LEAST_ROWS for ridge in RIDGES)


def candidates(problems: Sequence[Problem]) -> Iterator[Candidate]:
    """Yield the refined candidate of each of the settings, for groups of k trees.

    A cut looks at the trees only, so that no row is judged by what it has decided.
    """
    every = settings_of(problems[0])
    for _, some in groupby(every, lambda settings: (settings.least, settings.shrink)):
        solved: _Solved | None = None
        for settings in some:
            solved = _solved(problems, settings, solved)
            yield _judged(problems, settings, solved)


def _cut(problem: Problem, settings: Settings) -> Cut:
    return Cut(problem, problem.nodes.n_rows < settings.least, settings.shrink)


#: For each group: a cut and its leaf values for each fold.
_Solved = list[tuple[Cut, list[FloatArray]]]
#: For each group and fold: a cut, to fewer leaves, and its leaf values.
_Limited = list[list[tuple[Cut, FloatArray]]]


def _solved(
    problems: Sequence[Problem], settings: Settings, near: _Solved | None = None
) -> _Solved:
    """Return leaf values without each fold; `near` is a solution for the same cut."""
    found = []
    for group, problem in enumerate(problems):
        cut, guesses = (_cut(problem, settings), None) if near is None else near[group]
        folds = range(len(problem.folds))
        found.append((cut, cut.values(settings, folds, guesses, tol=_ROUGHLY)))
    return found


def judged(
    problems: Sequence[Problem], settings: Settings, max_leaves: int | None = None
) -> Candidate:
    """Return predictions of held-out rows, by values that were fitted without them."""
    return _judged(problems, settings, _solved(problems, settings), max_leaves)


def _judged(
    problems: Sequence[Problem],
    settings: Settings,
    solved: _Solved,
    max_leaves: int | None = None,
) -> Candidate:
    limited = [
        [
            _limited(cut, c, settings, max_leaves, fold, tol=_ROUGHLY)
            for fold, c in enumerate(values)
        ]
        for cut, values in solved
    ]
    return _predicted(problems, settings, limited)


def _predicted(
    problems: Sequence[Problem], settings: Settings, solved: _Limited
) -> Candidate:
    """Return what k trees that all vote would predict, and their expected losses."""
    first = problems[0]
    output = _mean_of_groups(problems, solved)
    right = first.y.argmax(axis=1)
    other = None
    if first.of_classes:
        other = np.where(first.y > 0, -np.inf, output).argmax(axis=1)
    votes: list[GroupVotes] = []
    for problem, found in zip(problems, solved, strict=True):
        own = _moments(problem, found, right, other)
        if problem.fold:  # of the same group as the fold before
            own = GroupVotes(*map(np.add, votes.pop(), own))
        votes.append(own)
    s2, delta = missing_variance(votes, first.w, first.weight)
    squares = ((first.y - output) ** 2).sum(axis=1)
    if other is None:
        share = _structure(problems, settings, solved)
        losses = squares = (1 - share) * (squares + delta)
    else:
        # Votes of two classes differ by twice the spread of each.
        squares = squares + delta / 2
        at = np.arange(len(output))
        losses = p_wrong(output[at, right] - output[at, other], delta)
    n_leaves = np.mean([len(cut.leaves) for found in solved for cut, _ in found])
    spread = np.sqrt(s2 * (1 - 1 / len(first.w)))
    return Candidate(settings, round(n_leaves), output, losses, squares, spread)


def _structure(
    problems: Sequence[Problem], settings: Settings, solved: _Limited
) -> float:
    """Return the share by which squared errors are too large, 0.06 s^2.

        s = n / (n + lambda),   n = mean number of training rows in a leaf

    Trees that were trained on a row have splits that fit its target, and where they are
    refitted together with the others, these move the other way: by the share s of a
    residual that a leaf of n rows takes up. Nothing is known of this without another fit of
    the forest, so that the factor is measured: see the guide.
    """
    first = problems[0]
    if first.held_out is None or np.isinf(settings.ridge):
        return 0.0
    rows = first.nodes.n_rows[first.nodes.start[:-1]].sum()
    n = rows / np.mean([len(cut.leaves) for cut, _ in solved[0]])
    return float(_STRUCTURE * (n / (n + settings.ridge)) ** 2)


def _mean_of_groups(problems: Sequence[Problem], solved: _Limited) -> FloatArray:
    """Return the mean of the groups' outputs, (N, T), by their numbers of votes."""
    output, n = np.zeros_like(problems[0].y), np.zeros(len(problems[0].y))
    for problem, found in zip(problems, solved, strict=True):
        for (_, rows), (cut, c) in zip(problem.folds, found, strict=True):
            a = problem.n_votes[rows, None] * problem.share[rows]
            # Tree by tree: of k trees and T classes at once there may be gigabytes.
            for a_m, leaves in zip(a.T, cut.leaves_of(rows).T, strict=True):
                output[rows] += a_m[:, None] * c[leaves]
        n += problem.n_votes
    return np.asarray(output / np.maximum(n, 1)[:, None])


def _moments(
    problem: Problem,
    found: list[tuple[Cut, FloatArray]],
    right: IntArray,
    other: IntArray | None,
) -> GroupVotes:
    """Return moments of the votes of one group: numbers, or margins of two classes."""
    moments = np.zeros((len(GroupVotes._fields), len(problem.y)))
    for (_, rows), (cut, c) in zip(problem.folds, found, strict=True):
        leaves = cut.leaves_of(rows)
        u = c[leaves, right[rows, None]]
        if other is not None:
            u = u - c[leaves, other[rows, None]]
        mask = None if problem.held_out is None else problem.held_out[rows]
        moments[:, rows] = GroupVotes.of(u / problem.w, mask, problem.w)
    return GroupVotes(*moments)


def _limited(
    cut: Cut,
    c: FloatArray,
    settings: Settings,
    max_leaves: int | None,
    fold: int | None = None,
    **options: float,
) -> tuple[Cut, FloatArray]:
    """Return a cut with few enough leaves, and its values.

    Subtrees are cut where refined values differ least, and the values are fitted again.
    """
    n = max(int(settings.share * len(cut.leaves)), len(cut.problem.w))
    n = n if max_leaves is None else min(n, max_leaves)
    if len(cut.leaves) <= n:
        return cut, c
    values = cut.at_nodes(c)
    found = Cut(cut.problem, cut_to(cut.problem.nodes, values, n), settings.shrink)
    guess = [values[found.leaves]]
    return found, found.values(settings, [fold], guess, **options)[0]


class Choice(NamedTuple):
    """Settings, and errors on held-out rows.

    Attributes
    ----------
    settings : Settings
        Chosen on all rows, among the refined ones and `PLAIN`.
    after : Candidate
        Predictions by these settings. Its losses include the error of choosing: rows of a
        fold have the losses of what the other folds choose.
    refined, plain : Candidate
        The best refined candidate and the trees as they are, of which the one with less
        error is taken.
    """

    settings: Settings
    after: Candidate
    refined: Candidate
    plain: Candidate


def chosen(
    problems: Sequence[Problem], max_leaves: int | None = None, *, verbose: bool = False
) -> Choice:
    """Choose settings, or the trees as they are where these have less error.

    For numbers the fewest leaves that are not clearly worse than the best, which is within
    one standard error of the difference, paired by rows, and not worse than the trees as
    they are. For classes the first settings, unless others are better by two of them. Trees
    with more than `max_leaves` cannot stay as they are.

    Every choice is nested. Settings for a fold are chosen on the other folds, and refined
    trees are compared with unrefined ones by these predictions. The error of the comparison
    repeats all of this without a fold, for each fold.

    Parameters
    ----------
    problems : sequence of Problem
        Groups of k trees each, on the same rows. Where a group has other trees for each
        fold, a problem for each, in order.
    max_leaves : int, default=None
        Of k trees.
    verbose : bool, default=False
        Show a progress bar of the settings.
    """
    first, n = problems[0], len(settings_of(problems[0]))
    label = f"refining {count(len(first.w), 'tree')}"
    found = list(track(candidates(problems), n, label, verbose))
    plain = judged(problems, PLAIN)
    open_ = max_leaves is None or plain.n_leaves <= max_leaves
    votes = np.any([problem.n_votes > 0 for problem in problems], axis=0)
    weight = np.where(votes, first.weight, 0.0)
    folds = [rows for _, rows in folds_of(len(first.y))]

    def refined(weight: FloatArray) -> Candidate:
        if first.of_classes:
            return _best_of_classes(found, weight)
        return _best_of_numbers(found, weight, plain if open_ else None)

    def nested(weight: FloatArray) -> Candidate:
        others = [refined(_without(weight, rows)) for rows in folds]
        return _joined(refined(weight), others, folds)

    def best(weight: FloatArray) -> Candidate:
        one = nested(weight)
        worse = open_ and weight @ (one.losses - plain.losses) > 0
        return plain if worse else one

    picks = [best(weight), *(best(_without(weight, rows)) for rows in folds)]
    if max_leaves is not None:
        many = {one.settings for one in picks if one.n_leaves > max_leaves}
        cut = {settings: judged(problems, settings, max_leaves) for settings in many}
        picks = [cut.get(one.settings, one) for one in picks]
    after = replace(picks[0], losses=_joined(picks[0], picks[1:], folds).losses)
    compared = nested(weight) if open_ else picks[0]
    return Choice(after.settings, after, compared, plain)


def _joined(
    final: Candidate, choices: list[Candidate], folds: list[IntArray]
) -> Candidate:
    """Return the final settings with the predictions of the choice of each fold."""
    made = {
        name: getattr(final, name).copy()
        for name in ("output", "losses", "squares", "spread")
    }
    for one, rows in zip(choices, folds, strict=True):
        for name, values in made.items():
            values[rows] = getattr(one, name)[rows]
    return replace(final, **made)


def _without(weight: FloatArray, rows: IntArray) -> FloatArray:
    """Return weights with zeros on some rows, unless no row would be left."""
    others = weight.copy()
    others[rows] = 0.0
    return others if others.any() else weight


def _best_of_classes(found: list[Candidate], weight: FloatArray) -> Candidate:
    """Return the first candidate, or another that is clearly better on these rows."""
    losses = _weighted(found, weight)
    gap = losses - losses[0]
    clear = gap.mean(axis=1) < -_CLEARLY * _se(gap)
    return found[int(np.where(clear, gap.mean(axis=1), 0.0).argmin())]


def _best_of_numbers(
    found: list[Candidate], weight: FloatArray, plain: Candidate | None
) -> Candidate:
    """Return the fewest leaves that are about as good as the best, and as `plain`."""
    losses = _weighted(found, weight)
    gap = losses - losses[losses.mean(axis=1).argmin()]
    good = gap.mean(axis=1) <= _se(gap)
    if plain is not None:
        better = losses.mean(axis=1) <= _weighted([plain], weight).mean()
        good &= better | ~(good & better).any()
    kept = np.flatnonzero(good)
    return found[min(kept, key=lambda n: (found[n].n_leaves, losses[n].mean()))]


def _weighted(found: list[Candidate], weight: FloatArray) -> FloatArray:
    """Return weighted squares of rows of positive weight, one line for each candidate."""
    rows = weight > 0
    return np.stack([weight[rows] * one.squares[rows] for one in found])


def _se(gap: FloatArray) -> FloatArray:
    """Return the standard errors of means over rows, the last axis."""
    return np.asarray(gap.std(axis=-1) / np.sqrt(gap.shape[-1]))


class Refitted(NamedTuple):
    """Values of all nodes, and which of them are leaves.

    Attributes
    ----------
    values : array of shape (n_nodes, T)
        c at leaves, their weighted mean at nodes above them.
    cut : bool array of shape (n_nodes,)
    n_leaves : int
    """

    values: FloatArray
    cut: BoolArray
    n_leaves: int


def refitted(
    problem: Problem, settings: Settings, max_leaves: int | None = None
) -> Refitted:
    """Refit the leaves on all rows, and cut further where that is asked."""
    cut = _cut(problem, settings)
    cut, c = _limited(cut, cut.values(settings)[0], settings, max_leaves)
    return Refitted(cut.at_nodes(c), cut.cut, len(cut.leaves))
