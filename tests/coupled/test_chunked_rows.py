"""Coupled ensembles on Dask collections: the answers of memory, and plain errors."""

import warnings
from itertools import cycle

import numpy as np
import pytest

from committee import (
    Average,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    EPPruner,
    OptimalWeights,
)
from committee.coupled import search_coupled
from committee.coupled.chunked_rows import rows_of
from committee.coupled.rows import regression_rows
from committee.linalg import NotPositiveDefiniteError
from tests.reference.coupled import DenseCoupled

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N = 130
CHUNKS = {
    "one": N,
    "even": 26,
    "ragged": (3, 0, 1, 100, 26),
    "small": 4,
    "columns": (26, 1),
}


@pytest.fixture(autouse=True)
def three_segments(monkeypatch):
    """The number of segments does not depend on the machine."""
    monkeypatch.setattr("committee.coupled.segments.n_threads", lambda: 3)


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


def assert_same(found, expected, X):
    """Everything that was drawn is equal, everything learned to 1e-8."""
    for one, two in zip(found.subsets_, expected.subsets_, strict=True):
        np.testing.assert_array_equal(one, two)
    np.testing.assert_array_equal(found.coupling_points_, expected.coupling_points_)
    assert found.kernel_ == expected.kernel_
    np.testing.assert_array_equal(found.dual_rows_, expected.dual_rows_)
    for name in ("weights_", "dual_coef_", "slope_"):
        if hasattr(expected, name):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-8
            )
    for one, two in zip(found.members_, expected.members_, strict=True):
        np.testing.assert_array_equal(one.rows, two.rows)
        np.testing.assert_array_equal(one.X, two.X)
        np.testing.assert_allclose(one.coef, two.coef, rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose(
        found.member_predictions(X), expected.member_predictions(X), atol=1e-8
    )
    assert found.n_features_in_ == expected.n_features_in_
    assert (found.n_iter_, found.converged_) == (1, True)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("topology", ["ring", "chain"])
def test_any_chunking_gives_the_fit_of_memory(chunks, topology):
    X, y = waves()
    options = {"topology": topology, "random_state": 0}
    expected = CoupledKernelRegressor(13, **options).fit(X, y)
    found = CoupledKernelRegressor(13, **options)
    rows = CHUNKS[chunks]
    lazy = da.from_array(X, rows) if chunks == "columns" else spread(X, rows)
    found.fit(lazy, da.from_array(y, 50))
    assert found.__dict__.keys() == expected.__dict__.keys()
    assert_same(found, expected, X)


OPTIONS = {
    "one member": {"n_members": 1},
    "two members": {"n_members": 2},
    "uncoupled": {"coupling": 0.0},
    "negative coupling": {"coupling": -0.001},
    "no overlap": {"overlap": False},
    "box": {"coupling_set": "box", "n_coupling": 17},
    "given gamma": {"gamma": 0.3, "kernel": "laplacian"},
    "polynomial": {"kernel": "polynomial", "degree": 2},
    "held-out": {"weigh_on": "held-out"},
    "split off": {"weigh_on": 0.2},
    "few to weigh on": {"n_weighing": 31},
    "average": {"combiner": Average()},
    "optimal": {"combiner": OptimalWeights(), "weigh_on": "held-out"},
    "pruned": {"combiner": EPPruner()},
}


@pytest.mark.parametrize(
    ("name", "T"), [*((name, 2) for name in OPTIONS), ("box", 1), ("held-out", 0)]
)
def test_every_option_of_the_regressor(name, T):
    X, y = waves(T)
    options = {"n_members": 13, "random_state": 0, **OPTIONS[name]}
    expected = CoupledKernelRegressor(**options).fit(X, y)
    found = CoupledKernelRegressor(**options).fit(spread(X, 30), spread(y, 30))
    assert_same(found, expected, X)
    assert found.predict(X).shape == y.shape


@pytest.mark.parametrize("topology", ["ring", "chain"])
@pytest.mark.parametrize(("alpha", "coupling"), [(1e-6, 1.0), (1.0, 1e6)])
def test_equal_as_far_as_the_condition_lets_it(alpha, coupling, topology):
    """Two solvers may differ by the rounding of a matrix times its condition."""
    X, y = waves()
    options = {"alpha": alpha, "coupling": coupling, "topology": topology}
    model = CoupledKernelRegressor(13, random_state=0, **options).fit(X, y)
    found = CoupledKernelRegressor(13, random_state=0, **options)
    found.fit(spread(X, 30), spread(y, 30))
    dense = DenseCoupled(
        model.kernel_, X, y[:, None], model.subsets_, model.coupling_points_,
        alpha=alpha, nu=coupling, topology=topology,
    )  # fmt: skip
    condition = np.linalg.cond(dense.matrix)
    assert 1e8 < condition < 1e10
    one, two = (
        np.concatenate([m.coef for m in fit.members_]) for fit in (found, model)
    )
    bound = 2 * np.finfo(float).eps * condition
    assert np.linalg.norm(one - two) < bound * np.linalg.norm(two)


@pytest.mark.parametrize(
    ("name", "kind"),
    list(zip(OPTIONS, cycle([(2, "soft"), (3, "hard")]), strict=False)),
)
def test_every_option_of_the_classifier(name, kind):
    K, voting = kind
    X, y = labels(K)
    options = {"n_members": 13, "random_state": 0, "voting": voting, **OPTIONS[name]}
    expected = CoupledKernelClassifier(**options).fit(X, y)
    found = CoupledKernelClassifier(**options).fit(spread(X, 30), spread(y, 50))
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    assert_same(found, expected, X)
    np.testing.assert_allclose(
        found.predict_proba(X), expected.predict_proba(X), rtol=1e-8, atol=1e-8
    )


@pytest.mark.parametrize("kind", ["regressor", "classifier"])
@pytest.mark.parametrize("weight", ["each", "zeros", "scalar"])
def test_sample_weights(kind, weight):
    X, y = waves() if kind == "regressor" else labels(2)
    s = np.random.default_rng(0).uniform(0.5, 2.0, N)
    if weight == "zeros":
        s[:40] = 0.0  # a whole chunk that counts for nothing
        s[::7] = 0.0
    cls = CoupledKernelRegressor if kind == "regressor" else CoupledKernelClassifier
    model = cls(11, random_state=0)
    plain, lazy = (2.0, 2.0) if weight == "scalar" else (s, da.from_array(s, 60))
    expected = cls(11, random_state=0).fit(X, y, sample_weight=plain)
    found = model.fit(spread(X, 30), da.from_array(y, 40), sample_weight=lazy)
    assert_same(found, expected, X)


def test_more_rows_than_decide_the_kernel():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2100, 3))
    y = X[:, 0]
    expected = CoupledKernelRegressor(60, n_coupling=20, random_state=0).fit(X, y)
    found = CoupledKernelRegressor(60, n_coupling=20, random_state=0)
    assert_same(found.fit(spread(X, 500), da.from_array(y, 500)), expected, X[:50])


