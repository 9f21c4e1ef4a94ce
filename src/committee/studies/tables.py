"""A study as text: aligned, Markdown, CSV or HTML."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence

import numpy as np

from committee.studies.catalogue import get_study
from committee.studies.store import Store
from committee.studies.study import Claim, Entry, Study, Table, Verdict
from committee.studies.writers import FORMS, Writer

CSV_HEADER = (
    "study", "table", "line", "column", "protocol", "runs", "mean", "sd", "printed",
    "printed_sd", "difference",
)  # fmt: skip

VERDICTS: tuple[Verdict, ...] = ("reproduced", "partly", "not", "undecided")

#: What was not fixed in advance, or by the papers.
CHOICES = (
    "What we chose: the papers do not say how their trees were grown. At least 10 rows "
    "to split, depth 4 for AdaBoost and hard votes were taken after early runs, because "
    "they bring the unpruned errors and the sizes near to print. The rules (80 % and "
    "50 % of places, as often as in print but for one set, and so on) are ours as well, "
    "and were set after early numbers had been seen: they sort what came out, and are "
    "not tests planned in advance. The unit of hamers-boston (x 10) was chosen to match "
    "the printed LS-SVM on MEDV; on NOX it does not match. There are {n_claims} "
    "verdicts and no correction for their number, so that a few will be chance."
)

Grid = tuple[Sequence[str], list[list[str]]]


def show(names: Sequence[str], store: Store, form: str = "table") -> str:
    """Return tables and verdicts of studies.

    Parameters
    ----------
    names : sequence of str
    store : Store
    form : {"table", "md", "csv", "html"}

    Examples
    --------
    >>> from committee.studies.store import Store
    >>> from committee.studies.tables import show
    >>> text = show(["chen-ranks"], Store(":memory:"), "csv")
    >>> text.splitlines()[1][:49]
    'chen-ranks,Table 8: mean ranks,regression-bagging'
    """
    if form not in FORMS:
        raise ValueError(f"The format is one of {', '.join(FORMS)}. Got {form!r}.")
    if form == "csv":
        return _csv(names, store)
    write = FORMS[form]
    blocks = [_head(names, store, write)] if len(names) > 1 else []
    for name in names:
        blocks += _study(get_study(name), store, write)
    text = "\n\n".join(block for block in blocks if block)
    return (
        f"<!doctype html>\n<meta charset='utf-8'>\n{text}\n" if form == "html" else text
    )


def _study(study: Study, store: Store, write: Writer) -> list[str]:
    """Return the blocks of one study: what was done, tables, claims, how it was made."""
    parts = study.report(store.results)
    claims = [part for part in parts if isinstance(part, Claim)]
    blocks = [
        write.title(f"{study.name}: {study.title}", 2),
        write.text(f"{study.reruns}. {study.setup}"),
        write.text(_made(study, store)),
        write.claims(claims),
        write.text(study.why) if study.why else "",
    ]
    for part in parts:
        if isinstance(part, Table):
            blocks += [write.title(part.title, 3), write.grid(*lay_out(part))]
            blocks.append(write.text(part.note) if part.note else "")
    return blocks


def _made(study: Study, store: Store) -> str:
    """Return runs, date, command and cost in a few sentences."""
    if not study.cells:
        return "Made of the results of other studies."
    counts = store.results(study.name).n_runs(study)
    least, most = min(counts.values()), max(counts.values())
    data = " --data DIR" if study.datasets else ""
    command = f"`committee study run {study.name} --runs {most or study.runs}{data}`"
    if not most:
        return f"Nothing has been run yet: {command}."
    cost = store.costs(study.name)
    runs = f"{least}" if least == most else f"{least} to {most}"
    without = [cell for cell, count in counts.items() if not count]
    gaps = f" There are no runs of {', '.join(without)}." if without else ""
    used = "; ".join(
        ", ".join(f"{name} {number}" for name, number in versions.items())
        for versions in cost["versions"]
    )
    memory = f", {cost['peak_mb']:,.0f} MB at most" if cost["peak_mb"] else ""
    data = f" Data: {', '.join(cost['sources'])}." if cost["sources"] else ""
    return (
        f"{runs} runs of each cell ({len(study.cells)}), the last on "
        f"{cost['finished'][:10]}; {command} "
        f"{'makes them' if least == most else 'completes them'}. They took "
        f"{cost['seconds']:,.0f} seconds of one core{memory}; {used}.{data}{gaps}"
    )


def lay_out(table: Table) -> Grid:
    """Return header and rows: for each line the printed figures, ours, the difference.

    Parameters
    ----------
    table : Table

    Examples
    --------
    >>> import numpy as np
    >>> from committee.studies.study import Entry, Table
    >>> from committee.studies.tables import lay_out
    >>> entry = Entry("sinc", "EP", "paper", np.array([1.0, 3.0]), 1.5, 0.2)
    >>> for row in lay_out(Table("", [entry]))[1]:
    ...     print(row)
    ['sinc', 'printed', '1.50 ± 0.20']
    ['', 'paper', '2.00 ± 1.41']
    ['', 'difference', '+0.50']
    """
    columns = list(dict.fromkeys(e.column for e in table.entries))
    lines = list(dict.fromkeys(e.line for e in table.entries))
    protocols = list(dict.fromkeys(e.protocol for e in table.entries))
    places = {(e.line, e.column, e.protocol): e for e in table.entries}
    rows = []
    for line in lines:
        label = line
        for kind, protocol, cell in _kinds(protocols, table.digits):
            texts = [cell(places.get((line, column, protocol))) for column in columns]
            if any(texts):
                rows.append([label, kind, *texts])
                label = ""
    return ["", "", *columns], rows


Cell = Callable[[Entry | None], str]


def _kinds(protocols: Sequence[str], digits: int) -> list[tuple[str, str, Cell]]:
    """Return the rows of a line: their labels, protocols and how to write a place."""

    def printed(e: Entry | None) -> str:
        if e is None or e.printed is None:
            return ""
        return number(e.printed, digits) + spread(e.printed_sd, digits)

    def ours(e: Entry | None) -> str:
        if e is None or not len(e.values):
            return ""
        return number(e.mean, digits) + spread(e.sd, digits)

    def difference(e: Entry | None) -> str:
        if e is None or np.isnan(e.difference):
            return ""
        return signed_number(e.difference, digits)

    first = protocols[0]
    rows: list[tuple[str, str, Cell]] = [
        ("printed", first, printed),
        (first, first, ours),
        ("difference", first, difference),
    ]
    return rows + [(other, other, ours) for other in protocols[1:]]


def number(value: float, digits: int) -> str:
    """Return a number with so many decimals; in powers of ten where that says nothing."""
    if value and abs(value) < 0.5 * 10.0**-digits:
        return f"{value:.1e}"
    return f"{value:.{digits}f}"


def signed_number(value: float, digits: int) -> str:
    """Return a number with its sign, without one where it rounds to zero."""
    text = f"{value:+.{digits}f}"
    return text if float(text) else text[1:]


def spread(sd: float | None, digits: int) -> str:
    """Return a standard deviation behind its sign, or nothing."""
    return "" if sd is None or np.isnan(sd) else f" ± {number(sd, digits)}"


def _head(names: Sequence[str], store: Store, write: Writer) -> str:
    """Return the first lines of a page on several studies, with a count of verdicts."""
    rows = []
    for name in names:
        study = get_study(name)
        claims = [p for p in study.report(store.results) if isinstance(p, Claim)]
        for protocol in dict.fromkeys(claim.protocol for claim in claims):
            found = [c.verdict for c in claims if c.protocol == protocol]
            rows.append([name, protocol, *(str(found.count(v)) for v in VERDICTS)])
    n_claims = sum(int(count) for row in rows for count in row[2:])
    return "\n\n".join(
        [
            write.title("Studies: the papers' experiments, rerun", 1),
            write.text(
                "Ours beside what is in print, and a verdict on each claim by the rule "
                "that stands beside it. Means ± standard deviations of runs; the "
                "difference is ours, by the first way of weighing, minus the printed "
                "mean. `paper` has weights from the training rows, `held-out` the same "
                "claims with weights from rows that members did not see."
            ),
            write.text(CHOICES.format(n_claims=n_claims)),
            write.text(
                "This page is written by `committee study show --all --format md`; "
                "[the guide](guide/studies.md) says how to run and read it."
            ),
            write.grid(("study", "weights", *VERDICTS), rows),
        ]
    )


def _csv(names: Sequence[str], store: Store) -> str:
    """Return every place of every table as a row."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(CSV_HEADER)
    for name in names:
        for part in get_study(name).report(store.results):
            if isinstance(part, Table):
                writer.writerows(_csv_row(name, part, e) for e in part.entries)
    return text.getvalue()


def _csv_row(study: str, table: Table, e: Entry) -> list[object]:
    numbers = [e.mean, e.sd, e.printed, e.printed_sd, e.difference]
    plain = ["" if v is None or np.isnan(v) else repr(float(v)) for v in numbers]
    return [study, table.title, e.line, e.column, e.protocol, len(e.values), *plain]
