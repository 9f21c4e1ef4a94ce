"""The figures of the three texts, drawn from our summaries, with print beside them.

Wide as a phone shows them: one column, and one colour for each method everywhere.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from committee._typing import FloatArray
from committee.combiners import EPPruner
from committee.displays.style import BLACK, BLUE, GREEN, GREY, ORANGE, VERMILION
from committee.predictions import predict_all
from studies import (
    chapter_generators,
    chen_mcmc,
    chen_poker,
    chen_synthetic,
    hamers_sine,
)
from studies.figures import draw_held_out, draw_posterior, draw_roc_curves
from studies.hamers import PROBLEMS, draw_split, fit
from studies.kept import BOX, Summary
from studies.printed import figure
from studies.study import HELD_OUT, PAPER, Job
from studies.votes import Votes, one_hot, signed
from studies.ways import WAYS

#: Colour, and marker, of each method; the colours are those of Okabe and Ito.
METHODS = {
    "EP": (VERMILION, "o"), "EP as printed": (VERMILION, "D"), "ARD": (BLUE, "s"),
    "EM": (GREEN, "^"), "LS": (ORANGE, "v"), "Random": (GREY, "P"),
    "Kappa": ("#cc79a7", "X"), "CP": ("#56b4e9", "p"), "Unpruned": (BLACK, "h"),
}  # fmt: skip
KINDS = {"uncoupled": BLUE, "coupled": VERMILION}
SETS = (BLACK, VERMILION, BLUE, GREEN, ORANGE)
#: Inches: what a phone shows at about the size of its text.
WIDTH = 5.2

Summaries = Mapping[str, Summary]


class Picture(NamedTuple):
    """A figure: its file, its title, what is to be seen, and how it is drawn."""

    name: str
    title: str
    caption: str
    draw: Callable[[Summaries, str | None, Any], None]


def _panels(fig: Any, n: int, height: float, columns: int = 1, **options: Any) -> Any:
    """Return axes below each other on a figure as wide as a page of a phone."""
    rows = -(-n // columns)
    fig.set_size_inches(WIDTH, height * rows)
    axes = fig.subplots(rows, columns, squeeze=False, **options).ravel()
    for ax in axes[n:]:
        ax.set_axis_off()
    for ax in axes:
        ax.spines[["top", "right"]].set_visible(False)
    return axes[:n]


def _legend(fig: Any, handles: Any, labels: Sequence[str], columns: int = 3) -> None:
    """Draw a legend above all panels, where it hides nothing."""
    fig.legend(
        handles, labels, loc="outside upper center", ncols=columns, frameon=False
    )


def _handles(ax: Any) -> tuple[list[Any], list[str]]:
    """Return the handles of the axes, each label once."""
    found = dict(zip(*reversed(ax.get_legend_handles_labels()), strict=True))
    return list(found.values()), list(found)


def _box(ax: Any, rows: pd.DataFrame, places: Any, colours: Sequence[str]) -> None:
    """Draw the quartiles and the range of runs."""
    names = ("whislo", "q1", "med", "q3", "whishi")
    stats = [
        dict(zip(names, row, strict=True)) | {"fliers": []}
        for row in rows[list(BOX)].to_numpy()
    ]
    drawn = ax.bxp(
        stats, positions=places, widths=0.55, patch_artist=True, showfliers=False
    )
    for box, colour in zip(drawn["boxes"], colours, strict=True):
        box.set(facecolor=colour, alpha=0.35)
    for line in drawn["medians"]:
        line.set(color=BLACK, lw=1.6)


# The chapter.


def _ways(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["chapter-generators"]
    axes = _panels(fig, 2, 3.1, sharey=True)
    for ax, (title, label) in zip(
        axes,
        (("Test error of the mean", "error"), ("Diversity", "diversity")),
        strict=True,
    ):
        means = summary.means(title, HELD_OUT)
        ratios = means.div(means["Bagging"], axis=0).reindex(columns=WAYS)
        for (name, row), colour in zip(ratios.iterrows(), SETS, strict=True):
            ax.plot(row, range(len(row)), "o", color=colour, label=name, alpha=0.85)
        ax.set_yticks(range(ratios.shape[1]), ratios.columns)
        ax.axvline(1.0, color=GREY, lw=0.8)
        ax.set_xscale("log")
        low, high = ax.get_xlim()
        ax.set_xticks([t for t in (0.3, 0.5, 1, 2, 5, 10, 20) if low < t < high])
        ax.set_xticks([], minor=True)
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(f"{label} over that of Bagging")
        ax.grid(axis="y", color="0.9")
    axes[0].invert_yaxis()
    _legend(fig, *_handles(axes[0]))


def _splits(summaries: Summaries, data: str | None, fig: Any) -> None:
    (ax,) = _panels(fig, 1, 2.2)
    draw_held_out(ax, chapter_generators.cross_splits())


# Hamers, Suykens and De Moor.


def _sine(summaries: Summaries, data: str | None, fig: Any) -> None:
    X, y = hamers_sine.sample(Job("hamers-sine", "sine", 0).seed)
    axes = _panels(fig, 4, 1.9, 2, sharex=True, sharey=True)
    grid = hamers_sine.GRID
    for column, (kind, coupling) in enumerate(hamers_sine.KINDS.items()):
        curves, w = hamers_sine.submodels(X, y, coupling)
        top, bottom = axes[column], axes[2 + column]
        parts = np.array_split(np.arange(len(X)), curves.shape[1])
        for curve, part, colour in zip(curves.T, parts, SETS[1:], strict=True):
            top.plot(grid, curve, color=colour, lw=1.2)
            top.plot(X[part], y[part], ".", color=colour, ms=3)
        bottom.plot(grid, curves @ w, color=BLACK, lw=1.6)
        for ax in (top, bottom):
            ax.plot(grid, np.sin(grid), ":", color=GREY)
            ax.set_ylim(-1.6, 1.6)
        top.set_title(f"{kind}: submodels", fontsize="medium")
        bottom.set_title("their weighted mean", fontsize="medium")


def _boston(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["hamers-boston"]
    rows = summary.table("Figure 4")
    rows = rows[rows.protocol == PAPER]
    printed = summary.means(
        "Table 1 by eq. 7: test mean squared error over", number="printed"
    )
    axes = _panels(fig, 2, 2.5)
    for ax, target in zip(axes, ("nox", "medv"), strict=True):
        found = rows[rows.line == f"{target}-8"]
        colours = [BLUE, GREY, ORANGE, VERMILION]
        _box(ax, found, range(len(found)), colours)
        for place, line, column in (
            (0, f"{target} 8, T", "uncoupled median"),
            (2, f"{target} 8", "coupled median"),
            (3, f"{target} 8, T", "coupled median"),
        ):
            ax.plot(place, printed.loc[line, column], "*", ms=12, color=BLACK, mfc="w",
                    label="median in print")  # fmt: skip
        ax.set_xticks(range(len(found)), found.column)
        ax.set_ylabel("error, 8 T coupled = 1")
        ax.set_title(f"{target.upper()}, eight submodels", fontsize="medium")
    _legend(fig, *_handles(axes[0]))


def _couplings(summaries: Summaries, data: str | None, fig: Any) -> None:
    rows = summaries["hamers-coupling"].table("Figures 5 and 6")
    rows = rows[rows.protocol == PAPER]
    split = rows.line.str.rsplit(", ", n=1, expand=True)
    rows = rows.assign(cell=split[0], nu=split[1].astype(float))
    cells = list(rows.cell.unique())
    axes = _panels(fig, len(cells), 2.2, 2)
    for ax, cell in zip(axes, cells, strict=True):
        found = rows[(rows.cell == cell) & (rows.column == "mean")]
        place = np.arange(len(found))
        if found.q1.notna().any():
            ax.fill_between(place, found.q1, found.q3, color=BLUE, alpha=0.25, lw=0,
                            label="middle half of the runs")  # fmt: skip
        middle = rows[(rows.cell == cell) & (rows.column == "median")]
        ax.plot(place, middle["mean"], color=BLUE, label="median")
        ax.plot(place, found["mean"], ":", color=BLACK, label="mean")
        zero = int(np.flatnonzero(found.nu == 0)[0])
        ax.axvline(zero, color=GREY, lw=0.8)
        ax.set_xticks(place[::2], [f"{nu:g}" for nu in found.nu.iloc[::2]], rotation=60)
        if found["mean"].max() > 100 * found["mean"].min():
            ax.set_yscale("log")
        ax.set_title(cell, fontsize="medium")
        ax.set_xlabel("coupling")
    _legend(fig, *_handles(axes[0]))


def _roc(summaries: Summaries, data: str | None, fig: Any) -> None:
    job = Job("hamers-classification", "tic-tac-toe-123", 0, data)
    problem = PROBLEMS[job.cell]
    split = draw_split(problem, job.seed, data)
    for ax, kind in zip(_panels(fig, 2, 4.6), KINDS, strict=True):
        coupled = kind == "coupled"
        model = fit(
            problem, split, job.seed, weigh_on="train", overlap=coupled,
            coupling=problem.coupling if coupled else 0.0,
        )  # fmt: skip
        f = model.member_decision_function(split.X_test)
        score = model.decision_function(split.X_test)
        draw_roc_curves(ax, split.y_test == model.classes_[1], f, score)
        ax.set_ylabel(f"{kind}: true positive rate")


def _supports(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["hamers-classification"]
    (ax,) = _panels(fig, 1, 3.4)
    titles = {
        "Figure 8: members with a weight": ("votes on all rows, as ours", GREY),
        "Figure 8: members with a weight, by": (
            "values on a tenth of the rows",
            ORANGE,
        ),
    }
    groups = [
        (cell, kind) for cell in ("tic-tac-toe-123", "adult-sparse") for kind in KINDS
    ]
    for k, (title, (label, colour)) in enumerate(titles.items()):
        means = summary.means(title)
        heights = [means.loc[cell, kind] for cell, kind in groups]
        ax.bar(np.arange(4) + 0.38 * k, heights, 0.36, color=colour, label=label)
    printed = summary.means("Figure 8", number="printed")
    for k, (cell, kind) in enumerate(groups):
        ax.plot(k + 0.19, printed.loc[cell, kind], "*", ms=13, color=BLACK, mfc="w",
                label="in print")  # fmt: skip
    names = [
        f"{cell.removesuffix('-123').removesuffix('-sparse')}\n{kind}"
        for cell, kind in groups
    ]
    ax.set_xticks(np.arange(4) + 0.19, names)
    ax.set_ylabel("members with a weight")
    _legend(fig, *_handles(ax), columns=2)


def _rates(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["hamers-classification"]
    rows = summary.table("Figure 9")
    rows = rows[rows.protocol == PAPER]
    printed = summary.means("Table 2", number="printed")
    axes = _panels(fig, 3, 2.0, sharex=True)
    for ax, cell in zip(axes, ("tic-tac-toe-123", "australian", "adult"), strict=True):
        found = rows[rows.line == cell]
        _box(ax, found, range(2), list(KINDS.values()))
        for place, kind in enumerate(KINDS):
            ax.plot(place, printed.loc[cell, f"{kind} median"], "*", ms=12, color=BLACK,
                    mfc="w", label="median in print")  # fmt: skip
        ax.set_xticks(range(2), list(KINDS))
        ax.set_ylabel("wrong labels")
        ax.set_title(cell, fontsize="medium")
    _legend(fig, *_handles(axes[0]))


# Chen, Tino and Yao.


def _against_all(summaries: Summaries, data: str | None, fig: Any) -> None:
    """Draw EP's error over that of all bagged trees, ours and in print, on each set."""
    places = (
        ("chen-regression", "Table 3, bagging", "seven regression sets"),
        ("chen-classification", "Table 6, bagging", "13 sets of two classes"),
    )
    axes = _panels(fig, 2, 3.1, height_ratios=(7, 13))
    for ax, (study, title, name) in zip(axes, places, strict=True):
        frames = {
            "in print": (summaries[study].means(title, number="printed"), "*", BLACK),
            "ours, training rows": (summaries[study].means(title), "o", VERMILION),
            "ours, held-out rows": (summaries[study].means(title, HELD_OUT), "x", BLUE),
        }
        for label, (means, marker, colour) in frames.items():
            x = means["EP"] / means["Unpruned"]
            face = "w" if marker == "*" else colour
            ax.plot(x, range(len(x)), marker, color=colour, mfc=face, ms=8, label=label)
        ax.axvline(1.0, color=GREY, lw=0.8)
        ax.set_yticks(range(len(x)), x.index)
        ax.invert_yaxis()
        ax.grid(axis="y", color="0.9")
        ax.set_title(name, fontsize="medium")
    axes[1].set_xlabel("error of EP over that of all 100 trees")
    _legend(fig, *_handles(axes[0]))


