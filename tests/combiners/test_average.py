import numpy as np
import pytest

from committee import Average
from tests.reference.problems import KINDS, make_held_out, make_problem


@pytest.mark.parametrize("kind", KINDS)
def test_weights_are_equal_whatever_is_known(kind, rng):
    F, y = make_problem(kind)
    plain = Average().fit(F, y)
    honest = Average().fit(
        F, y, held_out=make_held_out(), sample_weight=rng.exponential(size=40)
    )
    assert plain.weights_.tolist() == honest.weights_.tolist() == [1 / 7] * 7
    assert plain.support_.tolist() == list(range(7))


@pytest.mark.parametrize("kind", KINDS)
def test_combines_to_the_mean(kind):
    F, y = make_problem(kind)
    np.testing.assert_allclose(
        Average().fit(F, y).combine(F), F.mean(axis=1), rtol=1e-13, atol=1e-15
    )


def test_says_that_it_needs_no_rows():
    assert not Average.needs_rows
