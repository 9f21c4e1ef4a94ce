"""Every name makes what it says, a wrong one lists the right ones; sizes have units."""

import pytest
import typer
from sklearn.base import is_classifier, is_regressor

from committee import combiners
from committee.combiner_names import COMBINERS
from committee.shell.messages import ShellError
from committee.shell.options import (
    ESTIMATORS,
    GENERATORS,
    TREES,
    make_combiner,
    make_estimator,
    make_generator,
    number_of_bytes,
    number_of_jobs,
)


def test_estimators_are_made_for_their_task_and_trees_take_gaps():
    for name in ESTIMATORS:
        assert is_classifier(make_estimator(name, "classification"))
        regressor = make_estimator(name, "regression")
        assert is_regressor(regressor)
        assert regressor.__sklearn_tags__().input_tags.allow_nan == (name in TREES)


def test_generators_make_as_many_members_as_asked():
    for name in GENERATORS:
        assert make_generator(name, 30, "classification").n_members == 30


def test_every_combiner_of_the_library_has_a_name_and_the_seed_if_it_draws():
    made = [make_combiner(name, seed=7) for name in COMBINERS]
    names = {type(combiner).__name__ for combiner in made}
    # A budget needs costs, which have no name.
    unnamed = {"BudgetPruner", "Combiner", "Inclusion"}
    assert names == set(combiners.__all__) - unnamed
    draws = [c for c in made if c.get_params().get("criterion", "random") == "random"]
    assert {c.get_params().get("random_state", 7) for c in draws} == {7}


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: make_estimator("trees", "regression"), "Did you mean 'tree'?"),
        (lambda: make_combiner("evidence"), "must be one of ep, ard"),
        (lambda: make_generator("boost", 10, "regression"), "Did you mean 'lpboost'?"),
        (lambda: make_generator("adaboost", 10, "regression"), "classification only"),
        (lambda: make_generator("mini-batches", 15, "regression"), "multiple of 10"),
    ],
    ids=["estimator", "combiner", "generator", "task", "multiple"],
)
def test_a_wrong_name_is_a_usage_error(make, words):
    with pytest.raises(ShellError) as error:
        make()
    assert words in str(error.value)
    assert error.value.status == 2


@pytest.mark.parametrize(
    ("text", "n_bytes"),
    [
        ("15000", 15_000),
        ("1e6", 10**6),
        ("800 kB", 800_000),
        ("5MB", 5 * 10**6),
        ("1.5gb", 1.5 * 10**9),
        ("2KiB", 2 * 2**10),
        ("5MiB", 5 * 2**20),
        ("100B", 100),
    ],
)
def test_a_size_is_a_number_of_bytes(text, n_bytes):
    assert number_of_bytes(text) == n_bytes


@pytest.mark.parametrize("text", ["15kX", "-1", "1.5.5MB", "much", "", "MB"])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(
        typer.BadParameter, match="is not a size: give a number of bytes"
    ):
        number_of_bytes(text)


def test_jobs_are_some():
    assert [number_of_jobs(n) for n in (-2, -1, 1, 8)] == [-2, -1, 1, 8]
    with pytest.raises(typer.BadParameter, match="-1 for all cores"):
        number_of_jobs(0)
