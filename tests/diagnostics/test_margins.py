import numpy as np
import pytest

from committee import margins
from tests.reference import errors as reference


@pytest.mark.parametrize("name", ["binary_problem", "multiclass_problem"])
@pytest.mark.parametrize("weights", ["equal", "unequal"])
def test_against_plain_loops(name, weights, request, rng):
    F, y = request.getfixturevalue(name)
    w = None if weights == "equal" else rng.normal(size=7)
    expected = reference.margins(F, y, np.full(7, 1 / 7) if w is None else w)
    np.testing.assert_allclose(margins(F, y, w), expected, rtol=0, atol=1e-13)


def test_sign_tells_who_is_right(multiclass_problem):
    F, y = multiclass_problem
    right = F.mean(axis=1).argmax(axis=1) == y
    m = margins(F, y)
    np.testing.assert_array_equal(m > 0, right)
    assert np.all(np.abs(m) <= 1.0)


def test_two_classes_have_the_signed_margin(binary_problem):
    F, y = binary_problem
    signed = (2 * y - 1) * (2 * F[..., 1] - 1).mean(axis=1)
    np.testing.assert_allclose(margins(F, y), signed, rtol=0, atol=1e-14)


def test_predictions_are_untouched_and_may_be_lists():
    F = [[[0.75, 0.25], [0.25, 0.75]]]
    assert margins(F, [0], [1.0, 0.0]).tolist() == [0.5]
    frozen = np.array(F)
    frozen.setflags(write=False)
    assert margins(frozen, [0], [1.0, 0.0]).tolist() == [0.5]


def test_regression_has_no_margin(regression_problem):
    with pytest.raises(ValueError, match="margins are defined for classification"):
        margins(*regression_problem)


def test_codes_beyond_the_last_class(binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match=r"codes 0\.\.1"):
        margins(F, y + 1)
