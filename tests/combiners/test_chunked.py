"""Combiners on Dask collections: the same answers as in memory, and plain errors."""

import warnings

import numpy as np
import pytest

from committee import (
    ARDPruner,
    Average,
    EPPruner,
    GreedyPruner,
    LeastSquares,
    OptimalWeights,
    SimplexWeights,
)
from tests.reference.problems import KINDS, make_held_out, make_problem

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

COMBINERS = {
    "average": Average,
    "optimal": OptimalWeights,
    "simplex": SimplexWeights,
    "least-squares": LeastSquares,
    "ep": EPPruner,
    "ard": ARDPruner,
    "ep-gaussian": lambda: EPPruner(likelihood="gaussian"),
    "ep-probit": lambda: EPPruner(likelihood="probit", votes="equal", rule="one-se"),
}
CHUNKS = {"one": 40, "even": 10, "ragged": (3, 0, 1, 30, 6), "rows": 1}


def spread(array, rows, columns=-1):
    chunks = (rows, columns, -1)[: array.ndim]
    return da.from_array(array, chunks=chunks)


def assert_same(found, expected):
    for name in ("weights_", "loo_", "log_evidence_", "error_"):
        if hasattr(expected, name):
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-10
            )
    if hasattr(expected, "path_"):
        for name in ("weights", "loo_error", "loo_se", "loo_density", "log_evidence"):
            np.testing.assert_allclose(
                getattr(found.path_, name),
                getattr(expected.path_, name),
                rtol=1e-8,
                atol=1e-10,
            )
        assert found._spread == pytest.approx(expected._spread, rel=1e-8)
        assert found._heard == pytest.approx(expected._heard, rel=1e-8)


def problem_for(name, kind):
    if name == "ep-probit" and kind == "regression":
        pytest.skip("probit is for votes")
    return make_problem(kind)


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMBINERS)
def test_any_chunking_gives_the_weights_of_memory(name, kind, chunks):
    F, y = problem_for(name, kind)
    found = COMBINERS[name]().fit(spread(F, CHUNKS[chunks], 3), da.from_array(y, 7))
    assert_same(found, COMBINERS[name]().fit(F, y))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", COMBINERS)
def test_sample_weights(name, kind):
    F, y = problem_for(name, kind)
    s = np.random.default_rng(0).integers(0, 4, len(y)) * 0.8
    s[:10] = 0.0  # a whole chunk that counts for nothing
    found = COMBINERS[name]().fit(
        spread(F, 10), da.from_array(y, 10), sample_weight=da.from_array(s, 8)
    )
    assert_same(found, COMBINERS[name]().fit(F, y, sample_weight=s))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("name", sorted(COMBINERS.keys() - {"least-squares"}))
def test_held_out_rows(name, kind):
    F, y = problem_for(name, kind)
    mask = make_held_out()
    found = COMBINERS[name]().fit(
        spread(F, 9), da.from_array(y, 9), held_out=spread(mask, 20)
    )
    assert_same(found, COMBINERS[name]().fit(F, y, held_out=mask))


def test_frames_of_predictions_bring_their_names(regression_problem):
    F, y = regression_problem
    frame = pd.DataFrame(F, columns=[f"m{i}" for i in range(F.shape[1])])
    parts = dd.from_pandas(frame.assign(y=y), npartitions=3)
    found = EPPruner().fit(parts[list(frame.columns)], parts["y"])
    assert_same(found, EPPruner().fit(frame, y))
    assert found.feature_names_in_.tolist() == list(frame.columns)


def test_a_large_offset_of_y(regression_problem):
    F, y = regression_problem
    found = EPPruner().fit(spread(F + 1e6, 9), da.from_array(y + 1e6, 9))
    assert_same(found, EPPruner().fit(F + 1e6, y + 1e6))


@pytest.mark.parametrize("unit", [1e150, 1e-150])
def test_errors_of_any_size(regression_problem, unit):
    F, y = regression_problem
    found = OptimalWeights().fit(spread(unit * F, 9), da.from_array(unit * y, 9))
    np.testing.assert_allclose(found.weights_, OptimalWeights().fit(F, y).weights_)


