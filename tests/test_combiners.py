"""The contract of all combiners that exist or will exist.

A new combiner is covered on the day its name enters `committee.__all__`. It may
need an entry in ARGUMENTS, KINDS_OF or, with a reason, in EXEMPT.
"""

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import committee
from committee.combiners import Combiner
from tests.reference.problems import KINDS, make_held_out, make_problem

COMBINERS = {
    name: found
    for name in committee.__all__
    if inspect.isclass(found := getattr(committee, name))
    and issubclass(found, Combiner)
    and not inspect.isabstract(found)
}

#: Constructor arguments, by class name, where the defaults do not suit 7 members.
ARGUMENTS: dict[str, dict[str, object]] = {
    # Few draws: the contract is about one seed, and many chains keep R-hat low.
    "MCMCPruner": {"n_samples": 150, "n_chains": 8, "n_warmup": 50, "random_state": 0},
}

#: Kinds of problem, by class name, for combiners that do not take all three.
KINDS_OF: dict[str, tuple[str, ...]] = {}

#: (class name, test name): the reason why a test does not apply.
_TIES = "members that held-out rows cannot tell apart tie, and order decides"
_COUNTS = "a weight is a power of the likelihood: it counts as a number of rows"
EXEMPT: dict[tuple[str, str], str] = {
    (name, test): reason
    for name in ("ARDPruner", "EPPruner")
    for test, reason in {
        "test_permuting_members_permutes_weights": _TIES,
        "test_unit_of_the_row_weights_does_not_matter": _COUNTS,
    }.items()
}
EXEMPT |= {
    ("EMPruner", "test_unit_of_the_row_weights_does_not_matter"): _COUNTS,
    ("MCMCPruner", "test_unit_of_the_row_weights_does_not_matter"): _COUNTS,
    ("MCMCPruner", "test_permuting_members_permutes_weights"): "EP chooses: " + _TIES,
}

_ORDERINGS = (
    "BestPruner",
    "BoostingOrderPruner",
    "ComplementarityPruner",
    "ConcurrencyPruner",
    "ContributionPruner",
    "DREPPruner",
    "KLPruner",
    "KappaPruner",
    "MarginDistancePruner",
    "OrientationPruner",
    "RandomPruner",
    "ReduceErrorPruner",
)
ARGUMENTS |= {name: {"n_members": 3} for name in _ORDERINGS}
ARGUMENTS["RandomPruner"]["random_state"] = 0
KINDS_OF |= {
    name: ("binary", "multiclass")
    for name in ("KappaErrorHullPruner", *_ORDERINGS)
    if name not in {"BestPruner", "RandomPruner", "ReduceErrorPruner"}
}
EXEMPT |= {
    (name, "test_a_perfect_member_among_noise_weighs_most"): "the chosen weigh the same"
    for name in ("KappaErrorHullPruner", *_ORDERINGS)
}
EXEMPT |= {
    (name, "test_permuting_members_permutes_weights"): _TIES
    for name in ("ComplementarityPruner", "DREPPruner")
}
EXEMPT["RandomPruner", "test_permuting_members_permutes_weights"] = "chance has no eyes"

ARGUMENTS |= {
    "ClusterPruner": {"n_members": 3},
    "GeneticPruner": {"n_generations": 50, "random_state": 0},
    "SDPPruner": {"n_members": 3, "random_state": 0},
}
EXEMPT |= {
    (name, "test_a_perfect_member_among_noise_weighs_most"): "the chosen weigh the same"
    for name in ("ClusterPruner", "SDPPruner")
}
EXEMPT["ClusterPruner", "test_permuting_members_permutes_weights"] = _TIES

#: Combiners that say "identical members share what one of them would get".
SHARES_AMONG_TWINS = {"LeastSquares", "OptimalWeights", "SimplexWeights"}

#: scikit-learn checks that may fail, by class name: {check: reason}.
EXPECTED_FAILED_CHECKS: dict[str, dict[str, str]] = {}

# Iterative combiners stop at a tolerance of their own; the ridges and jitters of
# the others cost 1e-7.
CLOSE = {"rtol": 0, "atol": 1e-6}


def make(name):
    return COMBINERS[name](**ARGUMENTS.get(name, {}))


def problem_of(name):
    """Return F and y of the first kind of problem that the combiner takes."""
    return make_problem(KINDS_OF.get(name, KINDS)[0])


