"""The contract of all combiners that exist or will exist.

A new combiner is covered on the day its name enters `committee.__all__`. It may
need an entry in ARGUMENTS, KINDS_OF or, with a reason, in EXEMPT. Here stands what a
combiner's own `_weigh` can break; what `Combiner` does for all of them is tested
once, in combiners/test_base.py.
"""

import inspect
import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.utils import get_tags

import committee
from committee.combiners import Combiner
from committee.combiners.order_pruner import CRITERIA
from tests.reference.problems import KINDS, make_held_out, make_problem
from tests.reference.sklearn_checks import assert_passes_all_checks

COMBINERS = {
    name: found
    for name in committee.__all__
    if inspect.isclass(found := getattr(committee, name))
    and issubclass(found, Combiner)
    and not inspect.isabstract(found)
}

#: Every criterion is a combiner of its own here. Not "kl-rows": it is defined on the
#: rows and the order of a booster's training alone.
_CRITERIA = tuple(name for name in ("random", *CRITERIA) if name != "kl-rows")
del COMBINERS["OrderPruner"]
COMBINERS |= dict.fromkeys(_CRITERIA, committee.OrderPruner)
_ORDERINGS = ("ReduceErrorPruner", *_CRITERIA)

#: Constructor arguments, by class name, where the defaults do not suit 7 members.
ARGUMENTS: dict[str, dict[str, object]] = {
    **{name: {"criterion": name, "n_members": 3} for name in _CRITERIA},
    "random": {"criterion": "random", "n_members": 3, "random_state": 0},
    "ReduceErrorPruner": {"n_members": 3},
    "ClusterPruner": {"n_members": 3},
    "GeneticPruner": {"n_generations": 50, "random_state": 0},
    "SDPPruner": {"n_members": 3, "random_state": 0},
    # Few draws: the contract is about one seed, and many chains keep R-hat low.
    "MCMCPruner": {"n_samples": 150, "n_chains": 4, "n_warmup": 50, "random_state": 0},
}

#: Kinds of problem, by class name, for combiners that do not take all three.
KINDS_OF: dict[str, tuple[str, ...]] = {
    name: ("binary", "multiclass")
    for name in ("KappaErrorHullPruner", "LogPool", *_ORDERINGS)
    if name not in {"best", "random", "ReduceErrorPruner"}
} | {"RidgeWeights": ("regression",)}

_TIES = "members that held-out rows cannot distinguish tie, and order decides"
_COUNTS = "a weight is a power of the likelihood: it counts as a number of rows"
_EQUAL = "the chosen weigh the same"

#: {test: {class name: the reason why the test does not apply}}.
EXEMPT: dict[str, dict[str, str]] = {
    "test_permuting_members_permutes_weights": {
        "ARDPruner": _TIES,
        "EPPruner": _TIES,
        "EMPruner": _TIES,
        "MCMCPruner": "EP chooses: " + _TIES,
        "complementarity": _TIES,
        "drep": _TIES,
        "ClusterPruner": _TIES,
        "random": "chance has no eyes",
    },
    "test_a_member_that_is_never_heard_is_never_chosen": {
        "Average": "looks at nothing but the number of members"
    },
    "test_unit_of_the_row_weights_does_not_matter": dict.fromkeys(
        ("ARDPruner", "EPPruner", "EMPruner", "MCMCPruner"), _COUNTS
    ),
    "test_a_perfect_member_among_noise_weighs_most": {
        **dict.fromkeys(
            ("KappaErrorHullPruner", "ClusterPruner", "SDPPruner", *_ORDERINGS), _EQUAL
        ),
        "Average": _EQUAL,
    },
}

#: Combiners that promise "identical members share what one of them would get".
SHARES_AMONG_TWINS = ("LeastSquares", "OptimalWeights", "SimplexWeights")

#: Kinds of problem that need all rows at once, of combiners that take Dask otherwise.
ALL_ROWS = {
    "EMPruner": {"binary"},
    "ReduceErrorPruner": {"binary", "multiclass"},
    "drep": {"binary", "multiclass"},
    "complementarity": {"binary", "multiclass"},
    "concurrency": {"binary", "multiclass"},
    "boosting-order": {"binary", "multiclass"},
    "specialty": {"binary", "multiclass"},
}

# Iterative combiners stop at a tolerance of their own; the ridges and jitters of
# the others cost 1e-7.
CLOSE = {"rtol": 0, "atol": 1e-6}


def make(name):
    return COMBINERS[name](**ARGUMENTS.get(name, {}))


def weights(name, F, y, **known):
    return make(name).fit(F, y, **known).weights_


