"""chen-regression: trees on seven regression sets (Tables 3, 4, 10, Figure 8)."""

from __future__ import annotations

import numpy as np

from studies.chen import WEIGHED, Printed, TreeStudy
from studies.datasets import load
from studies.study import Job, Outcome, Study, Why
from studies.votes import Split, bagged_trees, measure, pruners


def _ranks(ensemble: str) -> tuple[str, tuple[bool, bool, bool]]:
    rivals, worse = "ARD, EM and the unpruned ensemble", (True, True, True)
    if ensemble == "random-forest":
        rivals = "ARD and the unpruned ensemble, and not told apart from EM"
        worse = (True, False, True)
    text = f"{ensemble}: over the 7 sets EP is significantly better than {rivals}."
    return text, worse


TREES = TreeStudy(
    "chen-regression",
    ("sinc", "friedman", "gabor", "multi", "plane", "polynomial", "house"),
    ("bagging", "random-forest"),
    Printed("Table 3, {}: test mean squared error", "chen_table3_regression_mse", "mse",
            "error", ("ep", "ep-printed", "ard", "em", "ls", "random", "unpruned"), 4),
    Printed("Table 4, {}: members kept", "chen_table4_regression_size", "size",
            "size", WEIGHED, 1),
    Printed("Table 10: seconds to prune, bagging", "chen_table10_regression_seconds",
            "seconds", "seconds", ("ep", "em", "ard"), 3),
    _ranks,
    "Figure 8",
    ("random",),
)  # fmt: skip


def run(job: Job, *, n_members: int = 100, n_test: int = 1000) -> Outcome:
    """Train the members once, and give the same outputs to all combiners."""
    ensemble, name = job.cell.split("/")
    split = draw_split(name, job, n_test)
    return {
        protocol: measure(votes, pruners(False, job.seed))
        for protocol, votes in bagged_trees(
            ensemble, split, None, n_members, job.seed
        ).items()
    }


def draw_split(name: str, job: Job, n_test: int = 1000) -> Split:
    """Return 250 noisy rows and clean test rows, or 400 and 106 rows of Boston."""
    if name != "house":
        drawn = load(name, n=250 + n_test, seed=job.seed)
        assert drawn.clean is not None
        return drawn.X[:250], drawn.y[:250], drawn.X[250:], drawn.clean[250:]
    boston = load("boston", data=job.data)
    y = np.asarray(boston.y, dtype=np.float64)
    order = np.random.default_rng(job.seed).permutation(len(y))
    train, test = order[:400], order[400:]
    return boston.X[train], y[train], boston.X[test], y[test]


STUDY = Study(
    name=TREES.study,
    title="100 trees on seven regression sets, pruned",
    reruns="Chen, Tino and Yao, Tables 3, 4, 10 and Figure 8",
    cells=TREES.cells,
    run=run,
    report=TREES.report,
    setup=(
        "100 CART trees with at least 10 rows to split; a random forest tries the "
        "square root of the features at each. 250 training rows with noise of a third "
        "of the target's standard deviation, 1,000 clean test rows; house: Boston, 400 "
        "and 106 rows. Random keeps 25, LS is a basic solution. Paper: weights from the training rows. "
        "Held-out: from out-of-bag rows."
    ),
    datasets={f"{ensemble}/house": "boston" for ensemble in TREES.ensembles},
    why={
        "the errors of Unpruned": Why(
            "All trees have the printed errors (Table 3).",
            "Forests err less than in print, bagged trees about as often on three of the "
            "seven sets.",
            "The paper does not say how its trees were grown. Ours were chosen to come "
            "near to print on the whole; on sinc their error is less than half of the "
            "printed one.",
        ),
        "the errors of EP": Why(
            "EP has the printed errors (Table 3).",
            "They follow those of all trees, and are above print where EP follows the "
            "noise.",
        ),
        "as many members as in the table": Why(
            "EP keeps as many members as in Table 4.",
            "Ours keeps two fifths more on the middle set of bagging and two thirds "
            "more of forests, the printed sequence of alphas three tenths and a half.",
            "Our EP moves many members at a time; the printed one makes one move at a "
            "time, by a gain of two sides. It begins with the ten members that gain "
            'most by themselves; the paper begins with "a number of" them. Begun with '
            "none it was nearer to print (a seventh and a fifth more), and could end "
            "with the worst member alone.",
        ),
        "EP has a lower error than": Why(
            "EP has a lower error than ARD, EM, LS, random trees and all trees.",
            "Against ARD, EM and LS it holds on the training rows; against all trees it "
            "fails where inputs are one or two, because there EP follows the noise that "
            "the trees have learned.",
            "Tested in five runs on sinc, plane and polynomial: with noise drawn anew "
            "on the same rows EP has 0.93, 1.08 and 0.89 times the error of all trees, "
            "with the noise that the trees have learned 1.34, 1.28 and 1.41; on "
            "friedman, gabor and multi, where EP is at least as good as all trees, it "
            "makes no difference. EM climbs from three starts and keeps the mode of "
            "most posterior mass; EP is lower on all seven sets all the same, as it was "
            "when EM began with equal weights alone. LS is a basic solution, as "
            "MATLAB's lscov gives it, and keeps as many members as F has rank: 100, as "
            "in print for bagging. For random forests print has 51.7 to 98.1 on six "
            "sets, and F has rank 100 here: that stays open. On out-of-bag rows EP is "
            "near to ARD, LS and all trees, a little behind them on most sets; why is "
            "not known.",
        ),
        "EP keeps fewer members than": Why(
            "EP keeps fewer members than EM and ARD.",
            "Fewer than ARD on every set; EM keeps fewer still, about half of what is "
            "printed for it or less.",
            "How EM was stopped is not in the paper.",
        ),
        "over the 7 sets": Why(
            "Over the seven sets EP is significantly better by mean ranks (section "
            "4.4).",
            "Ranks follow the errors; seven sets can only tell gaps of 1.47 ranks.",
        ),
        "EP takes more time": Why(
            "EP takes longer to prune than EM and ARD (Table 10).",
            "Not here: all take hundredths of a second, EP less than ARD and than EM, "
            "which climbs from three starts; in print EP takes ten times as long as EM.",
            "Ours is our own code, measured while other programs ran; the paper's is "
            "its own MATLAB on a processor of 2006.",
        ),
    },
)
