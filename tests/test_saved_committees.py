"""What is large is packed on its way into a pickle or a file, and is the same behind it."""

import copy
import pickle

import numpy as np
import pytest
import skops.io
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    ModelFileError,
    OptimalWeights,
    base_committee,
    load,
    prune,
    save,
)
from committee.votes import packed, unpacked

RNG = np.random.default_rng(0)
X = RNG.normal(size=(2000, 3))
Y = (X[:, 0] + RNG.normal(size=2000) > 0).astype(int)


@pytest.fixture(scope="module")
def bag():
    stumps = DecisionTreeClassifier(max_depth=1)
    bagging = CommitteeClassifier(
        stumps, generator=Bagging(30), combiner=OptimalWeights(), random_state=0
    )
    return bagging.fit(X, Y)


def test_a_mask_takes_a_bit_for_each_entry(bag, tmp_path):
    N, M = bag.held_out_.shape
    without = copy.copy(bag)
    without.held_out_ = None
    assert len(pickle.dumps(bag)) - len(pickle.dumps(without)) < N * M / 8 + 500
    save(bag, tmp_path / "m.skops")
    save(without, tmp_path / "n.skops")
    sizes = [(tmp_path / name).stat().st_size for name in ("m.skops", "n.skops")]
    assert sizes[0] - sizes[1] < N * M / 8 + 1500
    for again in (
        load(tmp_path / "m.skops"),
        pickle.loads(pickle.dumps(bag)),
        copy.deepcopy(bag),
    ):
        assert again.held_out_.dtype == bool
        np.testing.assert_array_equal(again.held_out_, bag.held_out_)
        pruned = prune(again, X, Y, oob=True)
        assert pruned.n_members_ == prune(bag, X, Y, oob=True).n_members_


@pytest.mark.parametrize("shape", [(0, 3), (1, 1), (7, 5), (8, 8), (3, 0)])
def test_packing_is_undone(shape):
    mask = RNG.random(shape) < 0.4
    np.testing.assert_array_equal(unpacked(**packed(mask)), mask)


def test_a_mask_of_another_size_is_refused(bag, tmp_path, monkeypatch):
    """It would take all memory, whatever the size of the file."""
    small = packed(np.eye(3, dtype=bool))
    for shape in ((10**6, 10**6), (-1, -3), (3, 9)):
        monkeypatch.setattr(
            base_committee, "packed", lambda _, shape=shape: {**small, "shape": shape}
        )
        skops.io.dump(bag, tmp_path / "m.skops")
        with pytest.raises(ModelFileError, match="does not have 16 bits"):
            load(tmp_path / "m.skops")
