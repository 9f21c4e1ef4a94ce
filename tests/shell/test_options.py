"""Help and completion know the names."""

import typing

import pytest

from committee.shell import options
from committee.shell.choices import COMBINERS, ESTIMATORS, GENERATORS


@pytest.mark.parametrize(
    ("option", "names"),
    [
        ("Combiner", COMBINERS),
        ("Estimator", ESTIMATORS),
        ("Generator", GENERATORS),
        ("Task", ["classification", "regression"]),
    ],
)
def test_names_are_in_the_help_and_complete(option, names):
    _, info = typing.get_args(getattr(options, option))
    for name in names:
        assert name in info.help
        assert name in info.autocompletion(name[:2])
    assert info.autocompletion("zz") == []
