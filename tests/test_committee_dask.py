"""Committees on Dask collections: members of chunks, the weights of memory."""

import os
import pickle
import signal
import warnings
from itertools import pairwise
from typing import ClassVar

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import make_classification, make_regression
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    EMPruner,
    EPPruner,
    LPBoostWeights,
    MemberFitError,
    MiniBatches,
    OptimalWeights,
    Pool,
    ReduceErrorPruner,
    SimplexWeights,
    load,
    save,
)

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
dd = pytest.importorskip("dask.dataframe")
pd = pytest.importorskip("pandas")

N, P = 120, 5
SIZES = (50, 0, 30, 40)
NAMES = [f"x{j}" for j in range(P)]


def classes():
    """X and y of three classes, well mixed."""
    return make_classification(
        N, P, n_informative=3, n_redundant=0, n_classes=3, random_state=0
    )


def numbers():
    X, y = make_regression(N, P, noise=20.0, random_state=0)
    return X, y


def spread(X, y, sizes=SIZES):
    return da.from_array(X, chunks=(sizes, P)), da.from_array(y, chunks=(sizes,))


def frames(X, y, sizes=SIZES):
    """Frame and series with a partition for each size."""
    whole = pd.DataFrame(X, columns=NAMES).assign(y=y)
    ends = np.cumsum((0, *sizes))
    pieces = [whole.iloc[a:b] for a, b in pairwise(ends)]
    frame = dd.from_map(lambda piece: piece, pieces, meta=whole.iloc[:0])
    return frame[NAMES], frame["y"]


def classifier(generator=None, combiner=None, **options):
    tree = DecisionTreeClassifier(max_depth=3, splitter="random")
    options = {"random_state": 3, **options}
    return CommitteeClassifier(
        tree, generator=generator or Bagging(8), combiner=combiner, **options
    )


def regressor(generator=None, combiner=None, **options):
    tree = DecisionTreeRegressor(max_depth=3, splitter="random")
    options = {"random_state": 3, **options}
    return CommitteeRegressor(
        tree, generator=generator or Bagging(8), combiner=combiner, **options
    )


TASKS = pytest.mark.parametrize(
    ("committee", "problem"),
    [(classifier, classes), (regressor, numbers)],
    ids=["classes", "numbers"],
)
GENERATORS = pytest.mark.parametrize("generator", [Bagging(8), MiniBatches(4, 2)])


def assert_same(found, expected, X):
    """The same members to the last digit, and weights to 1e-8."""
    np.testing.assert_array_equal(
        found.member_predictions(X), expected.member_predictions(X)
    )
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)


@TASKS
@GENERATORS
def test_one_chunk_is_memory(committee, problem, generator):
    X, y = problem()
    for combiner in (None, Average(), EPPruner()):
        model = committee(generator, combiner)
        expected = clone(model).fit(X, y)
        assert_same(model.fit(*spread(X, y, (N,))), expected, X)
        np.testing.assert_allclose(model.predict(X), expected.predict(X))


@TASKS
@GENERATORS
def test_one_chunk_is_memory_for_all_rows_to_weigh_on(committee, problem, generator):
    X, y = problem()
    s = np.random.default_rng(0).integers(0, 4, N) * 0.7
    for weigh_on in ("held-out", "train"):
        model = committee(generator, OptimalWeights(), weigh_on=weigh_on)
        expected = clone(model).fit(X, y)
        assert_same(model.fit(*spread(X, y, (N,))), expected, X)
        expected = clone(model).fit(X, y, sample_weight=s)
        model.fit(*spread(X, y, (N,)), sample_weight=da.from_array(s, 70))
        assert_same(model, expected, X)


@TASKS
@GENERATORS
def test_weights_are_those_of_the_same_members_and_mask_in_memory(
    committee, problem, generator
):
    """Every member is weighed on other chunks, and on what it left out of its own."""
    X, y = problem()
    rows = np.column_stack([np.arange(N), X[:, 1:]])  # members know rows by number
    model = committee(generator, SimplexWeights())
    model.set_params(estimator=_seeing(model.estimator)).fit(*spread(rows, y))
    everyone = clone(model).set_params(combiner=None).fit(*spread(rows, y))
    mask = np.ones((N, 8), dtype=bool)
    for m, member in enumerate(everyone.members_):
        mask[member.seen_, m] = False
        chunks = np.searchsorted(np.cumsum(SIZES), member.seen_, side="right")
        assert len(set(chunks)) == 1
    expected = SimplexWeights().fit(everyone.member_predictions(rows), y, held_out=mask)
    found = model.combiner_.weights_
    np.testing.assert_allclose(found, expected.weights_, rtol=0, atol=1e-8)


