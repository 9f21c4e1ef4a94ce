"""Render text and numbers as one HTML file that needs no other file."""

from __future__ import annotations

import base64
import hashlib
import math
import re
from functools import cache
from importlib import resources
from typing import Any

from committee._format import cut, figures

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
    """Round numbers to five digits; NaN and infinity become None.

    Numbers of a list, or of a column of a list of points, are rounded to five digits of
    their range, so that their differences can be seen.
    """
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        if _are_points(value):
            columns = [_column(column) for column in zip(*value, strict=True)]
            return [list(point) for point in zip(*columns, strict=True)]
        return _column(value)
    return _short(value, 5) if isinstance(value, float) else value


def _are_points(value: Any) -> bool:
    """Return True for a list of lists of numbers that have the same length."""
    if not value or not all(isinstance(entry, (list, tuple)) for entry in value):
        return False
    return len({len(entry) for entry in value}) == 1 and all(
        isinstance(x, float) for entry in value for x in entry
    )


def _column(values: Any) -> list[Any]:
    """Return a list with its numbers rounded to five digits of their range."""
    known = [x for x in values if isinstance(x, float) and math.isfinite(x)]
    low, high = min(known, default=0.0), max(known, default=0.0)
    place = math.floor(math.log10(high - low)) if 0 < high - low < math.inf else None

    def digits(x: float) -> int:
        if place is None or x == 0 or not math.isfinite(x):
            return 5
        return min(max(5, math.floor(math.log10(abs(x))) - place + 5), 15)

    return [
        _short(x, digits(x)) if isinstance(x, float) else rounded(x) for x in values
    ]


def _short(x: float, digits: int) -> float | None:
    return float(f"{x:.{digits}g}") if math.isfinite(x) else None


def pieces(text: str) -> list[str]:
    """Split a name where a line may break, in addition to its spaces.

    Examples
    --------
    >>> from committee.reporting.page import pieces
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
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
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
