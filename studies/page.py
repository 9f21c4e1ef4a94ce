"""Studies as text, Markdown or CSV: ours beside print, and a verdict on each claim."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping

import numpy as np
import pandas as pd

from studies.claims import VERDICTS
from studies.kept import Summary
from studies.study import get_study

FORMATS = ("table", "md", "csv")
#: Paragraphs, headings and tables of a page, from top to bottom.
Blocks = list[str | pd.DataFrame]


def show(summaries: Mapping[str, Summary], form: str = "table") -> str:
    """Return tables and verdicts of studies in one of `FORMATS`."""
    if form == "csv":
        return _csv(summaries)
    blocks: Blocks = [counts(summaries)] if len(summaries) > 1 else []
    for name, summary in summaries.items():
        study = get_study(name)
        blocks += [f"## {name}: {study.title}", f"{study.reruns}. {study.setup}"]
        blocks += [summary.made, verdicts(summary), *explanations(name, summary)]
        for k, table in enumerate(summary.tables):
            rows = summary.rows(k)
            blocks += [f"### {table['title']}", lay_out(rows, table["digits"])]
            blocks.append(table["note"])
    write = markdown if form == "md" else _text
    return "\n\n".join(write(block) for block in blocks if len(block))


def counts(summaries: Mapping[str, Summary]) -> pd.DataFrame:
    """Return how many verdicts of each kind there are, by study and way of weighing."""
    rows = [
        (name, claim.protocol, claim.verdict)
        for name, summary in summaries.items()
        for claim in summary.claims
    ]
    claims = pd.DataFrame(rows, columns=["study", "weights", "verdict"])
    places = pd.MultiIndex.from_frame(claims[["study", "weights"]]).unique()
    table = pd.crosstab([claims.study, claims.weights], claims.verdict)
    table = table.reindex(index=places, columns=list(VERDICTS), fill_value=0)
    return table.reset_index()


def verdicts(summary: Summary) -> pd.DataFrame:
    """Return every claim with its verdict, what was found and the rule."""
    columns = ("verdict", "claim", "weights", "found", "rule")
    rows = [(c.verdict, c.text, c.protocol, c.found, c.rule) for c in summary.claims]
    return pd.DataFrame(rows, columns=columns)


def explanations(name: str, summary: Summary) -> list[str]:
    """Return our explanation of each kind of claim, behind a count of its verdicts."""
    study = get_study(name)
    found = {
        part: summary.verdicts(part, study.protocols)
        for part in study.why
    }  # fmt: skip
    return [
        f"{why.claim} "
        f"({', '.join(f'{found[part][v]} {v}' for v in VERDICTS if found[part][v])}) "
        f"{why.found} {why.more}".rstrip()
        for part, why in study.why.items()
        if found[part]
    ]


def lay_out(rows: pd.DataFrame, digits: int) -> pd.DataFrame:
    """Return for each line the printed figures, ours, the difference, other protocols."""
    protocols = list(rows.protocol.unique())
    kinds = ["printed", *protocols[:1], "difference", *protocols[1:]]
    texts: dict[tuple[str, str], dict[str, str]] = {
        (line, kind): {} for line in rows.line.unique() for kind in kinds
    }
    for e in rows.itertuples():
        if e.runs:
            ours = number(e.mean, digits) + _spread(e.sd, digits)
            texts[e.line, e.protocol][e.column] = ours
        if pd.notna(e.printed) and e.protocol == protocols[0]:
            printed = number(e.printed, digits) + _spread(e.printed_sd, digits)
            texts[e.line, "printed"][e.column] = printed
            if e.runs:
                gap = signed_number(e.mean - e.printed, digits)
                texts[e.line, "difference"][e.column] = gap
    lines = [(line, kind, cells) for (line, kind), cells in texts.items() if cells]
    columns = rows.column.unique()
    frame = pd.DataFrame(
        [[line, kind, *map(cells.get, columns)] for line, kind, cells in lines],
        columns=["", " ", *columns],
    ).fillna("")
    # A label stands in the first of its rows only.
    frame[""] = frame[""].mask(frame[""].duplicated(), "")
    return frame.rename(columns={" ": ""})


def number(value: float, digits: int) -> str:
    """Return a number with so many decimals; in powers of ten where that says nothing."""
    if value and abs(value) < 0.5 * 10.0**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def signed_number(value: float, digits: int) -> str:
    """Return a number with its sign, without one where it rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def _spread(sd: float | None, digits: int) -> str:
    """Return a standard deviation behind its sign, or nothing."""
    return "" if sd is None or np.isnan(sd) else f" ± {number(sd, digits)}"


def markdown(block: str | pd.DataFrame) -> str:
    """Return a paragraph, or a table with pipes."""
    if isinstance(block, str):
        return block
    lines = [block.columns, ["---"] * block.shape[1], *block.to_numpy().astype(str)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(block: str | pd.DataFrame) -> str:
    if isinstance(block, str):
        return textwrap.fill(block, 88, break_on_hyphens=False)
    if "rule" in block:
        rows = block.itertuples()
        return "\n\n".join(
            _text(f"{r.verdict}: {r.claim} [{r.weights}] {r.found} ({r.rule})")
            for r in rows
        )
    return str(block.to_string(index=False))


def _csv(summaries: Mapping[str, Summary]) -> str:
    """Return every place of every table as a row, with its study and title."""
    parts = []
    for name, summary in summaries.items():
        titles = dict(enumerate(t["title"] for t in summary.tables))
        parts.append(
            summary.places.assign(study=name, table=summary.places.table.map(titles))
        )
    table = pd.concat(parts)
    return str(table[["study", *parts[0].columns[:-1]]].to_csv(index=False))
