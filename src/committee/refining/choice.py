"""How many leaves, how strong a ridge, which targets: chosen on honest rows.

A row is honest where the trees that vote on it have not seen it, and neither the leaf
values nor the teacher had a part of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from committee._typing import BoolArray, FloatArray
from committee.refining.cutting import cut_to
from committee.refining.problem import PLAIN, Cut, Problem, Settings

#: For numbers: rows of a leaf, and lambda for each tree, the strongest first.
LEAST_ROWS = (5, 10, 20, 40)
RIDGES = (20.0, 6.0, 2.0, 0.6)
#: For classes: smaller leaves for clean labels, and less of the labels for noisy ones. The
#: first is taken unless another is clearly better. Chosen on sets that `benchmarks refine` does not have.
OF_CLASSES = (
    Settings(20, 1.5, labels=0.5, shrink=20.0, share=0.7),
    Settings(5, 0.5, labels=1.0, shrink=5.0, share=0.5),
    Settings(20, 1.5, labels=0.0, shrink=20.0),
    Settings(20, 5.0, labels=0.0, shrink=20.0),
    Settings(40, 5.0, labels=0.0, shrink=20.0),
)
#: Without a teacher.
OF_CLASSES_ALONE = (Settings(20, 1.5, shrink=20.0),)
#: Standard errors by which others must be better than the first, for classes.
_CLEARLY = 2.0
#: Share by which errors of refined trees on honest rows may be too large: the trees that
#: vote there were fitted together with others that may not.
_TOO_LARGE = 0.1
#: Tolerance of the normal equations while candidates are compared.
_ROUGHLY = 1e-2


class Candidate(NamedTuple):
    """Settings, and what they predict on honest rows.

    Attributes
    ----------
    settings : Settings
    n_leaves : int
        That they leave.
    output : array of shape (N, T)
    spread : array of shape (N,)
        Standard deviation of the votes of numbers.
    """

    settings: Settings
    n_leaves: int
    output: FloatArray
    spread: FloatArray

    def cut_to(self, problem: Problem, max_leaves: int) -> Candidate:
        """Return the same with fewer leaves, if it has too many."""
        if self.n_leaves <= max_leaves:
            return self
        return judged(problem, self.settings, max_leaves)

    def losses(self, problem: Problem) -> FloatArray:
        """Return |y_n - f_n|^2, weighted."""
        return np.asarray(problem.weight * ((problem.y - self.output) ** 2).sum(axis=1))


def candidates(problem: Problem) -> Iterator[Candidate]:
    """Yield what there is to choose from.

    For numbers every cut with every ridge, each fitted on honest rows and on all rows;
    where no tree has seen a row these are the same. A cut looks at the trees only, so that
    no row is judged by what it has decided.
    """
    if problem.of_classes:
        alone = problem.teacher_targets is None
        for settings in OF_CLASSES_ALONE if alone else OF_CLASSES:
            cut = _cut(problem, settings)
            yield judged(problem, settings, cut=cut)
        return
    both = (False,) if problem.held_out is None else (False, True)
    for least in LEAST_ROWS:
        cut = _cut(problem, Settings(least, 0.0))
        for all_rows in both:
            guesses: list[FloatArray | None] = [None] * len(problem.folds)
            for ridge in RIDGES:
                settings = Settings(least, ridge, all_rows)
                yield judged(problem, settings, cut=cut, guesses=guesses)


def _cut(problem: Problem, settings: Settings) -> Cut:
    return Cut(problem, problem.nodes.n_rows < settings.least, settings.shrink)


def judged(
    problem: Problem,
    settings: Settings,
    max_leaves: int | None = None,
    *,
    cut: Cut | None = None,
    guesses: list[FloatArray | None] | None = None,
) -> Candidate:
    """Return what settings predict on honest rows, by values fitted without them.

    `guesses` are solutions of a ridge nearby, one for each fold, and are replaced.
    """
    cut = _cut(problem, settings) if cut is None else cut
    output, spread, last = np.zeros_like(problem.y), np.zeros(len(problem.y)), cut
    for fold, (_, rows) in enumerate(problem.folds):
        guess = None if guesses is None else guesses[fold]
        c, last = cut.values(settings, fold, guess, tol=_ROUGHLY), cut
        if guesses is not None:
            guesses[fold] = c
        most = _most(cut, settings, max_leaves)
        if len(cut.leaves) > most:
            last, guess = _merged(cut, c, settings, most)
            c = last.values(settings, fold, guess, tol=_ROUGHLY)
        output[rows] = last.honest.Z[rows] @ c
        spread[rows] = last.spread(c, rows)
    return Candidate(settings, len(last.leaves), output, spread)


def _most(cut: Cut, settings: Settings, max_leaves: int | None) -> int:
    """Return how many leaves may be left, one for each tree at least."""
    n = max(int(settings.share * len(cut.leaves)), len(cut.problem.w))
    return n if max_leaves is None else min(n, max_leaves)


def _merged(
    cut: Cut, c: FloatArray, settings: Settings, most: int
) -> tuple[Cut, FloatArray]:
    """Cut where refined values differ least, and return the means of what is merged."""
    values = cut.at_nodes(c)
    found = Cut(cut.problem, cut_to(cut.problem.nodes, values, most), settings.shrink)
    return found, values[found.leaves]


def chosen(problem: Problem, plain: FloatArray | None = None) -> Candidate:
    """Return the candidate for numbers or for classes.

    For numbers that of fewest leaves that is not clearly worse than the best, which is
    within one standard error of the difference, paired by rows. For classes the first,
    unless others are better by two of them; or `plain`, outputs (N, T) of the trees as
    they are, where refining has more wrong classes by a tenth and two of them.
    """
    found = list(candidates(problem))
    losses = np.stack([one.losses(problem) for one in found])
    if problem.of_classes:
        gap = losses - losses[0]
        clear = gap.mean(axis=1) < -_CLEARLY * _se(gap)
        best = found[int(np.where(clear, gap.mean(axis=1), 0.0).argmin())]
        return best if plain is None else _or_plain(problem, best, plain)
    gap = losses - losses[losses.mean(axis=1).argmin()]
    close = gap.mean(axis=1) <= _se(gap)
    kept = [n for n, near in enumerate(close) if near]
    return found[min(kept, key=lambda n: (found[n].n_leaves, losses[n].mean()))]


def _se(gap: FloatArray) -> FloatArray:
    """Return the standard errors of means over rows, the last axis."""
    return np.asarray(gap.std(axis=-1) / np.sqrt(gap.shape[-1]))


def _or_plain(problem: Problem, best: Candidate, plain: FloatArray) -> Candidate:
    """Return the trees as they are where refining makes more errors."""
    right = problem.y.argmax(axis=1)
    wrong = [output.argmax(axis=1) != right for output in (best.output, plain)]
    gap = problem.weight * (wrong[0].astype(float) - wrong[1])
    allowed = _TOO_LARGE * (problem.weight * wrong[1]).mean() + _CLEARLY * _se(gap)
    if gap.mean() <= allowed:
        return best
    return Candidate(PLAIN, int(problem.nodes.leaf.sum()), plain, best.spread)


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
    c, most = cut.values(settings), _most(cut, settings, max_leaves)
    if len(cut.leaves) > most:
        cut, guess = _merged(cut, c, settings, most)
        c = cut.values(settings, guess=guess)
    return Refitted(cut.at_nodes(c), cut.cut, len(cut.leaves))
