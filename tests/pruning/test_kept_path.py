"""A path goes on in copies and files: the same choice, as far as its members are there."""

import copy
import pickle
import warnings

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris
from sklearn.ensemble import (
    GradientBoostingClassifier,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    EPPruner,
    LeastSquares,
    OrderPruner,
    SimplexWeights,
    load,
    prune,
    save,
)
from tests.shell.conftest import run


def _cancer(combiner):
    X, y = load_breast_cancer(return_X_y=True)
    forest = RandomForestClassifier(30, max_depth=5, random_state=0)
    return prune(forest.fit(X[:250], y[:250]), X[250:], y[250:], combiner=combiner), X


def _diabetes(combiner):
    X, y = load_diabetes(return_X_y=True)
    forest = RandomForestRegressor(20, max_depth=4, random_state=0)
    return prune(forest.fit(X[:220], y[:220]), X[220:], y[220:], combiner=combiner), X


def _boosted(combiner):
    X, y = load_iris(return_X_y=True)
    order = np.random.default_rng(0).permutation(150)
    X, y = X[order], y[order]
    booster = GradientBoostingClassifier(n_estimators=12, max_depth=2, random_state=0)
    return prune(booster.fit(X[:75], y[:75]), X[75:], y[75:], combiner=combiner), X


CASES = {
    "EP, forest": (_cancer, EPPruner),
    "equal votes, forest": (_cancer, OrderPruner),
    "one point, forest": (_cancer, SimplexWeights),
    "EP, regression": (_diabetes, EPPruner),
    "both signs, regression": (_diabetes, LeastSquares),
    "EP, booster": (_boosted, EPPruner),
}


@pytest.fixture(scope="module", params=CASES)
def pruned(request):
    make, combiner = CASES[request.param]
    return make(combiner())


def output(committee, X):
    return getattr(committee, "predict_proba", committee.predict)(X)


def saved(committee, folder, **options):
    save(committee, folder / "m.skops", **options)
    return load(folder / "m.skops")


