"""The log pool, and slopes from rows that are left out."""

import pickle

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from committee import (
    AmbiguityDisplay,
    ARDPruner,
    Bagging,
    CommitteeClassifier,
    CoupledKernelClassifier,
    EMPruner,
    EPPruner,
    LogPool,
    Pool,
    SimplexWeights,
    SoftmaxGate,
    load,
    prune,
    save,
    to_sklearn,
)
from committee.bayes.fit_em import fit_probit
from committee.bayes.fit_log_pool import SHRINKAGES
from committee.combiners.likelihoods import signed_rows
from committee.combiners.log_pool import LeftOut, weigh_near
from committee.ep import classification_path
from committee.held_out import CrossFit
from committee.reporting.evaluation import evaluate_members
from committee.votes import Votes
from tests.reference.problems import make_held_out, make_problem

MEMBERS = [
    ("logistic", LogisticRegression(max_iter=5000)),
    ("bayes", GaussianNB()),
    ("tree", DecisionTreeClassifier(max_depth=3, random_state=0)),
    ("stump", DecisionTreeClassifier(max_depth=1, random_state=0)),
]


def log_pool(F, w, floor, b=0.0):
    """Return softmax_k(sum_m w_m log clip(F, floor, 1) + b_k)."""
    s = np.einsum("nmk,m->nk", np.log(np.clip(F, floor, 1)), w)
    return softmax(s + b, axis=1)


@pytest.fixture(scope="module")
def rows():
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    names = np.array(["a", "b", "c"])[y]
    order = np.random.default_rng(1).permutation(len(y))
    return X[order[:90]], names[order[:90]], X[order[90:]], names[order[90:]]


@pytest.fixture(scope="module")
def fitted(rows):
    X, y, *_ = rows
    return CommitteeClassifier(
        generator=Pool(MEMBERS), combiner="log-pool", random_state=0
    ).fit(X, y)


def test_one_member_of_weight_one_is_that_member():
    F, y = make_problem("multiclass", M=1)
    pool = LogPool(offsets=False, shrinkage=1e9, floor=1e-9).fit(F, y)
    np.testing.assert_allclose(pool.weights_, pool.slope_, rtol=1e-6)
    p = pool.probabilities(pool.combine(F) / pool.slope_)
    np.testing.assert_allclose(p, F[:, 0], atol=1e-5)


def test_one_calibrated_member_is_left_as_it_is(rng):
    """w = 1 and b = 0 up to sampling error, which a logistic regression tells."""
    for K, seed in ((2, 0), (4, 1)):
        z = np.random.default_rng(seed).normal(size=(4000, K)) * 1.5
        p = softmax(z, axis=1)
        y = (p.cumsum(axis=1) < rng.random((4000, 1))).sum(axis=1)
        for signed in (False, True):
            pool = LogPool(signed=signed).fit(p[:, None, :], y)
            # The inverse Hessian at w = 1, b = 0 of the log-likelihood and the priors.
            e = np.concatenate(
                [np.log(p)[:, :, None], np.tile(np.eye(K), (4000, 1, 1))], 2
            )
            centred = e - np.einsum("nk,nkp->np", p, e)[:, None]
            H = np.einsum("nkp,nkq->pq", centred * p[:, :, None], centred)
            H[np.diag_indices(K + 1)] += np.r_[0.0, np.full(K, 4.0)]
            found = np.r_[pool.weights_ - 1, pool.offsets_]
            sd = np.sqrt(np.diag(np.linalg.inv(H)))
            # The slope adds an error of its own, of the size of the weight's.
            sd[0] *= np.sqrt(2)
            assert np.all(np.abs(found) < 3 * sd)
            assert pool.floor_ == 1 / (4000 + K)