def test_a_chunk_with_one_class_only(binary_problem):
    F, y = binary_problem
    order = np.argsort(y, kind="stable")
    found = EPPruner().fit(spread(F[order], 10), da.from_array(y[order], 10))
    assert_same(found, EPPruner().fit(F[order], y[order]))


def test_the_output_of_a_dask_array_is_lazy(binary_problem):
    F, y = binary_problem
    combiner = EPPruner().fit(F, y)
    output = combiner.combine(spread(F, (15, 0, 25)))
    assert output.chunks == ((15, 0, 25), (2,))
    np.testing.assert_allclose(output.compute(), combiner.combine(F), rtol=1e-12)


def test_warnings_are_those_of_memory(regression_problem):
    F, y = regression_problem
    with pytest.warns(UserWarning, match="these sum to 0.4 for 40 rows"):
        EPPruner().fit(
            spread(F, 10), da.from_array(y, 10), sample_weight=np.full(40, 0.01)
        )


@pytest.mark.parametrize("name", ["optimal", "least-squares", "ep"])
@pytest.mark.parametrize("kind", KINDS)
def test_nan_deep_inside_names_its_chunk(name, kind):
    F, y = make_problem(kind)
    F[23, 4] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 2: F contains NaN.*members \[4\]"):
        COMBINERS[name]().fit(spread(F, 10), da.from_array(y, 10))


def test_targets_that_do_not_fit_name_their_chunk(binary_problem):
    F, y = binary_problem
    wrong = np.where(np.arange(40) == 31, 5, y)
    with pytest.raises(
        ValueError, match=r"Chunk 3: y must hold the class codes 0\.\.1"
    ):
        EPPruner().fit(spread(F, 10), da.from_array(wrong, 10))
    weight = np.where(np.arange(40) == 12, -1.0, 1.0)
    with pytest.raises(ValueError, match="Chunk 1: sample_weight must be 10 finite"):
        EPPruner().fit(spread(F, 10), da.from_array(y, 10), sample_weight=weight)


def without_sizes(array):
    return array[da.from_array(np.ones(len(array), bool), chunks=(array.chunks[0],))]


def test_unknown_sizes(binary_problem):
    F, y = binary_problem
    found = EPPruner().fit(without_sizes(spread(F, 10)), da.from_array(y, 10))
    assert_same(found, EPPruner().fit(F, y))
    with pytest.raises(ValueError, match=r"Chunk [01]: F has 10 rows and y has"):
        OptimalWeights().fit(
            without_sizes(spread(F, 10)), da.from_array(y, ((13, 7, 10, 10),))
        )
    with pytest.raises(ValueError, match="4 chunks of rows and y has 5, of unknown"):
        OptimalWeights().fit(without_sizes(spread(F, 10)), da.from_array(y, 8))


def test_what_cannot_be_weighed_in_chunks_is_said(binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match="GreedyPruner has to see all rows at once"):
        GreedyPruner().fit(spread(F, 10), da.from_array(y, 10))
    with pytest.raises(TypeError, match="LeastSquares with held_out"):
        LeastSquares().fit(
            spread(F, 10), da.from_array(y, 10), held_out=make_held_out()
        )
    with pytest.raises(ValueError, match="but F is not"):
        EPPruner().fit(F, da.from_array(y, 10))
    with pytest.raises(ValueError, match="F must have shape"):
        EPPruner().fit(da.zeros(10), da.zeros(10))
    with pytest.raises(ValueError, match="held_out is False everywhere"):
        EPPruner().fit(
            spread(F, 10), da.from_array(y, 10), held_out=da.zeros((40, 7), dtype=bool)
        )


@pytest.mark.parametrize("name", sorted(COMBINERS.keys() - {"average"}))
def test_no_rows_at_all(name, binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match="at least one row"):
        COMBINERS[name]().fit(spread(F[:0], 10), da.from_array(y[:0], 10))


def test_nothing_is_warned_about(multiclass_problem):
    F, y = multiclass_problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SimplexWeights().fit(spread(F, 10), da.from_array(y, 10))