def chosen(path, **limits):
    """A choice, and whether another was preferred to it."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = path.choose(**limits)
        except ValueError as error:
            return None, "does not store all" in str(error)
    return made, any("does not store all" in str(w.message) for w in caught)


def same(one, other, X):
    np.testing.assert_array_equal(one.support_, other.support_)
    np.testing.assert_allclose(one.weights_, other.weights_, rtol=1e-12)
    np.testing.assert_allclose(output(one, X), output(other, X), rtol=1e-10)
    np.testing.assert_array_equal(one.combiner_.weights_, other.combiner_.weights_)


def _limits(path):
    sizes = np.unique(path.size)
    yield from ({"max_members": int(k)} for k in sizes[:: max(1, len(sizes) // 6)])
    yield from ({"max_bytes": np.quantile(path.n_bytes, q)} for q in (0.5, 1.0))
    yield from ({"within_se": t} for t in (0.5, 2.0))


@pytest.mark.parametrize("way", ["file", "pickle", "deep copy", "twice"])
def test_the_same_is_chosen_where_its_members_are(pruned, tmp_path, way):
    small, X = pruned
    other = {
        "file": lambda: saved(small, tmp_path),
        "pickle": lambda: pickle.loads(pickle.dumps(small)),
        "deep copy": lambda: copy.deepcopy(small),
        "twice": lambda: saved(pickle.loads(pickle.dumps(small)), tmp_path),
    }[way]()
    available = other.path_.available
    np.testing.assert_array_equal(
        available,
        [set(m.tolist()) <= set(small.support_.tolist()) for m in small.path_.members],
    )
    assert available.any()
    np.testing.assert_array_equal(other.path_.error, small.path_.error)
    for limits in _limits(small.path_):
        if "max_bytes" in limits and other.path_.n_bytes is None:
            continue
        before = small.path_.choose(**limits)
        after, is_other = chosen(other.path_, **limits)
        there = set(before.support_.tolist()) <= set(small.support_.tolist())
        assert is_other == (not there)
        if there:
            same(after, before, X[:20])
        elif after is not None:
            assert set(after.support_.tolist()) <= set(small.support_.tolist())


def test_the_whole_path_on_request(pruned, tmp_path):
    small, X = pruned
    again = saved(small, tmp_path, whole_path=True)
    same(again, small, X[:20])
    assert again.path_.available.all()
    for limits in _limits(small.path_):
        same(again.path_.choose(**limits), small.path_.choose(**limits), X[:20])
    # The request was for this file, and not for what is saved later.
    assert saved(small, tmp_path).path_.assessment.members == []
    least = again.path_.choose(max_members=int(small.path_.size.min()))
    further = saved(least, tmp_path)
    assert set(further.path_.assessment.numbers.tolist()) == set()
    same(further.path_.choose(max_members=least.n_members_), least, X[:20])


def test_a_limit_that_needs_others_names_the_sizes_that_there_are(tmp_path):
    small, _ = _cancer(OrderPruner("orientation", 9))
    large = small.path_.choose(max_members=20)
    again = saved(small, tmp_path)
    assert np.unique(again.path_.size[again.path_.available]).tolist() == [
        *range(1, 10)
    ]
    with pytest.warns(
        UserWarning, match="choose 20 members.*committee of 9 members is returned"
    ):
        assert again.path_.choose(max_members=20).n_members_ == 9
    assert large.n_members_ == 20
    other = pickle.loads(pickle.dumps(small))
    other.path_.assessment.scale[:8] = np.nan
    with pytest.raises(
        ValueError, match=r"stores committees of 9 members.*whole_path=True"
    ):
        other.path_.choose(max_members=3)


def test_a_committee_that_was_chosen_from_a_file(tmp_path):
    small, X = _cancer(OrderPruner("orientation", 9))
    again = saved(small, tmp_path)
    assert str(again.summary()) == str(small.summary())
    five = again.path_.choose(max_members=5)
    with pytest.raises(ValueError, match="summary cannot be computed again"):
        five.summary()
    further = saved(five, tmp_path)
    same(further, small.path_.choose(max_members=5), X[:20])
    assert further.path_.choose(max_members=2).n_members_ == 2
    assert "pruned from" not in run("inspect", tmp_path / "m.skops").stdout


def test_a_copy_has_the_rows_and_a_deep_one_has_not():
    small, _ = _cancer(OrderPruner("kappa", 3))
    assert copy.copy(small).path_.assessment is small.path_.assessment
    assert copy.copy(small).path_.available.all()
    assert not copy.deepcopy(small).path_.available.all()


def test_inside_a_pipeline(tmp_path):
    small, X = _cancer(OrderPruner("orientation", 4))
    model = make_pipeline(StandardScaler(), small)
    model[0].fit(X)
    again = saved(model, tmp_path, whole_path=True)
    assert again[-1].path_.choose(max_members=20).n_members_ == 20
    assert "_whole_path" not in vars(small)


def test_only_a_path_can_be_kept_whole(tmp_path):
    X, y = load_iris(return_X_y=True)
    forest = RandomForestClassifier(3, random_state=0).fit(X, y)
    with pytest.raises(ValueError, match="for a committee that prune"):
        save(forest, tmp_path / "m.skops", whole_path=True)


def test_what_is_shown_of_a_path():
    small, _ = _cancer(OrderPruner("orientation", 9))
    before = repr(small.path_).splitlines()
    assert before[0] == "Path of 30 committees, 1 to 30 members"
    assert before[1].split() == ["members", *small.path_.own_measure.split()]
    assert "errors" not in vars(small.path_.assessment)  # and nothing was measured
    _ = small.path_.error, small.path_.n_bytes
    after = repr(pickle.loads(pickle.dumps(small)).path_).splitlines()
    assert after[1].split() == [
        "members",
        "held-out",
        "error",
        "rate",
        "bytes,",
        "pickled",
    ]
    assert after[2].split()[:1] == ["1"]
    assert after[2].split()[2] == "±"
    assert after[7].strip() == "..."
    # Both ends, and the chosen size between dots.
    notes = ["", *[""] * 4, "...", "chosen", "...", *["not in this copy"] * 5]
    assert len(after) == 2 + len(notes)
    for line, note in zip(after[2:], notes, strict=True):
        assert line.endswith(note)
        assert note or line.split()[-1] in ("B", "kB")
    short = _diabetes(SimplexWeights())[0].path_
    assert repr(short).splitlines()[0].startswith("Path of 1 committee, ")
    assert "not in this copy" not in repr(short)


def test_points_and_frames_of_a_copy_are_those_of_the_path():
    pytest.importorskip("pandas")
    small, _ = _cancer(OrderPruner("orientation", 9))
    path = small.path_
    _ = path.n_bytes, path.seconds_per_row
    kept = pickle.loads(pickle.dumps(small)).path_
    assert kept.chosen == path.chosen == 8
    assert len(list(kept)) == 30
    assert (kept[8].size, kept[8].error) == (9, path.error[8])
    assert kept.to_frame().equals(path.to_frame())
    assert list(kept.to_frame())[-2:] == ["n_bytes", "seconds_per_row"]
    np.testing.assert_array_equal(kept.plot().error, path.error)
    assert kept.choose(4).n_members_ == 4
    assert kept.choose(4).path_.chosen == 3
