import numpy as np
import pytest

from committee import OptimalWeights, SimplexWeights, error_correlation
from committee.diagnostics import correlation
from tests.reference import errors as reference
from tests.reference.problems import KINDS, make_held_out, make_problem

# Sums of at most a few hundred products, relative to their size.
close = {"rtol": 1e-12, "atol": 1e-13}

kinds = pytest.mark.parametrize("kind", KINDS)


@kinds
def test_against_plain_loops(kind):
    F, y = make_problem(kind)
    C = error_correlation(F, y)
    np.testing.assert_allclose(C, reference.error_correlation(F, y), **close)
    np.testing.assert_array_equal(C, C.T)


@kinds
@pytest.mark.parametrize("weighted", [False, True])
def test_held_out_rows_against_plain_loops(kind, weighted, rng):
    F, y = make_problem(kind)
    held_out = make_held_out()
    s = rng.exponential(size=40) if weighted else None
    C = error_correlation(F, y, held_out=held_out, sample_weight=s)
    # The shrunk matrix goes through an eigenvalue: a few digits more.
    np.testing.assert_allclose(
        C, reference.shrunk_correlation(F, y, held_out, s), rtol=1e-10, atol=1e-12
    )


@kinds
def test_what_a_member_says_where_it_abstains_does_not_count(kind, rng):
    F, y = make_problem(kind)
    held_out = make_held_out()
    other = F.copy()
    other[~held_out] += rng.normal(size=other[~held_out].shape)
    np.testing.assert_array_equal(
        error_correlation(F, y, held_out=held_out),
        error_correlation(other, y, held_out=held_out),
    )


@kinds
def test_row_weights_are_repetitions(kind, rng):
    F, y = make_problem(kind)
    s = rng.integers(0, 4, size=40)
    np.testing.assert_allclose(
        error_correlation(F, y, sample_weight=s),
        error_correlation(np.repeat(F, s, axis=0), np.repeat(y, s)),
        **close,
    )


@kinds
@pytest.mark.parametrize("masked", [False, True])
def test_rows_of_weight_zero_might_as_well_be_gone(kind, masked, rng):
    F, y = make_problem(kind)
    held_out = make_held_out() if masked else None
    s = rng.exponential(size=40)
    s[10:20] = 0.0
    kept = s > 0
    np.testing.assert_allclose(
        error_correlation(F, y, held_out=held_out, sample_weight=s),
        error_correlation(
            F[kept],
            y[kept],
            held_out=held_out[kept] if masked else None,
            sample_weight=s[kept],
        ),
        **close,
    )


@kinds
@pytest.mark.parametrize("masked", [False, True])
def test_unit_of_the_row_weights_does_not_matter(kind, masked, rng):
    F, y = make_problem(kind)
    held_out = make_held_out() if masked else None
    s = rng.exponential(size=40)
    C = error_correlation(F, y, held_out=held_out, sample_weight=s)
    for unit in (1e-90, 1e6, 1e90):
        scaled = error_correlation(F, y, held_out=held_out, sample_weight=unit * s)
        np.testing.assert_allclose(scaled, C, **close)


def test_a_member_seen_on_light_rows_only_is_not_taken_for_a_good_one(rng):
    """Its error is a mean over its rows, however little they weigh."""
    y = rng.normal(size=400)
    F = y[:, None] + rng.normal(size=(400, 2)) * [3.0, 1.0]
    held_out = np.ones((400, 2), dtype=bool)
    held_out[200:, 0] = False
    s = np.where(np.arange(400) < 200, 1e-6, 1.0)
    C = error_correlation(F, y, held_out=held_out, sample_weight=s)
    np.testing.assert_allclose(
        C, reference.shrunk_correlation(F, y, held_out, s), rtol=1e-9
    )
    assert C[0, 0] >= C[1, 1]


def test_held_out_rows_without_any_weight():
    F, y = make_problem("regression")
    held_out = make_held_out()
    s = np.where(held_out.any(axis=1), 0.0, 1.0)
    with pytest.raises(ValueError, match="held_out"):
        error_correlation(F, y, held_out=held_out, sample_weight=s)


@kinds
@pytest.mark.parametrize("masked", [False, True])
def test_blocks_do_not_show(kind, masked, monkeypatch, rng):
    F, y = make_problem(kind)
    known = {
        "held_out": make_held_out() if masked else None,
        "sample_weight": rng.exponential(size=40),
    }
    whole = error_correlation(F, y, **known)
    for block in (1, 50):
        monkeypatch.setattr(correlation, "_BLOCK", block)
        np.testing.assert_allclose(error_correlation(F, y, **known), whole, **close)


@pytest.mark.parametrize("unit", [1e-150, 1e-20, 1e150])
@pytest.mark.parametrize("masked", [False, True])
def test_correlation_follows_the_unit(unit, masked):
    F, y = make_problem("regression")
    held_out = make_held_out() if masked else None
    C = error_correlation(F, y, held_out=held_out)
    np.testing.assert_allclose(
        error_correlation(unit * F, unit * y, held_out=held_out) / unit / unit,
        C,
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.mark.parametrize("unit", [1e-300, 1e300])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("combiner", [OptimalWeights(), SimplexWeights()])
def test_weights_do_not_depend_on_the_unit(unit, masked, combiner):
    """Squares of these errors overflow or vanish; weights stay as they are."""
    F, y = make_problem("regression")
    held_out = make_held_out() if masked else None
    w = combiner.fit(F, y, held_out=held_out).weights_
    v = combiner.fit(unit * F, unit * y, held_out=held_out).weights_
    np.testing.assert_allclose(v, w, rtol=0, atol=1e-10)


@pytest.mark.parametrize("masked", [False, True])
def test_perfect_members_have_no_errors(masked):
    _, y = make_problem("regression")
    C = error_correlation(
        np.repeat(y[:, None], 7, axis=1),
        y,
        held_out=make_held_out() if masked else None,
    )
    np.testing.assert_array_equal(C, np.zeros((7, 7)))


def test_half_precision_is_summed_in_double():
    F, y = make_problem("regression")
    F = F.astype(np.float32)
    np.testing.assert_allclose(
        error_correlation(F, y),
        reference.error_correlation(F.astype(float), y),
        **close,
    )
