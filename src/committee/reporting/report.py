"""report(): a committee on one page."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from committee._files import replaced_atomically
from committee._format import count
from committee.displays.sources import core_of
from committee.reporting import error_charts, member_charts, page_text
from committee.reporting.evaluation import evaluate_members
from committee.reporting.page import render


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
    """Return an HTML page about a committee, and write it to a file.

    The page is one file that needs no network. It has

    - a verdict, and the errors of the committee, the ensemble before pruning, equal
      votes, the best member and a constant;
    - the pruning path with a slider, weights, pairs, ambiguity, and the gate;
    - errors by class, ROC, precision-recall and reliability curves, or residuals;
    - the members, settings and versions.

    Parameters
    ----------
    committee : fitted committee
        Or any other ensemble that `prune` takes.
    X : array-like, sparse matrix or frame of shape (N, n_features)
        Rows that the members were not trained on; on training rows errors are too small.
    y : array-like of shape (N,)
    path : path, default=None
        File to write. An existing file is replaced only when the page is complete.
    sample_weight : array-like of shape (N,), default=None
        Sample weights.
    title : str, default=None
    notes : dict, default=None
        Further lines for the table of settings, such as the name of the data.
    n_jobs : int, default=None
        Number of members that predict in parallel.

    Returns
    -------
    html : str

    See Also
    --------
    PruningPathDisplay, KappaErrorDisplay, AmbiguityDisplay : Draw single pictures.

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
    evaluated = evaluate_members(
        committee, X, y, sample_weight=sample_weight, n_jobs=n_jobs
    )
    core = core_of(committee)
    members = page_text.member_table(core, evaluated)
    kept = [members.names[m] for m in members.kept]
    is_classifier = evaluated.is_classifier
    numbers = {
        "names": dict(zip(members.numbers.tolist(), members.names, strict=True)),
        "path": member_charts.path_chart(core, evaluated),
        "weights": member_charts.weights(
            core,
            kept,
            None if evaluated.gate is None else members.weights[members.kept],
        ),
        "gate": member_charts.gate(evaluated, X, members.names),
        "pairs": member_charts.pairs(evaluated, members.kept, members.names),
        "ambiguity": member_charts.ambiguity(evaluated, evaluated.roster.weights),
        "curves": error_charts.curves(evaluated) if is_classifier else None,
        "calibration": error_charts.calibration(evaluated) if is_classifier else None,
        "residuals": None if is_classifier else error_charts.residuals(evaluated),
    }
    text = {
        "title": title or f"A committee of {count(len(members.kept), 'member')}",
        "kind": type(core).__name__,
        "measure": evaluated.measure,
        "n_rows": len(evaluated.y),
        "n_drawn": len(evaluated.drawn),
        "n_members": len(members.numbers),
        "n_leading": len(evaluated.leading),
        "verdict": [
            *page_text.verdict(core, evaluated, members),
            page_text.next_step(core, evaluated, numbers["path"]),
        ],
        "headlines": page_text.headlines(core, evaluated, members),
        "comparison": page_text.comparison(evaluated, members),
        "pruning": page_text.pruning(core),
        "confusion": error_charts.confusion(evaluated) if is_classifier else None,
        "classes": error_charts.classes(evaluated) if is_classifier else None,
        "coverage": error_charts.coverage(committee, core, X, evaluated),
        "members": page_text.members_table(evaluated, members),
        "settings": page_text.settings(committee, core, evaluated, notes or {}),
    }
    html = render(text, numbers)
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(html.encode())
    return html