def test_offsets_mend_what_all_members_have_in_common(rng):
    """Members whose odds were all shifted alike are as good as they were before."""
    z = rng.normal(size=(3000, 1, 3)) + 0.5 * rng.normal(size=(3000, 4, 3))
    p = softmax(2 * z.mean(axis=1), axis=1)
    y = (p.cumsum(axis=1) < rng.random((3000, 1))).sum(axis=1)
    shift = np.array([0.0, 1.0, -1.5])
    straight, shifted = softmax(z, axis=2), softmax(z + shift, axis=2)
    train, test = slice(0, 1500), slice(1500, None)

    def loss(F, **options):
        pool = LogPool(**options).fit(F[train], y[train])
        return log_loss(y[test], pool.probabilities(pool.combine(F[test]))), pool

    best, _ = loss(straight)
    mended, pool = loss(shifted)
    assert abs(mended - best) < 0.01
    assert loss(shifted, offsets=False)[0] > best + 0.1
    b = pool.offsets_ - pool.offsets_.mean()
    expected = -pool.weights_.sum() * (shift - shift.mean())
    # Standard errors of some 0.06, and a prior of 1/2.
    np.testing.assert_allclose(b, expected, atol=0.25)
    assert len(pool.weights_) == 4
    assert pool.support_.max() < 4
    assert loss(shifted, offsets=False)[1].offsets_ is None


def test_weights_of_both_signs_take_out_what_members_share(rng):
    """Two members share an error that a third one knows."""
    signal, shared = rng.normal(size=(2, 4000))
    y = (rng.random(4000) < 1 / (1 + np.exp(-2 * signal))).astype(int)
    logits = np.column_stack([2 * signal + shared, 2 * signal + shared, shared])
    p = 1 / (1 + np.exp(-logits))
    F = np.stack([1 - p, p], axis=2)
    pool = LogPool(signed=True).fit(F[:2000], y[:2000])
    # The third takes out what the others share: w = 1/2, 1/2, -1, shrunk a little.
    np.testing.assert_allclose(pool.weights_, [0.5, 0.5, -1.0], atol=0.2)
    plain = LogPool().fit(F[:2000], y[:2000])
    losses = [
        log_loss(y[2000:], c.probabilities(c.combine(F[2000:]))) for c in (pool, plain)
    ]
    assert losses[0] < losses[1] - 0.02
    assert plain.weights_.min() == 0.0


def test_members_that_are_all_too_shy_get_a_sum_above_one(rng):
    logit = rng.normal(size=5000)
    y = (rng.random(5000) < 1 / (1 + np.exp(-logit))).astype(int)
    for slope in (0.5, 2.0):
        p = 1 / (1 + np.exp(-slope * logit))
        F = np.stack([1 - p, p], axis=1)[:, None, :].repeat(3, axis=1)
        w = LogPool().fit(F, y).weights_
        # The slope of a logistic regression on 5,000 rows is known to 0.035 / slope.
        assert w.sum() == pytest.approx(1 / slope, abs=0.12 / slope)
        np.testing.assert_allclose(w, w.mean())


def test_like_members_that_abstain_are_stood_for_by_the_others():
    F, y = make_problem("multiclass", M=1)
    twins, mask = F.repeat(5, axis=1), make_held_out(M=5)
    known = {"floor": 0.01, "shrinkage": 0.1}
    rows = mask.any(axis=1)
    whole = LogPool(**known).fit(twins[rows], y[rows]).weights_
    some = LogPool(**known).fit(twins, y, held_out=mask).weights_
    # A sum over any of the twins is the same sum; which of them it is says nothing.
    assert some.sum() == pytest.approx(whole.sum(), rel=0.02)


def test_few_rows_without_mistakes_do_not_make_it_certain(rng):
    """A sum of weights that fits them is not what fresh rows bear out."""

    def draw(N):
        y = rng.integers(0, 2, N)
        logits = 4 * (2 * y[:, None] - 1) + 2 * rng.normal(size=(N, 8))
        p = 1 / (1 + np.exp(-logits - 2 * rng.normal(size=(N, 1))))
        return np.stack([1 - p, p], axis=2), y

    gains = []
    for _ in range(5):
        pool, (F, y) = LogPool().fit(*draw(60)), draw(2000)
        scores = pool.combine(F)
        as_fitted = log_loss(y, pool.probabilities(scores / pool.slope_))
        gains.append(log_loss(y, pool.probabilities(scores)) - as_fitted)
        assert pool.slope_ < 1
    assert np.mean(gains) < 0


def test_floor_is_one_row_in_all_that_count():
    F, y = make_problem("binary")
    mask = make_held_out()
    for held_out, N in ((None, 40), (mask, mask.any(axis=1).sum())):
        for c in (LogPool(), EPPruner(pool="log")):
            found = c.fit(F, y, held_out=held_out).floor_ * (N + 2)
            assert min(abs(found / np.array([1, 4, 16, 64]) - 1)) < 1e-12
    assert LogPool(floor=0.1).fit(F, y).floor_ == 0.1