def _seeing(tree):
    """The same tree, which remembers row numbers and how many it predicts at once."""

    class Seeing(type(tree)):
        predicted: ClassVar[list[int]] = []

        def fit(self, X, y, sample_weight=None):
            self.seen_ = np.unique(X[:, 0].astype(int))
            return super().fit(X, y, sample_weight=sample_weight)

        def predict(self, X, check_input=True):
            Seeing.predicted.append(len(X))
            return super().predict(X, check_input=check_input)

    return Seeing(**tree.get_params())


def test_F_is_never_gathered():
    X, y = numbers()
    tree = _seeing(DecisionTreeRegressor())
    model = regressor(combiner=SimplexWeights()).set_params(estimator=tree)
    model.fit(*spread(X, y))
    assert max(type(tree).predicted) == max(SIZES)


@TASKS
@GENERATORS
def test_frames_are_trained_like_arrays(committee, problem, generator):
    X, y = problem()
    model = committee(generator, SimplexWeights())
    expected = clone(model).fit(*spread(X, y))
    found = model.fit(*frames(X, y))
    assert found.feature_names_in_.tolist() == NAMES
    assert found.n_features_in_ == P
    named = found.member_predictions(pd.DataFrame(X, columns=NAMES))
    np.testing.assert_array_equal(named, expected.member_predictions(X))
    np.testing.assert_allclose(found.weights_, expected.weights_, rtol=0, atol=1e-8)


def test_the_chunks_of_X_lead():
    X, y = classes()
    s = np.linspace(0.5, 1.5, N)
    model = classifier(combiner=SimplexWeights())
    X_chunks, y_chunks = spread(X, y)
    expected = clone(model).fit(X_chunks, y_chunks, sample_weight=da.from_array(s, 50))
    for other in (y, da.from_array(y, 33)):
        assert_same(clone(model).fit(X_chunks, other, sample_weight=s), expected, X)


@pytest.mark.parametrize(
    "labels",
    [
        np.array(["ant", "bee", "caterpillar"]),
        np.array(["ant", "bee", "cat"], dtype=object),
        np.array([-3, 7, 900]),
        np.array([0.0, 2.0, 5.0]),
    ],
    ids=["text", "object", "int", "float"],
)
def test_labels_of_any_type(labels):
    X, codes = classes()
    model = classifier(combiner=SimplexWeights())
    expected = clone(model).fit(*spread(X, codes))
    for kind in (spread, frames):
        found = clone(model).fit(*kind(X, labels[codes]))
        assert found.classes_.tolist() == labels.tolist()
        np.testing.assert_allclose(found.weights_, expected.weights_, atol=1e-12)
        X_new, _ = kind(X, codes)
        predicted = found.predict(X_new).compute()
        assert predicted.tolist() == labels[expected.predict(X)].tolist()


def test_categories_are_labels():
    X, codes = classes()
    X_frame, y_frame = frames(X, np.array(list("abc"))[codes])
    found = classifier().fit(X_frame, y_frame.astype("category"))
    assert found.classes_.tolist() == ["a", "b", "c"]


def test_classes_are_the_union_of_the_chunks():
    """Class 2 is in the last chunk only."""
    X, y = classes()
    order = np.concatenate([np.flatnonzero(y < 2), np.flatnonzero(y == 2)])
    order[60:] = np.random.default_rng(0).permutation(order[60:])
    found = classifier(combiner=SimplexWeights()).fit(
        *spread(X[order], y[order], (60, 60))
    )
    assert found.classes_.tolist() == [0, 1, 2]
    assert found.members_[0].classes_.tolist() == [0, 1]
    assert found.predict_proba(X).shape == (N, 3)


@TASKS
def test_predictions_of_collections_are_lazy_and_those_of_memory(committee, problem):
    X, y = problem()
    model = committee(combiner=SimplexWeights()).fit(*spread(X, y))
    X_chunks, _ = spread(X, y)
    predicted = model.predict(X_chunks)
    assert predicted.chunks == (SIZES,)
    np.testing.assert_array_equal(predicted.compute(), model.predict(X))
    frame, _ = frames(X, y)
    named = committee(combiner=SimplexWeights()).fit(*frames(X, y))
    np.testing.assert_array_equal(named.predict(frame).compute(), model.predict(X))