@pytest.mark.parametrize("kind", [CoupledKernelRegressor, CoupledKernelClassifier])
def test_frames(kind):
    X, y = waves() if kind is CoupledKernelRegressor else labels(3)
    plain = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y, "s": 1.0 + np.arange(N)})
    lazy = dd.from_pandas(plain, npartitions=4)
    some = lazy[lazy.a > -2.5]  # sizes are unknown now
    kept = plain[plain.a > -2.5]
    names = ["a", "b"]
    expected = kind(9, random_state=0).fit(
        kept[names], kept["y"], sample_weight=kept["s"], X_coupling=plain[names][:20]
    )
    found = kind(9, random_state=0).fit(
        some[names],
        some["y"],
        sample_weight=some["s"],
        X_coupling=lazy[names].head(20, npartitions=-1),
    )
    np.testing.assert_array_equal(found.feature_names_in_, names)
    assert_same(found, expected, plain[names])
    predicted = found.predict(lazy[names])
    assert not isinstance(predicted, np.ndarray)
    if kind is CoupledKernelRegressor:
        np.testing.assert_allclose(predicted, expected.predict(plain[names]), atol=1e-8)
    else:
        np.testing.assert_array_equal(predicted, expected.predict(plain[names]))
    score = expected.score(plain[names], plain["y"], plain["s"])
    assert found.score(lazy[names], lazy["y"], lazy["s"]) == pytest.approx(score)