def test_members_that_are_wrong_where_they_say_zero_get_a_larger_floor(rng):
    y = rng.integers(0, 3, 1200)
    right = y[:, None, None] == np.arange(3)
    odds = np.exp(1.2 * right + rng.normal(size=(1200, 3, 3)))
    honest = odds / odds.sum(axis=2, keepdims=True)
    # As of five neighbours, of which often none is of the class.
    blunt = rng.binomial(5, 0.9 * honest + 0.03) + 1e-9
    blunt = np.round(blunt / blunt.sum(axis=2, keepdims=True), 6)
    blunt /= blunt.sum(axis=2, keepdims=True)
    half = slice(0, 600), slice(600, None)

    def fitted(F, floor="auto"):
        pool = LogPool(floor=floor).fit(F[half[0]], y[half[0]])
        scores = pool.combine(F[half[1]])
        return pool, log_loss(y[half[1]], pool.probabilities(scores))

    assert fitted(honest)[0].floor_ == 1 / 603
    pool, loss = fitted(blunt)
    assert pool.floor_ > 3 / 603
    assert loss < fitted(blunt, 1 / 603)[1]


def test_what_has_no_probabilities_is_refused(rows):
    F, y = make_problem("regression")
    with pytest.raises(ValueError, match="weighs log-probabilities of classes"):
        LogPool().fit(F, y)
    F, y = make_problem("binary")
    with pytest.raises(ValueError, match=r"lie between 0 and 1. Got values from -"):
        LogPool().fit(4 * F - 2, y)
    booster = GradientBoostingClassifier(n_estimators=5).fit(*rows[:2])
    with pytest.raises(ValueError, match="use EPPruner"):
        prune(booster, *rows[2:], combiner=LogPool())
    for wrong in ({"floor": 0.0}, {"floor": 1.0}, {"shrinkage": 0.0}):
        with pytest.raises(ValueError, match=f"'{next(iter(wrong))}' parameter"):
            LogPool(**wrong).fit(F, y)


def test_a_committee_predicts_by_the_log_pool(fitted, rows, tmp_path):
    X = rows[2]
    F, combiner = fitted.member_predictions(X), fitted.combiner_
    p = log_pool(F, fitted.weights_, combiner.floor_, fitted.offsets_)
    np.testing.assert_allclose(fitted.predict_proba(X), p, atol=1e-12)
    np.testing.assert_array_equal(fitted.predict(X), fitted.classes_[p.argmax(1)])
    save(fitted, tmp_path / "model")
    for again in (load(tmp_path / "model"), pickle.loads(pickle.dumps(fitted))):
        np.testing.assert_array_equal(again.predict_proba(X), fitted.predict_proba(X))
    lazy = pytest.importorskip("dask.array").from_array(X, chunks=(20, 4))
    np.testing.assert_allclose(fitted.predict_proba(lazy).compute(), p, atol=1e-12)


def test_prune_predicts_by_the_log_pool_with_a_slope_of_its_own(rows, tmp_path):
    X, y, X_new, y_new = rows
    members = [(name, member.fit(X, y)) for name, member in MEMBERS]
    small = prune(members, X_new, y_new, combiner=LogPool())
    w, floor = small.combiner_.weights_, small.combiner_.floor_
    b = small.combiner_.offsets_
    np.testing.assert_allclose(small.weights_, w[small.support_] / w.sum())
    np.testing.assert_allclose(small.offsets_, b / w.sum())
    F = small.member_predictions(X)
    sums = np.einsum("nmk,m->nk", np.log(np.clip(F, floor, 1)), small.weights_)
    p = small.calibration_(log_pool(F, w[small.support_], floor, b), sums)
    np.testing.assert_allclose(small.predict_proba(X), p, atol=1e-12)
    # The sum of the weights was fitted on left-out scores already.
    assert small.calibration_.floor is not None
    assert small.slope_ == pytest.approx(1, abs=0.5)
    summary = small.summary()
    assert summary.log_loss_after == pytest.approx(
        log_loss(y_new, small.predict_proba(X_new)), rel=0.2
    )
    save(small, tmp_path / "model")
    loaded = load(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(X), small.predict_proba(X))
    chosen = loaded.path_.choose()
    np.testing.assert_allclose(chosen.predict_proba(X), p, atol=1e-12)


