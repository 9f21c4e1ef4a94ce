"""How a page is written: aligned text, Markdown or HTML."""

from __future__ import annotations

import html
import textwrap
from collections.abc import Sequence

from committee.studies.study import Claim

CLAIM_HEADER = ("verdict", "claim", "weights", "found", "rule")


class Writer:
    """Aligned text; the other formats differ from it."""

    def title(self, text: str, level: int) -> str:
        """Return a heading."""
        return f"{text}\n{('=' if level < 3 else '-') * len(text)}"

    def text(self, text: str) -> str:
        """Return a paragraph."""
        return textwrap.fill(text, 88, break_on_hyphens=False)

    def claims(self, claims: Sequence[Claim]) -> str:
        """Return the verdicts."""
        return "\n".join(
            textwrap.fill(
                f"{c.verdict:<11} {c.text} [{c.protocol}] {c.found} ({c.rule})",
                88,
                subsequent_indent=" " * 12,
                break_on_hyphens=False,
            )
            for c in claims
        )

    def grid(self, header: Sequence[str], rows: list[list[str]]) -> str:
        """Return columns, words to the left."""
        if not rows:
            return ""
        table = [list(header), *rows]
        widths = [max(map(len, column)) for column in zip(*table, strict=True)]
        return "\n".join(
            "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True))
            .rstrip()
            for row in table
        )  # fmt: skip


class Markup(Writer):
    """What Markdown and HTML share: verdicts are a table."""

    def claims(self, claims: Sequence[Claim]) -> str:
        """Return the verdicts."""
        rows = [[c.verdict, c.text, c.protocol, c.found, c.rule] for c in claims]
        return self.grid(CLAIM_HEADER, rows)


class Markdown(Markup):
    """Markdown with pipe tables."""

    def text(self, text: str) -> str:
        """Return a paragraph."""
        return text

    def title(self, text: str, level: int) -> str:
        """Return a heading."""
        return f"{'#' * level} {text}"

    def grid(self, header: Sequence[str], rows: list[list[str]]) -> str:
        """Return a pipe table."""
        if not rows:
            return ""
        lines = [header, ["---"] * len(header), *rows]
        return "\n".join(f"| {' | '.join(line)} |" for line in lines)


class Html(Markup):
    """HTML without style."""

    def title(self, text: str, level: int) -> str:
        """Return a heading."""
        return f"<h{level}>{html.escape(text)}</h{level}>"

    def text(self, text: str) -> str:
        """Return a paragraph."""
        return f"<p>{html.escape(text)}</p>"

    def grid(self, header: Sequence[str], rows: list[list[str]]) -> str:
        """Return a table."""
        if not rows:
            return ""
        lines = [_html_row(header, "th"), *(_html_row(row, "td") for row in rows)]
        return "\n".join(["<table>", *lines, "</table>"])


def _html_row(cells: Sequence[str], tag: str) -> str:
    return "<tr>" + "".join(f"<{tag}>{html.escape(c)}</{tag}>" for c in cells) + "</tr>"


FORMS: dict[str, Writer] = {
    "table": Writer(),
    "md": Markdown(),
    "csv": Writer(),
    "html": Html(),
}
