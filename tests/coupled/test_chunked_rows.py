"""Rows of Dask collections, checked where they are: plain errors that name the chunk."""

import warnings

import numpy as np
import pytest

from committee import (
    CellKernelClassifier,
    CellKernelRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
)
from committee.coupled import search_coupled

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 130
#: Nothing is left to choose.
GIVEN = {
    "max_cell": 20,
    "kernel": "rbf",
    "gamma": 0.3,
    "alpha": 0.1,
    "coupling": 1.0,
}


def waves(T=0, seed=0):
    """X (N, 2) and y of a regression, (N,) or (N, T)."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(-3, 3, size=(N, 2))
    y = np.sin(X[:, 0]) + 0.1 * rng.standard_normal(N)
    return X, y if T == 0 else np.stack([y * (t + 1) - X[:, 1] for t in range(T)], 1)


def labels(K, seed=0):
    """X (N, 2) and K kinds of words."""
    X, y = waves(seed=seed)
    cuts = np.quantile(y, np.linspace(0, 1, K + 1)[1:-1])
    return X, np.array(["low", "some", "top"])[np.searchsorted(cuts, y)]


def spread(array, rows):
    return da.from_array(array, chunks=(rows, *(-1,) * (array.ndim - 1)))


@pytest.mark.parametrize("kind", [CellKernelRegressor, CellKernelClassifier])
def test_columns_in_another_order_name_the_chunk(kind):
    X, y = waves() if kind is CellKernelRegressor else labels(2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    parts = [frame[:30], frame[30:70], frame.loc[70:99, ["b", "a"]], frame[100:]]
    turned = dd.from_map(lambda part: part, parts, meta=frame, enforce_metadata=False)
    targets = da.from_array(y, ((30, 40, 30, 30),))
    message = r"^Chunk 2: The columns of X are \['a', 'b'\], and the columns of this chunk are \['b'"
    with pytest.raises(ValueError, match=message):
        kind(**GIVEN).fit(turned, targets)
    for model in (kind(**GIVEN).fit(X, y), kind(**GIVEN).fit(frame, y)):
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "X has feature names", UserWarning)
            predicted = model.predict(turned)
        with pytest.raises(ValueError, match=message):
            predicted.compute()


def test_columns_of_another_number_name_the_chunk():
    X, y = waves()

    def wider(block, block_info=None):
        third = block_info is not None and block_info[0]["chunk-location"][0] == 3
        return np.hstack([block, block]) if third else block

    lazy = spread(X, 30).map_blocks(wider, dtype=X.dtype, meta=np.empty((0, 0)))
    with pytest.raises(
        ValueError, match=r"^Chunk 3: X has 2 columns .* shape \(30, 4\)"
    ):
        CellKernelRegressor(**GIVEN).fit(lazy, spread(y, 30))


def test_inputs_are_not_computed_twice():
    X, y = waves()
    calls = []

    def count(block):
        calls.append(len(block))
        return block

    lazy = spread(X, 30).map_blocks(count, dtype=X.dtype, meta=np.empty((0, 0)))
    CellKernelRegressor(**GIVEN).fit(lazy, spread(y, 30))
    assert sum(calls) == N


def holes(X):
    X = X.copy()
    X[97, 1] = np.nan
    return X


BAD = {
    "nan in X": (
        lambda X, y: (spread(holes(X), 30), spread(y, 30)),
        r"^Chunk 3: Input X contains NaN",
    ),
    "nan in y": (
        lambda X, y: (spread(X, 30), spread(holes(X)[:, 1], 30)),
        r"^Chunk 3: Input y contains NaN",
    ),
    "chunks that do not match": (
        lambda X, y: (
            spread(X, 30)[da.from_array(X[:, 0] < 9, 30)],
            spread(y, 30)[da.from_array(np.arange(N) != 64, 30)],
        ),
        r"^Chunk 2: X has 30 rows and y has 29; chunks of both must be equal\.",
    ),
    "another number of chunks": (
        lambda X, y: (
            spread(X, 30)[da.from_array(X[:, 0] < 9, 30)],
            spread(y, 65),
        ),
        r"^X has 5 chunks of rows and y has 2, of unknown sizes",
    ),
    "another number of rows": (
        lambda X, y: (spread(X, 30), spread(y[:-1], 30)),
        r"y must have one entry for each row of X\. Got 129 for 130 rows\.",
    ),
    "plain y of unknown sizes": (
        lambda X, y: (spread(X, 30)[da.from_array(X[:, 0] < 9, 30)], y),
        r"y is a plain array, but the chunks of X have unknown sizes",
    ),
    "plain X": (
        lambda X, y: (X, spread(y, 30)),
        r"^y is a Dask collection, but X is not: pass X as one too",
    ),
    "flat": (
        lambda X, y: (spread(X[:, 0], 30), spread(y, 30)),
        r"^Expected 2D array, got 1D array instead",
    ),
    "no rows": (
        lambda X, y: (spread(X[:0], 1), spread(y[:0], 1)),
        r"^X must have at least one row\. Every chunk is empty\.",
    ),
    "words": (
        lambda X, y: (spread(X, 30), spread(np.full(N, "word"), 30)),
        r"^Chunk \d: A regressor needs numbers as y",
    ),
    "no y": (lambda X, y: (spread(X, 30), None), r"requires y to be passed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_the_chunk(name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        CellKernelRegressor(**GIVEN).fit(*make(*waves()))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[np.ones(70), -1.0, np.ones(59)], r"^Chunk 2: .* values from -1 to 1\."),
        (np.r_[np.ones(70), np.nan, np.ones(59)], r"^Chunk 2: .* from nan to nan\."),
        (np.zeros(N), r"^sample_weight must have at least one positive entry"),
        (np.ones((N, 2)), r"^Chunk \d: sample_weight must be \d+ .* shape \(\d+, 2\)"),
        (np.array(2.0), r"^sample_weight must have .* Got a 0-dimensional array"),
    ],
)
def test_bad_weights_name_the_chunk(weight, message):
    X, y = waves()
    with pytest.raises(ValueError, match=message):
        CellKernelRegressor(**GIVEN).fit(
            spread(X, 30), spread(y, 30), sample_weight=spread(weight, 30)
        )


def test_a_classifier_needs_two_classes_and_no_numbers_between():
    X, y = waves()
    model = CellKernelClassifier(**GIVEN)
    with pytest.raises(ValueError, match=r"at least 2 classes in y\. Got 1 class: 7"):
        model.fit(spread(X, 30), spread(np.full(N, 7), 30))
    with pytest.raises(ValueError, match=r"^Chunk \d: Unknown label type: continuous"):
        model.fit(spread(X, 30), spread(y, 30))


def test_a_class_that_is_in_one_chunk_only():
    X, _ = waves()
    y = np.arange(N) // 30  # every chunk has one class
    expected = CellKernelClassifier(**GIVEN).fit(X, y)
    found = CellKernelClassifier(**GIVEN).fit(spread(X, 30), spread(y, 30))
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    np.testing.assert_allclose(
        found.decision_function(X), expected.decision_function(X), atol=1e-10
    )


def test_random_subsets_are_refused_before_any_row_is_read():
    def unreadable(block):
        raise AssertionError

    X, y = waves()
    lazy = spread(X, 30).map_blocks(unreadable, dtype=X.dtype, meta=np.empty((0, 0)))
    for model in (CoupledKernelRegressor(9), CoupledKernelClassifier(9)):
        with pytest.raises(ValueError, match=r"take CellKernel.* for Dask collections"):
            model.fit(lazy, spread(y, 30))
    with pytest.raises(ValueError, match=r"search_coupled works in memory"):
        search_coupled(CoupledKernelRegressor(9), spread(X, 30), spread(y, 30))


def test_values_of_members_are_lazy():
    for K in (2, 3):
        X, y = labels(K)
        model = CoupledKernelClassifier(4, random_state=0).fit(X, y)
        f = model.member_decision_function(spread(X, 26))
        assert isinstance(f, da.Array)
        np.testing.assert_allclose(f, model.member_decision_function(X), atol=1e-12)