def _sizes(study: str, title: str) -> Callable[[Summaries, str | None, Any], None]:
    """Return how Figure 8 or 9 is drawn."""

    def draw_sizes(summaries: Summaries, data: str | None, fig: Any) -> None:
        ours = summaries[study].means(title)
        printed = summaries[study].means(title, number="printed")
        names = ours.index.str.split(", ", n=1)
        ensembles = list(dict.fromkeys(name[0] for name in names))
        shares = [column for column in ours.columns if column.endswith("%")]
        axes = _panels(fig, len(ensembles), 2.7, sharex=True)
        for ax, ensemble in zip(axes, ensembles, strict=True):
            for line, row in ours[ours.index.str.startswith(ensemble)].iterrows():
                method = str(line).split(", ", 1)[1]
                colour, marker = METHODS[method]
                if np.isfinite(row[shares]).any():
                    x = [float(share.removesuffix(" %")) for share in shares]
                    ax.plot(
                        x, row[shares], marker=".", ms=8, color=colour, label=method
                    )
                    continue
                style = {"ls": "", "marker": marker, "color": colour}
                ax.plot(row["members"], row["ratio"], ms=8, label=method, **style)
                if method != "EP as printed":
                    beside = printed.loc[line]
                    ax.plot(beside["members"], beside["ratio"], mfc="w", ms=8, **style)
            ax.axhline(1.0, color=GREY, lw=0.8)
            ax.set_ylabel("error of all / error")
            ax.set_title(ensemble, fontsize="medium")
        axes[-1].set_xlabel("members kept of 100 (empty: in print)")
        _legend(fig, *_handles(axes[0]))

    return draw_sizes


