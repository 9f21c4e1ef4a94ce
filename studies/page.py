"""A study as text, Markdown or CSV, and its figures as a file."""

from __future__ import annotations

import json
import os
import textwrap
import warnings
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from studies.claims import VERDICTS, Claim
from studies.store import Store
from studies.study import Entry, Study, Table, get_study

FORMATS = ("table", "md", "csv")
HEAD = """\
# Studies: the papers' experiments, rerun

Ours beside what is in print, and a verdict on each claim by the rule that stands \
beside it. Means ± standard deviations of runs; the difference is ours, by the first \
way of weighing, minus the printed mean. `paper` has weights from the training rows, \
`held-out` the same claims with weights from rows that members did not see. Under the \
claims of a study stands our best explanation of each kind of them. Most tables in print \
are means of 100 runs; each section says how many runs are behind ours, and when.

What we chose: the papers do not say how their trees were grown. At least 10 rows to \
split, depth 4 for AdaBoost and hard votes were taken after early runs, because they \
bring the unpruned errors and the sizes near to print. The rules (80 % and 50 % of \
places, as often as in print but for one set, and so on) are ours as well, and were \
set after early numbers had been seen: they sort what came out, and are not tests \
planned in advance. The unit of hamers-boston is that of the cell that prints 1.00 \
(see there); times ten is shown beside it. There are {n_claims} verdicts and no \
correction for their number, so that a few will be chance.

This page is written by `python -m studies show all --format md`; [the \
guide](guide/studies.md) says how to run and read it.\
"""
#: Paragraphs, headings and tables of a page, from top to bottom.
Blocks = list[str | pd.DataFrame]


def show(names: Sequence[str], store: Store, form: str = "table") -> str:
    """Return tables and verdicts of studies in one of `FORMATS`."""
    reports = {name: get_study(name).report(store.results(name)) for name in names}
    if form == "csv":
        return _csv(reports)
    blocks = _head(reports) if len(names) > 1 else []
    for name, parts in reports.items():
        blocks += _study(get_study(name), parts, store, form)
    write = _markdown if form == "md" else _text
    return "\n\n".join(write(block) for block in blocks if len(block))


def _head(reports: dict[str, list[Table | Claim]]) -> Blocks:
    """Return the first lines of a page on several studies, with a count of verdicts."""
    claims = pd.DataFrame(
        [
            (name, part.protocol, part.verdict)
            for name, parts in reports.items()
            for part in parts
            if isinstance(part, Claim)
        ],
        columns=["study", "weights", "verdict"],
    )
    places = pd.MultiIndex.from_frame(claims[["study", "weights"]]).unique()
    counts = pd.crosstab([claims.study, claims.weights], claims.verdict)
    counts = counts.reindex(index=places, columns=list(VERDICTS), fill_value=0)
    return [*HEAD.format(n_claims=len(claims)).split("\n\n"), counts.reset_index()]


def _study(study: Study, parts: list[Table | Claim], store: Store, form: str) -> Blocks:
    """Return what was done, verdicts and tables of one study."""
    blocks: Blocks = [
        f"## {study.name}: {study.title}",
        f"{study.reruns}. {study.setup}",
        _made(study, store),
    ]
    claims = [part for part in parts if isinstance(part, Claim)]
    if form == "md":
        columns = ("verdict", "claim", "weights", "found", "rule")
        rows = [(c.verdict, c.text, c.protocol, c.found, c.rule) for c in claims]
        blocks.append(pd.DataFrame(rows, columns=columns))
    else:
        blocks += [
            f"{c.verdict}: {c.text} [{c.protocol}] {c.found} ({c.rule})" for c in claims
        ]
    blocks += explanations(study, [(c.text, c.verdict) for c in claims])
    for part in parts:
        if isinstance(part, Table):
            blocks += [f"### {part.title}", lay_out(part), part.note]
    return blocks


def explanations(study: Study, verdicts: Sequence[tuple[str, str]]) -> list[str]:
    """Return our explanation of each kind of claim, behind a count of its verdicts."""
    counts: dict[str, Counter[str]] = {part: Counter() for part in study.why}
    for text, verdict in verdicts:
        part = next((part for part in study.why if part in text), None)
        if part is not None:
            counts[part][verdict] += 1
    return [
        f"{part} ({', '.join(f'{found[v]} {v}' for v in VERDICTS if found[v])}): {why}"
        for (part, found), why in zip(counts.items(), study.why.values(), strict=True)
        if found
    ]