def pytest_generate_tests(metafunc):
    """Give each test every combiner, and every kind of problem it takes."""
    if "name" not in metafunc.fixturenames:
        return
    names = [n for n in COMBINERS if (n, metafunc.function.__name__) not in EXEMPT]
    if "kind" in metafunc.fixturenames:
        pairs = [(n, kind) for n in names for kind in KINDS_OF.get(n, KINDS)]
        metafunc.parametrize(("name", "kind"), pairs)
    else:
        metafunc.parametrize("name", names)


def masks_and_weights(N=40):
    """Return what may be known about the rows, in all combinations."""
    s = np.random.default_rng(2).exponential(size=N)
    return [
        {"held_out": held_out, "sample_weight": sample_weight}
        for held_out in (None, make_held_out(N))
        for sample_weight in (None, s)
    ]


def test_the_combiners_are_found():
    assert {"Average", "LeastSquares", "OptimalWeights"} <= set(COMBINERS)


def test_tables_name_combiners_that_exist():
    named = {*ARGUMENTS, *KINDS_OF, *SHARES_AMONG_TWINS, *EXPECTED_FAILED_CHECKS}
    named |= {name for name, _ in EXEMPT}
    assert named <= set(COMBINERS)


def test_weights_are_finite_and_one_for_each_member(name, kind):
    F, y = make_problem(kind)
    for known in masks_and_weights():
        combiner = make(name)
        assert combiner.fit(F, y, **known) is combiner
        assert combiner.weights_.shape == (7,)
        assert combiner.weights_.dtype == np.float64
        assert np.all(np.isfinite(combiner.weights_))
        assert combiner.n_features_in_ == 7


def test_permuting_members_permutes_weights(name, kind, rng):
    F, y = make_problem(kind)
    order = rng.permutation(7)
    for known in masks_and_weights():
        w = make(name).fit(F, y, **known).weights_
        if known["held_out"] is not None:
            known["held_out"] = known["held_out"][:, order]
        permuted = make(name).fit(F[:, order], y, **known).weights_
        np.testing.assert_allclose(permuted, w[order], **CLOSE)


def test_combine_is_the_weighted_sum(name, kind):
    F, y = make_problem(kind)
    combiner = make(name).fit(F, y)
    fresh, _ = make_problem(kind, N=11, seed=5)
    np.testing.assert_allclose(
        combiner.combine(fresh),
        np.tensordot(fresh, combiner.weights_, axes=(1, 0)),
        rtol=1e-13,
        atol=1e-15,
    )


def test_support_is_where_weights_are_not_zero(name, kind):
    F, y = make_problem(kind)
    combiner = make(name).fit(F, y)
    np.testing.assert_array_equal(combiner.support_, np.flatnonzero(combiner.weights_))
    assert len(combiner.support_) > 0


def test_refit_is_idempotent_and_forgets(name, kind):
    F, y = make_problem(kind)
    combiner = make(name)
    for known in masks_and_weights():
        w = combiner.fit(F, y, **known).weights_.copy()
        combiner.fit(*make_problem(kind, M=4, seed=9))
        assert combiner.weights_.shape == (4,)
        np.testing.assert_array_equal(combiner.fit(F, y, **known).weights_, w)


@pytest.mark.parametrize("frozen", [False, True])
def test_inputs_are_untouched(name, kind, frozen):
    for known in masks_and_weights():
        F, y = make_problem(kind)
        given = {"F": F, "y": y, **known}
        given = {key: value for key, value in given.items() if value is not None}
        before = {key: value.copy() for key, value in given.items()}
        for value in given.values():
            value.setflags(write=not frozen)
        make(name).fit(**given).combine(F)
        for key, value in given.items():
            np.testing.assert_array_equal(value, before[key])


def test_a_perfect_member_among_noise_weighs_most(name, kind, rng):
    if not COMBINERS[name].needs_rows:
        return
    # 200 rows: with a mask, shrinkage may drown one member's merit on 40.
    _, y = make_problem(kind, N=200, seed=4)
    if kind == "regression":
        F = rng.normal(size=(200, 7))
        F[:, 3] = y
    else:
        K = y.max() + 1
        F = rng.dirichlet(np.ones(K), size=(200, 7))
        F[:, 3] = np.eye(K)[y]
    for known in masks_and_weights(200):
        assert np.argmax(make(name).fit(F, y, **known).weights_) == 3


