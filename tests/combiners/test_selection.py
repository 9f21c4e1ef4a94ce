"""Paths of ordered members, and that nothing breaks a selecting pruner."""

import numpy as np
import pytest
from hypothesis import given, settings

import committee
from committee import BestPruner
from committee.combiners.selection import VotePruner, selection_path
from committee.votes import Votes
from tests.reference.hostile import fit_or_refuse, hostile_regression, hostile_votes
from tests.reference.problems import KINDS, make_held_out, make_problem
from tests.reference.pruners import path_errors

ORDERINGS = [
    committee.BestPruner,
    committee.BoostingOrderPruner,
    committee.ComplementarityPruner,
    committee.ConcurrencyPruner,
    committee.ContributionPruner,
    committee.DREPPruner,
    committee.KLPruner,
    committee.KappaPruner,
    committee.MarginDistancePruner,
    committee.OrientationPruner,
    committee.RandomPruner,
    committee.ReduceErrorPruner,
]
VOTES_ONLY = [
    *(found for found in ORDERINGS if issubclass(found, VotePruner)),
    committee.KappaErrorHullPruner,
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_path_against_plain_loops(kind, masked, weighted):
    F, y = make_problem(kind)
    held_out = make_held_out() if masked else None
    s = np.random.default_rng(0).exponential(size=40) if weighted else None
    order = np.array([5, 2, 6, 0])
    path = selection_path(Votes(F, y, held_out, s), order)
    error, error_se = path_errors(F, y, order, held_out, s)
    np.testing.assert_allclose(path.error, error, rtol=1e-12)
    np.testing.assert_allclose(path.error_se, error_se, rtol=1e-10)
    assert path.size.tolist() == [1, 2, 3, 4]
    assert path.members[2].tolist() == [2, 5, 6]


def test_blocks_of_rows_add_up(monkeypatch):
    F, y = make_problem("multiclass")
    problem, order = Votes(F, y, make_held_out(), None), np.arange(7)
    whole = selection_path(problem, order)
    monkeypatch.setattr("committee.combiners.selection._BLOCK", 20)
    parts = selection_path(problem, order)
    np.testing.assert_allclose(parts.error, whole.error, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-150, 1e-100, 1e100, 1e150])
def test_path_of_a_regression_in_other_units(scale):
    F, y = make_problem("regression")
    order = np.arange(7)
    path = selection_path(Votes(F, y, None, None), order)
    scaled = selection_path(Votes(scale * F, scale * y, None, None), order)
    np.testing.assert_allclose(scaled.error / scale**2, path.error, rtol=1e-10)
    np.testing.assert_allclose(scaled.error_se / scale**2, path.error_se, rtol=1e-10)


def test_a_huge_member_spoils_only_the_committees_it_is_in():
    F, y = make_problem("regression")
    F[:, 6] *= 1e200
    path = selection_path(Votes(F, y, None, None), np.arange(7))
    error, error_se = path_errors(F[:, :6], y, np.arange(6))
    np.testing.assert_allclose(path.error[:6], error, rtol=1e-12)
    np.testing.assert_allclose(path.error_se[:6], error_se, rtol=1e-10)
    assert path.error[6] == np.inf


def test_sizes_without_a_vote_have_no_error():
    F, y = make_problem("binary")
    held_out = make_held_out()
    held_out[:, 2] = False
    path = selection_path(Votes(F, y, held_out, None), np.array([2, 0]))
    assert path.error[0] == np.inf
    assert np.isfinite(path.error[1])


@pytest.mark.parametrize("pruner", ORDERINGS)
def test_an_order_names_every_member_once_and_the_first_are_kept(pruner):
    F, y = make_problem("multiclass")
    for held_out in (None, make_held_out()):
        for n in (1, 2, 7, 25):
            fitted = pruner(n).fit(F, y, held_out=held_out)
            assert sorted(fitted.order_) == list(range(7))
            assert sorted(fitted.order_[:n]) == fitted.support_.tolist()
            np.testing.assert_allclose(fitted.weights_[fitted.support_], 1 / min(n, 7))
            assert fitted.path_.members[1].tolist() == sorted(fitted.order_[:2])


def test_the_number_of_members_is_checked():
    F, y = make_problem("binary")
    for pruner in ORDERINGS:
        with pytest.raises(ValueError, match=r"'n_members' .* Got 0 instead"):
            pruner(0).fit(F, y)


def test_pruners_of_votes_refuse_regression():
    F, y = make_problem("regression")
    for pruner in VOTES_ONLY:
        with pytest.raises(ValueError, match=rf"{pruner.__name__} is defined on votes"):
            pruner().fit(F, y)


def test_pruning_to_all_members_is_the_average():
    F, y = make_problem("regression")
    np.testing.assert_allclose(BestPruner(100).fit(F, y).weights_, 1 / 7)


@settings(max_examples=100)
@given(hostile_votes())
def test_nothing_breaks_classification(case):
    for pruner in (*ORDERINGS, committee.KappaErrorHullPruner):
        arguments = {"n_members": 3} if pruner in ORDERINGS else {}
        fit_or_refuse(pruner(**arguments), *case)


@settings(max_examples=100)
@given(hostile_regression())
def test_nothing_breaks_regression(case):
    for pruner in ORDERINGS:
        if pruner not in VOTES_ONLY:
            fit_or_refuse(pruner(3), *case)


def test_predictions_on_training_rows_do_not_matter_however_large():
    F, y = make_problem("regression")
    held_out = make_held_out()
    path = BestPruner(2).fit(F, y, held_out=held_out).path_
    large = F.copy()
    large[~held_out] = 1e200
    same = BestPruner(2).fit(large, y, held_out=held_out).path_
    np.testing.assert_allclose(same.error, path.error)
