"""chen-classification: trees on the 13 Raetsch sets (Tables 6, 7, 11, Figure 9)."""

from __future__ import annotations

import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.tree import DecisionTreeClassifier

from studies.chen import WEIGHED, Printed, TreeStudy
from studies.datasets import load
from studies.study import HELD_OUT, PAPER, Job, Outcome, Study, Why
from studies.votes import Split, Votes, bagged_trees, boosted, measure, pruners

#: The names of the paper, and those of the files.
SETS = {
    "banana": "banana", "cancer": "breast-cancer", "diabetics": "diabetis",
    "solar": "flare-solar", "german": "german", "heart": "heart", "image": "image",
    "ringnorm": "ringnorm", "splice": "splice", "thyroid": "thyroid",
    "titanic": "titanic", "twonorm": "twonorm", "waveform": "waveform",
}  # fmt: skip


def _ranks(ensemble: str) -> tuple[str, tuple[bool, bool, bool]]:
    text = (
        f"{ensemble}: over the 13 sets EP is significantly better than ARD and EM, and "
        "not told apart from the unpruned ensemble."
    )
    return text, (True, True, False)


TREES = TreeStudy(
    "chen-classification",
    tuple(SETS),
    ("bagging", "adaboost", "random-forest"),
    Printed("Table 6, {}: test error in %", "chen_table6_classification_error",
            "error_percent", "error",
            ("ep", "ep-printed", "ard", "em", "kappa", "cp", "ls", "random", "unpruned"),
            2),
    Printed("Table 7, {}: members kept", "chen_table7_classification_size", "size",
            "size", (*WEIGHED, "unpruned"), 1),
    Printed("Table 11: seconds to prune, bagging", "chen_table11_classification_seconds",
            "seconds", "seconds", ("ep", "em", "ard", "kappa", "cp"), 3),
    _ranks,
    "Figure 9",
    ("random", "kappa", "cp"),
)  # fmt: skip


def run(job: Job, *, n_members: int = 100) -> Outcome:
    """Train the members once for a split, and give the same votes to all combiners."""
    ensemble, name = job.cell.split("/")
    split = draw_split(name, job)
    if ensemble == "adaboost":
        made = boosted_trees(split, n_members, job.seed)
    else:
        made = bagged_trees(ensemble, split, 2, n_members, job.seed)
    return {
        protocol: measure(votes, pruners(True, job.seed))
        for protocol, votes in made.items()
    }


def draw_split(name: str, job: Job) -> Split:
    """Return the predefined split of a run, or a random one where these end."""
    data = load(f"raetsch_{SETS[name]}", data=job.data)
    assert data.train is not None
    assert data.test is not None
    if job.run < len(data.train):
        train, test = data.train[job.run], data.test[job.run]
    else:
        # Image and splice come with 20 splits; the paper draws 80 more.
        rows = np.r_[data.train[0], data.test[0]]
        order = np.random.default_rng(job.seed).permutation(rows)
        train, test = np.split(order, [data.train.shape[1]])
    return data.X[train], data.y[train], data.X[test], data.y[test]


def boosted_trees(split: Split, n_members: int, seed: int) -> dict[str, Votes]:
    """Weigh on all training rows, or on a quarter that the trees do not see."""
    tree, y = DecisionTreeClassifier(max_depth=4), split[1]
    rows = np.arange(len(y))
    train, weigh = train_test_split(rows, test_size=0.25, stratify=y, random_state=seed)
    return {
        PAPER: boosted(tree, split, rows, rows, n_members, seed),
        HELD_OUT: boosted(tree, split, train, weigh, n_members, seed),
    }


