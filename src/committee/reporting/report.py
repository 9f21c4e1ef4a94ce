"""report(): a committee on one page, an HTML file that needs no other file."""

from __future__ import annotations

import base64
import hashlib
import math
import os
import re
from collections.abc import Mapping
from functools import cache
from importlib import resources
from typing import Any

from committee._files import replaced_atomically
from committee._format import count, cut, figures
from committee.displays.sources import core_of
from committee.reporting import charts, page_text
from committee.reporting.evaluation import evaluate_members


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
    means = None if evaluated.gate is None else members.weights[members.kept]
    is_classifier = evaluated.is_classifier
    numbers = {
        "names": dict(zip(members.numbers.tolist(), members.names, strict=True)),
        "path": charts.path_chart(core, evaluated),
        "weights": charts.weights(core, kept, means),
        "gate": charts.gate(evaluated, X, members.names),
        "pairs": charts.pairs(evaluated, members.kept, members.names),
        "ambiguity": charts.ambiguity(evaluated, evaluated.roster.weights),
        "curves": charts.curves(evaluated) if is_classifier else None,
        "calibration": charts.calibration(evaluated) if is_classifier else None,
        "residuals": None if is_classifier else charts.residuals(evaluated),
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
        "confusion": charts.confusion(evaluated) if is_classifier else None,
        "classes": charts.classes(evaluated) if is_classifier else None,
        "coverage": charts.coverage(committee, core, X, evaluated),
        "members": page_text.members_table(evaluated, members),
        "settings": page_text.settings(committee, core, evaluated, notes or {}),
    }
    html = render(text, numbers)
    if path is not None:
        with replaced_atomically(path) as file:
            file.write(html.encode())
    return html


#: Marks where a line may break; no text of a page contains it.
_CUT = "\0"
_SCRIPTS = ("d3.min.js", "plot.min.js", "page.js")


def render(text: dict[str, Any], numbers: dict[str, Any]) -> str:
    """Return the HTML of the page.

    Jinja2 escapes all text. Numbers for the pictures are JSON in which `<` and `&` are
    escaped as well. The content security policy of the page allows only its own scripts,
    by their hashes, and no requests.
    """
    scripts = [_asset(name) for name in _SCRIPTS]
    html: str = _template().render(
        **text,
        numbers=rounded(numbers),
        style=_asset("page.css"),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
    )
    # File names may contain bytes that are not valid text.
    return html.encode("utf-8", "replace").decode("utf-8")


def rounded(value: Any) -> Any:
    """Round numbers to nine significant digits; NaN and infinity become None."""
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.9g}") if math.isfinite(value) else None
    return value


def pieces(text: str) -> list[str]:
    """Split a name where a line may break, in addition to its spaces.

    Examples
    --------
    >>> from committee.reporting.report import pieces
    >>> pieces("elastic_net, HistGradientBoosting")
    ['elastic_', 'net, Hist', 'Gradient', 'Boosting']
    """
    return re.sub(r"(?<=[_\-./,:;=])(?=\w)|(?<=[a-z])(?=[A-Z])", _CUT, text).split(_CUT)


@cache
def _asset(name: str) -> str:
    """Return a file of the package as text."""
    folder = resources.files("committee.reporting").joinpath("assets")
    return folder.joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    """Return the template of the page, which escapes all values."""
    from jinja2 import Environment, StrictUndefined

    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.policies["json.dumps_kwargs"] = {
        "allow_nan": False,
        "separators": (",", ":"),
    }
    environment.filters.update(figures=figures, cut=cut, pieces=pieces)
    return environment.from_string(_asset("page.html"))


def _hash(script: str) -> str:
    """Return the hash of a script for the content security policy."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
