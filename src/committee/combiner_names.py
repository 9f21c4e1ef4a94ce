"""Combiners by name, for Python and the shell.

The names are listed without importing a combiner, so that `committee train --help` is
fast.
"""

from __future__ import annotations

from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from committee._hints import close_to

if TYPE_CHECKING:
    from committee._typing import RandomState

#: The class in `committee.combiners` of each name.
_CLASSES = {
    "ep": "EPPruner",
    "ard": "ARDPruner",
    "em": "EMPruner",
    "mcmc": "MCMCPruner",
    "average": "Average",
    "optimal": "OptimalWeights",
    "simplex": "SimplexWeights",
    "least-squares": "LeastSquares",
    "ridge": "RidgeWeights",
    "log-pool": "LogPool",
    "lpboost": "LPBoostWeights",
    "greedy": "GreedyPruner",
    "reduce-error": "ReduceErrorPruner",
    "kappa-error-hull": "KappaErrorHullPruner",
    "cluster": "ClusterPruner",
    "genetic": "GeneticPruner",
    "sdp": "SDPPruner",
}
#: Criteria of `OrderPruner`, which are names of their own.
_CRITERIA = [
    "best",
    "random",
    "kappa",
    "kl",
    "kl-rows",
    "concurrency",
    "orientation",
    "margin-distance",
    "complementarity",
    "boosting-order",
    "drep",
    "contribution",
    "specialty",
    "correlation",
]
COMBINERS = _CLASSES | dict.fromkeys(_CRITERIA, "OrderPruner")


def as_combiner(combiner: Any, random_state: RandomState = None) -> Any:
    """Return a combiner unchanged, or make the combiner of a name.

    Parameters
    ----------
    combiner : combiner, str or None
        The name of a combiner, or of a criterion of `OrderPruner`. All other parameters
        have their defaults.
    random_state : int, RandomState instance or None, default=None
        Controls a combiner that is given by name. Pass an int for reproducible results.

    Returns
    -------
    combiner

    Examples
    --------
    >>> from committee.combiner_names import as_combiner
    >>> as_combiner("ep")
    EPPruner()
    >>> as_combiner("random", 3)
    OrderPruner(criterion='random', random_state=3)
    """
    if isinstance(combiner, type) or not (
        combiner is None or isinstance(combiner, str) or hasattr(combiner, "needs_rows")
    ):
        raise TypeError(
            "combiner must be a combiner, such as EPPruner(), or its name. Got "
            f"{combiner!r}."
        )
    if not isinstance(combiner, str):
        return combiner
    kind = COMBINERS[_known(combiner)]
    made = resolve_name(f"committee.combiners:{kind}")()
    if combiner in _CRITERIA:
        made.set_params(criterion=combiner)
    takes = made.get_params(deep=False)
    if "random_state" in takes and takes.get("criterion", "random") == "random":
        # An integer, or a generator, which loads NumPy: help does not wait for it.
        if random_state is not None and hasattr(random_state, "randint"):
            random_state = int(random_state.randint(2**31 - 1))
        made.set_params(random_state=random_state)
    return made


def _known(name: str) -> str:
    """Return a name if it is known. Raise ValueError with all names if not."""
    if name in COMBINERS:
        return name
    # Class names and underscores are the most likely mistakes.
    by_class = {kind.lower(): short for short, kind in COMBINERS.items()}
    by_class["orderpruner"] = "orientation"
    bare = name.lower().removesuffix("pruner").replace("_", "-")
    near = by_class.get(name.lower()) or (bare if bare in COMBINERS else None)
    meant = f" Did you mean {near!r}?" if near else ""
    raise ValueError(
        "combiner must be a combiner, such as EPPruner(), or one of the names "
        f"{', '.join(COMBINERS)}. Got {name!r}."
        f"{meant or close_to(name.replace('_', '-'), list(COMBINERS))}"
    )