def test_without_rows_for_folds_the_slope_is_the_sum_of_the_weights(rows):
    X, y, X_new, y_new = rows
    members = [member.fit(X, y) for _, member in MEMBERS]
    few = [int(np.flatnonzero(y_new == label)[0]) for label in "abc"]
    small = prune(members, X_new[few], y_new[few], combiner=LogPool(), oob=False)
    assert small.slope_ is None
    F, combiner = small.member_predictions(X), small.combiner_
    w = combiner.weights_[small.support_]
    p = log_pool(F, w, combiner.floor_, combiner.offsets_)
    np.testing.assert_allclose(small.predict_proba(X), p, atol=1e-12)


def test_out_of_bag_probabilities_hold_on_fresh_rows():
    X, y = load_breast_cancer(return_X_y=True)
    X = X + 2 * X.std(axis=0) * np.random.default_rng(0).normal(size=X.shape)
    forest = RandomForestClassifier(50, random_state=0).fit(X[::2], y[::2])
    small = prune(forest, X[::2], y[::2], combiner=LogPool(), oob=True)
    fresh = log_loss(y[1::2], small.predict_proba(X[1::2]))
    assert fresh < log_loss(y[1::2], forest.predict_proba(X[1::2])) * 1.05
    assert small.summary().log_loss_after == pytest.approx(fresh, rel=0.2)


def test_pruning_a_log_pool_compares_with_the_log_pool(fitted, rows):
    *_, X, y = rows
    small = prune(fitted, X, y, combiner=SimplexWeights())
    before = small.summary().log_loss_before
    assert before == pytest.approx(log_loss(y, fitted.predict_proba(X)))
    F = small.member_predictions(X)
    scores = np.einsum("nmk,m->nk", F, small.weights_)
    np.testing.assert_array_equal(small.predict(X), small.classes_[scores.argmax(1)])


@pytest.mark.parametrize("classes", ["abc", "ab"])
@pytest.mark.parametrize("signed", [False, True])
def test_a_native_model_is_a_stack_of_logarithms(rows, classes, signed):
    X, y, X_new, y_new = rows
    X, y = X[np.isin(y, list(classes))], y[np.isin(y, list(classes))]
    combiner = LogPool(signed=signed)
    fitted = CommitteeClassifier(
        generator=Pool(MEMBERS), combiner=combiner, random_state=0
    ).fit(X, y)
    kept = np.isin(y_new, list(classes))
    small = prune(fitted, X_new[kept], y_new[kept], combiner=combiner)
    bare = prune(fitted, X_new[kept], y_new[kept], combiner=combiner, calibration=None)
    for pool, tol in ((fitted, 1e-12), (bare, 1e-12), (small, 1e-6)):
        native = to_sklearn(pool)
        check_is_fitted(native)
        p = pool.predict_proba(X_new)
        np.testing.assert_allclose(native.predict_proba(X_new), p, rtol=0, atol=tol)
        np.testing.assert_array_equal(native.predict(X_new), pool.predict(X_new))
        again = pickle.loads(pickle.dumps(native))
        np.testing.assert_array_equal(again.predict(X_new), native.predict(X_new))
    assert type(to_sklearn(fitted)).__name__ == "StackingClassifier"
    members = [SVC(C=C).fit(X, y) for C in (0.1, 1.0)]
    votes = prune(members, X_new[kept], y_new[kept], combiner=combiner)
    with pytest.raises(ValueError, match="needs members with predict_proba"):
        to_sklearn(votes)


def test_trees_stay_a_forest(rows):
    """Of all that holds probabilities, trees keep their weighted mean by default."""
    X, y, X_new, y_new = rows
    forest = RandomForestClassifier(20, max_depth=3, random_state=0).fit(X, y)
    small = prune(forest, X_new, y_new)
    assert small.combiner_.pool_ == "votes"
    bare = to_sklearn(small, calibration=None)
    assert type(bare).__name__ == "RandomForestClassifier"
    assert prune(forest, X_new, y_new, combiner=EPPruner()).combiner_.pool_ == "votes"
    logs = prune(forest, X_new, y_new, combiner=EPPruner(pool="log"))
    assert logs.combiner_.pool_ == "log"
    gated = CommitteeClassifier(
        generator=Pool(MEMBERS),
        combiner=EPPruner(),
        gate=SoftmaxGate(static=EPPruner()),
    ).fit(X, y)
    assert gated.combiner_.pool_ == "votes"