@pytest.mark.parametrize("kind", [CoupledKernelRegressor, CoupledKernelClassifier])
def test_columns_in_another_order_name_the_chunk(kind):
    X, y = waves() if kind is CoupledKernelRegressor else labels(2)
    frame = pd.DataFrame(X, columns=["a", "b"])
    parts = [frame[:30], frame[30:70], frame.loc[70:99, ["b", "a"]], frame[100:]]
    turned = dd.from_map(lambda part: part, parts, meta=frame, enforce_metadata=False)
    targets = da.from_array(y, ((30, 40, 30, 30),))
    message = r"^Chunk 2: The columns of X are \['a', 'b'\], those of this chunk \['b'"
    with pytest.raises(ValueError, match=message):
        kind(9).fit(turned, targets)
    for model in (kind(9).fit(X, y), kind(9).fit(frame, y)):
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
        CoupledKernelRegressor(9).fit(lazy, spread(y, 30))


def test_coupling_points_may_be_a_dask_array():
    X, y = waves()
    expected = CoupledKernelRegressor(9, random_state=0).fit(X, y, X_coupling=X[:30])
    for rows, targets in [(X, y), (spread(X, 30), spread(y, 30))]:
        found = CoupledKernelRegressor(9, random_state=0)
        found.fit(rows, targets, X_coupling=spread(X[:30], 8))
        assert_same(found, expected, X)


@pytest.mark.parametrize("n_workers", [1, 2, 5, 100])
def test_the_number_of_segments_does_not_matter(n_workers, monkeypatch):
    monkeypatch.setattr("committee.coupled.segments.n_threads", lambda: n_workers)
    X, y = waves()
    expected = CoupledKernelRegressor(21, random_state=0).fit(X, y)
    found = CoupledKernelRegressor(21, random_state=0)
    assert_same(found.fit(spread(X, 30), spread(y, 30)), expected, X)


def test_inputs_are_not_computed_twice():
    X, y = waves()
    calls = []

    def count(block):
        calls.append(len(block))
        return block

    lazy = spread(X, 30).map_blocks(count, dtype=X.dtype, meta=np.empty((0, 0)))
    CoupledKernelRegressor(9, random_state=0).fit(lazy, spread(y, 30))
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
        r"^y is a Dask collection, but X is not: hand in X as one too",
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
        r"^Chunk \d: could not convert string to float",
    ),
    "few rows": (
        lambda X, y: (spread(X[:17], 4), spread(y[:17], 4)),
        r"^n_members=9 needs at least 18 training rows",
    ),
    "no y": (lambda X, y: (spread(X, 30), None), r"requires y to be passed"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_names_the_chunk(name):
    make, message = BAD[name]
    with pytest.raises(ValueError, match=message):
        CoupledKernelRegressor(9, random_state=0).fit(*make(*waves()))


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        (np.r_[np.ones(70), -1.0, np.ones(59)], r"^Chunk 2: .* values from -1 to 1\."),
        (np.r_[np.ones(70), np.nan, np.ones(59)], r"^Chunk 2: .* from nan to nan\."),
        (np.zeros(N), r"^sample_weight must have at least one positive entry"),
        (np.ones((N, 2)), r"^Chunk \d: sample_weight must be \d+ .* shape \(\d+, 2\)"),
        (np.array(2.0), r"^sample_weight must have .* Got an array without axes"),
    ],
)
def test_bad_weights_name_the_chunk(weight, message):
    X, y = waves()
    with pytest.raises(ValueError, match=message):
        CoupledKernelRegressor(9).fit(
            spread(X, 30), spread(y, 30), sample_weight=spread(weight, 30)
        )


