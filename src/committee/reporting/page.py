"""From facts to one HTML file that asks for nothing else."""

from __future__ import annotations

import base64
import hashlib
import math
from functools import cache
from importlib import resources
from typing import Any

from committee.reporting.words import figures

_SCRIPTS = ("d3.min.js", "plot.min.js", "page.js")


def render(facts: dict[str, Any], numbers: dict[str, Any]) -> str:
    """Return the page.

    Text is escaped by Jinja2 wherever it stands, numbers for the pictures travel as
    JSON in which `<` and `&` are escaped too. The page's own policy lets no script
    run but the ones it came with, by their hashes, and no request leave it.

    Parameters
    ----------
    facts : dict
        What the template shows as text.
    numbers : dict
        What the pictures are drawn from.

    Returns
    -------
    html : str
    """
    scripts = [_asset(name) for name in _SCRIPTS]
    html: str = _template().render(
        **facts,
        numbers=rounded(numbers),
        style=_asset("page.css"),
        scripts=scripts,
        hashes=[_hash(script) for script in scripts],
    )
    # File names may hold bytes that are no text.
    return html.encode("utf-8", "replace").decode("utf-8")


def rounded(value: Any) -> Any:
    """Return numbers with five digits, None for those that JSON has no word for.

    Examples
    --------
    >>> from committee.reporting.page import rounded
    >>> rounded({"x": [1 / 3, float("nan"), 2]})
    {'x': [0.33333, None, 2]}
    """
    if isinstance(value, dict):
        return {key: rounded(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [rounded(entry) for entry in value]
    if isinstance(value, float):
        return float(f"{value:.5g}") if math.isfinite(value) else None
    return value


@cache
def _asset(name: str) -> str:
    """Return a file of the package as text."""
    folder = resources.files("committee.reporting").joinpath("assets")
    return folder.joinpath(name).read_text(encoding="utf-8")


@cache
def _template() -> Any:
    """Return the page with holes; whatever is put in is escaped."""
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
    environment.filters["figures"] = figures
    return environment.from_string(_asset("page.html"))


def _hash(script: str) -> str:
    """Return how a policy names a script."""
    digest = hashlib.sha256(script.encode()).digest()
    return f"sha256-{base64.b64encode(digest).decode()}"
