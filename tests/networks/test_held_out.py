"""Predictions of rows that neither trained a member nor chose when it stops."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from committee import NetworkClassifier, Networks
from committee.members import TrainingData


@pytest.mark.parametrize(
    "options",
    [{"data": "all"}, {"data": "bagging"}, {"coupling": 0.5}, {"share": "adapters"}],
    ids=str,
)
def test_a_rows_own_target_has_no_part_in_its_predictions(options):
    """Bit for bit: neither by training nor by the epoch to stop after."""
    Z, classes = make_classification(90, flip_y=0.5, random_state=0)
    network = NetworkClassifier(8, max_epochs=30, patience=30)

    def generate(y):
        data = TrainingData(Z, y, 2)
        return Networks(4, **options).generate(network, data, random_state=0)

    found = generate(classes)
    rows = np.flatnonzero(found.held_out.any(axis=1))[:8]
    for n in rows:
        other = generate(np.where(np.arange(90) == n, 1 - classes, classes))
        mask = found.held_out[n]
        np.testing.assert_array_equal(other.held_out[n], mask)
        np.testing.assert_array_equal(other.F[n, mask], found.F[n, mask])
