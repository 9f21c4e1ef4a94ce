"""Tables of `ep-quality`, in Markdown, from the rows of its file."""

import csv
from collections import defaultdict

import numpy as np
from scipy.stats import rankdata

from benchmarks._data import folder

#: What the tables show, and what the paper calls it.
SHOWN = {
    "all": "unpruned",
    "ep min-loo": "ep",
    "ep max-evidence": "ep",
    "ep max-evidence equal": None,
    "ard": "ard",
    "em": "em",
    "ls": "ls",
    "random": "random",
    "fresh": None,
    "boosting": None,
}
SIX = ("german", "image", "ringnorm", "splice", "waveform", "titanic")
PAPER_SETS = {
    "cancer": "breast-cancer",
    "diabetics": "diabetis",
    "solar": "flare-solar",
}

Results = dict[tuple[str, str, str], dict[tuple[str, str], tuple[float, ...]]]


def show_all(rows: list[dict[str, str]]) -> None:
    """Print every table that the rows allow."""
    results: Results = defaultdict(dict)
    for row in rows:
        cell = results[row["part"], row["ensemble"], row["method"]]
        cell[row["set"], row["split"]] = tuple(
            float(row.get(name) or "nan") for name in ("error", "size", "log_loss")
        )
    ensembles = dict.fromkeys(e for part, e, _ in results if part == "raetsch")
    for ensemble in ensembles:
        show_ensemble(results, ensemble)
        show_averages(results, ensemble)
    if "bagging" in ensembles:
        show_bars(results)
    for part in ("pool", "multiclass"):
        if any(p == part for p, _, _ in results):
            show_pools(results, part)


def show_ensemble(results: Results, ensemble: str) -> None:
    """One line for each set: mean test error, its standard error, and sizes."""
    paper = printed()
    methods = [m for m in SHOWN if results.get(("raetsch", ensemble, m))]
    sets = sets_of(results["raetsch", ensemble, "all"])
    lines = []
    for name in sets:
        line = [name]
        for method in methods:
            errors, sizes = values(results["raetsch", ensemble, method], name)
            size = "" if method in ("all", "boosting") else f" ({sizes.mean():.0f})"
            line.append(f"{errors.mean():.2f}{plus_minus(errors)}{size}")
        line.append(
            "{} ({})".format(*paper.get((ensemble, name, "ep"), ("", "")))
            + " / {}".format(paper.get((ensemble, name, "unpruned"), ("",))[0])
        )
        lines.append(line)
    splits = len({s for _, s in results["raetsch", ensemble, "all"]})
    title = f"{ensemble}: test error in % ± standard error (members), splits: {splits}"
    table(title, ["set", *methods, "printed: ep / all"], lines)


def show_averages(results: Results, ensemble: str) -> None:
    """Points above all members, averaged over sets: every method and variant."""
    whole = results["raetsch", ensemble, "all"]
    lines = []
    for (part, of, method), cell in results.items():
        if part != "raetsch" or of != ensemble:
            continue
        common = [k for k in cell if k in whole]
        above, sizes = by_set(cell, common, 0, whole), by_set(cell, common, 1)
        chance = over_random(results, ensemble, cell)
        six = [s for s in SIX if s in above]
        lines.append(
            [
                method,
                f"{np.mean(list(above.values())):+.2f}",
                f"{np.mean(list(sizes.values())):.1f}",
                f"{np.mean([above[s] for s in six]):+.2f}" if six else "",
                f"{np.mean([sizes[s] for s in six]):.1f}" if six else "",
                chance,
                str(len(common)),
            ]
        )
    lines.sort(key=lambda line: float(line[1]))
    columns = ["method", "all sets", "members", "six sets", "members"]
    columns += ["against random of its size", "cells"]
    table(f"{ensemble}: points above all members, averages over sets", columns, lines)


def over_random(results: Results, ensemble: str, cell) -> str:
    """Points above a random choice of the same size, by interpolation in 1 / size."""
    curve = {
        int(method.split()[-1]): results["raetsch", ensemble, method]
        for part, of, method in list(results)
        if part == "raetsch"
        and of == ensemble
        and method.startswith("variant: random ")
    }
    whole = results["raetsch", ensemble, "all"]
    above = defaultdict(list)
    for key, (error, size, _) in cell.items():
        points = {k: c[key][0] for k, c in curve.items() if key in c}
        if len(points) < 2 or key not in whole:
            continue
        points[int(whole[key][1])] = whole[key][0]
        sizes = np.array(sorted(points))
        random = np.interp(
            -1.0 / max(size, 1.0), -1.0 / sizes, [points[k] for k in sizes]
        )
        above[key[0]].append(error - random)
    if not above:
        return ""
    return f"{np.mean([np.mean(v) for v in above.values()]):+.2f}"


