"""Refined trees beside the whole forest, the same trees as they were, and boosting.

Forests, out of bag. Lines: all trees; plain, the first k as they are; fresh, another
forest of k; EP's choice of at most k as it is; refined, what `refine` keeps and refits; GB
lzma, HistGradientBoosting of as many rounds as fit into the bytes of refined, both pickled
and compressed by lzma; HistGB, its default; HS, hierarchical shrinkage of a forest of k, its
strength 1, 10 or 100 by cross-validation; FIGS, a sum of trees of at most 50 rules, nan for
sets with missing values. With --choices the trees to refine are also the first k, random
ones, those of EP with votes out of bag and with filled votes, and those of GreedyPruner.

Errors of numbers are mean squared errors in percent of the variance of y, of classes error
rates in percent, on rows that nothing has seen. Bytes are those of refined, in kB: pickled
as a plain forest, the same compressed by lzma, slim-trees with lzma, save(compact=True),
to_onnx; and of its rivals pickled and compressed by lzma. Without `pip install imodels` HS
and FIGS are left out, without `pip install slim-trees` its column is empty.

Settings were chosen on sets like those of --others; --unseen has sets of classes that were
made later, and looked at once. --raetsch: all 13 sets of the paper, on its splits. --speed:
25 refined trees on 20,000 rows, in units of the time of the forest's fit; give --trees 500
with it.

python -m benchmarks refine [--trees 200] [--members 20] [--splits 5]
    [--sets NAME ...] [--lines NAME ...] [--choices] [--others] [--unseen] [--raetsch]
    [--speed] [--figure FILE.svg]
"""

import argparse
import copy
import lzma
import pickle
import time
import warnings
from importlib.util import find_spec

import numpy as np
from sklearn import ensemble
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning

from benchmarks._refine_figure import draw
from benchmarks._refine_sets import ALL_RAETSCH, CLASSES, NUMBERS, OTHERS, UNSEEN
from benchmarks._timing import show
from benchmarks.ship import file_bytes, kilobytes
from committee import EPPruner, GreedyPruner, member_predictions, prune, refine
from committee.diagnostics.missing_votes import FilledVotes
from committee.ensembles import roster_of
from committee.pruning.refined_sizes import Limits, kept_of, refine_kept

LINES = ("all", "plain", "fresh", "EP", "refined", "GB lzma", "HistGB", "HS", "FIGS")
#: Columns of the table of bytes.
SIZES = (
    *("all, pickle", "all, lzma", "pickle", "lzma", "slim-trees", "compact", "ONNX"),
    *("GB lzma, lzma", "HistGB, lzma", "HS, lzma", "FIGS, lzma"),
)
CHOICES = ("first", "random", "EP", "EP filled", "greedy")


def main(argv: list[str]) -> None:
    options = options_of(argv)
    warnings.simplefilter("ignore", ConvergenceWarning)
    if options.speed:
        speed(options.trees[0])
    elif options.figure:
        draw(options.figure, NUMBERS["robot arm"], CLASSES["waveform"])
    else:
        for n_trees in options.trees:
            for k in options.members:
                compare(options, n_trees, k)


def options_of(argv):
    parser = argparse.ArgumentParser(prog="python -m benchmarks refine")
    parser.add_argument("--trees", type=int, nargs="+", default=[200])
    parser.add_argument("--members", type=int, nargs="+", default=[20])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--sets", nargs="+")
    parser.add_argument("--lines", nargs="+", choices=LINES)
    for name in ("choices", "others", "unseen", "raetsch", "speed"):
        parser.add_argument(f"--{name}", action="store_true")
    parser.add_argument("--figure")
    return parser.parse_args(argv)


def compare(options, n_trees, k):
    """Show a table for numbers and one for classes."""
    sets = {**NUMBERS, **CLASSES, **OTHERS, **UNSEEN, **ALL_RAETSCH}
    names = [*NUMBERS, *CLASSES]
    for wanted, some in (
        (options.others, OTHERS),
        (options.unseen, UNSEEN),
        (options.raetsch, ALL_RAETSCH),
        (options.sets, options.sets),
    ):
        names = list(some) if wanted else names
    lines, found = lines_of(options), {}
    for name in names:
        found[name] = [
            measure(sets[name], split, n_trees, k, lines)
            for split in range(options.splits)
        ]
        print(*table_row(name, found[name], lines), flush=True)
        heads = [head for head in SIZES if head in found[name][0]]
        print("kB", *sizes_row(found[name], heads), flush=True)
    for of_classes, title in ((False, "regression"), (True, "classes")):
        part = {n: r for n, r in found.items() if r[0]["of classes"] == of_classes}
        if part:
            report(f"{title}, {k} of {n_trees} trees", part, lines, of_classes)