def test_a_coupled_ensemble_takes_no_log_pool(rows):
    X, y, *_ = rows
    with pytest.raises(ValueError, match="use a combiner that averages"):
        CoupledKernelClassifier(2, combiner="log-pool").fit(X, y)


def test_report_and_pictures_show_the_log_pool(fitted, rows):
    *_, X, y = rows
    small = prune(fitted, X, y, combiner=LogPool())
    for pool in (fitted, small):
        answers = evaluate_members(pool, X, y).answers
        np.testing.assert_allclose(answers["committee"].p, pool.predict_proba(X))
    np.testing.assert_allclose(answers["before"].p, fitted.predict_proba(X))
    with pytest.raises(ValueError, match="decomposition is defined for averages"):
        AmbiguityDisplay.from_estimator(fitted, X, y)


def test_bagged_members_are_pooled_by_the_rows_they_left_out(rows):
    X, y, X_new, y_new = rows
    bag = CommitteeClassifier(
        DecisionTreeClassifier(min_samples_leaf=5),
        generator=Bagging(15),
        combiner=LogPool(),
        random_state=0,
    ).fit(X, y)
    assert log_loss(y_new, bag.predict_proba(X_new)) < np.log(3)
    assert np.all(bag.weights_ > 0)


def unsure_problem(N=300, K=3, seed=0):
    """Return F of seven members of unequal skill, two of them no use, and y."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, K, N)
    skill = np.array([1.2, 1.0, 0.8, 0.5, 0.3, 0.0, 0.0])
    right = y[:, None, None] == np.arange(K)
    odds = np.exp(skill[:, None] * right + rng.normal(size=(N, 7, K)))
    return odds / odds.sum(axis=2, keepdims=True), y


def signed_logs(F, y, floor, mask=None):
    """Return rows of log-odds of the right class against every wrong one."""
    return signed_rows(Votes(np.log(np.clip(F, floor, 1)), y, mask, None))


@pytest.mark.parametrize("kind", [EPPruner, ARDPruner, EMPruner])
@pytest.mark.parametrize("masked", [False, True])
def test_probit_rows_of_log_odds_choose_and_the_softmax_weighs(kind, masked):
    """LogPool's minimiser on the members, near 1.702 times the weights of probit rows."""
    F, y = unsure_problem()
    mask = make_held_out(300) if masked else None
    pruner = kind(pool="log").fit(F, y, held_out=mask)
    S = signed_logs(F, y, pruner.floor_, mask).S
    if kind is EMPruner:
        w = fit_probit(S).weights
    else:
        truncated = kind is EPPruner
        path = classification_path(S, group=2, truncated=truncated).steps
        same = [
            np.array_equal(np.flatnonzero(step.weights), pruner.support_)
            for step in path
        ]
        w = path[np.flatnonzero(same)[-1]].weights
    S = np.flatnonzero(w)
    assert len(S) < 7
    np.testing.assert_array_equal(S, pruner.support_)
    near, N, K = 1.702 * w[S], 300, 3
    z = np.log(np.clip(F[:, S], pruner.floor_, 1))
    if mask is not None:
        heard = mask[:, S]
        z = z * (heard * len(S) / np.maximum(heard.sum(1), 1)[:, None])[:, :, None]
        z, y = z[heard.any(axis=1)], y[heard.any(axis=1)]
        N = len(z)

    def loss(v, rho):
        s = np.einsum("nmk,m->nk", z, v[: len(S)]) + v[len(S) :]
        shrunk = rho * N * np.sum((v[: len(S)] - near) ** 2) + 4 * np.sum(
            v[len(S) :] ** 2
        )
        return shrunk / 2 - log_softmax(s, axis=1)[np.arange(N), y].sum()

    # Up to the slope t the minimiser, for the strength rho that was chosen.
    found = np.r_[pruner.weights_[S], pruner.offsets_]
    low = None if kind is ARDPruner else 0
    bounds = [(low, None)] * len(S) + [(None, None)] * K
    minima = [
        minimize(loss, np.r_[near, 0, 0, 0], (rho,), bounds=bounds, tol=1e-12).x
        for rho in SHRINKAGES
    ]
    cosines = [m @ found / np.sqrt((m @ m) * (found @ found)) for m in minima]
    assert max(cosines) > 1 - 1e-6


