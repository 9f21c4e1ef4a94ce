"""Draw shell, choose, scale, ship, look (svg) and report.png: python -m docs.site.figures.

The shell's picture runs the first commands of docs/guide/shell.md on the tables of the
page; the next three draw the tables of docs/choose.md, docs/scale.md and ship.md, and
look.svg has two displays of docs/guide/look.md.
report.png is the page of docs/guide/report.md in Chromium: its verdict and its path.
"""

import io
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from rich.console import Console
from rich.text import Text

DOCS = Path(__file__).parents[1]
COMMANDS = (
    "committee train wines.csv --target cultivar -o wines.skops",
    "committee evaluate wines.skops new_wines.csv.gz",
)
#: Combiners that are named in the picture, and where the name is written.
NAMED = {
    "Average": (-6, 6, "right"), "EPPruner": (-5, 5, "right"),
    'OrderPruner("random")': (-6, 6, "right"), "GreedyPruner": (6, 6, "left"),
    'OrderPruner("orientation")': (6, -9, "left"), "SimplexWeights": (-6, -12, "right"),
    "KappaErrorHullPruner": (6, -3, "left"), "ARDPruner": (-5, -12, "right"),
}  # fmt: skip


def main() -> None:
    """Draw all six."""
    mpl.rcParams["svg.hashsalt"] = "committee"  # the same file for the same numbers
    shell(DOCS / "figures" / "shell.svg")
    choose(DOCS / "figures" / "choose.svg")
    scale(DOCS / "figures" / "scale.svg")
    ship(DOCS / "figures" / "ship.svg")
    look(DOCS / "figures" / "look.svg")
    report(DOCS / "figures" / "report.png")


def shell(path: Path) -> None:
    """Run the commands in an empty folder, and draw what they print."""
    page = (DOCS / "guide" / "shell.md").read_text(encoding="utf-8")
    tables = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)[0]
    console = Console(record=True, width=96, file=io.StringIO())
    with tempfile.TemporaryDirectory() as folder:
        _run([sys.executable, "-c", tables], folder)
        for command in COMMANDS:
            console.print(Text(f"$ {command}", style="bold green"))
            words = [sys.executable, "-m", *shlex.split(command)]
            console.print(Text(_run(words, folder)))
    svg = console.export_svg(title="committee")
    # Fonts of other sites are not loaded; the reader's own monospace font will do.
    svg = re.sub(r"@font-face \{.*?\}\s*", "", svg, flags=re.DOTALL)
    path.write_text(svg.replace("Fira Code", "ui-monospace"), encoding="utf-8")


def _run(words: list[str], folder: str) -> str:
    source = os.pathsep.join(p for p in sys.path if p)
    return subprocess.run(
        words,
        cwd=folder,
        check=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": source, "COLUMNS": "96", "NO_COLOR": "1"},
    ).stdout


def choose(path: Path) -> None:
    """Members kept against the error relative to the mean of all, over three sets."""
    cells = r"(\d+\.\d) ± (\d+\.\d) \((\d+)\)"
    rows = {
        name: np.array(re.findall(cells, line), dtype=float)
        for name, line in re.findall(
            r"^\| `(.+?)` \|(.*±.*)$",
            (DOCS / "choose.md").read_text("utf-8"),
            re.MULTILINE,
        )
    }
    figure, ax = plt.subplots(figsize=(7.5, 4), layout="constrained")
    ax.axhline(1, color="#999999", linewidth=1)
    for name, found in rows.items():
        size = found[:, 2].mean()
        error = np.exp(np.log(found[:, 0] / rows["Average"][:, 0]).mean())
        ax.plot(size, error, "o", color="#0072B2" if name in NAMED else "#BBBBBB")
        if name in NAMED:
            se = error * np.hypot.reduce(found[:, 1] / found[:, 0]) / len(found)
            ax.errorbar(size, error, se, color="#0072B2", linewidth=1)
            dx, dy, side = NAMED[name]
            ax.annotate(
                *(name, (size, error), (dx, dy)), textcoords="offset points", ha=side
            )
    ax.set_xscale("log")
    ax.set_xticks([10, 25, 50, 100], ["10", "25", "50", "100"])
    ax.minorticks_off()
    ax.set_xlabel("members kept, of 100 bagged trees")
    ax.set_ylabel("test error / error of the mean of all")
    _save(figure, path)


