"""What a roster knows beside its members."""

import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from committee.ensembles.roster import Roster, unseen_rows


def test_unseen_rows_are_the_complement_of_seen_ones():
    mask = unseen_rows([np.array([0, 0, 2]), np.array([1])], 4)
    assert mask.T.tolist() == [[False, True, False, True], [True, False, True, True]]


def test_frames_become_arrays_where_members_want_these():
    X = pd.DataFrame({"a": [1, 2], "b": [0.5, 1.5]})
    assert Roster([], None).prepared(X) is X
    as_array = Roster([], None, arrays=True).prepared(X)
    assert isinstance(as_array, np.ndarray)
    np.testing.assert_array_equal(as_array, X.to_numpy())


def test_the_transformer_comes_first(rng):
    X = rng.normal(size=(10, 2))
    scaler = StandardScaler().fit(X)
    np.testing.assert_array_equal(
        Roster([], None, transformer=scaler).prepared(X), scaler.transform(X)
    )
