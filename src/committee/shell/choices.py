"""The names that the shell knows, and what they stand for."""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.svm import SVC, SVR
from sklearn.tree import (
    DecisionTreeClassifier,
    DecisionTreeRegressor,
    ExtraTreeClassifier,
    ExtraTreeRegressor,
)

from committee import combiners as c
from committee.combiners import Combiner
from committee.members import (
    AdaBoost,
    Bagging,
    CrossSplits,
    Generator,
    MiniBatches,
    RandomInits,
)
from committee.shell.errors import USAGE, ShellError, close_to
from committee.shell.target import CLASSIFICATION

#: Parts of the random splits of cross-splits and mini-batches.
N_SPLITS = 10

GENERATORS: dict[str, Callable[[int], Generator]] = {
    "bagging": Bagging,
    "cross-splits": lambda M: CrossSplits(N_SPLITS, _repeats(M, "cross-splits")),
    "mini-batches": lambda M: MiniBatches(N_SPLITS, _repeats(M, "mini-batches")),
    "random-inits": RandomInits,
    "adaboost": AdaBoost,
}

COMBINERS: dict[str, Callable[[], Combiner]] = {
    "ep": c.EPPruner,
    "ard": c.ARDPruner,
    "em": c.EMPruner,
    "mcmc": c.MCMCPruner,
    "average": c.Average,
    "optimal": c.OptimalWeights,
    "simplex": c.SimplexWeights,
    "least-squares": c.LeastSquares,
    "lpboost": c.LPBoostWeights,
    "greedy": c.GreedyPruner,
    "reduce-error": c.ReduceErrorPruner,
    "best": c.BestPruner,
    "random": c.RandomPruner,
    "kappa": c.KappaPruner,
    "kappa-error-hull": c.KappaErrorHullPruner,
    "kl": c.KLPruner,
    "concurrency": c.ConcurrencyPruner,
    "orientation": c.OrientationPruner,
    "margin-distance": c.MarginDistancePruner,
    "complementarity": c.ComplementarityPruner,
    "boosting-order": c.BoostingOrderPruner,
    "drep": c.DREPPruner,
    "contribution": c.ContributionPruner,
    "cluster": c.ClusterPruner,
    "genetic": c.GeneticPruner,
    "sdp": c.SDPPruner,
}

#: The classifier and the regressor of each name.
ESTIMATORS: dict[str, tuple[Callable[[], Any], Callable[[], Any]]] = {
    "tree": (DecisionTreeClassifier, DecisionTreeRegressor),
    "random-tree": (ExtraTreeClassifier, ExtraTreeRegressor),
    "stump": (
        lambda: DecisionTreeClassifier(max_depth=1),
        lambda: DecisionTreeRegressor(max_depth=1),
    ),
    "linear": (lambda: LogisticRegression(max_iter=1000), Ridge),
    "neighbours": (KNeighborsClassifier, KNeighborsRegressor),
    "svm": (SVC, SVR),
    "network": (MLPClassifier, MLPRegressor),
}

#: Learners that split on one column at a time: no scaling, missing values welcome.
TREES = ("tree", "random-tree", "stump")


def known(name: str, names: Collection[str], what: str) -> str:
    """Return a name that is known, or say which ones are.

    Parameters
    ----------
    name : str
    names : collection of str
    what : str
        The option.

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
    classifier, regressor = ESTIMATORS[known(name, ESTIMATORS, "--estimator")]
    return classifier() if task == CLASSIFICATION else regressor()


def make_generator(name: str, n_members: int, task: str) -> Generator:
    """Return the generator of a name.

    Examples
    --------
    >>> from committee.shell.choices import make_generator
    >>> make_generator("cross-splits", 30, "regression").repeats
    3
    """
    known(name, GENERATORS, "--generator")
    if name == "adaboost" and task != CLASSIFICATION:
        raise ShellError("--generator adaboost is for classification only.", USAGE)
    return GENERATORS[name](n_members)


def make_combiner(name: str, seed: int | None = None) -> Combiner:
    """Return the combiner of a name, with the seed where it draws numbers.

    Examples
    --------
    >>> from committee.shell.choices import make_combiner
    >>> make_combiner("random", seed=3)
    RandomPruner(random_state=3)
    """
    combiner = COMBINERS[known(name, COMBINERS, "--combiner")]()
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

    Examples
    --------
    >>> from committee.shell.choices import check_on_dask
    >>> check_on_dask("ep", 3)
    """
    able = [other for other in COMBINERS if _takes_chunks(other, n_classes)]
    problem = f" with {n_classes} classes" if n_classes else ""
    known(name, able, f"On Dask{problem}, --combiner")


def _takes_chunks(name: str, n_classes: int | None) -> bool:
    try:
        COMBINERS[name]().check_chunks(n_classes)
    except ValueError:
        return False
    return True


def _repeats(n_members: int, name: str) -> int:
    if n_members % N_SPLITS:
        raise ShellError(
            f"--generator {name} makes {N_SPLITS} members of each split: --members "
            f"must be a multiple of {N_SPLITS}. Got {n_members}.",
            USAGE,
        )
    return n_members // N_SPLITS
