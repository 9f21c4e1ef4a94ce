"""What the errors of a path are, and the same errors on other rows."""

from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.metrics import accuracy_score

from committee import (
    ARDPruner,
    BestPruner,
    EPPruner,
    GreedyPruner,
    combine,
)
from committee.displays import measures
from committee.displays.measures import UNHEARD, Measure, measure_of
from tests.reference.problems import make_held_out


def test_errors_of_votes_and_numbers():
    assert measures.error_of(np.eye(2), np.array([0, 0])) == 0.5
    assert measures.error_of(np.eye(2), np.array([0, 0]), squared=True) == 1.0
    assert measures.error_of(np.array([1.0, 3.0]), np.zeros(2)) == 5.0


@pytest.mark.parametrize(
    ("combiner", "kind", "name"),
    [
        (EPPruner(), "binary_problem", "leave-one-out error rate"),
        (ARDPruner(), "regression_problem", "leave-one-out mean squared error"),
        (BestPruner(), "binary_problem", "error rate on the weighing rows"),
        (BestPruner(), "regression_problem", "mean squared error on the weighing rows"),
        (
            GreedyPruner(3),
            "multiclass_problem",
            "squared error of probabilities on the weighing rows",
        ),
        (
            GreedyPruner(3, scoring="accuracy"),
            "binary_problem",
            "minus accuracy on the weighing rows",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else repr(value),
)
def test_names(combiner, kind, name, request):
    combiner.fit(*request.getfixturevalue(kind))
    measure = measure_of(combiner.path_, combiner)
    assert measure.name == name
    assert measure.note == ""


def test_without_the_combiner_less_is_known(binary_problem):
    F, y = binary_problem
    assert measure_of(EPPruner().fit(F, y).path_).name == "leave-one-out error"
    assert measure_of(BestPruner().fit(F, y).path_).name == "error on the weighing rows"


def test_only_votes_that_were_held_out_have_a_note(binary_problem, multiclass_problem):
    mask = make_held_out()
    pruner = EPPruner().fit(*binary_problem, held_out=mask)
    assert measure_of(pruner.path_, pruner).note == UNHEARD
    squared = EPPruner().fit(*multiclass_problem, held_out=mask)
    assert measure_of(squared.path_, squared).note == ""
    assert measure_of(squared.path_, squared).squared


def test_scores_of_other_rows(binary_problem):
    F, y = binary_problem
    measure = Measure("minus accuracy", "on the weighing rows", scoring="accuracy")
    (error,) = measure.errors(F, y, [(np.array([1, 4]), np.array([0.3, 0.7]))])
    said = combine(F[:, [1, 4]], np.array([0.3, 0.7])).argmax(axis=1)
    assert error == pytest.approx(-accuracy_score(y, said))


def test_a_path_of_prune_says_itself_what_its_error_is(binary_problem):
    pruner = EPPruner().fit(*binary_problem, held_out=make_held_out())
    judged = measure_of(SimpleNamespace(measure="cross-fitted error rate"), pruner)
    assert (judged.name, judged.note) == ("cross-fitted error rate", "")
    # With too few rows for folds it is the combiner's own, gaps and all.
    own = measure_of(SimpleNamespace(measure="leave-one-out error rate"), pruner)
    assert (own.name, own.note) == ("leave-one-out error rate", UNHEARD)
    plain = measure_of(SimpleNamespace(measure=""), BestPruner().fit(*binary_problem))
    assert plain.name == "error rate on the weighing rows"