def test_probabilities_are_the_softmax_of_the_sums():
    F, y = unsure_problem(K=3)
    pruner = EPPruner(pool="log").fit(F, y)
    z = np.log(np.clip(F, pruner.floor_, 1))
    s = np.einsum("nmk,m->nk", z, pruner.weights_) + pruner.offsets_
    p = softmax(s, axis=1)
    np.testing.assert_allclose(pruner.probabilities(pruner.combine(F)), p)
    # Calibrated on its own rows, to what leaving them out takes.
    right = p[np.arange(300), y]
    assert np.mean(p.max(axis=1)) == pytest.approx(np.mean(p.argmax(1) == y), abs=0.06)
    assert -np.log(right).mean() < np.log(3)
    # A fit on votes afterwards forgets logarithms and offsets.
    again = pruner.set_params(pool="votes").fit(F, y)
    assert again.floor_ is again.offsets_ is None
    np.testing.assert_allclose(
        again.combine(F), np.einsum("nmk,m->nk", F, again.weights_)
    )


def test_every_step_has_its_offsets_and_left_out_errors():
    F, y = unsure_problem()
    pruner = EPPruner().fit(F, y)
    path = pruner.path_
    assert path.offsets.shape == (len(path), 3)
    i = [np.array_equal(w, pruner.weights_) for w in path.weights].index(True)
    np.testing.assert_array_equal(pruner.offsets_, path.offset(i))
    density = [step.loo_density for step in path.steps]
    assert i == int(np.argmax(density))  # the default rule of a log pool
    # No member twice, and the constants are not counted.
    assert len({tuple(m) for m in path.members}) == len(path)
    assert path.size.max() <= 7
    exact = []
    for n in range(60):
        rows = np.arange(300) != n
        left = weigh_near(
            Votes(F[rows], y[rows], None, None),
            pruner.support_,
            path.steps[i].weights / 1.702,
            pruner.floor_,
        )
        s = np.log(np.clip(F[n], pruner.floor_, 1)).T @ left.weights + left.offsets
        exact.append(log_softmax(s)[y[n]])
    # Sixty rows of 300, and the slope is that of all rows.
    approx = [
        log_softmax(np.log(np.clip(F[n], pruner.floor_, 1)).T @ w + b)[y[n]]
        for w, b in [(pruner.weights_, pruner.offsets_)]
        for n in range(60)
    ]
    optimism = np.mean(approx) - np.mean(exact)
    assert optimism > 0
    few = EPPruner(max_members=1).fit(F, y)
    np.testing.assert_array_equal(few.offsets_, few.path_.offset(0))
    assert len(few.support_) == 1


def test_auto_takes_logarithms_of_probabilities_only():
    F, y = unsure_problem()
    hard = (F.max(axis=2, keepdims=True) == F).astype(float)
    some = np.where(np.arange(7)[:, None] < 3, hard, F)
    many = np.where(np.arange(7)[:, None] < 4, hard, F)
    for kind in (EPPruner, ARDPruner, EMPruner):
        assert [kind().fit(G, y).floor_ is None for G in (F, some, many, hard)] == [
            *(False, False),
            *(True, True),
        ]
        # Scores, a bag, and what weighs shares anyway.
        assert kind().fit(3 * F - 1, y).floor_ is None
        assert kind().fit(F, y, held_out=make_held_out(300)).floor_ is None
        assert kind(likelihood="gaussian").fit(F, y).floor_ is None
    assert EPPruner(votes="equal").fit(F, y).floor_ is None
    votes, logs = (EPPruner(pool=pool).fit(F, y) for pool in ("votes", "log"))
    np.testing.assert_array_equal(
        EPPruner().fit(hard, y).posterior_.loo_error,
        EPPruner(pool="votes", rule="min-loo").fit(hard, y).path_.error.min(),
    )
    assert votes.loo_ == votes.path_.error.min()
    np.testing.assert_array_equal(EPPruner().fit(F, y).weights_, logs.weights_)