def pairs_of(names):
    return [(name, kind) for name in names for kind in KINDS_OF.get(name, KINDS)]


def takes_dask(name, kind):
    return COMBINERS[name].takes_chunks and kind not in ALL_ROWS.get(name, ())


def pytest_generate_tests(metafunc):
    """Give each test every combiner, and every kind of problem it takes."""
    given = metafunc.definition.get_closest_marker("parametrize")
    if "kind" in metafunc.fixturenames and given is None:
        exempt = EXEMPT.get(metafunc.function.__name__, {})
        names = [name for name in COMBINERS if name not in exempt]
        metafunc.parametrize(("name", "kind"), pairs_of(names))


def masks_and_weights(N=40):
    """Return what may be known about the rows, in all combinations."""
    s = np.random.default_rng(2).exponential(size=N)
    return [
        {"held_out": held_out, "sample_weight": sample_weight}
        for held_out in (None, make_held_out(N))
        for sample_weight in (None, s)
    ]


def test_tables_name_combiners_that_exist():
    named = {*ARGUMENTS, *KINDS_OF, *SHARES_AMONG_TWINS, *ALL_ROWS}
    assert named.union(*EXEMPT.values()) <= set(COMBINERS)
    assert EXEMPT.keys() <= globals().keys()


def test_every_member_gets_a_finite_weight_and_inputs_are_untouched(name, kind):
    F, y = make_problem(kind)
    for known in masks_and_weights():
        given = {"F": F, "y": y, **known}
        given = {key: value for key, value in given.items() if value is not None}
        before = {key: value.copy() for key, value in given.items()}
        for value in given.values():
            value.setflags(write=False)
        combiner = make(name)
        assert combiner.fit(**given) is combiner
        assert combiner.weights_.shape == (7,)
        assert combiner.weights_.dtype == np.float64
        assert np.all(np.isfinite(combiner.weights_))
        assert np.any(combiner.weights_)
        for key, value in given.items():
            np.testing.assert_array_equal(value, before[key])


def test_one_member_and_few_rows(name, kind):
    F, y = make_problem(kind, M=1)
    for mask in (None, make_held_out(M=1)):
        w = weights(name, F, y, held_out=mask)
        assert w.shape == (1,)
        assert w[0] > 0
    assert np.all(np.isfinite(weights(name, *make_problem(kind, N=3))))


def test_permuting_members_permutes_weights(name, kind, rng):
    F, y = make_problem(kind)
    order = rng.permutation(7)
    for known in masks_and_weights():
        w = weights(name, F, y, **known)
        if known["held_out"] is not None:
            known["held_out"] = known["held_out"][:, order]
        permuted = weights(name, F[:, order], y, **known)
        np.testing.assert_allclose(permuted, w[order], **CLOSE)


def test_a_perfect_member_among_noise_weighs_most(name, kind, rng):
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
        assert np.argmax(weights(name, F, y, **known)) == 3


@pytest.mark.parametrize(("name", "kind"), pairs_of(SHARES_AMONG_TWINS))
def test_identical_members_share_what_one_would_get(name, kind):
    F, y = make_problem(kind)
    alone = weights(name, F, y)
    w = weights(name, np.concatenate([F, F[:, :1]], axis=1), y)
    # Rounding of C over a jitter of 1e-10 may tilt the shares of twins.
    np.testing.assert_allclose(w[0], w[7], rtol=0, atol=1e-5)
    np.testing.assert_allclose(np.r_[w[0] + w[7], w[1:7]], alone, **CLOSE)


def test_memory_order_and_precision_do_not_matter(name, kind):
    F, y = make_problem(kind)
    F = F.astype(np.float32).astype(np.float64)
    slabs = np.ascontiguousarray(np.moveaxis(F, 1, 0))
    known = masks_and_weights()[-1]
    w = weights(name, F, y, **known)
    for other in (
        F.astype(np.float32),
        np.asfortranarray(F),
        np.moveaxis(slabs, 0, 1),
        F[::-1][::-1],
    ):
        np.testing.assert_allclose(weights(name, other, y, **known), w, **CLOSE)


def test_rows_count_for_the_members_that_held_them_out(name, kind, rng):
    """Elsewhere predictions do not count, and rows on which all abstain are gone."""
    F, y = make_problem(kind)
    held_out = make_held_out()
    other = F.copy()
    other[~held_out] = other[~held_out][::-1]
    for s in (None, rng.exponential(size=40)):
        known = {"held_out": held_out, "sample_weight": s}
        w = weights(name, F, y, **known)
        np.testing.assert_array_equal(weights(name, other, y, **known), w)
    rows = held_out.any(axis=1)
    assert not rows.all()
    np.testing.assert_allclose(
        weights(name, F[rows], y[rows], held_out=held_out[rows]),
        weights(name, F, y, held_out=held_out),
        **CLOSE,
    )