STUDY = Study(
    name=TREES.study,
    title="100 trees on 13 sets of two classes, pruned",
    reruns="Chen, Tino and Yao, Tables 6, 7, 11 and Figure 9",
    cells=TREES.cells,
    run=run,
    report=TREES.report,
    setup=(
        "100 CART trees with at least 10 rows to split (AdaBoost: of depth 4), hard "
        "votes, on the predefined splits of Raetsch, and random ones where these end. "
        "After a tree without an error boosting starts again from the weights of a "
        "bootstrap sample, so that it always has 100. "
        "Kappa, CP and Random keep 25, LS is a basic solution. Paper: weights from the training rows. "
        "Held-out: from out-of-bag rows; AdaBoost learns from three quarters of the "
        "rows and is weighed on the others."
    ),
    datasets={cell: f"raetsch_{SETS[cell.split('/')[1]]}" for cell in TREES.cells},
    why={
        "the errors of Unpruned": Why(
            "All trees have the printed errors (Table 6).",
            "On a part of the 13 sets; the paper does not say how its trees were grown.",
            "Ours, with at least 10 rows to split, or four levels for boosting, were "
            "chosen to come near to print on the whole.",
        ),
        "the errors of EP": Why(
            "EP has the printed errors (Table 6).",
            "They are above print where EP is behind all trees.",
        ),
        "as many members as in the table": Why(
            "EP keeps as many members as in Table 7.",
            "For bagging on seven of the 13 sets, within 5 %; for boosting and forests on "
            "two.",
            "Fewer where trees hardly err on their own training rows: on ringnorm, "
            "twonorm, thyroid and titanic. More on german. For boosting that is so by the depth of the trees. Tested in four "
            "runs: on twonorm EP keeps 32, 13, 5.5 and 1 of 100 trees of depth 1, 2, 4 "
            "and 8 (print 11.3), on german 25, 49, 42 and 5 (12.4), on heart 27, 19, "
            "5.5 and 1 (10.9). No depth has the sizes of print on all three. On thyroid "
            "one boosted tree of depth 4 makes no error, and EP is content with it: 100 "
            "more do not change that.",
        ),
        "EP has a lower error than": Why(
            "EP has a lower error than ARD, EM, Kappa, CP, LS, random trees and all "
            "trees.",
            "Than EM on most sets, than the others and all trees not: trees make few "
            "errors on rows that they have learned from, so that there is little to "
            "weigh them by.",
            "With out-of-bag rows EP errs less than with training rows on most sets for "
            "bagging and random forests. That EP is then still behind all trees on most "
            "sets is not explained. Trees that are grown otherwise were a guess; tested "
            "for boosting in four runs, with trees of depth 1, 2, 4 and 8: the error of "
            "EP on the training rows of twonorm is 7, 10, 12 and 21 % (print 3.5), of "
            "all trees 4.4, 4.3, 3.6 and 5.4 (3.8), and on ringnorm, german and heart "
            "no depth has it below that of print either. Another rule to stop remains a "
            "guess. EM climbs from three starts and keeps the mode of most posterior "
            "mass. From equal weights alone EP was lower than EM on 12, 13 and 12 of 13 "
            "sets by held-out rows (bagging, AdaBoost, forests), now on 9, 12 and 10; "
            "by training rows on 10, 2 and 11, now on 11, 9 and 11. So a part of what "
            "stood here as reproduced came from EM's start. LS is a basic solution, as "
            "MATLAB's lscov gives it: the rank of F is its size, that of print for "
            "bagging, but on titanic. There print has 74.8, and 24 different rows leave "
            "a rank of about 8. For random forests print has other sizes on banana, "
            "flare-solar, thyroid and titanic, for boosting on cancer, flare-solar, "
            "splice and thyroid: that stays open.",
        ),
        "EP keeps fewer members than": Why(
            "EP keeps fewer members than EM and ARD.",
            "Fewer than ARD; not than EM, which keeps few here.",
            "How EM was stopped is not in the paper.",
        ),
        "over the 13 sets": Why(
            "Over the 13 sets EP is significantly better than ARD and EM by mean ranks "
            "(section 4.4).",
            "Ranks follow the errors.",
        ),
        "EP takes more time": Why(
            "EP takes longer to prune than EM, ARD, Kappa and CP (Table 11).",
            "Than Kappa and CP, as in print; not than EM, which climbs from three starts "
            "here, and than ARD on half of the sets.",
        ),
    },
)
