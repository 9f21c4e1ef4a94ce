"""The pages of the site: for each paper its claims, figures and tables."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from threadpoolctl import threadpool_limits

from studies.claims import VERDICTS
from studies.kept import NoRunsError, Summary
from studies.page import lay_out, markdown, verdicts
from studies.pictures import PICTURES, Picture
from studies.study import HELD_OUT, Why, get_study

DOCS = Path(__file__).parents[1] / "docs"


@dataclass(frozen=True)
class Paper:
    """A text whose experiments are rerun."""

    title: str
    source: str
    studies: tuple[str, ...]
    #: What a reader of the paper wants to know, in a few sentences.
    answer: str


PAPERS = {
    "chapter": Paper(
        "Ensemble machines",
        "The chapter on ensemble machines, sections 4.3 and 4.4.",
        ("chapter-generators",),
        "Its rules of thumb hold on most of five generated sets; on two of them mini-batches "
        "are better, and bagging is worse, than it says.",
    ),
    "hamers": Paper(
        "Coupled transductive ensembles",
        "B. Hamers, J. Suykens, B. De Moor. Coupled transductive ensemble learning of "
        "kernel models.",
        ("hamers-sine", "hamers-boston", "hamers-coupling", "hamers-chain",
         "hamers-classification"),
        "Positive coupling helps on a sine, tic-tac-toe and Boston, as in print. Not "
        "reproduced: gains by negative coupling, an LS-SVM that loses, and clear gains on "
        "australian and adult.",
    ),
    "chen": Paper(
        "Predictive ensemble pruning by EP",
        "H. Chen, P. Tino, X. Yao. Predictive ensemble pruning by expectation "
        "propagation. IEEE Transactions on Knowledge and Data Engineering 21(7), 2009.",
        ("chen-regression", "chen-classification", "chen-ranks", "chen-mcmc",
         "chen-stability", "chen-synthetic", "chen-poker"),
        "EP is as good as the exact posterior, more stable than EM, and better than ARD, EM "
        "and LS on regression. That a tenth of the trees beats all of them did not "
        "reproduce: weighed on their own training rows, trees give it little to go by.",
    ),
}  # fmt: skip

SIGNS = {"reproduced": "✔", "partly": "◐", "not": "✘", "undecided": "?"}
INDEX = """\
# Papers

**Did the results of the papers reproduce?** The library follows three texts. Every experiment in them was run again with it, and every
claim has a verdict by a rule that stands beside it.

{table}

A row of a paper's first table is one claim. It counts as reproduced (✔) where all of its
verdicts are, as partly (◐) where some are, as not (✘) where none is: a claim on seven data
sets and two kinds of ensembles has many. Counted are weights from the training rows, as in
the papers; the pages have weights from held-out rows as well.

**How far to trust it.** The papers leave settings open (how trees were grown, the unit of a
table, the coding of a board). At least 10 rows to split, depth 4 for AdaBoost and hard votes
were chosen after early runs, because they bring unpruned errors and sizes near to print. The rules were set after early numbers had been seen, and {n_claims} verdicts are not
corrected for their number: they sort what came out, and are no planned tests.

