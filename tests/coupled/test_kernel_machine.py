import numpy as np
import pytest

from committee import CoupledKernelClassifier
from committee.coupled.kernel_machine import both_sides


def test_values_of_both_classes():
    assert both_sides(np.array([[0.3]])).tolist() == [[-0.3, 0.3]]
    assert both_sides(np.ones((1, 3))).shape == (1, 3)


def test_one_class_is_refused_by_its_name():
    with pytest.raises(ValueError, match="Got 1 class: 'b'"):
        CoupledKernelClassifier(2).fit(np.eye(4), ["b"] * 4)