def test_identical_members_share_what_one_would_get(name, kind):
    if name not in SHARES_AMONG_TWINS:
        return
    F, y = make_problem(kind)
    alone = make(name).fit(F, y).weights_
    w = make(name).fit(np.concatenate([F, F[:, :1]], axis=1), y).weights_
    # Rounding of C over a jitter of 1e-10 may tilt the shares of twins.
    np.testing.assert_allclose(w[0], w[7], rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.r_[w[0] + w[7], w[1:7]], alone, **CLOSE)


def test_one_member(name, kind):
    F, y = make_problem(kind, M=1)
    held_out = make_held_out(M=1)
    for mask in (None, held_out):
        combiner = make(name).fit(F, y, held_out=mask)
        assert combiner.weights_.shape == (1,)
        assert combiner.weights_[0] > 0
        assert combiner.combine(F).shape == (40, *F.shape[2:])


def test_few_rows(name, kind):
    F, y = make_problem(kind, N=3)
    assert np.all(np.isfinite(make(name).fit(F, y).weights_))


def test_clone_repr_and_pickle(name, kind):
    F, y = make_problem(kind)
    combiner = make(name)
    assert repr(combiner).startswith(name + "(")
    assert clone(combiner.fit(F, y)).get_params() == combiner.get_params()
    assert not hasattr(clone(combiner), "weights_")
    again = pickle.loads(pickle.dumps(combiner))
    np.testing.assert_array_equal(again.weights_, combiner.weights_)
    np.testing.assert_array_equal(again.combine(F), combiner.combine(F))


def test_single_precision(name, kind):
    F, y = make_problem(kind)
    F = F.astype(np.float32)
    for known in masks_and_weights():
        single = make(name).fit(F, y, **known)
        double = make(name).fit(F.astype(np.float64), y, **known)
        assert single.weights_.dtype == np.float64
        np.testing.assert_allclose(single.weights_, double.weights_, **CLOSE)


def test_memory_order_does_not_matter(name, kind):
    F, y = make_problem(kind)
    slabs = np.ascontiguousarray(np.moveaxis(F, 1, 0))
    for known in masks_and_weights():
        w = make(name).fit(F, y, **known).weights_
        for other in (np.asfortranarray(F), np.moveaxis(slabs, 0, 1), F[::-1][::-1]):
            np.testing.assert_allclose(
                make(name).fit(other, y, **known).weights_, w, **CLOSE
            )


def test_what_a_member_says_where_it_abstains_does_not_count(name, kind, rng):
    F, y = make_problem(kind)
    held_out = make_held_out()
    other = F.copy()
    other[~held_out] = other[~held_out][::-1]
    for s in (None, rng.exponential(size=40)):
        known = {"held_out": held_out, "sample_weight": s}
        np.testing.assert_array_equal(
            make(name).fit(F, y, **known).weights_,
            make(name).fit(other, y, **known).weights_,
        )


def test_rows_on_which_all_abstain_might_as_well_be_gone(name, kind):
    F, y = make_problem(kind)
    held_out = make_held_out()
    spoken = held_out.any(axis=1)
    assert not spoken.all()
    np.testing.assert_allclose(
        make(name).fit(F, y, held_out=held_out).weights_,
        make(name).fit(F[spoken], y[spoken], held_out=held_out[spoken]).weights_,
        **CLOSE,
    )


def test_a_mask_that_is_true_throughout_is_no_mask(name, kind):
    F, y = make_problem(kind)
    np.testing.assert_array_equal(
        make(name).fit(F, y, held_out=np.ones((40, 7), dtype=bool)).weights_,
        make(name).fit(F, y).weights_,
    )


@pytest.mark.parametrize("unit", [1e-3, 7.0, 1e6])
def test_unit_of_the_row_weights_does_not_matter(name, kind, unit, rng):
    F, y = make_problem(kind)
    s = rng.exponential(size=40)
    for held_out in (None, make_held_out()):
        np.testing.assert_allclose(
            make(name).fit(F, y, held_out=held_out, sample_weight=unit * s).weights_,
            make(name).fit(F, y, held_out=held_out, sample_weight=s).weights_,
            **CLOSE,
        )