@TASKS
@pytest.mark.parametrize("combiner", [None, OptimalWeights(), EPPruner()])
def test_what_is_kept_has_no_rows_and_no_graph(committee, problem, combiner, tmp_path):
    X, y = problem()
    model = committee(combiner=combiner).fit(*spread(X, y))
    assert model.held_out_ is None
    kept = pickle.dumps(model)
    assert b"dask" not in kept
    assert X.tobytes()[:800] not in kept
    np.testing.assert_array_equal(pickle.loads(kept).predict(X), model.predict(X))
    save(model, tmp_path / "model.committee")
    again = load(tmp_path / "model.committee")
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


def test_the_same_seed_gives_the_same_committee():
    X, y = classes()
    one, two = (classifier(MiniBatches(4, 2)).fit(*spread(X, y)) for _ in range(2))
    assert_same(one, two, X)
    other = classifier(MiniBatches(4, 2), random_state=4).fit(*spread(X, y))
    assert not np.array_equal(one.member_predictions(X), other.member_predictions(X))


def test_members_may_be_pipelines_that_see_names():
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = CommitteeClassifier(
        pipeline, generator=Bagging(4), combiner=SimplexWeights(), random_state=0
    )
    frame, target = frames(X, y)
    model.fit(frame, target)
    assert model.members_[0].feature_names_in_.tolist() == NAMES
    assert model.predict_proba(frame).compute().shape == (N, 3)


def test_settings_of_scikit_learn_hold_where_members_are_trained():
    X, y = classes()
    pipeline = make_pipeline(StandardScaler(), LogisticRegression())
    model = CommitteeClassifier(
        pipeline, generator=Bagging(4), combiner=SimplexWeights(), random_state=0
    )
    with config_context(transform_output="pandas"):
        model.fit(*frames(X, y))
    assert model.members_[0][-1].feature_names_in_.tolist() == NAMES


def test_fewer_members_than_chunks_are_counted_in_a_warning():
    X, y = numbers()
    with pytest.warns(UserWarning, match="2 members are trained on 2 of 3 chunks") as w:
        regressor(Bagging(2), SimplexWeights()).fit(*spread(X, y))
    assert len(w) == 1
    assert w[0].filename == __file__


def test_nothing_else_is_warned_about():
    X, y = classes()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        classifier(combiner=EPPruner()).fit(*frames(X, y))


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_targets_that_are_missing_name_their_chunk(bad):
    X, y = numbers()
    y[60] = bad
    with pytest.raises(ValueError, match="Chunk 2: Input y contains"):
        regressor().fit(*spread(X, y))


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA], ids=repr)
def test_labels_that_are_missing_name_their_chunk(missing):
    X, codes = classes()
    y = np.array(list("abc"), dtype=object)[codes]
    y[90] = missing
    with pytest.raises(ValueError, match=r"Chunk 3: Input (y )?contains"):
        classifier().fit(*spread(X, y))


def test_numbers_are_no_labels():
    X, y = numbers()
    with pytest.raises(ValueError, match=r"Chunk [023]: Unknown label type: contin"):
        classifier().fit(*spread(X, y))


@pytest.mark.parametrize("kind", [spread, frames])
def test_nan_deep_inside_names_its_chunk(kind):
    X, y = numbers()
    X[100, 2] = np.nan
    ridge = CommitteeRegressor(Ridge(), generator=Bagging(6), random_state=0)
    with pytest.raises(MemberFitError, match="Chunk 3: Input X contains NaN") as error:
        ridge.fit(*kind(X, y))
    assert error.value.index == 4
    assert len(error.value.members) == 4


def test_nan_where_no_member_is_trained_names_its_chunk():
    X, y = numbers()
    X[55, 2] = np.nan
    ridge = CommitteeRegressor(
        Ridge(), generator=Bagging(5), combiner=OptimalWeights(), random_state=0
    )
    with pytest.raises(ValueError, match="Chunk 1: Input X contains NaN"):
        ridge.fit(*spread(X, y, (53, 6, 61)))