def lines_of(options):
    """Return the names of the columns."""
    if options.choices:
        return ["all", "plain", "refined", *(f"{c}, refined" for c in CHOICES)]
    wanted = ("all", "plain", "refined", *(options.lines or LINES))
    if find_spec("imodels") is None:
        print("HS and FIGS are left out: pip install imodels")
        wanted = [x for x in wanted if x not in ("HS", "FIGS")]
    return [x for x in LINES if x in wanted]


def report(title, found, lines, of_classes):
    rows = [table_row(name, runs, lines) for name, runs in found.items()]
    show(f"refine, {title}: errors in %", ["set", *lines, "time"], rows)
    heads = [head for head in SIZES if any(head in runs[0] for runs in found.values())]
    rows = [[name, *sizes_row(runs, heads)] for name, runs in found.items()]
    shown = ["set", *(head.replace(", ", "\n") for head in heads)]
    show(f"refine, {title}: kB", shown, rows)
    for line in [x for x in lines if "refined" in x]:
        print(f"{line}: {verdict(found, line, of_classes)}")
    print(
        "time: of refined, in units of the forest's fit; ± the standard error over splits"
    )


def table_row(name, runs, lines):
    cells = [spread([run[line] for run in runs]) for line in lines]
    return [name, *cells, f"{np.mean([run['seconds'] for run in runs]):.1f}"]


def sizes_row(runs, heads):
    return [kilobytes(np.mean([run[head] for run in runs])) for head in heads]


def spread(errors):
    se = np.std(errors, ddof=1) / np.sqrt(len(errors)) if len(errors) > 1 else np.nan
    digits = 2 if np.mean(errors) < 10 else 1
    return f"{np.mean(errors):.{digits}f}±{se:.{digits}f}"


def verdict(found, line, of_classes):
    means = {
        name: {key: np.mean([run[key] for run in runs]) for key in runs[0]}
        for name, runs in found.items()
    }
    small = [
        sum(m[part] <= 0.05 * m[f"all, {part}"] for m in means.values())
        for part in ("pickle", "lzma")
    ]
    good = sum(m[line] <= m["all"] for m in means.values())
    ratio = np.mean([m[line] / m["all"] for m in means.values()])
    result = f"at or below all on {good} of {len(means)} sets, ratio {ratio:.3f}"
    if of_classes:
        gaps = [(m["plain"] - m["all"], m["plain"] - m[line]) for m in means.values()]
        closed = np.sum(gaps, axis=0)
        worse = [n for n, runs in found.items() if clearly_worse(runs, line)]
        result += (
            f"; {closed[1] / closed[0]:.2f} of the gap between plain and all is closed; "
            f"clearly worse than plain: {', '.join(worse) or 'none'}"
        )
    return (
        f"{result}; refined has at most 5 % of the pickled bytes on {small[0]}, and of "
        f"the compressed bytes on {small[1]}."
    )


def clearly_worse(runs, line):
    """Whether it is worse than plain by more than the spread of the difference."""
    d = np.array([run[line] - run["plain"] for run in runs])
    return d.mean() > (d.std(ddof=1) / np.sqrt(len(d)) if len(d) > 1 else 0)


def measure(data, split, n_trees, k, lines):
    """Return the errors in % of all that is compared, on one split."""
    X, X_test, y, y_test = data(split)
    of_classes = y.dtype.kind != "f"
    kind = RandomForestClassifier if of_classes else RandomForestRegressor

    def error(model):
        return error_of(model.predict(X_test), y_test)

    began = time.perf_counter()
    forest = kind(n_trees, random_state=split).fit(X, y)
    fitted = time.perf_counter()
    small = refine(forest, X, y, max_members=k, oob=True, random_state=split)
    refined = time.perf_counter()
    found = {
        "of classes": of_classes,
        "all": error(forest),
        "plain": error_of(mean_of_first(forest, k, X_test), y_test),
        "refined": error(small),
        "seconds": (refined - fitted) / (fitted - began),
        **file_bytes(small),
    }
    found["all, pickle"], found["all, lzma"] = pickled(forest)
    if "fresh" in lines:
        found["fresh"] = error(kind(k, random_state=split + 1000).fit(X, y))
    if "EP" in lines:
        found["EP"] = error(prune(forest, X, y, oob=True, max_members=k))
    for line, model in rivals(X, y, split, k, found["lzma"]).items():
        if line not in lines:
            continue
        if line == "FIGS" and np.isnan(X).any():  # which it refuses
            found[line] = found[f"{line}, lzma"] = np.nan
        else:
            fitted = model()
            found[line], found[f"{line}, lzma"] = error(fitted), pickled(fitted)[1]
    for line in CHOICES:
        if f"{line}, refined" in lines:
            members = chosen(line, forest, X, y, k, split)
            found[f"{line}, refined"] = error(refined_of(forest, X, y, members, split))
    return found


def error_of(predicted, y):
    if y.dtype.kind != "f":
        return 100 * np.mean(predicted != y)
    return 100 * np.mean((predicted - y) ** 2) / y.var()


