"""Refined committees: what they predict, where they go, what is refused."""

import copy
from dataclasses import replace

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, make_classification, make_friedman1
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesRegressor,
    GradientBoostingRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
    VotingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    Bagging,
    CommitteeRegressor,
    NeighbourGate,
    PrunedRegressor,
    load,
    prune,
    refine,
    save,
    to_onnx,
)
from committee.ensembles import roster_of
from committee.pruning import refiner
from committee.refining import choice
from committee.refining.choice import refitted
from committee.refining.problem import Settings


@pytest.fixture(scope="module")
def friedman():
    X, y = make_friedman1(1500, noise=1.0, random_state=0)
    return X[:500], y[:500], X[500:], y[500:]


@pytest.fixture(scope="module")
def regressor(friedman):
    X, y, *_ = friedman
    return RandomForestRegressor(60, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def labelled():
    X, y = make_classification(
        1200, 10, n_informative=6, n_classes=3, random_state=1, flip_y=0.1
    )
    return (
        X[:400],
        np.array(["a", "b", "c"])[y[:400]],
        X[400:],
        np.array(list("abc"))[y[400:]],
    )


@pytest.fixture(scope="module")
def classifier(labelled):
    X, y, *_ = labelled
    return RandomForestClassifier(60, random_state=0).fit(X, y)


@pytest.fixture(scope="module")
def small(regressor, friedman):
    return refine(regressor, *friedman[:2], max_members=10, oob=True)


@pytest.fixture(scope="module")
def small_classes(classifier, labelled):
    return refine(classifier, *labelled[:2], max_members=10, oob=True, random_state=0)


def plain(forest, k, X):
    return np.mean([tree.predict(X) for tree in forest.estimators_[:k]], axis=0)


def test_refined_trees_are_better_than_the_same_trees(small, regressor, friedman):
    *_, X, y = friedman
    refined = ((small.predict(X) - y) ** 2).mean()
    assert refined < ((plain(regressor, 10, X) - y) ** 2).mean()
    assert len(small.support_) == 10
    assert small.summary().bytes_after < 0.1 * small.summary().bytes_before


def test_honest_errors_are_those_of_fresh_rows(small, friedman):
    """They are a mean over 500 rows: five standard errors, of squares of a normal."""
    *_, X, y = friedman
    fresh = np.sqrt(((small.predict(X) - y) ** 2).mean())
    assert small.summary().error_after == pytest.approx(fresh, rel=5 / np.sqrt(1000))


def test_honest_errors_of_classes_are_those_of_fresh_rows(
    small_classes, classifier, labelled
):
    """Out of bag and on fresh rows, within five standard errors of a share."""
    *_, Z, z = labelled
    fresh = (small_classes.predict(Z) != z).mean()
    found = small_classes.summary()
    assert found.error_after == pytest.approx(fresh, abs=5 * np.sqrt(0.25 / 400))
    assert found.error_before < found.refinement.error_plain
    small = refine(classifier, Z[:400], z[:400], max_members=10, random_state=0)
    fresh = (small.predict(Z[400:]) != z[400:]).mean()
    assert small.summary().error_after == pytest.approx(
        fresh, abs=5 * np.sqrt(0.25 / 400)
    )


@pytest.fixture(scope="module")
def two_classes():
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    return refine(forest, X, y, max_members=10, oob=True, random_state=0), X


@pytest.mark.parametrize("kind", ["numbers", "classes", "two"])
def test_they_are_exported_and_saved(
    kind, small, small_classes, two_classes, friedman, labelled, tmp_path
):
    """Probabilities are cut at zero and calibrated, which a plain forest is not."""
    ort = pytest.importorskip("onnxruntime")
    pytest.importorskip("skl2onnx")
    model, X = {
        "numbers": (small, friedman[2]),
        "classes": (small_classes, labelled[2]),
        "two": two_classes,
    }[kind]
    X, native = X.astype(np.float32), model.to_sklearn()
    output = "predict" if kind == "numbers" else "predict_proba"
    expected, plain = getattr(model, output)(X), getattr(native, output)(X)
    exact = 1e-12
    if kind != "numbers":
        assert np.array_equal(native.predict(X), model.predict(X))
        assert plain.min() >= 0
        assert model.slope_ is not None
        exact = 1e-6
    np.testing.assert_allclose(plain, expected, rtol=exact, atol=exact)
    known = model.summary()
    save(model, tmp_path / "small.committee")
    loaded = load(tmp_path / "small.committee")
    assert np.array_equal(getattr(loaded, output)(X), expected)
    assert loaded.summary() == known
    session = ort.InferenceSession(to_onnx(model).SerializeToString())
    found = session.run(None, {session.get_inputs()[0].name: X})
    np.testing.assert_allclose(np.squeeze(found[-1]), expected, rtol=1e-6, atol=1e-6)
    if kind != "numbers":
        assert np.array_equal(found[0], model.predict(X))


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_an_infinite_ridge_without_cuts_is_the_forest(kind, request, monkeypatch):
    forest, data = (
        ("regressor", "friedman") if kind == "numbers" else ("classifier", "labelled")
    )
    forest, (X, y, Z, _) = map(request.getfixturevalue, (forest, data))
    own = refiner.refitted
    monkeypatch.setattr(
        refiner,
        "refitted",
        lambda problem, choice, most: own(
            problem, choice._replace(ridge=np.inf, least=1, shrink=0.0, share=1.0), most
        ),
    )
    small = refine(forest, X, y, oob=True, calibration=None)
    output = "predict" if kind == "numbers" else "predict_proba"
    np.testing.assert_allclose(
        getattr(small, output)(Z), getattr(forest, output)(Z), rtol=1e-12, atol=1e-12
    )


def test_leaves_are_limited(regressor, friedman):
    small = refine(regressor, *friedman[:2], max_members=5, max_leaves=60, oob=True)
    assert small.summary().refinement.leaves_after <= 60
    assert sum(tree.get_n_leaves() for tree in small.members_) <= 60


def test_bytes_are_limited(regressor, friedman):
    """Of the sizes that were tried the one of least held-out error is taken."""
    small = refine(regressor, *friedman[:2], max_bytes=60_000, oob=True)
    found, path = small.summary(), small.summary().refinement.path
    assert all(size.n_bytes <= 60_000 for size in path)
    assert len(path) > 1
    least = min(path, key=lambda size: size.error)
    assert found.bytes_after == least.n_bytes
    # The printed error includes the choice of the size, with some other size in a fold.
    assert least.error <= found.error_after <= max(size.error for size in path)
    with pytest.raises(ValueError, match="Increase max_bytes"):
        refine(regressor, *friedman[:2], max_bytes=500, oob=True)


def test_the_smallest_within_the_tolerance_is_taken(regressor, friedman):
    small = refine(regressor, *friedman[:2], tolerance=0.15, oob=True)
    found, path = small.summary(), small.summary().refinement.path
    within = [
        size for size in path if size.error <= 1.15 * (size.error - size.difference)
    ]
    assert found.n_members_after in {
        size.n_members
        for size in within
        if size.n_bytes == min(size.n_bytes for size in within)
    }
    assert found.error_after <= 1.15 * found.error_before
    both = refine(regressor, *friedman[:2], tolerance=1.0, max_leaves=30, oob=True)
    assert both.summary().refinement.leaves_after <= 30
    with pytest.raises(ValueError, match="larger tolerance"):
        refine(regressor, *friedman[:2], tolerance=0.0, max_members=2, oob=True)


def test_a_clone_is_trained_and_refined_again(regressor, friedman):
    X, y, Z, _ = friedman
    small = refine(regressor, X, y, max_members=5, max_leaves=100, oob=True)
    again = clone(small)
    assert again.get_params()["refine"]
    again.fit(X, y)
    assert again.n_members_ == 5
    assert again.summary().refinement.leaves_after <= 100
    np.testing.assert_allclose(again.predict(Z), small.predict(Z))
    pruned = prune(regressor, X, y, oob=True, refine=True, max_members=6)
    assert clone(pruned).fit(X[:200], y[:200]).n_members_ <= 6
    with pytest.raises(ValueError, match="refine=True"):
        PrunedRegressor(RandomForestRegressor(5), tolerance=0.1).fit(X, y)
    booster = PrunedRegressor(
        GradientBoostingRegressor(n_estimators=10), max_members=3, random_state=0
    )
    assert booster.fit(X, y).n_members_ <= 3


def test_intervals_cover_fresh_rows(small, friedman, tmp_path):
    """Coverage of 1,000 rows by quantiles of 500: five standard errors of both."""
    *_, X, y = friedman
    for method in ("scaled", "constant"):
        low, high = small.predict_interval(X, 0.8, method=method).T
        found = ((low <= y) & (y <= high)).mean()
        se = np.sqrt(0.8 * 0.2 * (1 / 1000 + 1 / 500))
        assert 0.8 - 5 * se <= found <= 0.8 + 5 * se
    small.summary()
    save(small, tmp_path / "small.committee")
    loaded = load(tmp_path / "small.committee")
    assert np.array_equal(
        loaded.predict_interval(X, 0.8), small.predict_interval(X, 0.8)
    )
    assert loaded.summary() == small.summary()


def test_the_summary_has_the_numbers_of_the_refinement(small_classes):
    summary = small_classes.summary()
    assert summary.refinement.leaves_after < summary.refinement.leaves_before
    depths = {member.tree_.max_depth for member in small_classes.members_}
    assert summary.refinement.depth_after == max(depths) > min(depths)
    assert summary.bytes_after < summary.bytes_before
    assert 0 < summary.disagreement < 0.5
    assert "Errors to expect on fresh rows" in str(summary)


@pytest.fixture(scope="module")
def uncalibrated(classifier, labelled):
    how = {"max_members": 10, "oob": True, "random_state": 0, "calibration": None}
    return refine(classifier, *labelled[:2], **how)


def test_trees_that_refining_makes_worse_are_returned_as_they_are(monkeypatch):
    """Squares of a board with 25 rows each: leaves of 40 rows lose them.

    The trees have about 20 % of errors and with such leaves 40 %; the difference of two
    shares of 400 and 2,000 rows has a standard error of at most 3 %.
    """
    rng = np.random.default_rng(0)
    X = rng.random((2400, 2))
    y = np.floor(4 * X).sum(axis=1).astype(int) % 2
    Z, z, X, y = X[400:], y[400:], X[:400], y[:400]
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    large = (Settings(40, 5.0, labels=0.0, shrink=20.0),)
    monkeypatch.setattr(choice, "OF_CLASSES", large)
    given = {"max_members": 10, "oob": True, "calibration": None, "random_state": 0}
    small = refine(forest, X, y, **given)
    found = small.summary()
    assert found.refinement.error_refined > found.refinement.error_plain + 0.1
    assert found.error_after == found.refinement.error_plain
    assert "stay as they were" in str(found)
    trees = [forest.estimators_[m].predict_proba(Z) for m in small.support_]
    np.testing.assert_allclose(small.predict_proba(Z), np.mean(trees, axis=0))
    # Refined all the same, they do have more errors on fresh rows.
    monkeypatch.setattr(refiner, "refitted", lambda p, _, most: refitted(p, *large))
    worse = refine(forest, X, y, **given)
    assert (worse.predict(Z) != z).mean() > (small.predict(Z) != z).mean() + 0.1


def test_an_irregular_boundary_is_left_to_the_trees_as_they_are(monkeypatch):
    """200 small clusters with a label each: refining costs half a point on fresh rows.

    The two committees disagree on about a tenth of 20,000 rows, so that the standard
    error of the difference is 0.2 points.
    """
    rng = np.random.default_rng(1)
    centres, label = rng.normal(size=(200, 5)), rng.integers(0, 2, 200)
    cluster = rng.integers(0, 200, 21_000)
    X, y = centres[cluster] + 0.2 * rng.normal(size=(21_000, 5)), label[cluster]
    X, Z, y, z = X[:1000], X[1000:], y[:1000], y[1000:]
    forest = RandomForestClassifier(100, random_state=0).fit(X, y)
    given = {"max_members": 20, "oob": True, "random_state": 0}
    small = refine(forest, X, y, **given)
    assert "stay as they were" in str(small.summary())
    # Refined all the same, with the settings that are best on these rows.
    judged = choice.judged

    def without_a_choice(*given):
        plain = judged(*given)
        return replace(plain, losses=plain.losses + 1)

    monkeypatch.setattr(choice, "judged", without_a_choice)
    refined = refine(forest, X, y, **given)
    assert "stay as they were" not in str(refined.summary())
    plain, error = (np.mean(model.predict(Z) != z) for model in (small, refined))
    assert error > plain + 0.004


def test_without_a_slope_classes_are_a_plain_forest(
    uncalibrated, small_classes, labelled
):
    """Decisions are the committee's; leaves beyond 0 and 1 are left as they are."""
    Z, native = labelled[2], uncalibrated.to_sklearn()
    assert type(native) is RandomForestClassifier
    assert np.array_equal(native.predict(Z), uncalibrated.predict(Z))
    p = native.predict_proba(Z)
    np.testing.assert_allclose(p.sum(axis=1), 1.0, rtol=1e-12)
    cut = np.maximum(p, 0) / np.maximum(p, 0).sum(axis=1, keepdims=True)
    np.testing.assert_allclose(cut, uncalibrated.predict_proba(Z), atol=1e-12)
    inner = small_classes.to_sklearn().estimator.estimator
    np.testing.assert_array_equal(inner.predict_proba(Z), p)


@pytest.mark.parametrize("kind", ["numbers", "classes"])
def test_shap_explains_what_to_sklearn_returns(
    kind, small, uncalibrated, friedman, labelled
):
    """Its values of a row sum to the prediction, or the mean of the leaves."""
    shap = pytest.importorskip("shap")
    model, X, output = {
        "numbers": (small, friedman[2][:20], "predict"),
        "classes": (uncalibrated, labelled[2][:20], "predict_proba"),
    }[kind]
    native = model.to_sklearn()
    explainer = shap.TreeExplainer(native)
    total = explainer.shap_values(X).sum(axis=1) + explainer.expected_value
    np.testing.assert_allclose(total, getattr(native, output)(X), rtol=1e-6, atol=1e-6)


def test_a_part_of_the_training_rows_is_refused(
    classifier, labelled, regressor, friedman
):
    with pytest.raises(ValueError, match="a part of the training rows"):
        refine(classifier, labelled[0][:200], labelled[1][:200], max_members=5)
    with pytest.raises(ValueError, match="a part of the training rows"):
        refine(regressor, friedman[0][100:300], friedman[1][100:300], max_members=5)


def test_what_was_just_pruned_is_refined_with_its_ensemble(classifier, labelled):
    X, y, Z, _ = labelled
    chosen = prune(classifier, X, y, oob=True, max_members=8)
    small = refine(chosen, X, y, oob=True, random_state=0)
    assert small.summary().n_members_before == 60
    assert np.array_equal(small.support_, chosen.support_)
    at_once = prune(
        classifier, X, y, oob=True, max_members=8, refine=True, random_state=0
    )
    assert np.array_equal(at_once.predict_proba(Z), small.predict_proba(Z))
    assert set(at_once.predict(Z)) <= set("abc")


def test_fresh_rows_need_no_bootstrap(friedman):
    X, y, Z, z = friedman
    forest = ExtraTreesRegressor(30, random_state=0).fit(X, y)
    small = refine(forest, Z[:500], z[:500], max_members=10)
    fresh = ((small.predict(Z[500:]) - z[500:]) ** 2).mean()
    assert fresh < ((plain(forest, 10, Z[500:]) - z[500:]) ** 2).mean()
    with pytest.raises(ValueError, match="memorised"):
        refine(forest, X, y)


def test_bagged_columns_pipelines_and_sparse_rows_are_taken(labelled):
    X, y, Z, _ = labelled
    bag = BaggingClassifier(
        DecisionTreeClassifier(), 20, max_features=0.5, random_state=0
    )
    pipeline = make_pipeline(StandardScaler(), bag).fit(X, y)
    small = refine(pipeline, X, y, max_members=5, oob=True, random_state=0)
    p = small.to_sklearn().predict_proba(Z)
    assert p.min() >= 0
    np.testing.assert_allclose(p, small.predict_proba(Z), atol=1e-6)
    forest = RandomForestClassifier(20, random_state=0).fit(csr_array(X), y)
    sparse = refine(forest, csr_array(X), y, max_members=5, oob=True)
    assert sparse.predict(csr_array(Z)).shape == (len(Z),)


def test_lists_and_what_makes_other_columns_are_taken(regressor, friedman):
    X, y, Z, z = friedman
    listed = refine(regressor.estimators_[:8], Z[:300], z[:300])
    assert listed.n_members_ == 8
    assert listed.predict(Z).shape == (len(Z),)
    pipeline = make_pipeline(
        PCA(3), BaggingRegressor(n_estimators=20, max_features=2, random_state=0)
    ).fit(X, y)
    small = refine(pipeline, X, y, max_members=5, oob=True)
    np.testing.assert_allclose(small.to_sklearn().predict(Z), small.predict(Z))


def test_a_committee_of_ours_knows_its_rows(friedman):
    X, y, *_ = friedman
    own = CommitteeRegressor(generator=Bagging(20), combiner="average", random_state=0)
    own.fit(X, y)
    small = refine(own, X, y, max_members=5, oob=own.held_out_ is not None)
    assert small.n_members_ == 5


def test_rows_of_weight_zero_are_not_there(regressor, friedman):
    X, y, *_ = friedman
    keep = np.arange(500) < 400
    wild = np.where(keep, y, 1e6)
    small = refine(
        *(regressor, X, wild), max_members=5, oob=True, sample_weight=keep * 2.0
    )
    assert np.abs(small.predict(X)).max() < 1e3


def test_the_seed_decides(classifier, labelled, small_classes):
    X, y, Z, _ = labelled
    again = refine(classifier, X, y, max_members=10, oob=True, random_state=0)
    assert np.array_equal(again.predict_proba(Z), small_classes.predict_proba(Z))


def test_what_cannot_be_refined_is_refused(friedman, labelled, regressor):
    X, y, *_ = friedman
    boosted = GradientBoostingRegressor(n_estimators=3).fit(X, y)
    with pytest.raises(
        ValueError, match="a new booster with the same number of rounds"
    ):
        refine(boosted, X, y)
    with pytest.raises(ValueError, match="Only the leaves of decision trees"):
        prune(boosted, X[:2], y, refine=True)  # before the rows are looked at
    mixed = VotingRegressor([("line", LinearRegression())]).fit(X, y)
    with pytest.raises(ValueError, match="LinearRegression"):
        refine(mixed, X, y)
    votes = AdaBoostClassifier(n_estimators=3).fit(*labelled[:2])
    with pytest.raises(ValueError, match="one vote each"):
        refine(votes, *labelled[2:])
    with pytest.raises(ValueError, match="max_members must be a whole number"):
        refine(regressor, X, y, max_members=2.5, oob=True)
    with pytest.raises(ValueError, match="at least 10 leaves"):
        refine(regressor, X, y, max_members=10, max_leaves=5, oob=True)
    with pytest.raises(ValueError, match="in their order"):
        refine(regressor, X[::-1], y[::-1], oob=True)


def test_least_rows(classifier, labelled, regressor, friedman):
    """One row of positive weight is too few, one class too; two rows are enough."""
    X, y, Z, z = labelled
    one = np.zeros(len(y))
    one[7] = 3.0
    for oob in (True, False):
        with pytest.raises(ValueError, match=r"at least 2 rows .* Got 1: pass more"):
            refine(
                *(classifier, X if oob else X + 1e-3, y),
                oob=oob,
                sample_weight=one,
                max_members=3,
            )
    with pytest.raises(ValueError, match=r"at least 2 rows .* Got 1: pass more"):
        refine(regressor, friedman[2][:1], friedman[3][:1], oob=False)
    with pytest.raises(ValueError, match="needs at least 2 classes"):
        refine(
            RandomForestClassifier(5).fit(X, np.zeros(400)), X + 1, 0 * one, oob=False
        )
    for model, rows in ((classifier, (Z, z)), (regressor, friedman[2:])):
        small = refine(model, rows[0][:2], rows[1][:2], oob=False, max_members=3)
        assert small.predict(Z if model is classifier else friedman[2]).shape
        assert str(small.summary())


def test_no_tree_votes_on_the_only_rows_of_weight():
    """Rows in the bags of all three trees count for nothing, whatever their weight."""
    X, y = make_friedman1(12, random_state=0)
    forest = RandomForestRegressor(3, random_state=0).fit(X, y)
    out = roster_of(forest).held_out(12)
    s = np.where(out.any(axis=1), 0.0, 1.0)
    s[np.flatnonzero(out.any(axis=1))[0]] = 1.0
    with pytest.raises(ValueError, match=r"at least 2 rows .* Got [01]: pass more"):
        refine(forest, X, y, oob=True, sample_weight=s)


def test_the_standard_error_of_the_difference_of_rmse(small):
    """sqrt a - sqrt b = (a - b) / (sqrt a + sqrt b), and (a - b) is a paired mean."""
    found = small._refined.refined
    before, after = found.before.losses, found.after.losses
    root = np.sqrt(before.mean()) + np.sqrt(after.mean())
    gap, summary = after - before, small.summary()
    expected = np.sqrt(np.mean((gap - gap.mean()) ** 2) / len(gap)) / root
    assert summary.difference == pytest.approx(gap.mean() / root, rel=1e-10)
    assert summary.difference_se == pytest.approx(expected, rel=1e-10)
    (size,) = summary.refinement.path
    assert size.difference_se == summary.difference_se


def lines_that_fall(model, X, column, sign, output):
    """Return how many of 100 lines along a column go against the sign somewhere."""
    rng, falls = np.random.default_rng(0), 0
    for x in X[rng.integers(len(X), size=100)]:
        line = np.repeat(x[None], 50, axis=0)
        line[:, column] = np.linspace(
            X[:, column].min() - 1, X[:, column].max() + 1, 50
        )
        f = getattr(model, output)(line)
        f = f if f.ndim == 1 else f[:, 1]
        falls += np.any(sign * np.diff(f) < -1e-12)
    return int(falls)


@pytest.mark.parametrize(
    "kind",
    [
        RandomForestRegressor,
        RandomForestClassifier,
        BaggingRegressor,
        BaggingClassifier,
    ],
)
def test_monotonic_constraints_are_kept(kind):
    """Along column 0 nothing falls, along column 1 nothing rises, on random lines."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4))
    y = X[:, 0] - X[:, 1] + np.sin(2 * X[:, 2]) + rng.normal(size=600)
    how = {"monotonic_cst": [1, -1, 0, 0]}
    output = "predict"
    if kind in (RandomForestClassifier, BaggingClassifier):
        y, output = np.where(y > 0, "yes", "no"), "predict_proba"
    if kind is BaggingClassifier:
        how = {"estimator": DecisionTreeClassifier(**how)}
    if kind is BaggingRegressor:
        how = {"estimator": DecisionTreeRegressor(**how)}
    forest = kind(n_estimators=30, random_state=0, **how).fit(X[:400], y[:400])
    options = {"max_members": 8, "random_state": 0}
    fresh = refine(forest, X[400:], y[400:], oob=False, **options)
    small = refine(forest, X[:400], y[:400], oob=True, **options)
    few = refine(forest, X[:400], y[:400], oob=True, max_leaves=50, **options)
    for model in (fresh, small, few, small.to_sklearn()):
        for column, sign in ((0, 1), (1, -1)):
            assert lines_that_fall(model, X, column, sign, output) == 0
    if output == "predict_proba":
        X, y = X[:300], rng.integers(3, size=300)
        three = [
            DecisionTreeClassifier(max_depth=3, monotonic_cst=[1, 0, 0, 0]).fit(
                X[y != k], y[y != k]
            )
            for k in (0, 2)
        ]
        with pytest.raises(
            ValueError, match=r"for two classes\. Got trees .* 3 classes"
        ):
            refine(three, X, y, oob=False)


def test_a_gate_comes_after(small, friedman):
    *_, Z, z = friedman
    gated = small.with_gate(NeighbourGate(), Z[:300], z[:300])
    assert gated.predict(Z[300:]).shape == (len(Z) - 300,)
    assert hasattr(small, "summary")
    assert not hasattr(gated, "summary")  # its errors are those without the gate
    with pytest.raises(ValueError, match="then call with_gate"):
        refine(gated, Z, z)


def test_the_rows_that_leaves_were_fitted_to_are_recognised(friedman, regressor):
    *_, Z, z = friedman
    small = refine(regressor, Z[:300], z[:300], max_members=8)
    for known in (small, copy.deepcopy(small)):
        with pytest.raises(ValueError, match="trained on"):
            prune(known, Z[:300], z[:300])
        with pytest.raises(ValueError, match="trained on"):
            known.with_gate(NeighbourGate(), Z[:300], z[:300])


def test_training_rows_are_recognised(regressor, friedman, small):
    X, y, Z, _ = friedman
    with pytest.warns(UserWarning, match="out of bag"):
        found = refine(regressor, X, y, max_members=10)
    assert np.array_equal(found.predict(Z), small.predict(Z))


def test_the_log_loss_before_is_that_of_all_trees(labelled):
    """Of ten trees: out of bag within 4 standard errors of as many fresh rows."""
    X, y, Z, z = labelled
    forest = RandomForestClassifier(10, random_state=0).fit(X, y)
    found = refine(forest, X, y, oob=True, random_state=0).summary().log_loss_before
    p = forest.predict_proba(Z)[np.arange(len(z)), np.searchsorted(forest.classes_, z)]
    losses = -np.log(np.maximum(p, np.finfo(float).eps))
    assert abs(found - losses.mean()) < 4 * losses.std() / np.sqrt(len(y))


@pytest.mark.parametrize("oob", [True, False])
def test_refined_probabilities_hold_on_fresh_rows(oob, labelled):
    """The slope is near the best one, which the fresh rows choose themselves."""
    X, y, Z, z = labelled
    forest = RandomForestClassifier(60, random_state=0).fit(X, y)
    rows, left = ((X, y), (Z, z)) if oob else ((Z[::2], z[::2]), (Z[1::2], z[1::2]))
    how = {"max_members": 6, "oob": oob, "random_state": 0}
    plain, small = (
        refine(forest, *rows, calibration=c, **how) for c in (None, "slope")
    )
    assert np.array_equal(plain.predict(left[0]), small.predict(left[0]))
    before, after = (
        log_loss(left[1], model.predict_proba(left[0])) for model in (plain, small)
    )
    p = np.clip(plain.predict_proba(left[0]), 1e-3, 1)
    best = min(
        log_loss(left[1], q / q.sum(axis=1, keepdims=True))
        for q in (p**t for t in np.geomspace(0.3, 4, 30))
    )
    assert after < before
    assert after < best + 0.03


def test_pruned_and_refined_at_once_is_calibrated_as_asked(labelled):
    X, y, _, _ = labelled
    forest = RandomForestClassifier(20, random_state=0).fit(X, y)
    small = prune(forest, X, y, oob=True, refine=True, calibration="vector")
    assert small.calibration_.offset is not None
    assert prune(forest, X, y, oob=True, refine=True, calibration=None).slope_ is None
