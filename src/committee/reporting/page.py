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