[Rerun them yourself](../guide/studies.md). These pages are written by
`python -m studies pages` from `studies/kept/`, in seconds; the runs behind them take
{hours} hours of one core.
"""
HOW_TO_READ = (
    "✔ reproduced, ◐ partly, ✘ not: 1\N{NO-BREAK SPACE}✔ 7\N{NO-BREAK SPACE}◐ counts the "
    "verdicts of a claim on several data sets. *Paper*: weights from the training rows. "
    "*Held-out*: the same members, weighed on rows that they were not trained on."
)


def write_pages(
    summaries: Mapping[str, Summary], docs: Path = DOCS, data: str | None = None
) -> list[Path]:
    """Write the index, a page and the figures for each paper that is complete."""
    written = []
    for name, paper in PAPERS.items():
        if set(paper.studies) <= set(summaries):
            pictures = [
                picture
                for picture in PICTURES[name]
                if draw(picture, summaries, docs / "figures" / "studies", data)
            ]
            text = _page(paper, summaries, pictures)
            written.append(_write(docs / "studies" / f"{name}.md", text))
    if len(written) == len(PAPERS):
        written.append(_write(docs / "studies" / "index.md", _index(summaries)))
    return written


def _write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text.rstrip() + "\n", encoding="utf-8")
    return path


def _index(summaries: Mapping[str, Summary]) -> str:
    lines = ["| paper | ✔ | ◐ | ✘ | in short |", "| --- | --- | --- | --- | --- |"]
    for name, paper in PAPERS.items():
        signs = [
            _together(summaries[study], part)
            for study in paper.studies
            for part in get_study(study).why
        ]
        counted = " | ".join(
            str(signs.count(sign)) for sign in list(SIGNS.values())[:3]
        )
        lines.append(f"| [{paper.title}]({name}.md) | {counted} | {paper.answer} |")
    seconds = sum(summary.seconds for summary in summaries.values())
    return INDEX.format(
        table="\n".join(lines),
        n_claims=sum(len(summary.claims) for summary in summaries.values()),
        hours=f"{seconds / 3600:.1f}",
    )


def _page(
    paper: Paper, summaries: Mapping[str, Summary], pictures: list[Picture]
) -> str:
    parts = [f"# {paper.title}", paper.source, paper.answer, "## Did it reproduce?"]
    lines = [
        "| paper | held-out | claim, and what came out |",
        "|---|---|---|",
    ]
    for name in paper.studies:
        for part, why in get_study(name).why.items():
            lines.append(_claim(summaries[name], part, why))
    parts += [HOW_TO_READ, "\n".join(lines), "## Figures"]
    for picture in pictures:
        parts += [f"### {picture.title}", f"![{picture.title}]({_link(picture)})"]
        parts.append(picture.caption)
    parts.append("## Settings, explanations and every number")
    for name in paper.studies:
        parts += _section(name, summaries[name])
    return "\n\n".join(part for part in parts if part)


def _link(picture: Picture) -> str:
    return f"../figures/studies/{picture.name}"


def _claim(summary: Summary, part: str, why: Why) -> str:
    held_out = summary.verdicts(part, (HELD_OUT,))
    ours = summary.verdicts(part, ("paper", "printed scores"))
    cells = (_signs(ours), _signs(held_out), f"**{why.claim}** {why.found}")
    return f"| {' | '.join(cells)} |"


def _signs(found: Mapping[str, int]) -> str:
    """Return one sign, or the number of each."""
    if sum(found.values()) == 1:
        return next(SIGNS[v] for v in VERDICTS if found[v])
    return " ".join(
        f"{found[v]}\N{NO-BREAK SPACE}{SIGNS[v]}" for v in VERDICTS if found[v]
    )


def _together(summary: Summary, part: str) -> str:
    """Return the sign of all verdicts of a claim: all, some or none reproduced."""
    ours = summary.verdicts(part, ("paper", "printed scores"))
    found = ours or summary.verdicts(part, (HELD_OUT,))
    if set(found) <= {"reproduced"}:
        return SIGNS["reproduced"]
    return SIGNS["partly" if found["reproduced"] + found["partly"] else "not"]


def _section(name: str, summary: Summary) -> list[str]:
    """Return what was done in a study, our explanations, and folded tables."""
    study = get_study(name)
    parts = [f"### {study.title}", f"{study.reruns}. {study.setup}"]
    details = [
        f"- *{w.claim}* {w.found} {w.more}" for w in study.why.values() if w.more
    ]
    parts += ["\n".join(details)]
    parts.append(
        _folded(f"{len(summary.claims)} verdicts and their rules", verdicts(summary))
    )
    for number, table in enumerate(summary.tables):
        rows = summary.rows(number)
        if len(rows):
            laid = lay_out(rows, table["digits"])
            parts.append(_folded(table["title"], laid, table["note"]))
    return [*parts, f"{name}: {summary.made}"]


def _folded(title: str, table: object, note: str = "") -> str:
    """Return a table that opens by a click, here and where the Markdown is read."""
    body = "\n\n".join(part for part in (markdown(table), note) if part)
    return f"<details><summary>{title}</summary>\n\n{body}\n\n</details>"


def draw(
    picture: Picture, summaries: Mapping[str, Summary], folder: Path, data: str | None
) -> bool:
    """Draw a figure into the folder; without data or runs one that is there stays.

    Return whether there is one.
    """
    import matplotlib as mpl
    from matplotlib.figure import Figure
    from PIL import Image

    path = folder / picture.name
    style: Any = {"svg.hashsalt": "committee", "svg.fonttype": "path", "font.size": 9.5}
    with mpl.rc_context(style), threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # networks that stop before they converge
        fig = Figure(layout="constrained")
        try:
            picture.draw(summaries, data, fig)
        except (FileNotFoundError, NoRunsError):
            return path.exists()
        folder.mkdir(parents=True, exist_ok=True)
        meta = {"Date": None} if path.suffix == ".svg" else None
        fig.savefig(path, metadata=meta, dpi=140)
    if path.suffix == ".png":
        with Image.open(path) as image:
            image.convert("P", palette=Image.Palette.ADAPTIVE, colors=64).save(path)
    return True