def _ranks(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["chen-ranks"]
    printed = summary.means("Table 8", "printed scores")
    ours = summary.means("Table 8")
    (ax,) = _panels(fig, 1, 3.6)
    for method in printed.columns:
        colour, marker = METHODS[method]
        style = {"ls": "", "marker": marker, "color": colour, "ms": 8}
        ax.plot(printed[method], np.arange(len(printed)) - 0.15, mfc="w", **style)
        if method in ours:
            y = [list(printed.index).index(line) + 0.15 for line in ours.index]
            ax.plot(ours[method], y, label=method, **style)
    ax.set_yticks(range(len(printed)), printed.index)
    ax.invert_yaxis()
    ax.grid(axis="y", color="0.9")
    ax.set_xlabel("mean rank, 1 is best (empty: in print)")
    _legend(fig, *_handles(ax), columns=4)


def _posterior(summaries: Summaries, data: str | None, fig: Any) -> None:
    (ax,) = _panels(fig, 1, 4.4)
    job = Job("chen-mcmc", "sinc", 0, data)
    votes = chen_mcmc.make_votes(job)[PAPER]
    draw_posterior(ax, chen_mcmc.sample(votes, chen_mcmc.N_SAMPLES, job.seed))


def _networks(summaries: Summaries, data: str | None, fig: Any) -> None:
    """Draw Figures 6 and 7 from the first run: curves and boundaries."""
    cells = chen_synthetic.CELLS
    axes = _panels(fig, 3, 3.2)
    shown = {"all networks": METHODS["Unpruned"][0], "EP": METHODS["EP"][0]}
    for ax, cell in zip(axes, cells, strict=True):
        job = Job("chen-synthetic", cell, 0, data)
        votes = chen_synthetic.make_votes(job)[PAPER]
        w = EPPruner().fit(votes.F, votes.y).weights_
        lines = dict(zip(shown.values(), (votes.unpruned, w), strict=True))
        if cell == "sinc":
            x = np.linspace(-2 * np.pi, 2 * np.pi, 200)[:, None]
            F = predict_all(list(votes.members), x)
            ax.plot(x, np.sinc(x / np.pi), ":", color=GREY, label="sinc")
            for (colour, weights), label in zip(lines.items(), shown, strict=True):
                ax.plot(x, F @ weights, color=colour, label=label)
        else:
            _draw_boundary(ax, job, votes, lines)
        kept = np.count_nonzero(w)
        ax.set_title(f"{cell}: EP keeps {kept} of 100", fontsize="medium")
    _legend(fig, *_handles(axes[0]))


def _draw_boundary(
    ax: Any, job: Job, votes: Votes, lines: dict[str, FloatArray]
) -> None:
    X, y, *_ = chen_synthetic.draw_split(job)
    low, high = X.min(axis=0) - 0.1, X.max(axis=0) + 0.1
    a, b = np.meshgrid(*(np.linspace(low[i], high[i], 120) for i in (0, 1)))
    S = signed(one_hot(votes.members, np.column_stack([a.ravel(), b.ravel()])))
    for code, marker, shade in ((0, "o", "0.75"), (1, "x", "0.45")):
        ax.scatter(*X[y == code].T, marker=marker, color=shade, s=10, linewidths=0.8)
    for colour, weights in lines.items():
        ax.contour(a, b, (S @ weights).reshape(a.shape), levels=[0.0], colors=[colour])


def _starts(summaries: Summaries, data: str | None, fig: Any) -> None:
    summary = summaries["chen-stability"]
    axes = _panels(fig, 2, 3.0)
    spread = summary.means("Spread of the test error")
    for k, method in enumerate(spread.columns):
        colour, _ = METHODS[method]
        style = (
            {"hatch": "//", "fc": "w", "ec": colour}
            if "printed" in method
            else {"color": colour}
        )
        place = np.arange(len(spread)) + 0.27 * k
        axes[0].bar(place, spread[method], 0.25, label=method, **style)
    axes[0].set_xticks(np.arange(len(spread)) + 0.27, spread.index)
    axes[0].set_ylabel("spread over starts, % of the error")
    for protocol, colour, label in (
        (PAPER, VERMILION, "training rows"),
        (HELD_OUT, BLUE, "held-out rows"),
    ):
        means = summary.means("Leave-one-out and test error", protocol)
        ratio = means["EP, LOO"] / means["EP, test"]
        axes[1].plot(range(len(ratio)), ratio, "o", color=colour, label=label)
    axes[1].axhline(1.0, color=GREY, lw=0.8)
    axes[1].set_ylim(0, None)
    axes[1].set_xticks(range(len(ratio)), ratio.index)
    axes[1].set_ylabel("EP's LOO over test error")
    axes[1].legend(frameon=False, loc="lower right", bbox_to_anchor=(1, 1), ncols=2)
    _legend(fig, *_handles(axes[0]))


def _hands(summaries: Summaries, data: str | None, fig: Any) -> None:
    """Draw Figure 10: seconds in all against the number of test hands."""
    summary = summaries["chen-poker"]
    prune = summary.means("Table 12: seconds to prune").iloc[0]
    ask = summary.means("Table 12: seconds to ask").iloc[0]
    axes = _panels(fig, 2, 3.4)
    hands = np.array([0.0, 1.0])
    for method in ask.index:
        if method not in METHODS:
            continue
        style = {
            "color": METHODS[method][0],
            "ls": "--" if "printed" in method else "-",
        }
        seconds = np.nan_to_num(prune.get(method, 0.0)) + ask[method] * hands
        axes[0].plot(hands, seconds, label=method, **style)
        key = next(
            (key for key, label in chen_poker.LABELS.items() if label == method), None
        )
        begin, end = (
            figure(chen_poker.TABLE, f"{part}_seconds", method=str(key))
            for part in ("train", "total")
        )
        if end is not None:
            axes[1].plot(hands, [begin or 0.0, end], **style)
    for ax, title in zip(axes, ("here", "in print"), strict=True):
        ax.set_title(title, fontsize="medium")
        ax.set_xlabel("million test hands")
    axes[0].set_ylabel("seconds to prune and to ask")
    _legend(fig, *_handles(axes[0]))


PICTURES: Mapping[str, Sequence[Picture]] = {
    "chapter": (
        Picture(
            "chapter-ways.svg",
            "Ways of making members",
            "Error and diversity of each way over those of bagging, on five sets; the "
            "chapter prints no figures. Left of the line is less.",
            _ways,
        ),
        Picture(
            "chapter-splits.svg",
            "Figure 4.1: cross-splitting",
            "Which of 40 rows the members of two four-fold splits leave out.",
            _splits,
        ),
    ),
    "hamers": (
        Picture(
            "hamers-sine.svg",
            "Figure 3: four submodels of a sine",
            "One run. Uncoupled submodels know their own quarter of the axis only; coupled "
            "ones agree everywhere, as in print.",
            _sine,
        ),
        Picture(
            "hamers-boston.svg",
            "Figure 4 and Table 1: Boston housing",
            "Boxes: quartiles and range of our runs, by eq. 7. Stars: medians in print. The "
            "unit of both is the median of \"8, T coupled\".",
            _boston,
        ),
        Picture(
            "hamers-coupling.svg",
            "Figures 5 and 6: error against the coupling",
            "Right of the grey line the coupling is positive and helps, as in print. Left of "
            "it, in print too an improvement, the problem has no minimum.",
            _couplings,
        ),
        Picture(
            "hamers-roc.png",
            "Figure 7: ROC curves on tic-tac-toe",
            "One split, letters coded 1, 2, 3. In print the areas are 0.77 ± 0.03 and "
            "0.86 ± 0.02. Thin: members by their values; thick: the ensemble by its votes.",
            _roc,
        ),
        Picture(
            "hamers-supports.svg",
            "Figure 8: members with a weight",
            "Means of runs, and print: 4 of 10, and about 5 of 100. With the errors of "
            "votes on all training rows far more members keep a weight than in print; with "
            "values on a tenth of the rows, which the text may have meant, coupled ones come near "
            "to print.",
            _supports,
        ),
        Picture(
            "hamers-rates.svg",
            "Figure 9 and Table 2: wrong labels",
            "Boxes: quartiles and range of our runs. Stars: medians in print.",
            _rates,
        ),
    ),
    "chen": (
        Picture(
            "chen-errors.svg",
            "Tables 3 and 6: EP against all bagged trees",
            "Left of the line EP is better than all 100 trees.",
            _against_all,
        ),
        Picture(
            "chen-regression.svg",
            "Figure 8: regression, error against size",
            "Means over seven sets, weights from training rows; above the line is better "
            "than all trees. Filled: ours. Empty: the same method in print.",
            _sizes("chen-regression", "Figure 8"),
        ),
        Picture(
            "chen-classification.svg",
            "Figure 9: classes, error against size",
            "As above, over 13 sets; Random, Kappa and CP where they keep 25.",
            _sizes("chen-classification", "Figure 9"),
        ),
        Picture(
            "chen-ranks.svg",
            "Table 8: mean ranks",
            "Empty: ranks of the printed errors, which are those in print. Filled: ranks of "
            "ours, weights from training rows.",
            _ranks,
        ),
        Picture(
            "chen-mcmc.svg",
            "Figure 5: EP's Gaussian and exact draws",
            "One run on sinc, on the two axes of largest variance.",
            _posterior,
        ),
        Picture(
            "chen-networks.png",
            "Figures 6 and 7: small networks",
            "One run of each. In print EP keeps 9, 16 and 12 of 100, and its curves are "
            "smoother than those of all networks; here they are not.",
            _networks,
        ),
        Picture(
            "chen-stability.svg",
            "Starts of EM and EP, and the leave-one-out error",
            "Above: weights from training rows. Below: EP's leave-one-out error would be "
            "on the line if it told the test error.",
            _starts,
        ),
        Picture(
            "chen-poker.svg",
            "Figure 10: seconds for a million hands",
            "Lines begin at the seconds to prune. In print EP keeps 11.6 trees and "
            "takes 2,807 seconds where all take 6,155; ours keeps nine tenths of them.",
            _hands,
        ),
    ),
}  # fmt: skip