def test_members_that_take_nan_get_it():
    X, y = numbers()
    X[100, 2] = np.nan
    assert regressor(combiner=SimplexWeights()).fit(*spread(X, y)).n_members_ > 0


def test_a_home_of_one_class_is_named():
    X, codes = classes()
    order = np.argsort(codes, kind="stable")
    y = np.array(["ant", "bee", "cat"])[codes[order]]
    with pytest.raises(ValueError, match=r"Chunk 1 .*one class only, 'bee'.*shuffle"):
        classifier(MiniBatches(4, 2)).fit(*spread(X[order], y, (45, 30, 45)))


def test_a_chunk_of_one_class_without_a_member_is_weighed_on():
    X, y = classes()
    rest = np.flatnonzero(y != 1)
    order = np.concatenate([np.flatnonzero(y == 1)[:4], rest])
    order = np.concatenate([order, np.setdiff1d(np.arange(N), order)])
    order[4:] = np.random.default_rng(0).permutation(order[4:])
    model = classifier(Bagging(4), SimplexWeights())
    model.fit(*spread(X[order], y[order], (4, 116)))
    assert model.n_members_ > 0


def test_one_class_or_no_rows_at_all():
    X, y = classes()
    with pytest.raises(ValueError, match=r"at least 2 classes in y\. Got 1 class: 0"):
        classifier().fit(*spread(X, 0 * y))
    with pytest.raises(ValueError, match="at least one row"):
        classifier().fit(*spread(X[:0], y[:0], (0, 0)))
    with pytest.raises(ValueError, match="requires y to be passed"):
        classifier().fit(spread(X, y)[0], None)


def test_rows_that_do_not_belong_together():
    X, y = numbers()
    X_chunks, y_chunks = spread(X, y)
    with pytest.raises(ValueError, match="Got 119 for 120 rows"):
        regressor().fit(X_chunks, y_chunks[:-1])
    unknown = X_chunks[da.ones(N, chunks=(SIZES,), dtype=bool)]
    with pytest.raises(ValueError, match="4 chunks of rows and y has 3"):
        regressor().fit(unknown, da.from_array(y, 40))
    with pytest.raises(ValueError, match=r"Chunk [023]: X has .* rows and y has"):
        regressor().fit(unknown, da.from_array(y, ((49, 0, 40, 31),)))
    with pytest.raises(ValueError, match="call compute_chunk_sizes"):
        regressor().fit(unknown, y)
    with pytest.raises(ValueError, match="but X is not: pass X as one too"):
        regressor().fit(X, y_chunks)
    with pytest.raises(ValueError, match="Expected 2D array, got 1D array"):
        regressor().fit(y_chunks, y_chunks)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"generator": CrossSplits(3)}, "Got CrossSplits: compute"),
        ({"generator": AdaBoost(3)}, "Got AdaBoost: compute"),
        ({"generator": Pool([Ridge()])}, "Got Pool: compute"),
        (
            {"combiner": LPBoostWeights()},
            "LPBoostWeights solves a linear programme in all rows",
        ),
        ({"combiner": EPPruner(), "stop": "evidence"}, "stop='evidence' trains"),
        ({"weigh_on": 0.25}, "weigh_on=0.25 splits off rows in memory"),
    ],
    ids=repr,
)
def test_what_needs_all_rows_says_so_before_any_work(options, problem):
    def costly(block):
        raise AssertionError("rows are not needed")

    y = da.zeros(N, chunks=(SIZES,)).map_blocks(costly, dtype=float)
    with pytest.raises((TypeError, ValueError), match=problem):
        CommitteeRegressor(**options).fit(da.zeros((N, P), chunks=(SIZES, P)), y)


def test_combiners_that_cannot_weigh_classes_in_chunks_refuse_before_training():
    class Untrained(DecisionTreeClassifier):
        def fit(self, X, y, sample_weight=None):
            raise AssertionError("trained for nothing")

    X, y = classes()
    for combiner in (ReduceErrorPruner(2), EMPruner(likelihood="probit")):
        committee = CommitteeClassifier(
            Untrained(), generator=Bagging(3), combiner=combiner
        )
        with pytest.raises(ValueError, match="does not support Dask collections"):
            committee.fit(*spread(X, y))


def test_a_column_of_targets_is_a_vector():
    X, y = numbers()
    expected = regressor().fit(*spread(X, y))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        found = regressor().fit(spread(X, y)[0], da.from_array(y[:, None]))
    np.testing.assert_array_equal(found.weights_, expected.weights_)


