import numpy as np
import pytest

from committee.coupled.link import both_sides, refuse_one_class, signed_targets


def test_signed_targets_and_values_of_both_classes():
    assert signed_targets(np.array([1, 0, 2]), 3).tolist() == [
        [-1, 1, -1],
        [1, -1, -1],
        [-1, -1, 1],
    ]
    assert signed_targets(np.array([0, 1]), 2).tolist() == [[-1], [1]]
    assert both_sides(np.array([[0.3]])).tolist() == [[-0.3, 0.3]]
    assert both_sides(np.ones((1, 3))).shape == (1, 3)


def test_one_class_is_refused_by_its_name():
    with pytest.raises(ValueError, match="Got 1 class: 'b'"):
        refuse_one_class(np.array(["b"]))