def scale(path: Path) -> None:
    """Seconds and memory of a fit against rows, for two workers and one process."""
    page = (DOCS / "scale.md").read_text(encoding="utf-8")
    found = re.findall(r"^\| 10\^(\d) \| \d+ \|(.* GB .*)\|$", page, re.MULTILINE)
    rows = np.array([10.0 ** int(power) for power, _ in found])
    table = [[cell.strip(" GB") for cell in line.split("|")] for _, line in found]
    workers, peak, alone = (
        np.array([float(line[k] or "nan") for line in table]) for k in (0, 2, 3)
    )
    members = 100
    figure, axes = plt.subplots(1, 2, figsize=(8, 3.4), layout="constrained")
    axes[0].loglog(rows, workers, "o-", color="#0072B2", label="two workers")
    axes[0].loglog(rows, alone, "s--", color="#D55E00", label="one process")
    axes[0].set_ylabel("seconds of a fit")
    axes[1].loglog(rows, peak, "o-", color="#0072B2", label="a worker's peak")
    F = 16 * members * rows / 1e9
    axes[1].loglog(rows, F, ":", color="#000000", label="F itself, float64")
    axes[1].set_ylabel("GB")
    for ax in axes:
        ax.set_xlabel("rows, with votes of 100 members")
        ax.legend()
    _save(figure, path)


def ship(path: Path) -> None:
    """Kilobytes of each file, and microseconds of a row in each runtime, for digits."""
    page = (DOCS / "guide" / "ship.md").read_text(encoding="utf-8")
    files = re.findall(r"^\| `([^`]+)`.*\]\(#.* \| (\d+) \|", page, re.MULTILINE)
    times = re.findall(
        r"^\| `(\w+\S*(?: \S+)?)` \| [\d.]+ \| [\d.]+ \| ([\d.]+) \|",
        page,
        re.MULTILINE,
    )
    figure, axes = plt.subplots(1, 2, figsize=(9, 2.6), layout="constrained")
    for ax, rows, unit in zip(
        axes, (files, times), ("kB of the file", "microseconds, one row"), strict=True
    ):
        names, values = zip(*rows[::-1], strict=True)
        bars = ax.barh(names, [float(value) for value in values], color="#0072B2")
        ax.bar_label(bars, values, padding=3)
        ax.margins(x=0.12)
        ax.set_xlabel(unit)
    _save(figure, path)


def look(path: Path) -> None:
    """Error against size, and kappa against error, of the committee of the page."""
    names = _names_of("look.md")
    figure, axes = plt.subplots(1, 2, figsize=(9, 4.6), layout="constrained")
    shown = (names["PruningPathDisplay"], names["KappaErrorDisplay"])
    for ax, display in zip(axes, shown, strict=True):
        rows = names["X_test"], names["y_test"]
        display.from_estimator(names["committee"], *rows, ax=ax)
    _save(figure, path)


def _names_of(page: str) -> dict[str, Any]:
    """Run the code of a page of the guide, and return its names."""
    text = (DOCS / "guide" / page).read_text(encoding="utf-8")
    code = re.findall(r"^(?:>>>|\.\.\.) (?!.*SKIP)(.*)$", text, re.MULTILINE)
    names: dict[str, Any] = {}
    exec("\n".join(code), names)  # noqa: S102
    return names


def report(path: Path) -> None:
    """Run the code of the guide, and paste two parts of the page below each other."""
    names = _names_of("report.md")
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "report.html").write_text(names["html"], encoding="utf-8")
        words = "chromium --headless --no-sandbox --disable-gpu --hide-scrollbars"
        words += " --window-size=1000,1900 --screenshot=report.png report.html"
        _run(words.split(), folder)
        with Image.open(Path(folder) / "report.png") as shot:
            picture = Image.new("RGB", (1000, 810))
            picture.paste(shot.crop((0, 0, 1000, 325)))
            picture.paste(shot.crop((0, 1123, 1000, 1608)), (0, 325))
    picture.quantize(64).save(path, optimize=True)


def _save(figure: plt.Figure, path: Path) -> None:
    for ax in figure.axes:
        ax.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, metadata={"Date": None})
    plt.close(figure)


if __name__ == "__main__":
    main()