def show_bars(results: Results) -> None:
    """The two bars for bagged trees."""
    whole = results["raetsch", "bagging", "all"]
    random = results["raetsch", "bagging", "random"]
    lines = []
    for method in ("ep min-loo", "ep max-evidence", "ep max-evidence equal"):
        cell = results["raetsch", "bagging", method]
        rival = random
        if "evidence" in method:
            rival = results["raetsch", "bagging", "random of max-evidence"]
        six = [k for k in cell if k[0] in SIX]
        above = np.mean(list(by_set(cell, six, 0, whole).values()))
        size = np.mean(list(by_set(cell, six, 1).values()))
        gains = by_set(cell, [k for k in cell if k in rival], 0, rival)
        lines.append(
            [
                method,
                f"{above:+.2f} with {size:.1f}",
                f"{np.mean(list(gains.values())):+.2f}",
                f"{sum(g < 0 for g in gains.values())} of {len(gains)}",
            ]
        )
    columns = ["bagging", "six sets (bar +0.30 with 35)"]
    columns += ["against random of its size (bar -0.20)", "sets below random"]
    table("Bars", columns, lines)


def show_pools(results: Results, part: str) -> None:
    """Errors with sizes, set by set, and means over sets beside the four rivals.

    Standard errors are of means over sets.
    """
    methods = [m for p, _, m in results if p == part]
    rivals = ["mean of all", "best single", "greedy", "simplex"]
    cells = list(results[part, "pool", "greedy"])
    shown = [*rivals, *(m for m in methods if m.startswith("ep") and "equal" not in m)]
    lines, sets = [], sets_of(cells)
    for name in sets:
        line = [name]
        for method in shown:
            errors, sizes = values(results[part, "pool", method], name)
            line.append(f"{errors.mean():.2f} ({sizes.mean():.1f})")
        lines.append(line)
    table(f"{part}: test error in % (members)", ["set", *shown], lines)
    lines = []
    for method in methods:
        group = rivals if method in rivals else [*rivals, method]
        E = np.array([[results[part, "pool", m][c][0] for m in group] for c in cells])
        sizes = [results[part, "pool", method][c][1] for c in cells]
        ranks = np.mean([rankdata(e) for e in E], axis=0)
        mine, greedy = ranks[group.index(method)], ranks[group.index("greedy")]
        own, first = (results[part, "pool", m] for m in (method, "greedy"))
        above = np.array([by_set(own, cells, 0, first)[s] for s in sets])
        logs = [
            np.mean([np.log(own[c][2] / first[c][2]) for c in cells if c[0] == s])
            for s in sets
        ]
        lines.append(
            [
                method,
                f"{np.mean(E[:, group.index(method)]):.2f}",
                f"{np.mean(sizes):.1f}",
                f"{above.mean():+.2f}{plus_minus(above)}",
                f"{np.exp(np.mean(logs)):.3f}{plus_minus(np.array(logs), 3)}",
                f"{mine:.2f}",
                f"{greedy:.2f}",
            ]
        )
    columns = ["method", "error", "members", "above greedy", "log-loss / greedy's"]
    columns += ["mean rank among the rivals", "greedy's rank then"]
    table(f"{part}: averages over {len(cells)} pools", columns, lines)


def printed() -> dict[tuple[str, str, str], tuple[str, str]]:
    """Return the paper's errors and sizes, if its tables lie beside the data."""
    tables = folder().parent / "papers" / "tables"
    figures = {}
    for name, column in (("7_classification_size", 1), ("6_classification_error", 0)):
        path = tables / f"chen_table{name}.csv"
        if not path.exists():
            return {}
        with path.open(newline="") as file:
            for row in csv.DictReader(file):
                ensemble = row["ensemble"].replace("random-", "")
                key = (
                    ensemble,
                    PAPER_SETS.get(row["dataset"], row["dataset"]),
                    row["method"],
                )
                pair = list(figures.get(key, ("", "")))
                pair[column] = row["size" if column else "error_percent"]
                figures[key] = tuple(pair)
    return figures


def sets_of(cell) -> list[str]:
    return list(dict.fromkeys(name for name, _ in cell))


def values(cell, name: str) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.array([v for (s, _), v in cell.items() if s == name])
    return (pairs[:, 0], pairs[:, 1]) if len(pairs) else (np.array([np.nan]),) * 2


def plus_minus(x: np.ndarray, digits: int = 2) -> str:
    """Return the standard error of a mean, nothing for one value."""
    se = x.std(ddof=1) / np.sqrt(len(x)) if len(x) > 1 else 0.0
    return f" ± {se:.{digits}f}" if len(x) > 1 else ""


def by_set(cell, keys, column: int, base=None) -> dict[str, float]:
    """Average a column over the splits of each set, less that of a base."""
    lists = defaultdict(list)
    for key in keys:
        less = 0.0 if base is None else base[key][column]
        lists[key[0]].append(cell[key][column] - less)
    return {name: float(np.mean(v)) for name, v in lists.items()}


def table(title: str, columns: list[str], lines: list[list[str]]) -> None:
    print(f"\n{title}\n")
    print("| " + " | ".join(columns) + " |")
    print("|---" * len(columns) + "|")
    for line in lines:
        print("| " + " | ".join(line) + " |")
