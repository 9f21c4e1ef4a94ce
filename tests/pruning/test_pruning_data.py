"""prune() and predictions on Dask collections."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_regression
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import SimplexWeights, member_predictions
from committee.pruning import prune
from committee.pruning.pruning_data import _n_weighted

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

X, CODES = make_classification(700, 6, n_informative=4, flip_y=0.1, random_state=0)
Y = np.array(["no", "yes"])[CODES]
FRAME = pd.DataFrame(X, columns=list("abcdef"))
ENSEMBLES = {
    "forest": RandomForestClassifier(15, max_depth=4, random_state=0),
    "booster": GradientBoostingClassifier(n_estimators=10, random_state=0),
    "pipeline": make_pipeline(
        StandardScaler(), RandomForestClassifier(10, max_depth=4, random_state=0)
    ),
}


@pytest.fixture(scope="module", params=ENSEMBLES)
def ensemble(request):
    return ENSEMBLES[request.param].fit(FRAME[:200], Y[:200])


@pytest.fixture
def parts():
    return dd.from_pandas(FRAME[200:].assign(y=CODES[200:]), npartitions=3)


def labels(codes):
    return codes.map_partitions(
        lambda part: pd.Series(np.array(["no", "yes"], dtype=object)[part], part.index),
        meta=pd.Series(dtype=object),
    )


def test_pruning_a_frame_gives_the_committee_of_memory(ensemble, parts):
    expected = prune(ensemble, FRAME[200:], Y[200:])
    found = prune(ensemble, parts[list("abcdef")], labels(parts["y"]))
    np.testing.assert_array_equal(found.support_, expected.support_)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    np.testing.assert_allclose(found.path_.error, expected.path_.error, rtol=1e-8)
    summary = found.summary()
    assert summary.error_after == pytest.approx(expected.summary().error_after)
    assert summary.loo == pytest.approx(expected.summary().loo)
    assert summary.n_rows == 500


def test_predictions_are_lazy_and_the_same(ensemble, parts):
    X_parts = parts[list("abcdef")]
    F = member_predictions(ensemble, X_parts)
    expected = member_predictions(ensemble, FRAME[200:])
    assert F.shape[1:] == expected.shape[1:]
    np.testing.assert_allclose(F.compute(), expected, rtol=1e-12)
    small = prune(ensemble, FRAME[200:], Y[200:])
    np.testing.assert_array_equal(
        small.predict(X_parts).compute(), small.predict(FRAME[200:])
    )
    np.testing.assert_allclose(
        small.predict_proba(X_parts).compute(), small.predict_proba(FRAME[200:])
    )
    np.testing.assert_allclose(
        small.member_predictions(X_parts).compute(),
        small.member_predictions(FRAME[200:]),
    )


def test_arrays_of_a_regression():
    X, y = make_regression(600, 6, n_informative=4, noise=5.0, random_state=0)
    forest = RandomForestRegressor(15, max_depth=5, random_state=0).fit(
        X[:200], y[:200]
    )
    rows = da.from_array(X[200:], chunks=((150, 0, 250), (4, 2)))
    expected = prune(forest, X[200:], y[200:], combiner=SimplexWeights())
    found = prune(forest, rows, y[200:], combiner=SimplexWeights())
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    prediction = found.predict(rows)
    assert prediction.chunks == ((150, 0, 250),)
    np.testing.assert_allclose(prediction.compute(), expected.predict(X[200:]))


def test_the_sample_has_rows_from_all_over(monkeypatch):
    monkeypatch.setattr("committee.pruning.pruning_data.SAMPLED_ROWS", 50)
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    order = np.argsort(CODES[200:], kind="stable")
    rows, y = X[200:][order], Y[200:][order]
    found = prune(forest, da.from_array(rows, chunks=(50, 6)), da.from_array(y, 50))
    expected = prune(forest, rows, y)
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    assert found.summary().n_rows == 50
    assert 0.0 < found.summary().error_after < 0.5


def test_bad_rows_name_their_chunk():
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    rows = da.from_array(X[200:], chunks=(100, 6))
    strange = np.where(np.arange(500) == 320, "maybe", Y[200:].astype(object))
    with pytest.raises(ValueError, match="Chunk 3: y contains the label 'maybe'"):
        prune(forest, rows, da.from_array(strange, 100))
    with pytest.raises(ValueError, match="oob=True needs the training rows in memory"):
        prune(forest, rows, da.from_array(Y[200:], 100), oob=True)


def test_members_that_cannot_take_a_block_name_it():
    model = LogisticRegression().fit(X[:200], CODES[:200])
    hole = X[200:].copy()
    hole[250, 3] = np.nan
    F = member_predictions([model], da.from_array(hole, chunks=(100, 6)))
    with pytest.raises(ValueError, match="Chunk 2: Input X contains NaN"):
        F.compute()


@pytest.mark.parametrize("kind", [np.asarray, pd.Series, list])
def test_plain_labels_beside_a_dask_array(kind):
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    expected = prune(forest, X[200:], Y[200:])
    found = prune(forest, da.from_array(X[200:], chunks=(90, 6)), kind(Y[200:]))
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=1e-8)
    with pytest.raises(ValueError, match="y is a Dask collection, but X is not"):
        prune(forest, X[200:], da.from_array(CODES[200:]))


def test_labels_that_nobody_knows_name_the_chunk_of_X():
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    labels = Y[200:].astype(object)
    labels[470] = "perhaps"
    with pytest.raises(ValueError, match=r"^Chunk 4: .*perhaps"):
        prune(
            forest,
            da.from_array(X[200:], chunks=(100, 6)),
            da.from_array(labels, chunks=250),
        )


def test_rows_of_any_positive_weight_count():
    assert _n_weighted(np.zeros(4), [0.0, 1e-9, 0.5, 2.0]) == 3
    assert _n_weighted(np.zeros(4), None) == 4


@pytest.mark.slow
def test_the_summary_is_of_rows_that_count():
    """Most chunks are empty, or have no weight: the others are asked."""
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    sizes, s = [0] * 40 + [250] + [0] * 39 + [250] + [0] * 5, np.ones(500)
    s[:250] = 0.0
    found = prune(
        forest,
        da.from_array(X[200:], chunks=(tuple(sizes), 6)),
        da.from_array(CODES[200:]).map_blocks(np.array(["no", "yes"]).take),
        sample_weight=da.from_array(s),
    )
    assert found.summary().n_rows == 250


@pytest.mark.slow
def test_small_chunks_are_all_asked_for_the_summary():
    forest = ENSEMBLES["forest"].fit(X[:200], Y[:200])
    found = prune(forest, da.from_array(X[200:], chunks=(10, 6)), Y[200:])
    assert found.summary().n_rows == 500