def test_folds_weigh_what_all_rows_weigh():
    """A share of votes near one half must not decide otherwise on some of the rows."""
    F, y = unsure_problem(N=200, K=2)
    one_hot = (F.max(axis=2, keepdims=True) == F).astype(float)
    # In the first 150 rows the first four members vote, in all rows they do not.
    F[:150, :4] = one_hot[:150, :4]
    whole = EPPruner().fit(F, y)
    assert whole.pool_ == "log"
    copied = whole.copy_for(whole.pool_).fit(F[:150], y[:150])
    assert EPPruner().fit(F[:150], y[:150]).pool_ == "votes"
    assert copied.pool_ == "log"
    fair = CrossFit(whole, Votes(F, y, None, None)).own
    np.testing.assert_allclose(fair.p.sum(axis=1), 1)


@pytest.mark.parametrize("kind", [ARDPruner, EMPruner])
def test_relatives_of_ep_are_calibrated_on_fresh_rows(kind):
    pruner = kind(pool="log").fit(*unsure_problem(K=3))
    F, y = unsure_problem(N=3000, K=3, seed=9)
    scores = pruner.combine(F)
    found, *others = (
        log_loss(y, pruner.probabilities(b * scores)) for b in (1.0, 0.7, 1.4)
    )
    assert found < min(others)


@pytest.mark.parametrize(
    "pruner", [EPPruner(pool="log"), LogPool(), LogPool(signed=True)]
)
@pytest.mark.parametrize("masked", [False, True])
def test_dask_gives_what_memory_gives(masked, pruner):
    da = pytest.importorskip("dask.array")
    F, y = unsure_problem(N=200)
    mask = make_held_out(200) if masked else None
    known = {"held_out": mask, "sample_weight": np.linspace(0.5, 1.5, 200)}
    expected = clone(pruner).fit(F, y, **known)
    lazy = da.from_array(F, chunks=((70, 130), 7, 3))
    found = clone(pruner).fit(lazy, y, **known)
    for name in ("weights_", "offsets_"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=0, atol=1e-8
        )


def test_what_a_log_pool_cannot_do_is_said():
    with pytest.raises(ValueError, match="weighs log-probabilities of classes"):
        EPPruner(pool="log").fit(*make_problem("regression"))
    F, y = make_problem("binary")
    for wrong in ({"likelihood": "gaussian"}, {"votes": "equal"}):
        with pytest.raises(ValueError, match='needs likelihood="auto" or "probit"'):
            EPPruner(pool="log", **wrong).fit(F, y)
    with pytest.raises(ValueError, match="lie between 0 and 1"):
        EPPruner(pool="log").fit(3 * F, y)


def test_committees_predict_by_the_pool_on_every_point_of_the_path(tmp_path):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(size=X.shape)
    pool = Pool(
        [
            LogisticRegression(max_iter=5000),
            GaussianNB(),
            DecisionTreeClassifier(max_depth=2, random_state=0),
            DecisionTreeClassifier(max_depth=4, random_state=0),
        ]
    )
    fitted = CommitteeClassifier(generator=pool, combiner=EPPruner(), random_state=0)
    fitted.fit(X[::2], y[::2])
    F = fitted.member_predictions(X)
    p = log_pool(F, fitted.weights_, fitted.combiner_.floor_, fitted.offsets_)
    np.testing.assert_allclose(fitted.predict_proba(X), p)
    members = [member.fit(X[::2], y[::2]) for member in pool.members]
    small = prune(members, X[1::2], y[1::2])
    for made in (small, small.path_.choose(max_members=1)):
        F, known = made.member_predictions(X), made.combiner_
        w = known.weights_[made.support_]
        p = log_pool(F, w, known.floor_, known.offsets_)
        p = made.calibration_(p, p)
        np.testing.assert_allclose(made.predict_proba(X), p)
        save(made, tmp_path / "model")
        np.testing.assert_allclose(load(tmp_path / "model").predict_proba(X), p)
        native = to_sklearn(made)
        np.testing.assert_allclose(native.predict_proba(X), p, rtol=0, atol=1e-9)


def test_of_two_classes_the_wrong_loss_is_that_of_the_other_label(rng):
    """Of more, the mean over all other labels."""
    for K in (2, 4):
        scores, y = rng.normal(size=(30, K)), rng.integers(0, K, 30)
        s = rng.random(30)
        others = [LeftOut.of(scores, (y + k) % K, s).right for k in range(1, K)]
        found = LeftOut.of(scores, y, s).wrong
        np.testing.assert_allclose(found, np.mean(others, axis=0), rtol=1e-12)
