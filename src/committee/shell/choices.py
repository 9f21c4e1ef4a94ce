"""The names that the shell knows, and what they stand for.

Help and completion show these names: nothing here imports a learner until it is made.
"""

from __future__ import annotations

from collections.abc import Collection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from committee._format import close_to
from committee.combiner_names import COMBINERS
from committee.shell.errors import USAGE, ShellError

if TYPE_CHECKING:
    from committee.combiners import Combiner
    from committee.members import Generator

CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")

#: What the error of a task is.
MEASURES = {CLASSIFICATION: "error rate", REGRESSION: "RMSE"}

#: Parts of the random splits of cross-splits and mini-batches.
N_SPLITS = 10

#: Of `committee.members`.
GENERATORS = {
    "bagging": "Bagging",
    "cross-splits": "CrossSplits",
    "mini-batches": "MiniBatches",
    "random-inits": "RandomInits",
    "adaboost": "AdaBoost",
    "arcing": "Arcing",
    "lpboost": "LPBoost",
    "random-subspaces": "RandomSubspaces",
    "rotations": "Rotations",
}
#: Unlike learners instead of many of one estimator: `presets.py` makes them.
POOL = "pool"

#: The learners of each preset, the most valuable first.
PRESETS = {
    "fast": ("boosting", "shallow-boosting", "extra-trees", "linear", "network"),
    "best": (
        *("boosting", "shallow-boosting", "extra-trees", "linear", "network"),
        *("neighbours", "plain-boosting", "forest"),
    ),
}
#: Minutes that training may take unless told otherwise.
MINUTES = {"fast": 10.0, "best": 60.0}

#: Scorers of scikit-learn, for classes or for numbers.
SCORES = {
    "error": "accuracy",
    "log-loss": "neg_log_loss",
    "auc": "roc_auc",
    "brier": "neg_brier_score",
    "rmse": "neg_root_mean_squared_error",
    "mae": "neg_mean_absolute_error",
    "r2": "r2",
}
_OF_NUMBERS = ("rmse", "mae", "r2")

#: The classifier and the regressor of each name, of scikit-learn.
ESTIMATORS = {
    "tree": ("tree:DecisionTreeClassifier", "tree:DecisionTreeRegressor"),
    "random-tree": ("tree:ExtraTreeClassifier", "tree:ExtraTreeRegressor"),
    "stump": ("tree:DecisionTreeClassifier", "tree:DecisionTreeRegressor"),
    "linear": ("linear_model:LogisticRegression", "linear_model:Ridge"),
    "neighbours": ("neighbors:KNeighborsClassifier", "neighbors:KNeighborsRegressor"),
    "svm": ("svm:SVC", "svm:SVR"),
    "network": ("neural_network:MLPClassifier", "neural_network:MLPRegressor"),
}
_SETTINGS = {"stump": {"max_depth": 1}, "linear": {"max_iter": 1000}}

#: Learners that split on one column at a time: no scaling, missing values welcome.
TREES = ("tree", "random-tree", "stump")


def known(name: str, names: Collection[str], what: str) -> str:
    """Return a name that is known, or list those that are.

    Examples
    --------
    >>> from committee.shell.choices import ESTIMATORS, known
    >>> known("tree", ESTIMATORS, "--estimator")
    'tree'
    """
    if name not in names:
        raise ShellError(
            f"{what} must be one of {', '.join(names)}. Got {name!r}."
            f"{close_to(name, list(names))}",
            USAGE,
        )
    return name


def make_estimator(name: str, task: str) -> Any:
    """Return the learner of a name, for a task."""
    pair = ESTIMATORS[known(name, ESTIMATORS, "--estimator")]
    learner = resolve_name(f"sklearn.{pair[task == REGRESSION]}")
    return learner(**_SETTINGS.get(name, {}))


def make_generator(name: str, n_members: int, task: str) -> Generator:
    """Return the generator of a name.

    Examples
    --------
    >>> from committee.shell.choices import make_generator
    >>> make_generator("cross-splits", 30, "regression").repeats
    3
    """
    kind = GENERATORS[known(name, GENERATORS, "--generator")]
    if name in ("adaboost", "arcing", "lpboost") and task != CLASSIFICATION:
        raise ShellError(f"--generator {name} is for classification only.", USAGE)
    counts: tuple[int, ...] = (n_members,)
    if name in ("cross-splits", "mini-batches"):
        counts = (N_SPLITS, n_members // N_SPLITS)
        if n_members % N_SPLITS:
            raise ShellError(
                f"--generator {name} makes {N_SPLITS} members of each split: --members "
                f"must be a multiple of {N_SPLITS}. Got {n_members}.",
                USAGE,
            )
    made: Generator = resolve_name(f"committee.members:{kind}")(*counts)
    return made


def make_combiner(name: str, seed: int | None = None) -> Combiner:
    """Return the combiner of a name, with the seed where it draws numbers.

    Examples
    --------
    >>> from committee.shell.choices import make_combiner
    >>> make_combiner("random", seed=3)
    RandomPruner(random_state=3)
    """
    from committee.combiner_names import as_combiner

    made: Combiner = as_combiner(known(name, COMBINERS, "--combiner"), seed)
    return made


def scorer_name(name: str, n_classes: int | None) -> str:
    """Return what scikit-learn calls a score, for K classes or for numbers.

    Examples
    --------
    >>> from committee.shell.choices import scorer_name
    >>> scorer_name("auc", 2), scorer_name("auc", 3), scorer_name("rmse", None)
    ('roc_auc', 'roc_auc_ovr', 'neg_root_mean_squared_error')
    """
    able = [other for other in SCORES if (other in _OF_NUMBERS) == (n_classes is None)]
    task = REGRESSION if n_classes is None else CLASSIFICATION
    scorer = SCORES[known(name, able, f"For {task}, --scoring")]
    return "roc_auc_ovr" if name == "auc" and n_classes != 2 else scorer


def check_on_dask(name: str, n_classes: int | None = None) -> None:
    """Refuse a combiner that has to see all rows at once.

    Parameters
    ----------
    name : str
    n_classes : int or None
        K; None for regression, and while the task is not known.
    """
    able = [other for other in COMBINERS if _takes_chunks(other, n_classes)]
    problem = f" with {n_classes} classes" if n_classes else ""
    known(name, able, f"On Dask{problem}, --combiner")


def _takes_chunks(name: str, n_classes: int | None) -> bool:
    try:
        make_combiner(name).check_chunks(n_classes)
    except ValueError:
        return False
    return True
