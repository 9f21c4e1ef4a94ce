"""Rows and moments that the evidence pruners learn from."""

import numpy as np
import pytest

from committee.combiners.likelihoods import (
    centred_rows,
    held_out_moments,
    offset_dominates,
    signed_rows,
)
from committee.votes import Votes
from tests.reference.problems import make_held_out, make_problem


def problem(kind, **known):
    return Votes(*make_problem(kind), known.get("held_out"), known.get("s"))


def test_two_classes_give_signed_votes():
    """S_n = y_n F_n with targets y_n = +-1 and signed votes 2 F[..., 1] - 1."""
    F, y = make_problem("binary")
    rows = signed_rows(problem("binary"))
    expected = np.where(y == 1, 1, -1)[:, None] * (2 * F[..., 1] - 1)
    np.testing.assert_allclose(rows.S, expected, atol=1e-15)
    assert rows.group == 1


def test_every_wrong_class_gives_a_row():
    F, y = make_problem("multiclass")
    rows = signed_rows(problem("multiclass"))
    assert rows.group == 2
    for n in range(len(y)):
        wrong = [k for k in range(3) if k != y[n]]
        for j, k in enumerate(wrong):
            np.testing.assert_array_equal(rows.S[2 * n + j], F[n, :, y[n]] - F[n, :, k])


def test_silence_is_a_zero_vote():
    held_out = make_held_out()
    rows = signed_rows(problem("multiclass", held_out=held_out))
    assert np.all(rows.S[~np.repeat(held_out, 2, axis=0)] == 0)
    assert np.all(rows.S[np.repeat(held_out, 2, axis=0)] != 0)


def test_weights_go_with_their_rows():
    s = np.arange(40.0)
    np.testing.assert_array_equal(
        signed_rows(problem("multiclass", s=s)).weight, np.repeat(s, 2)
    )
    np.testing.assert_array_equal(
        centred_rows(problem("multiclass", s=s)).weight, np.repeat(s, 3)
    )


def test_centred_rows_of_two_classes_are_half_the_signed_regression():
    """F - 1/2 of class 1 is S/2 and its target is y/2, y = +-1."""
    F, y = make_problem("binary")
    rows = centred_rows(problem("binary"))
    np.testing.assert_allclose(rows.F[1::2], F[..., 1] - 0.5)
    np.testing.assert_allclose(rows.F[0::2], -rows.F[1::2], atol=1e-15)
    np.testing.assert_allclose(rows.y[1::2], y - 0.5)


def test_regression_rows_are_left_alone():
    F, y = make_problem("regression")
    rows = centred_rows(problem("regression"))
    np.testing.assert_array_equal(rows.F, F)
    np.testing.assert_array_equal(rows.y, y)


@pytest.mark.parametrize("kind", ["regression", "multiclass"])
def test_held_out_moments_count_the_rows_that_somebody_left_out(kind):
    held_out = make_held_out()
    moments, unit = held_out_moments(problem(kind, held_out=held_out))
    assert moments.n == held_out.any(axis=1).sum() < 40
    assert unit == 1.0
    assert np.linalg.eigvalsh(moments.G)[0] > 0


def test_an_offset_dominates_where_y_hardly_varies_beside_it():
    F, y = make_problem("regression")
    for shift, expected in ((0.0, False), (100.0, False), (1e4, True), (-1e9, True)):
        assert offset_dominates(Votes(F + shift, y + shift, None, None)) is expected
    assert not offset_dominates(Votes(F, np.zeros(40), None, None))