def test_a_member_that_is_never_heard_is_never_chosen(name, kind):
    """Also where all others are wrong; the rest is as if it were not there."""
    F, y = make_problem(kind)
    wrong = -F if kind == "regression" else np.roll(np.eye(F.shape[2])[y], 1, axis=1)
    for given in (F, F - F + wrong.reshape(40, -1, *F.shape[2:])):
        held_out = make_held_out()
        held_out[:, [2, 5]] = False
        others = np.flatnonzero(held_out.any(axis=0))
        combiner = make(name).fit(given, y, held_out=held_out)
        expected = weights(name, given[:, others], y, held_out=held_out[:, others])
        np.testing.assert_array_equal(combiner.weights_[others], expected)
        assert not combiner.weights_[[2, 5]].any()
        if hasattr(combiner, "path_"):
            assert combiner.path_.weights.shape[1] == 7
            assert not combiner.path_.weights[:, [2, 5]].any()


def test_unit_of_the_row_weights_does_not_matter(name, kind, rng):
    F, y = make_problem(kind)
    s = rng.exponential(size=40)
    for held_out in (None, make_held_out()):
        w = weights(name, F, y, held_out=held_out, sample_weight=s)
        for unit in (1e-3, 1e6):
            scaled = weights(name, F, y, held_out=held_out, sample_weight=unit * s)
            np.testing.assert_allclose(scaled, w, **CLOSE)


def test_rows_of_weight_one_and_zero(name, kind, rng):
    """Equal weights are none, and rows of weight zero might as well be gone."""
    F, y = make_problem(kind)
    s = rng.exponential(size=40)
    s[30:] = 0.0
    for held_out in (None, make_held_out()):
        part = None if held_out is None else held_out[:30]
        np.testing.assert_allclose(
            weights(name, F, y, held_out=held_out, sample_weight=np.ones(40)),
            weights(name, F, y, held_out=held_out),
            **CLOSE,
        )
        np.testing.assert_allclose(
            weights(name, F, y, held_out=held_out, sample_weight=s),
            weights(name, F[:30], y[:30], held_out=part, sample_weight=s[:30]),
            **CLOSE,
        )


@pytest.mark.parametrize("name", COMBINERS)
def test_refit_clone_and_pickle(name):
    kind = KINDS_OF.get(name, KINDS)[-1]
    F, y = make_problem(kind)
    combiner = make(name)
    assert repr(combiner).startswith(COMBINERS[name].__name__ + "(")
    w = combiner.fit(F, y).weights_.copy()
    assert clone(combiner).get_params() == combiner.get_params()
    assert not hasattr(clone(combiner), "weights_")
    again = pickle.loads(pickle.dumps(combiner))
    np.testing.assert_array_equal(again.combine(F), combiner.combine(F))
    assert combiner.fit(*make_problem(kind, M=4, seed=9)).weights_.shape == (4,)
    np.testing.assert_array_equal(combiner.fit(F, y).weights_, w)


def spread(F):
    da = pytest.importorskip("dask.array")
    return da.from_array(F, chunks=((52, 0, 1, 147), *F.shape[1:]))


@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in pairs_of(COMBINERS) if takes_dask(*pair)]
)
def test_dask_gives_what_memory_gives(name, kind):
    # 200 rows: on 40 held-out rows EP cannot distinguish the members, and they tie.
    F, y = make_problem(kind, N=200)
    known = masks_and_weights(200)[-1]
    found, expected = (weights(name, f, y, **known) for f in (spread(F), F))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize(
    ("name", "kind"), [pair for pair in pairs_of(COMBINERS) if not takes_dask(*pair)]
)
def test_what_takes_no_dask_says_why_in_one_sentence(name, kind):
    F, y = make_problem(kind, N=200)
    with pytest.raises(ValueError, match="and does not support Dask") as refused:
        make(name).fit(spread(F), y)
    message = str(refused.value)
    kind_of_combiner = COMBINERS[name].__name__
    assert message.startswith(f"{kind_of_combiner} ")
    assert message.endswith(".")
    assert ". " not in message
    assert f"use {kind_of_combiner}" not in message


@pytest.mark.parametrize(
    "name",
    # The checks know tables only, not votes of shape (N, M, K).
    [name for name in COMBINERS if get_tags(make(name)).input_tags.two_d_array],
)
def test_scikit_learn_checks(name):
    assert_passes_all_checks(make(name))