@pytest.mark.parametrize(
    ("committee", "problem"), [(classifier, classes), (regressor, numbers)]
)
def test_the_score_of_collections_is_that_of_memory(committee, problem):
    X, y = problem()
    fitted = committee().fit(pd.DataFrame(X, columns=NAMES), y)
    expected = fitted.score(pd.DataFrame(X, columns=NAMES), y)
    assert fitted.score(*frames(X, y)) == pytest.approx(expected, rel=1e-12)


def test_further_arguments_of_fit_are_refused():
    X, y = numbers()
    with pytest.raises(TypeError, match=r"fit\(\) got \['groups'\] and Dask"):
        regressor().fit(*spread(X, y), groups=np.zeros(N))


def test_the_bar_is_on_standard_error(capsys):
    X, y = numbers()
    regressor(verbose=True).fit(*spread(X, y))
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "100% Completed" in printed.err
    assert "8/8" in printed.err


def test_a_fit_that_fails_leaves_nothing_old():
    X, y = numbers()
    model = regressor(combiner=SimplexWeights()).fit(X, y)
    with pytest.raises(ValueError, match="Input y contains NaN"):
        model.fit(*spread(X, y * np.nan))
    assert not hasattr(model, "weights_")


@pytest.mark.slow
@TASKS
def test_workers_train_the_members_of_threads(client, committee, problem):
    X, y = problem()
    model = committee(MiniBatches(4, 2), SimplexWeights())
    with dask.config.set(scheduler="synchronous"):
        expected = clone(model).fit(*spread(X, y))
    assert_same(clone(model).fit(*spread(X, y)), expected, X)
    found = model.fit(*frames(X, y)).member_predictions(frames(X, y)[0]).compute()
    np.testing.assert_array_equal(found, expected.member_predictions(X))


@pytest.mark.slow
def test_a_worker_killed_in_the_middle_of_training(two_workers, tmp_path):
    class Deadly(RegressorMixin, BaseEstimator):
        """Kills the first process that trains it on more than 45 rows."""

        def __init__(self, mark=None, random_state=None):
            self.mark = mark
            self.random_state = random_state

        def fit(self, X, y):
            if self.mark is not None and len(X) > 45 and not self.mark.exists():
                self.mark.touch()
                os.kill(os.getpid(), signal.SIGKILL)
            self.mean_ = y.mean()
            return self

        def predict(self, X):
            return X[:, 0] + self.mean_

    X, y = numbers()
    mark = tmp_path / "killed"
    model = CommitteeRegressor(
        Deadly(), generator=Bagging(8), combiner=SimplexWeights(), random_state=0
    )
    with dask.config.set(scheduler="synchronous"):
        expected = clone(model).fit(*spread(X, y))
    found = clone(model).set_params(estimator=Deadly(mark)).fit(*spread(X, y))
    assert mark.exists()
    assert_same(found, expected, X)


def test_intervals_and_sets_are_those_of_memory():
    X, y = make_regression(N, P, noise=5.0, random_state=0)
    model = CommitteeRegressor(
        Ridge(), generator=Bagging(8), uncertainty=True, random_state=0
    ).fit(X, y)
    lazy = da.from_array(X, chunks=(SIZES[0], P))
    for method in ("scaled", "constant", "jackknife+"):
        found = model.predict_interval(lazy, 0.8, method=method)
        assert found.shape == (N, 2)
        expected = model.predict_interval(X, 0.8, method=method)
        np.testing.assert_allclose(found.compute(), expected, rtol=1e-12)
    with pytest.raises(ValueError, match="needs at least 999 held-out rows"):
        model.predict_interval(lazy, 0.999)
    X, y = make_classification(N, P, random_state=0)
    model = CommitteeClassifier(
        generator=Bagging(8), uncertainty=True, random_state=0
    ).fit(X, y)
    found = model.predict_set(da.from_array(X, chunks=(SIZES[0], P)), method="aps")
    assert found.dtype == bool
    np.testing.assert_array_equal(found.compute(), model.predict_set(X, method="aps"))
    with pytest.raises(ValueError, match="uncertainty=True measures rows in memory"):
        model.fit(da.from_array(X, chunks=(SIZES[0], P)), da.from_array(y, chunks=50))