def test_equal_row_weights_are_none(name, kind):
    F, y = make_problem(kind)
    for held_out in (None, make_held_out()):
        np.testing.assert_allclose(
            make(name).fit(F, y, held_out=held_out, sample_weight=np.ones(40)).weights_,
            make(name).fit(F, y, held_out=held_out).weights_,
            **CLOSE,
        )


def test_rows_of_weight_zero_might_as_well_be_gone(name, kind, rng):
    F, y = make_problem(kind)
    s = rng.exponential(size=40)
    s[30:] = 0.0
    for held_out in (None, make_held_out()):
        part = None if held_out is None else held_out[:30]
        np.testing.assert_allclose(
            make(name).fit(F, y, held_out=held_out, sample_weight=s).weights_,
            make(name)
            .fit(F[:30], y[:30], held_out=part, sample_weight=s[:30])
            .weights_,
            **CLOSE,
        )


def test_lists_are_taken(name, kind):
    F, y = make_problem(kind)
    np.testing.assert_array_equal(
        make(name).fit(F.tolist(), y.tolist()).weights_, make(name).fit(F, y).weights_
    )


def test_columns_of_a_frame_are_the_names_of_the_members(name):
    if "regression" not in KINDS_OF.get(name, KINDS):
        return
    F, y = make_problem("regression")
    frame = pd.DataFrame(F, columns=[f"member {m}" for m in range(7)])
    combiner = make(name).fit(frame, pd.Series(y))
    assert combiner.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_allclose(combiner.combine(frame), F @ combiner.weights_)
    with pytest.raises(ValueError, match="feature names"):
        combiner.combine(frame.rename(columns={"member 3": "stranger"}))
    with pytest.raises(ValueError, match="feature names"):
        combiner.combine(frame[frame.columns[::-1]])


def test_combine_before_fit(name):
    F, _ = problem_of(name)
    with pytest.raises(NotFittedError, match=name):
        make(name).combine(F)
    with pytest.raises(NotFittedError, match=name):
        _ = make(name).support_


def test_combine_with_another_number_of_members(name, kind):
    F, y = make_problem(kind)
    combiner = make(name).fit(F, y)
    with pytest.raises(ValueError, match=r"6 features.*expecting 7"):
        combiner.combine(F[:, :6])


@pytest.mark.parametrize("rubbish", [np.nan, np.inf])
def test_predictions_that_are_not_finite(name, kind, rubbish):
    F, y = make_problem(kind)
    combiner = make(name).fit(F, y)
    F[3, 2] = rubbish
    with pytest.raises(ValueError, match=r"F contains NaN.*members \[2\]"):
        make(name).fit(F, y)
    with pytest.raises(ValueError, match=r"F contains NaN.*members \[2\]"):
        combiner.combine(F)


@pytest.mark.parametrize("shape", [(40, 7, 2, 2), (40, 7, 1), (40, 7, 0)])
def test_predictions_of_another_shape(name, shape):
    with pytest.raises(ValueError, match=r"F must have shape \(N, M\).*Got shape"):
        make(name).fit(np.zeros(shape), np.zeros(40, dtype=int))


def test_no_rows_or_no_members(name):
    with pytest.raises(ValueError, match=r"0 sample\(s\)"):
        make(name).fit(np.zeros((0, 7)), np.zeros(0))
    with pytest.raises(ValueError, match=r"0 feature\(s\)"):
        make(name).fit(np.zeros((40, 0)), np.zeros(40))


def test_targets_of_another_length(name, kind):
    F, y = make_problem(kind)
    with pytest.raises(ValueError, match=r"39 targets for 40 rows"):
        make(name).fit(F, y[:-1])


def test_targets_that_are_not_finite(name, kind):
    F, y = make_problem(kind)
    y = y.astype(float)
    y[5] = np.nan
    with pytest.raises(ValueError, match="y contains NaN"):
        make(name).fit(F, y)


@pytest.mark.parametrize("how", ["strings", "objects", "too large", "negative", "half"])
def test_labels_that_are_not_codes(name, kind, how):
    F, y = make_problem(kind)
    if kind == "regression":
        return
    bad = {
        "strings": np.array(["a", "b", "c"])[y],
        "objects": np.array(["a", "b", "c"], dtype=object)[y],
        "too large": y + 1,
        "negative": y - 1,
        "half": y + 0.5,
    }[how]
    with pytest.raises(ValueError, match=r"codes 0\.\.[12].*LabelEncoder"):
        make(name).fit(F, bad)


