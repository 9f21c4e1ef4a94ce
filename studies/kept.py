"""What is kept of a study: its numbers as means of runs, and its verdicts, in two files.

`NAME.csv` has a row for every place of every table, `NAME.json` the titles, the claims
and how the runs were made. They are small, so that they lie beside the code, and the
pages are made of them in seconds.
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.claims import Claim
from studies.store import Store
from studies.study import Entry, Study, Table, get_study

KEPT = Path(__file__).parent / "kept"
#: Least, quartiles and most of the runs.
BOX = ("least", "q1", "median", "q3", "most")


class NoRunsError(LookupError):
    """A figure is asked for of which nothing has been run."""


@dataclass(frozen=True)
class Summary:
    """The numbers of a study without its runs.

    Attributes
    ----------
    made : str
        How many runs there are, and what made them.
    seconds : float
        How long the runs took, of one core.
    tables : list of dict
        title, digits and note.
    claims : list of Claim
    places : DataFrame
        A row for each entry: table (its number), line, column, protocol, runs, mean, sd,
        printed, printed_sd, and `BOX` where the table asks for it.
    """

    made: str
    seconds: float
    tables: list[dict[str, Any]]
    claims: list[Claim]
    places: pd.DataFrame

    def rows(self, number: int) -> pd.DataFrame:
        """Return the places of a table; none where nothing has been run."""
        return self.places[self.places.table == number]

    def table(self, title: str) -> pd.DataFrame:
        """Return the places of the first table whose title begins so, or raise."""
        titles = [table["title"].startswith(title) for table in self.tables]
        rows = self.rows(titles.index(True))
        if not rows.runs.any():
            raise NoRunsError(f"There are no runs of {title!r}.")
        return rows

    def means(
        self, title: str, protocol: str = "paper", number: str = "mean"
    ) -> pd.DataFrame:
        """Return means, or another number, of a table by line and column."""
        rows = self.table(title)
        rows = rows[rows.protocol == protocol]
        order = {"index": rows.line.unique(), "columns": rows.column.unique()}
        return rows.pivot(index="line", columns="column", values=number).reindex(
            **order
        )

    def verdicts(self, part: str, protocols: tuple[str, ...]) -> Counter[str]:
        """Count the verdicts on claims that hold a part of a text."""
        return Counter(
            c.verdict for c in self.claims if part in c.text and c.protocol in protocols
        )


def summarise(name: str, store: Store) -> Summary:
    """Return the summary of the runs in a store."""
    study = get_study(name)
    report = study.report(store.results(name))
    tables = [part for part in report if isinstance(part, Table)]
    rows = [
        {"table": number} | _row(entry, box=table.box)
        for number, table in enumerate(tables)
        for entry in table.entries
        if len(entry.values) or entry.printed is not None
    ]
    columns = ["table", *_row(_NOTHING, box=True)]
    return Summary(
        made(study, store),
        float(store.costs(name).seconds.sum()),
        [{"title": t.title, "digits": t.digits, "note": t.note} for t in tables],
        [part for part in report if isinstance(part, Claim)],
        pd.DataFrame(rows, columns=columns),
    )


_NOTHING = Entry("", "", "", np.empty(0))


def _row(e: Entry, *, box: bool) -> dict[str, object]:
    row = {
        "line": e.line,
        "column": e.column,
        "protocol": e.protocol,
        "runs": len(e.values),
        "mean": e.mean,
        "sd": e.sd,
        "printed": np.nan if e.printed is None else e.printed,
        "printed_sd": np.nan if e.printed_sd is None else e.printed_sd,
    }
    few = not box or not len(e.values)
    quantiles = [np.nan] * 5 if few else np.quantile(e.values, [0, 0.25, 0.5, 0.75, 1])
    return row | dict(zip(BOX, quantiles, strict=True))


def write(name: str, summary: Summary, folder: Path = KEPT) -> None:
    """Write both files of a study."""
    folder.mkdir(parents=True, exist_ok=True)
    summary.places.to_csv(
        folder / f"{name}.csv", index=False, float_format="%.5g", lineterminator="\n"
    )
    facts = {
        "made": summary.made,
        "seconds": round(summary.seconds),
        "tables": summary.tables,
        "claims": [asdict(claim) for claim in summary.claims],
    }
    text = json.dumps(facts, ensure_ascii=False, indent=0)
    (folder / f"{name}.json").write_text(text + "\n", encoding="utf-8")


def read(name: str, folder: Path = KEPT) -> Summary:
    """Read both files of a study."""
    facts = json.loads((folder / f"{name}.json").read_text(encoding="utf-8"))
    places = pd.read_csv(folder / f"{name}.csv", keep_default_na=False, na_values=[""])
    claims = [Claim(**claim) for claim in facts["claims"]]
    return Summary(facts["made"], facts["seconds"], facts["tables"], claims, places)


def made(study: Study, store: Store) -> str:
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