def _made(study: Study, store: Store) -> str:
    """Return runs, date, command and cost in a few sentences."""
    if not study.cells:
        return "Made of the results of other studies."
    counts = store.results(study.name).n_runs(study)
    least, most = min(counts.values()), max(counts.values())
    data = " --data DIR" if study.datasets else ""
    command = f"`python -m studies run {study.name} --runs {most or study.runs}{data}`"
    if not most:
        return f"Nothing has been run yet: {command}."
    cost = store.costs(study.name)
    made_by = [json.loads(text) for text in cost.versions.unique()]
    sources = sorted({entry.pop("data", "") for entry in made_by} - {""})
    used = dict.fromkeys(
        ", ".join(f"{name} {number}" for name, number in entry.items())
        for entry in made_by
    )
    peak = cost.peak_mb.max()
    memory = "" if pd.isna(peak) else f", {peak:,.0f} MB at most"
    without = [cell for cell, count in counts.items() if not count]
    return (
        f"{least if least == most else f'{least} to {most}'} runs of each cell "
        f"({len(study.cells)}), the last on {cost.finished.max()[:10]}; {command} "
        f"{'makes them' if least == most else 'completes them'}. They took "
        f"{cost.seconds.sum():,.0f} seconds of one core{memory}; {'; '.join(used)}."
        + (f" Data: {', '.join(sources)}." if sources else "")
        + (f" There are no runs of {', '.join(without)}." if without else "")
    )


def lay_out(table: Table) -> pd.DataFrame:
    """Return for each line the printed figures, ours, the difference, other protocols."""
    protocols = list(dict.fromkeys(e.protocol for e in table.entries))
    kinds = ["printed", *protocols[:1], "difference", *protocols[1:]]
    texts: dict[tuple[str, str], dict[str, str]] = {
        (line, kind): {}
        for line in dict.fromkeys(e.line for e in table.entries)
        for kind in kinds
    }
    for e in table.entries:
        if len(e.values):
            ours = number(e.mean, table.digits) + _spread(e.sd, table.digits)
            texts[e.line, e.protocol][e.column] = ours
        if e.printed is not None and e.protocol == protocols[0]:
            printed = number(e.printed, table.digits)
            texts[e.line, "printed"][e.column] = printed + _spread(
                e.printed_sd, table.digits
            )
            if len(e.values):
                gap = signed_number(e.difference, table.digits)
                texts[e.line, "difference"][e.column] = gap
    rows = [(line, kind, cells) for (line, kind), cells in texts.items() if cells]
    columns = dict.fromkeys(e.column for e in table.entries)
    frame = pd.DataFrame(
        [[line, kind, *map(cells.get, columns)] for line, kind, cells in rows],
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


def _markdown(block: str | pd.DataFrame) -> str:
    if isinstance(block, str):
        return block
    lines = [block.columns, ["---"] * block.shape[1], *block.to_numpy().astype(str)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _text(block: str | pd.DataFrame) -> str:
    if isinstance(block, str):
        return textwrap.fill(block, 88, break_on_hyphens=False)
    return str(block.to_string(index=False))


def _csv(reports: dict[str, list[Table | Claim]]) -> str:
    """Return every place of every table as a row."""
    rows = [
        _csv_row(name, part.title, entry)
        for name, parts in reports.items()
        for part in parts
        if isinstance(part, Table)
        for entry in part.entries
    ]
    return str(pd.DataFrame(rows).to_csv(index=False, lineterminator="\n"))


def _csv_row(study: str, table: str, e: Entry) -> dict[str, object]:
    return {
        "study": study,
        "table": table,
        "line": e.line,
        "column": e.column,
        "protocol": e.protocol,
        "runs": len(e.values),
        "mean": e.mean,
        "sd": e.sd,
        "printed": e.printed,
        "printed_sd": e.printed_sd,
        "difference": e.difference,
    }


def draw(
    name: str,
    store: Store,
    path: str | os.PathLike[str] | None = None,
    *,
    data: str | None = None,
) -> Path:
    """Draw the figures of a study into an .svg, .png or .pdf, and return its path.

    `data` is the folder of data sets, for figures that show a single run.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure

    target = Path(f"{name}.svg" if path is None else path)
    endings = (".svg", ".png", ".pdf")
    if target.suffix not in endings:
        raise ValueError(
            f"A figure ends in one of {', '.join(endings)}. Got {str(target)!r}."
        )
    with mpl.rc_context({"svg.hashsalt": "committee", "svg.fonttype": "none"}):
        fig = Figure(layout="constrained")
        with threadpool_limits(1), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # networks that stop before they converge
            get_study(name).figure(store.results(name), data, fig)
        facts = {"CreationDate" if target.suffix == ".pdf" else "Date": None}
        fig.savefig(target, metadata=None if target.suffix == ".png" else facts)
    return target
