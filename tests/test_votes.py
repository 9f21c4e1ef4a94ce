"""Combiners on Dask collections: the same answers as in memory, and plain errors."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from sklearn.base import clone

from committee import (
    ARDPruner,
    Average,
    ClusterPruner,
    EMPruner,
    EPPruner,
    GeneticPruner,
    GreedyPruner,
    KappaErrorHullPruner,
    LeastSquares,
    OptimalWeights,
    OrderPruner,
    ReduceErrorPruner,
    SDPPruner,
    SimplexWeights,
)
from tests.reference.problems import KINDS, make_held_out, make_problem
from tests.reference.pruners import vote_problems

da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

COMBINERS = {
    "average": Average,
    "optimal": OptimalWeights,
    "simplex": SimplexWeights,
    "least-squares": LeastSquares,
    "basic": lambda: LeastSquares(solution="basic"),
    "ep": EPPruner,
    "ard": ARDPruner,
    "ep-printed": lambda: EPPruner(sequence="printed"),
    "ep-gaussian": lambda: EPPruner(likelihood="gaussian"),
    "ep-probit": lambda: EPPruner(likelihood="probit", votes="equal", rule="one-se"),
    "em": lambda: EMPruner(likelihood="gaussian"),
    "genetic": lambda: GeneticPruner(n_generations=20, random_state=0),
    "greedy": lambda: GreedyPruner(12),
    "greedy-start": lambda: GreedyPruner(9, n_initial=2),
    "cluster": lambda: ClusterPruner(3),
    "sdp": lambda: SDPPruner(3, random_state=0),
    "best": lambda: OrderPruner("best", 3),
    "random": lambda: OrderPruner("random", 3, random_state=0),
    "reduce-error": lambda: ReduceErrorPruner(3),
}
#: Those that look at the votes of every member.
VOTES = {
    "contribution": lambda: OrderPruner("contribution"),
    "correlation": lambda: OrderPruner("correlation"),
    "hull": KappaErrorHullPruner,
    "kappa": lambda: OrderPruner("kappa"),
    "kl": lambda: OrderPruner("kl"),
    "margin": lambda: OrderPruner("margin-distance"),
    "orientation": lambda: OrderPruner("orientation"),
}
COMBINERS |= VOTES
#: What the names take, where that is not all.
KINDS_OF = dict.fromkeys(("ep-probit", *VOTES), ("binary", "multiclass"))
KINDS_OF["reduce-error"] = ("regression",)
every_name_and_kind = pytest.mark.parametrize(
    ("name", "kind"), [(n, kind) for n in COMBINERS for kind in KINDS_OF.get(n, KINDS)]
)
CHUNKS = {"one": 40, "even": 10, "ragged": (3, 0, 1, 30, 6), "rows": 1}


NUMBERS = (
    *("offsets_", "floor_"),
    *("weights_", "loo_", "log_evidence_", "error_", "noise_", "evolved_", "G_"),
    *("objective_", "bound_", "scores_"),
)
NUMBERS_OF_PATHS = (*("weights", "error", "error_se", "log_evidence"),)


def spread(array, rows, columns=-1):
    chunks = (rows, columns, -1)[: array.ndim]
    return da.from_array(array, chunks=chunks)


def assert_same(found, expected):
    for name in ("order_", "labels_", "pairs_"):
        if hasattr(expected, name):
            np.testing.assert_array_equal(getattr(found, name), getattr(expected, name))
    for name in NUMBERS:
        if getattr(expected, name, None) is not None:
            np.testing.assert_allclose(
                getattr(found, name), getattr(expected, name), rtol=1e-8, atol=1e-10
            )
    for name in NUMBERS_OF_PATHS if hasattr(expected, "path_") else ():
        if hasattr(expected.path_, name):
            np.testing.assert_allclose(
                getattr(found.path_, name),
                getattr(expected.path_, name),
                rtol=1e-8,
                atol=1e-10,
            )


@pytest.mark.parametrize("chunks", CHUNKS)
@pytest.mark.parametrize("name", ["simplex", "ep", "kl"])
def test_any_chunking_gives_the_weights_of_memory(name, chunks, multiclass_problem):
    F, y = multiclass_problem
    found = COMBINERS[name]().fit(spread(F, CHUNKS[chunks], 3), da.from_array(y, 7))
    assert_same(found, COMBINERS[name]().fit(F, y))


@every_name_and_kind
def test_chunks_give_the_weights_of_memory(name, kind):
    """Without more, with row weights, with a mask, with both."""
    F, y = make_problem(kind)
    s = np.random.default_rng(0).integers(0, 4, len(y)) * 0.8
    s[:10] = 0.0  # a whole chunk that counts for nothing
    mask = make_held_out()
    for known, lazy in [
        ({}, {}),
        ({"sample_weight": s}, {"sample_weight": da.from_array(s, 8)}),
        ({"held_out": mask}, {"held_out": spread(mask, 20)}),
        ({"held_out": mask, "sample_weight": s + 0.1},) * 2,
    ]:
        found = COMBINERS[name]().fit(spread(F, 10), da.from_array(y, 10), **lazy)
        assert_same(found, COMBINERS[name]().fit(F, y, **known))


@pytest.mark.parametrize("full", [False, True])
@pytest.mark.parametrize("name", ["simplex", "ep", "kl"])
def test_members_that_are_never_heard(name, full, multiclass_problem):
    F, y = multiclass_problem
    mask = np.ones((40, 7), dtype=bool) if full else make_held_out()
    mask[:, 4] = False
    found = COMBINERS[name]().fit(spread(F, 10), y, held_out=spread(mask, 20))
    assert_same(found, COMBINERS[name]().fit(F, y, held_out=mask))
    assert found.weights_[4] == 0.0


@pytest.mark.parametrize("name", ["best", "cluster", "greedy", *VOTES])
@settings(max_examples=12)
@given(case=vote_problems)
def test_members_that_tie_have_one_order(name, case):
    """Few rows, many of them alike, twins, members without votes and integer weights."""
    F, y, held_out, s = case
    F = np.concatenate([F, F[:, :1]], axis=1)
    if held_out is not None:
        held_out = np.concatenate([held_out, held_out[:, :1]], axis=1)
    known = {"held_out": held_out, "sample_weight": s}
    found = COMBINERS[name]().fit(spread(F, 2), da.from_array(y, 3), **known)
    assert_same(found, COMBINERS[name]().fit(F, y, **known))


@pytest.mark.parametrize("name", ["best", *VOTES])
def test_shares_of_2048_rows_tie_whatever_their_weight(name):
    """Odd numbers of 2048 lie on half a unit of ties, and sums of 0.1 round."""
    some = np.arange(2048)[:, None] < [601] * 5
    wrong = np.random.default_rng(0).permuted(some, axis=0)
    F, y, s = np.eye(2)[wrong.astype(int)], np.zeros(2048, int), np.full(2048, 0.1)
    expected = COMBINERS[name]().fit(F, y)
    for rows in (2048, 300):
        found = COMBINERS[name]().fit(
            spread(F, rows), da.from_array(y, rows), sample_weight=s
        )
        assert_same(found, expected)


@pytest.mark.parametrize("unit", [1e-150, 1e-40, 1e150])
def test_paths_of_errors_of_any_size(unit, regression_problem):
    name, (F, y) = "best", regression_problem
    found = COMBINERS[name]().fit(spread(unit * F, 9), da.from_array(unit * y, 9))
    expected = COMBINERS[name]().fit(F, y)
    np.testing.assert_array_equal(found.order_, expected.order_)
    np.testing.assert_allclose(found.path_.error / unit / unit, expected.path_.error)


def test_twins_in_regression_go_by_number(rng):
    """The same errors in another order of rows: equal means, up to rounding."""
    E = rng.normal(size=(40, 1))
    F = np.hstack([3 * E, E[::-1], E, -E])
    found = OrderPruner("best").fit(spread(F, 7), da.zeros(40, chunks=7))
    assert found.order_.tolist() == [1, 2, 3, 0]


def test_votes_are_asked_for_in_chunks_too(regression_problem):
    F, y = regression_problem
    for name in VOTES:
        with pytest.raises(ValueError, match=r"needs votes.*shape \(N, 7\)"):
            COMBINERS[name]().fit(spread(F, 10), da.from_array(y, 10))


class Passes:
    """Counts how often the blocks of F are made."""

    def __init__(self, F, rows):
        self.made = 0
        self.F = spread(F, rows).map_blocks(self.make, dtype=F.dtype)
        self.made = 0

    def make(self, block):
        self.made += 1
        return block


@pytest.mark.parametrize(
    ("name", "kind", "passes"),
    [
        ("random", "regression", 1),
        ("best", "regression", 2),
        ("best", "binary", 2),
        ("hull", "binary", 1),
        ("sdp", "binary", 1),
        ("greedy", "binary", 1),
        ("genetic", "binary", 1),
        ("cluster", "binary", 2),
        ("cluster", "regression", 1),
        ("em", "regression", 1),
        ("reduce-error", "regression", 2),
        *((name, "multiclass", 2) for name in VOTES if name != "hull"),
    ],
)
def test_few_passes_over_the_rows(name, kind, passes):
    """One pass for the order, one for the path; weights need none of their own."""
    F, y = make_problem(kind)
    counted = Passes(F, 10)
    COMBINERS[name]().fit(counted.F, da.from_array(y, 10), sample_weight=np.ones(40))
    assert counted.made == passes * 4


@pytest.mark.slow
def test_pruners_on_workers(two_workers):
    F, y = make_problem("multiclass", N=300)
    known = {"held_out": make_held_out(300), "sample_weight": np.arange(300) % 5 * 0.3}
    for name in ("kappa", "margin", "best"):
        found = COMBINERS[name]().fit(
            spread(F, (100, 0, 150, 50)), da.from_array(y, 100), **known
        )
        assert_same(found, COMBINERS[name]().fit(F, y, **known))


@pytest.mark.parametrize("name", ["ep", "best", "greedy", "reduce-error"])
def test_frames_of_predictions_bring_their_names(name, regression_problem):
    F, y = regression_problem
    frame = pd.DataFrame(F, columns=[f"m{i}" for i in range(F.shape[1])])
    parts = dd.from_pandas(frame.assign(y=y), npartitions=3)
    found = COMBINERS[name]().fit(parts[list(frame.columns)], parts["y"])
    assert_same(found, COMBINERS[name]().fit(frame, y))
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
    with pytest.raises(ValueError, match=r"F has 6 members.*was fitted on 7"):
        combiner.combine(spread(F[:, :6], (15, 25)))


def test_warnings_are_those_of_memory(regression_problem):
    F, y = regression_problem
    with pytest.warns(UserWarning, match="they sum to 0.4 for 40 rows"):
        EPPruner().fit(
            spread(F, 10), da.from_array(y, 10), sample_weight=np.full(40, 0.01)
        )


@pytest.mark.parametrize("kind", KINDS)
def test_nan_deep_inside_names_its_chunk(kind):
    F, y = make_problem(kind)
    F[23, 4] = np.nan
    with pytest.raises(ValueError, match=r"Chunk 2: F contains NaN.*members \[4\]"):
        LeastSquares().fit(spread(F, 10), da.from_array(y, 10))


def test_targets_that_do_not_fit_name_their_chunk(binary_problem):
    F, y = binary_problem
    wrong = np.where(np.arange(40) == 31, 5, y)
    with pytest.raises(
        ValueError, match=r"Chunk 3: y must contain the class codes 0\.\.1"
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


def test_what_cannot_be_weighed_in_chunks_is_refused(binary_problem):
    F, y = binary_problem
    with pytest.raises(
        ValueError,
        match=r"GreedyPruner with scoring .* does not support Dask .* LeastSquares",
    ):
        GreedyPruner(scoring="accuracy").fit(spread(F, 10), da.from_array(y, 10))
    with pytest.raises(
        ValueError,
        match=r"OrderPruner with this criterion needs all rows .* or use ARDPruner",
    ):
        OrderPruner("boosting-order").fit(spread(F, 10), da.from_array(y, 10))
    with pytest.raises(ValueError, match="but F is not"):
        EPPruner().fit(F, da.from_array(y, 10))
    with pytest.raises(ValueError, match="F must have shape"):
        EPPruner().fit(da.zeros(10), da.zeros(10))
    with pytest.raises(ValueError, match="held_out is False everywhere"):
        EPPruner().fit(
            spread(F, 10), da.from_array(y, 10), held_out=da.zeros((40, 7), dtype=bool)
        )


@pytest.mark.parametrize("name", ["optimal", "ep", "kappa", "random"])
def test_no_rows_at_all(name, binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match="at least one row"):
        COMBINERS[name]().fit(spread(F[:0], 10), da.from_array(y[:0], 10))


def test_nothing_is_warned_about(multiclass_problem):
    F, y = multiclass_problem
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SimplexWeights().fit(spread(F, 10), da.from_array(y, 10))


@pytest.mark.parametrize("seed", [6, 7])
@pytest.mark.parametrize("kind", ["binary", "multiclass"])
def test_exchangeable_members_do_not_depend_on_the_chunks(kind, seed):
    """Few held-out rows shrink all error correlations to one, and EP sees ties."""
    F, y = make_problem(kind)
    rng = np.random.default_rng(seed)
    more = {
        "held_out": rng.random(F.shape[:2]) < 0.5,
        "sample_weight": rng.random(len(F)) + 0.1,
    }
    expected = EPPruner(likelihood="gaussian").fit(F, y, **more)
    lazy = {name: da.from_array(of, chunks=-1) for name, of in more.items()}
    found = EPPruner(likelihood="gaussian").fit(
        da.from_array(F, chunks=((11, 0, 29), *F.shape[1:])), da.from_array(y), **lazy
    )
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)


@pytest.mark.parametrize("combiner", [OptimalWeights(), LeastSquares(), EPPruner()])
def test_a_mask_that_is_false_on_rows_of_no_weight_only(combiner, binary_problem):
    F, y = binary_problem
    s, mask = np.ones(len(F)), np.ones(F.shape[:2], bool)
    s[:9], mask[:9, ::2] = 0.0, False
    expected = clone(combiner).fit(F, y, held_out=mask, sample_weight=s)
    found = clone(combiner).fit(
        spread(F, 15),
        da.from_array(y),
        held_out=da.from_array(mask),
        sample_weight=da.from_array(s),
    )
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)
    with pytest.raises(ValueError, match="held_out is False everywhere"):
        clone(combiner).fit(
            spread(F, 15),
            da.from_array(y),
            held_out=da.from_array(mask & (s == 0)[:, None]),
            sample_weight=da.from_array(s),
        )


@pytest.mark.parametrize(
    "mask", [np.ones((40, 3), bool), np.ones((40, 7), int)], ids=["narrow", "numbers"]
)
def test_masks_of_another_shape_or_kind_are_refused(mask, binary_problem):
    F, y = binary_problem
    with pytest.raises(ValueError, match=r"Chunk \d: held_out must be a boolean"):
        SimplexWeights().fit(
            spread(F, 15), da.from_array(y), held_out=da.from_array(mask)
        )