def test_codes_may_be_floats_or_booleans(name):
    if "binary" not in KINDS_OF.get(name, KINDS):
        return
    F, y = make_problem("binary")
    w = make(name).fit(F, y).weights_
    for codes in (y.astype(float), y.astype(bool), y.astype(np.uint8)):
        np.testing.assert_array_equal(make(name).fit(F, codes).weights_, w)


@pytest.mark.parametrize(
    "bad",
    [
        np.ones((40, 7)),
        np.ones((40, 7), dtype=int),
        np.ones((40, 6), dtype=bool),
        np.ones(40, dtype=bool),
        np.ones((40, 7, 2), dtype=bool),
    ],
    ids=["float", "int", "too narrow", "rows only", "per class"],
)
def test_masks_of_another_kind(name, kind, bad):
    F, y = make_problem(kind)
    with pytest.raises(ValueError, match=r"boolean array of shape \(40, 7\).*Got"):
        make(name).fit(F, y, held_out=bad)


def test_a_mask_that_is_false_throughout(name, kind):
    F, y = make_problem(kind)
    with pytest.raises(ValueError, match="held_out is False everywhere"):
        make(name).fit(F, y, held_out=np.zeros((40, 7), dtype=bool))


def test_row_weights_out_of_range(name, kind):
    F, y = make_problem(kind)
    s = np.ones(40)
    s[7] = -2.0
    with pytest.raises(ValueError, match=r"non-negative.*minimum of -2"):
        make(name).fit(F, y, sample_weight=s)
    with pytest.raises(ValueError, match="at least one"):
        make(name).fit(F, y, sample_weight=np.zeros(40))
    with pytest.raises(ValueError, match="sample_weight"):
        make(name).fit(F, y, sample_weight=np.ones(39))
    s[7] = np.nan
    with pytest.raises(ValueError, match="sample_weight contains NaN"):
        make(name).fit(F, y, sample_weight=s)


#: Kinds of problem that need all rows at once, of combiners that take Dask otherwise.
ALL_ROWS = {
    "EMPruner": {"binary"},
    "ReduceErrorPruner": {"binary", "multiclass"},
}


def test_dask_gives_what_memory_gives_or_says_why_not(name, kind):
    da = pytest.importorskip("dask.array")
    # 200 rows: on 40 held-out rows EP cannot tell the members apart, and they tie.
    F, y = make_problem(kind, N=200)
    known = masks_and_weights(200)[-1]
    spread = da.from_array(F, chunks=((52, 0, 1, 147), *F.shape[1:]))
    if COMBINERS[name].takes_chunks and kind not in ALL_ROWS.get(name, ()):
        found = make(name).fit(spread, y, **known).weights_
        expected = make(name).fit(F, y, **known).weights_
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)
        return
    with pytest.raises(ValueError, match="and takes no Dask") as refused:
        make(name).fit(spread, y, **known)
    said = str(refused.value)
    assert said.startswith(f"{name} ")
    assert said.endswith(".")
    assert ". " not in said
    assert f"take {name}" not in said


@parametrize_with_checks(
    # The checks know tables only, not votes of shape (N, M, K).
    [
        combiner
        for combiner in map(make, COMBINERS)
        if get_tags(combiner).input_tags.two_d_array
    ],
    expected_failed_checks=lambda combiner: EXPECTED_FAILED_CHECKS.get(
        type(combiner).__name__, {}
    ),
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_the_other_kind_of_predictions_is_refused(name):
    F, y = problem_of(name)
    combiner = make(name).fit(F, y)
    other = F[..., 0] if F.ndim == 3 else np.stack([F, F], axis=2)
    with pytest.raises(ValueError, match="was fitted on F of shape"):
        combiner.combine(other)


def test_normalized_weights_sum_to_one(name, kind):
    F, y = make_problem(kind)
    combiner = make(name).fit(F, y)
    w = combiner.weights_
    np.testing.assert_allclose(combiner.normalized_weights_, w / w.sum())
    combiner.weights_ = np.zeros(7)
    with pytest.raises(ValueError, match="cannot be scaled to sum one"):
        _ = combiner.normalized_weights_