def test_a_classifier_needs_two_classes_and_no_numbers_between():
    X, y = waves()
    model = CoupledKernelClassifier(9, random_state=0)
    with pytest.raises(ValueError, match=r"at least 2 classes in y\. Got 1 class: 7"):
        model.fit(spread(X, 30), spread(np.full(N, 7), 30))
    with pytest.raises(ValueError, match=r"^Chunk \d: Unknown label type: continuous"):
        model.fit(spread(X, 30), spread(y, 30))


def test_a_class_that_is_in_one_chunk_only():
    X, _ = waves()
    y = np.arange(N) // 30  # every chunk has one class
    expected = CoupledKernelClassifier(7, random_state=0).fit(X, y)
    found = CoupledKernelClassifier(7, random_state=0).fit(spread(X, 30), spread(y, 30))
    assert_same(found, expected, X)


def test_what_is_refused():
    X, y = waves()
    with pytest.raises(ValueError, match=r'solver="cg" needs all kernel blocks in one'):
        CoupledKernelRegressor(9, solver="cg").fit(spread(X, 30), spread(y, 30))
    with pytest.raises(ValueError, match=r"search_coupled works in memory"):
        search_coupled(CoupledKernelRegressor(9), spread(X, 30), spread(y, 30))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"coupling": -100.0}, r"at coupling=-100: give a coupling nearer to zero"),
        ({"alpha": 1e-22}, r"alpha=1e-22 is too small"),
    ],
)
def test_a_system_that_is_not_definite_is_an_error(options, message):
    X, y = waves()
    with pytest.raises(NotPositiveDefiniteError, match=message):
        CoupledKernelRegressor(9, random_state=0, **options).fit(
            spread(X, 30), spread(y, 30)
        )


def test_rows_are_found_by_their_numbers():
    X, y = waves()
    lazy = spread(X, (3, 0, 1, 100, 26)), spread(y, 40)
    rows = rows_of(CoupledKernelRegressor(9), regression_rows, *lazy, None)
    some = np.array([0, 2, 3, 4, 103, 104, 129])
    taken = rows.take(some)
    np.testing.assert_array_equal(taken.X, X[some])
    np.testing.assert_array_equal(taken.y, y[some])
    low, high = rows.box(some)
    np.testing.assert_array_equal(low, X[some].min(axis=0))
    np.testing.assert_array_equal(high, X[some].max(axis=0))
    np.testing.assert_array_equal(rows.counted(), np.arange(N))
    np.testing.assert_array_equal(rows.points(), X)
    np.testing.assert_array_equal(rows.gathered().Y[:, 0], y)
    assert len(rows.pieces(some).parts) == 4  # one chunk has no rows at all


def test_given_subsets_are_numbers_of_all_rows():
    X, y = waves()
    subsets = np.array_split(np.argsort(X[:, 0]), 6)
    options = {"alpha": 0.1, "random_state": 0}
    memory = CoupledKernelRegressor(6, **options).fit(X, y, subsets=subsets)
    chunked = CoupledKernelRegressor(6, **options).fit(
        spread(X, 26), spread(y, 26), subsets=subsets
    )
    for a, b in zip(memory.subsets_, chunked.subsets_, strict=True):
        np.testing.assert_array_equal(a, b)
    np.testing.assert_allclose(
        chunked.predict(X), memory.predict(X), rtol=1e-6, atol=1e-8
    )
    subsets[0][0] = N
    with pytest.raises(ValueError, match=r"from 0 to 129\. Got .* to 130"):
        chunked.fit(spread(X, 26), spread(y, 26), subsets=subsets)


def test_indefinite_systems_are_for_memory():
    X, y = waves()
    model = CoupledKernelRegressor(6, coupling=-1.0, allow_indefinite=True)
    with pytest.raises(ValueError, match=r"needs all kernel blocks.* compute\(\)"):
        model.fit(spread(X, 26), spread(y, 26))


def test_values_of_members_are_lazy():
    for K in (2, 3):
        X, y = labels(K)
        model = CoupledKernelClassifier(4, random_state=0).fit(X, y)
        f = model.member_decision_function(spread(X, 26))
        assert isinstance(f, da.Array)
        np.testing.assert_allclose(f, model.member_decision_function(X), atol=1e-12)
