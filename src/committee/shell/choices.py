"""The names that the shell knows, and what they stand for.

Help and completion show these names: nothing here imports a learner until it is made.
"""

from __future__ import annotations

from collections.abc import Collection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from committee.shell.errors import USAGE, ShellError, close_to

if TYPE_CHECKING:
    from committee.combiners import Combiner
    from committee.members import Generator

CLASSIFICATION, REGRESSION = TASKS = ("classification", "regression")

#: Parts of the random splits of cross-splits and mini-batches.
N_SPLITS = 10

#: Of `committee.members`.
GENERATORS = {
    "bagging": "Bagging",
    "cross-splits": "CrossSplits",
    "mini-batches": "MiniBatches",
    "random-inits": "RandomInits",
    "adaboost": "AdaBoost",
}

#: Of `committee.combiners`.
COMBINERS = {
    "ep": "EPPruner",
    "ard": "ARDPruner",
    "em": "EMPruner",
    "mcmc": "MCMCPruner",
    "average": "Average",
    "optimal": "OptimalWeights",
    "simplex": "SimplexWeights",
    "least-squares": "LeastSquares",
    "lpboost": "LPBoostWeights",
    "greedy": "GreedyPruner",
    "reduce-error": "ReduceErrorPruner",
    "best": "BestPruner",
    "random": "RandomPruner",
    "kappa": "KappaPruner",
    "kappa-error-hull": "KappaErrorHullPruner",
    "kl": "KLPruner",
    "concurrency": "ConcurrencyPruner",
    "orientation": "OrientationPruner",
    "margin-distance": "MarginDistancePruner",
    "complementarity": "ComplementarityPruner",
    "boosting-order": "BoostingOrderPruner",
    "drep": "DREPPruner",
    "contribution": "ContributionPruner",
    "cluster": "ClusterPruner",
    "genetic": "GeneticPruner",
    "sdp": "SDPPruner",
}

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
    if name == "adaboost" and task != CLASSIFICATION:
        raise ShellError("--generator adaboost is for classification only.", USAGE)
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
    kind = COMBINERS[known(name, COMBINERS, "--combiner")]
    combiner: Combiner = resolve_name(f"committee.combiners:{kind}")()
    if "random_state" in combiner.get_params():
        combiner.set_params(random_state=seed)
    return combiner


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
