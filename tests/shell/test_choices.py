"""Every name makes what it says, and a wrong one lists the right ones."""

import pytest
from sklearn.base import is_classifier, is_regressor

from committee import combiners
from committee.combiner_names import COMBINERS
from committee.shell.choices import (
    ESTIMATORS,
    GENERATORS,
    TREES,
    check_on_dask,
    make_combiner,
    make_estimator,
    make_generator,
)
from committee.shell.errors import ShellError


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
    assert names == set(combiners.__all__) - {"Combiner", "Inclusion"}
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
    ("name", "n_classes", "words"),
    [
        ("mcmc", None, "On Dask, --combiner must be one of ep, ard"),
        ("em", 2, "On Dask with 2 classes, --combiner must be one of ep, ard"),
        ("lpboost", 2, "On Dask with 2 classes"),
    ],
)
def test_what_sees_all_rows_is_not_for_dask(name, n_classes, words):
    with pytest.raises(ShellError, match=words) as error:
        check_on_dask(name, n_classes)
    assert error.value.status == 2
    assert f" {name}," not in str(error.value)


def test_what_sums_over_chunks_is_for_dask():
    for n_classes in (None, 2, 3):
        check_on_dask("ep", n_classes)
    check_on_dask("em", 3)
