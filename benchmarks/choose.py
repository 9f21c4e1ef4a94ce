"""Every combiner on three data sets: test error and size, for docs/choose.md.

100 bagged trees, weighed on out-of-bag rows; selecting pruners keep 25. Mean over
five predefined splits, with its standard error.

python -m benchmarks choose [NAME ...] measures the named ones, all unless given.
"""

import inspect
import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning

import committee
from benchmarks._committees import make_cell
from benchmarks._data import raetsch
from benchmarks._timing import show
from committee.combiners import Combiner
from committee.combiners.order_pruner import CRITERIA

SETS = ("german", "image", "waveform")
SPLITS = range(5)


def main(argv: list[str]) -> None:
    combiners = {name: found for name, found in discover() if not argv or name in argv}
    outcomes = {name: [[] for _ in SETS] for name in combiners}
    for i, set_name in enumerate(SETS):
        for split in SPLITS:
            cell = make_cell(set_name, "bagging", split, raetsch(set_name, split))
            for name, found in combiners.items():
                outcomes[name][i].append(measure(found, cell))
    rows = [[name, *map(summary, cells)] for name, cells in outcomes.items()]
    show("choose: test error in % (members)", ["combiner", *SETS], rows)


def discover():
    """Yield every combiner that committee exports, and every criterion."""
    for name in committee.__all__:
        found = getattr(committee, name)
        is_combiner = inspect.isclass(found) and issubclass(found, Combiner)
        # Criteria follow below; the weights of RidgeWeights are for numbers.
        left_out = (committee.OrderPruner, committee.RidgeWeights)
        if is_combiner and found not in left_out:
            yield name, found
    for criterion in ("random", *CRITERIA):
        # It takes the votes of boosted members on the rows of their training.
        if criterion != "kl-rows":
            yield criterion, partial(committee.OrderPruner, criterion)


def measure(found, cell):
    """Return test error and size of one combiner."""
    takes = inspect.signature(found).parameters
    options = {"n_members": 25, "budget": 25, "random_state": 0}
    combiner = found(**{k: v for k, v in options.items() if k in takes})
    y = cell.data[1]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        combiner.fit(cell.F, y, held_out=cell.held_out)
    return cell.error(combiner.weights_), len(combiner.support_)


def summary(runs):
    error, size = np.transpose(runs)
    se = error.std(ddof=1) / np.sqrt(len(error))
    return f"{error.mean():.1f} ± {se:.1f} ({size.mean():.0f})"
