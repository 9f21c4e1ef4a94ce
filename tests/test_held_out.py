"""Committees evaluated on rows that did not choose them."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold
from sklearn.tree import DecisionTreeRegressor

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    LeastSquares,
    Pool,
    SimplexWeights,
)
from committee.held_out import (
    CrossFit,
    _of_size,
    compared,
    of_committee,
    share_unit,
    splits_of,
)
from committee.losses import error_losses, mean_and_se, measure_of
from committee.path import Path
from committee.votes import Votes


@pytest.mark.parametrize("combiner", [EPPruner(), SimplexWeights()], ids=repr)
def test_each_row_is_predicted_by_a_committee_of_the_others(combiner, rng):
    """Against a plain loop over the folds."""
    y = rng.integers(0, 2, 100)
    right = rng.random((100, 8)) < 0.7
    F = np.eye(2)[np.where(right, y[:, None], 1 - y[:, None])]
    fair = CrossFit(combiner, Votes(F, y, None, None)).own
    folds = StratifiedKFold(5, shuffle=True, random_state=0).split(F[:, 0, 0], y)
    for train, test in folds:
        w = clone(combiner).fit(F[train], y[train]).weights_
        S = np.tensordot(F[test], w, axes=(1, 0))
        clear = np.abs(S[:, 0] - S[:, 1]) > 1e-9
        np.testing.assert_array_equal(fair.values[test][clear], S.argmax(axis=1)[clear])
    assert fair.counted.all()


def masked_votes(rng, mask):
    """Classes of members that vote on some rows, and are right on most."""
    N, M = mask.shape
    y = rng.integers(0, 2, N)
    p = 0.2 * y[:, None] + 0.8 * rng.random((N, M))
    return Votes(np.stack([1 - p, p], axis=2), y, mask, None)


def test_missing_votes_are_drawn_for_averages_only(rng):
    """Not where weights or sums are negative, which are no shares of votes."""
    own = CrossFit(Average(), masked_votes(rng, rng.random((60, 20)) < 0.5)).own
    assert len(own.drawn()) > 1
    without = [(rows, w * (np.arange(20) != 3)) for rows, w in own.folds]
    assert len(replace(own, folds=without).drawn()) > 1
    negative = [(rows, w - 2.0 * w * (np.arange(20) == 3)) for rows, w in own.folds]
    assert len(replace(own, folds=negative).drawn()) == 1
    output = own.output.copy()
    output[0, 0] = -0.01
    assert len(replace(own, output=output).drawn()) == 1


def test_errors_are_drawn_where_averages_vary_more_than_with_all_votes(rng):
    """Without the one member of weight 1/3 they vary less, with two of 21 votes more."""
    mask = np.ones((60, 21), dtype=bool)
    mask[:30, 0] = False
    mask[30:, 3:] = False
    own = CrossFit(Average(), masked_votes(rng, mask)).own
    w = np.append(10.0, np.ones(20)) / 30.0
    own = replace(own, folds=[(rows, w) for rows, _ in own.folds])
    found = own.row_losses(measure_of(None, of_classes=True))
    np.testing.assert_array_equal(found[:30], own.losses[:30])
    assert not np.array_equal(found[30:], own.losses[30:])


def test_weights_become_shares_where_none_is_negative():
    for w, unit in [([1.0, 3.0], 4.0), ([3.0, -1.0], 1.0), ([0.0, 0.0], 1.0)]:
        assert share_unit(np.array(w)) == unit


def test_noise_is_not_worth_anything(rng):
    """Members that guess are chosen for their luck, which folds do not have."""
    y = rng.integers(0, 2, 200)
    F = np.eye(2)[rng.integers(0, 2, (200, 100))]
    chosen = EPPruner().fit(F, y)
    as_weighed = error_losses(chosen.combine(F).argmax(axis=1), y).mean()
    fair = CrossFit(chosen, Votes(F, y, None, None)).own
    error, se = fair.error(measure_of(None, of_classes=True))
    assert (error, se) == mean_and_se(error_losses(fair.values, y))
    assert as_weighed < 0.4
    assert abs(error - 0.5) < 3 * se


def test_sizes(rng):
    y = rng.normal(size=60)
    F = y[:, None] + rng.normal(size=(60, 10))
    crossfit = CrossFit(EPPruner(), Votes(F, y, None, None))
    assert crossfit.of_size(1) is crossfit.by_size[1]
    assert crossfit.of_size(1000) is crossfit.by_size[max(crossfit.by_size)]


def test_the_smallest_committee_stands_for_sizes_that_a_path_lacks(rng):
    """A path of three, two and four members: one member is two, three are three."""
    y = rng.normal(size=40)
    F = y[:, None] + rng.normal(size=(40, 5))
    combiner = EPPruner().fit(F, y)
    members = np.arange(5)
    W = np.array([members < 3, members < 2, members < 4], dtype=float)
    combiner.path_ = Path(W, np.zeros(3), np.zeros(3), "error")
    for size, expected in [(1, 2), (2, 2), (3, 3), (9, 4)]:
        assert np.count_nonzero(_of_size(combiner, size)[0]) == expected


def test_two_folds_are_for_more_than_ten_thousand_rows():
    assert len(splits_of(np.zeros(10_000))) == 5
    assert len(splits_of(np.zeros(10_001))) == 2
    assert splits_of(np.zeros(4)) == []


@pytest.mark.parametrize("kind", ["classes", "numbers"])
def test_rows_without_a_vote_are_predicted_without_members(kind, rng):
    """Two members, each held out on a third of the rows."""
    y = rng.normal(size=90) if kind == "numbers" else np.repeat([0, 1], [60, 30])
    F = np.stack([y, y], axis=1) if kind == "numbers" else np.eye(2)[np.c_[y, y]]
    held_out = rng.random((90, 2)) < 1 / 3
    crossfit = CrossFit(SimplexWeights(), Votes(F, y, held_out, None))
    silent = ~crossfit.own.counted
    assert 0 < silent.sum() < 90
    np.testing.assert_allclose(crossfit.own.values[~silent], y[~silent])
    if kind == "classes":
        assert not crossfit.own.values[silent].any()
    else:
        np.testing.assert_allclose(crossfit.own.values[silent], y.mean(), atol=0.2)


def test_too_few_rows_give_nothing():
    F = np.eye(2)[np.array([[0, 1], [1, 1], [0, 0]])]
    crossfit = CrossFit(EPPruner(), Votes(F, np.array([0, 1, 0]), None, None))
    assert crossfit.own is None
    assert crossfit.of_size(3) is None


def test_an_error_of_the_combiner_is_not_taken_for_too_few_rows(rng):
    class Broken(SimplexWeights):
        def _weigh(self, problem):
            raise ValueError("a mistake of its own")

    y = rng.normal(size=50)
    F = y[:, None] + rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match="a mistake of its own"):
        _ = CrossFit(Broken(), Votes(F, y, None, None)).own


def test_weights_are_learned_again_without_each_fold():
    """In-sample residuals of least squares on noise are far too small."""
    rng = np.random.default_rng(0)
    F, y = rng.normal(size=(60, 30)), rng.normal(size=60)
    combiner = LeastSquares().fit(F, y)
    found = of_committee(combiner, combiner.weights_, Votes(F, y, None, None), None)
    kept = found.stored(np.arange(30))
    own = np.abs(y - F @ combiner.weights_)
    assert np.mean(kept.residual**2) > 3 * np.mean(own**2)
    for test, w in found.folds:
        np.testing.assert_allclose(kept.residual[test], np.abs(y[test] - F[test] @ w))


@pytest.mark.parametrize("combiner", [None, Average()])
def test_equal_weights_owe_nothing_to_the_rows(combiner):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(30, 3)), rng.normal(size=30)
    pool = Pool([Ridge(1.0), Ridge(100.0)], n_splits=3)
    fit = CommitteeRegressor(
        generator=pool, combiner=combiner, uncertainty=True, random_state=0
    )
    fit.fit(X, y)
    # error of the mean of two Ridge models, each row by models of the other folds
    assert fit.held_out_error_ == pytest.approx(
        np.sqrt(np.mean(fit._held_out_rows.residual**2))
    )


def test_a_fraction_is_split_off_for_it():
    rng = np.random.default_rng(2)
    X, y = rng.normal(size=(100, 3)), rng.normal(size=100)
    fit = CommitteeRegressor(
        generator=Bagging(3), weigh_on=0.3, uncertainty=True, random_state=0
    ).fit(X, y)
    assert len(fit._held_out_rows.residual) == 30


def test_growing_keeps_them_too():
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(80, 3)), rng.normal(size=80)
    fit = CommitteeRegressor(
        DecisionTreeRegressor(max_depth=3),
        generator=Bagging(40),
        combiner=EPPruner(),
        stop="evidence",
        uncertainty=True,
        random_state=0,
    ).fit(X, y)
    assert fit.predict_interval(X).shape == (80, 2)


def test_nothing_is_kept_unless_asked_for():
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20.0)
    fit = CommitteeRegressor(generator=Bagging(3)).fit(X, y)
    assert not hasattr(fit, "_held_out_rows")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"weigh_on": "train"}, 'weigh_on="train" has none: use weigh_on="held-out"'),
        ({"generator": AdaBoost(3)}, "AdaBoost leaves none out: pass a fraction"),
    ],
)
def test_rows_that_members_have_seen_are_refused(options, message):
    X, y = np.arange(40.0).reshape(20, 2), np.arange(20) % 2
    with pytest.raises(ValueError, match=message):
        CommitteeClassifier(uncertainty=True, **options).fit(X, y)


def test_errors_and_their_spread_by_sample_weight(rng):
    """An error rate of integer weights is that of repeated rows; se by its formula."""
    F, y = rng.normal(size=(50, 3)), rng.normal(size=50)
    s, w = rng.integers(0, 4, size=50), np.array([0.5, 0.0, 0.5])
    votes = Votes(F, y, None, s.astype(float))
    error, se = of_committee(None, w, votes, None).error(
        measure_of("neg_mean_absolute_error", of_classes=False)
    )
    losses = np.abs(F[:, [0, 2]].mean(axis=1) - y)
    assert error == pytest.approx(np.repeat(losses, s).mean())
    assert se == pytest.approx(np.sqrt((s**2) @ (losses - error) ** 2) / s.sum())


def test_rows_without_votes_have_no_weight(rng):
    F, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    mask = rng.uniform(size=(20, 4)) < 0.4
    mask[:3], mask[3:, 0] = False, True
    w, rmse = np.full(4, 0.25), measure_of(None, of_classes=False)
    found = of_committee(None, w, Votes(F, y, mask, None), None).error(rmse)
    others = of_committee(None, w, Votes(F[3:], y[3:], mask[3:], None), None)
    assert found == pytest.approx(others.error(rmse))


def test_the_calibration_is_the_one_that_the_committee_delivers():
    """fit stores the calibration of its held-out predictions, and no other."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(150, 4))
    y = (X[:, 0] + rng.normal(size=150) > 0).astype(int)
    fit = CommitteeClassifier(
        generator=Bagging(15), combiner="simplex", calibration="slope", random_state=0
    ).fit(X, y)
    assert fit.slope_ == fit.calibration_.slope
    assert 0 < fit.held_out_error_ < 0.5


def test_two_errors_are_of_the_rows_that_both_count(rng):
    y = rng.normal(size=40)
    F = y[:, None] + rng.normal(size=(40, 3))
    own = CrossFit(Average(), Votes(F, y, None, None)).own
    half, measure = (
        np.arange(40) < 20,
        measure_of("neg_mean_squared_error", of_classes=False),
    )
    expected = np.sqrt(own.losses[half].mean())
    for before, after in [(half, own.counted), (own.counted, half)]:
        pair = (replace(own, counted=counted) for counted in (before, after))
        found = compared(*pair, measure)
        assert (found.before, found.after) == pytest.approx((expected, expected))
        assert found.difference == 0.0