def mean_of_first(forest, k, X):
    """Return what the mean of the first k trees predicts."""
    trees = forest.estimators_[:k]
    if not hasattr(forest, "classes_"):
        return np.mean([tree.predict(X) for tree in trees], axis=0)
    p = np.mean([tree.predict_proba(X) for tree in trees], axis=0)
    return forest.classes_[p.argmax(axis=1)]


def pickled(model):
    """Return the bytes of a model pickled, and of this pickle compressed by lzma."""
    content = pickle.dumps(model, protocol=5)
    return len(content), len(lzma.compress(content))


def first_rounds(booster, n):
    part = copy.copy(booster)
    part._predictors = booster._predictors[:n]
    return part


def rivals(X, y, split, k, n_bytes):
    """Return functions that fit the models that are no part of the forest."""
    end, seed = ("Classifier" if y.dtype.kind != "f" else "Regressor"), split + 1000

    def boosted(**options):
        name = f"HistGradientBoosting{end}"
        model = getattr(ensemble, name)(random_state=split, **options)
        return model.fit(X, y)

    def of_bytes():
        """The most rounds that fit, of 300."""
        whole, fits, more = boosted(max_iter=300, early_stopping=False), 1, 301
        while more - fits > 1:
            middle = (fits + more) // 2
            small = pickled(first_rounds(whole, middle))[1] <= n_bytes
            fits, more = (middle, more) if small else (fits, middle)
        return first_rounds(whole, fits)

    def figs():
        import imodels

        model = getattr(imodels, f"FIGS{end}")(max_rules=50, random_state=split)
        return model.fit(X, y)

    def shrunk():
        import imodels

        forest = getattr(ensemble, f"RandomForest{end}")(k, random_state=seed)
        strengths = {"reg_param_list": [1.0, 10.0, 100.0]}
        return getattr(imodels, f"HSTree{end}CV")(forest, **strengths).fit(X, y)

    return {"GB lzma": of_bytes, "HistGB": boosted, "HS": shrunk, "FIGS": figs}


def chosen(line, forest, X, y, k, split):
    """Return the numbers of k trees, or fewer."""
    M = len(forest.estimators_)
    if line == "first":
        return np.arange(k)
    if line == "random":
        return np.sort(np.random.default_rng(split).permutation(M)[:k])
    if line == "EP":
        return prune(forest, X, y, oob=True, max_members=k).support_
    codes = y if y.dtype.kind == "f" else np.unique(y, return_inverse=True)[1]
    F, held_out = member_predictions(forest, X), roster_of(forest).held_out(len(y))
    if line == "EP filled":
        votes = FilledVotes.of(F, codes, held_out)
        mask = held_out.reshape(*held_out.shape, *[1] * (F.ndim - 2))
        F, held_out = np.where(mask, F, votes.mean[:, None]), None
        path = EPPruner().fit(F, codes).path_
    else:
        path = GreedyPruner(n_steps=3 * k).fit(F, codes, held_out=held_out).path_
    sizes = np.where(path.size <= k, path.size, 0)
    return np.flatnonzero(path.weights[int(sizes.argmax())])


def refined_of(forest, X, y, members, split):
    """Return these trees with equal weights, refined."""
    kept = kept_of(forest)
    template = refine(forest, X[:200], y[:200], max_members=1, oob=False)
    whole = template.__copy__()
    whole.roster_ = type(kept.roster)(**{**vars(kept.roster), "link": "mean"})
    kept = kept._replace(members=members, w=np.full(len(members), 1 / len(members)))
    return refine_kept(
        *(kept, whole, X, y),
        limits=Limits(),
        oob=True,
        sample_weight=None,
        random_state=split,
    )[0]


def speed(n_trees):
    rows = []
    for name, data in (
        ("numbers", NUMBERS["robot arm"]),
        ("classes", OTHERS["hastie"]),
    ):
        X, _, y, _ = data(0)
        rng = np.random.default_rng(0)
        some = rng.integers(len(X), size=20_000)
        X, y = (
            X[some] + 0.1 * X.std(axis=0) * rng.normal(size=(20_000, X.shape[1])),
            y[some],
        )
        kind = RandomForestRegressor if name == "numbers" else RandomForestClassifier
        began = time.process_time()
        forest = kind(n_trees, random_state=0).fit(X, y)
        fitted = time.process_time()
        refine(forest, X, y, max_members=25, oob=True, random_state=0)
        seconds = fitted - began, time.process_time() - fitted
        rows.append(
            [name, *(f"{s:.1f} s" for s in seconds), f"{seconds[1] / seconds[0]:.2f}"]
        )
    show(
        f"refine, 25 of {n_trees} trees on 20,000 rows: CPU seconds",
        ["", "fit of the forest", "refine", "ratio"],
        rows,
    )
