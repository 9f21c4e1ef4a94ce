"""report(): a committee on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from committee._files import replaced_atomically
from committee._format import count
from committee.displays.sources import core_of
from committee.reporting import facts, pictures
from committee.reporting.evaluation import hear
from committee.reporting.member_table import call_the_roll
from committee.reporting.page import render
from committee.reporting.pathway import pathway


def report(
    committee: Any,
    X: Any,
    y: Any,
    path: str | os.PathLike[str] | None = None,
    *,
    sample_weight: Any = None,
    title: str | None = None,
    notes: Mapping[str, Any] | None = None,
    n_jobs: int | None = None,
) -> str:
    """Return a page about a committee, and write it to a file.

    One HTML file that opens from disk and asks for nothing else: what the committee
    costs and gains, its pruning path with a slider, weights, pairs, ambiguity, where
    it errs, its members, settings and versions.

    Parameters
    ----------
    committee : fitted committee
        Or any other ensemble that `prune` takes.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows that its members were not trained on: errors on others are too good.
    y : array-like of shape (N,)
    path : path, optional
        File to write; it takes the place of an older one as a whole.
    sample_weight : array-like of shape (N,), optional
    title : str, optional
    notes : dict, optional
        Further lines for the table of settings, such as the name of the data.
    n_jobs : int, optional
        Members asked at the same time.

    Returns
    -------
    html : str

    See Also
    --------
    PruningPathDisplay, KappaErrorDisplay, AmbiguityDisplay : The pictures alone.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from committee import Bagging, CommitteeRegressor, SimplexWeights, report
    >>> X, y = load_diabetes(return_X_y=True)
    >>> committee = CommitteeRegressor(
    ...     generator=Bagging(10), combiner=SimplexWeights(), random_state=0
    ... ).fit(X[:300], y[:300])
    >>> html = report(committee, X[300:], y[300:], title="Diabetes")
    >>> "<h1>Diabetes</h1>" in html
    True
    """
    hearing = hear(committee, X, y, sample_weight=sample_weight, n_jobs=n_jobs)
    core = core_of(committee)
    roll = call_the_roll(core, hearing)
    is_classifier = hearing.together.ndim == 2
    numbers = {
        "names": dict(zip(roll.numbers.tolist(), roll.names, strict=True)),
        "path": pathway(core, hearing),
        "weights": pictures.weights(core, roll.names),
        "pairs": pictures.pairs(hearing, roll.kept),
        "ambiguity": pictures.ambiguity(hearing, hearing.roster.weights),
        "residuals": None if is_classifier else pictures.residuals(hearing),
    }
    words = {
        "title": title or f"A committee of {count(len(roll.kept), 'member')}",
        "kind": type(core).__name__,
        "measure": hearing.measure,
        "n_rows": len(hearing.rows.y),
        "n_drawn": len(hearing.drawn),
        "n_members": len(roll.numbers),
        "n_leading": len(hearing.leading),
        "headlines": facts.headlines(core, hearing, roll),
        "comparison": facts.comparison(hearing, roll),
        "pruning": facts.pruning(core),
        "confusion": pictures.confusion(hearing) if is_classifier else None,
        "members": facts.members_table(hearing, roll),
        "settings": facts.settings(committee, core, hearing, notes or {}),
    }
    html = render(words, numbers)
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(html.encode())
    return html
