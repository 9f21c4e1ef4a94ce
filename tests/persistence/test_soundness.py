"""Indices of a file lead into its arrays, or the model is refused."""

import numpy as np
import pytest
import scipy.sparse
import skops.io
from sklearn.ensemble import (
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from committee import (
    Bagging,
    CommitteeClassifier,
    EPPruner,
    ModelFileError,
    load,
    save,
)
from committee.path import Path
from committee.persistence.soundness import check_sound, walk

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
Y = (X[:, 0] * X[:, 1] > 0).astype(int)


def tree_with(change):
    """A fitted decision tree whose state was tampered with."""
    model = DecisionTreeClassifier(random_state=0).fit(X, Y)
    state = model.tree_.__getstate__()
    state["nodes"] = state["nodes"].copy()
    change(state)
    kind, arguments, _ = model.tree_.__reduce__()
    model.tree_ = kind(*arguments)
    model.tree_.__setstate__(state)
    return model


def node_changes(**fields):
    def change(state):
        for field, value in fields.items():
            state["nodes"][field][0] = value

    return change


BAD_TREES = {
    "left child outside": node_changes(left_child=10**6),
    "right child outside": node_changes(right_child=10**6),
    "negative child": node_changes(right_child=-7),
    "a loop": node_changes(left_child=0),
    "one child twice": node_changes(left_child=1, right_child=1),
    "feature outside": node_changes(feature=4),
    "negative feature": node_changes(feature=-3),
    "no nodes": lambda state: state.update(node_count=0),
    "deeper than its depth": lambda state: state.update(max_depth=1),
}


def test_what_is_sound_passes():
    for model in (
        DecisionTreeClassifier(),
        DecisionTreeClassifier(max_depth=1),
        DecisionTreeClassifier(max_leaf_nodes=7),
        RandomForestClassifier(n_estimators=3),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        HistGradientBoostingClassifier(max_iter=3, categorical_features=[3]),
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(algorithm="ball_tree"),
    ):
        A = np.c_[X[:, :3], np.arange(120) % 5]
        check_sound(model.fit(A, Y))
    check_sound(DecisionTreeClassifier().fit(X, np.zeros(120)))  # a single leaf
    check_sound(DecisionTreeClassifier())
    check_sound(np.random.RandomState(0))
    check_sound(scipy.sparse.random(5, 4, format="csr"))


@pytest.mark.parametrize("kind", BAD_TREES)
def test_a_tree_that_leaves_its_nodes_is_refused(tmp_path, kind):
    path = tmp_path / "model.skops"
    skops.io.dump([tree_with(BAD_TREES[kind])], path)
    with pytest.raises(
        ModelFileError, match=r"list\[0\].tree_ has nodes that point outside its tree"
    ):
        load(path)


def test_a_member_of_a_committee_is_looked_into(tmp_path):
    model = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, Y)
    model.members_[1] = tree_with(BAD_TREES["a loop"])
    skops.io.dump(model, tmp_path / "m.skops")
    place = r"Classifier\.roster_.members\[1\].tree_ has nodes"
    with pytest.raises(ModelFileError, match=place):
        load(tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=f"cannot be saved.*{place}"):
        save(model, tmp_path / "m.skops")


def test_a_tree_for_more_features_than_its_owner_takes_is_refused():
    wide = DecisionTreeClassifier(random_state=0).fit(np.c_[X, X], Y)
    alone = DecisionTreeClassifier(random_state=0).fit(X, Y)
    alone.tree_ = wide.tree_
    with pytest.raises(ModelFileError, match="another number of features"):
        check_sound(alone)
    forest = RandomForestClassifier(n_estimators=2).fit(X, Y)
    forest.estimators_[1] = wide
    boosted = GradientBoostingClassifier(n_estimators=2).fit(X, Y)
    boosted.estimators_[1, 0] = wide
    for model in (forest, boosted):
        with pytest.raises(ModelFileError, match="do not fit its features"):
            check_sound(model)


def test_bare_nodes_are_no_member():
    """Their `predict` looks at nothing; that of a decision tree does."""
    model = CommitteeClassifier(generator=Bagging(2), random_state=0).fit(X, Y)
    model.members_[0] = model.members_[0].tree_
    with pytest.raises(ModelFileError, match="without the tree"):
        check_sound(model)


@pytest.mark.parametrize(
    "fields",
    [
        {"left": 10**6},
        {"right": 0},
        {"feature_idx": 4},
        {"feature_idx": -1},
        {"is_categorical": 1, "bitset_idx": 5},
    ],
)
def test_histogram_trees_are_looked_into(fields):
    model = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    nodes = model._predictors[1][0].nodes
    for field, value in fields.items():
        nodes[field][0] = value
    with pytest.raises(ModelFileError, match="HistGradientBoostingClassifier has"):
        check_sound(model)


@pytest.mark.parametrize("algorithm", ["kd_tree", "ball_tree"])
@pytest.mark.parametrize("part", ["order", "start", "end", "count", "levels", "bounds"])
def test_neighbour_trees_are_looked_into(algorithm, part):
    model = KNeighborsClassifier(algorithm=algorithm).fit(X, Y)
    state = list(model._tree.__getstate__())
    state[1], state[2] = state[1].copy(), state[2].copy()
    if part == "order":
        state[1][0] = 120
    elif part == "start":
        state[2]["idx_start"][1] = -1
    elif part == "end":
        state[2]["idx_end"][1] = 121
    elif part == "count":
        state[6] += 1
    elif part == "levels":
        state[5] = 10**12
    else:
        state[3] = state[3][:, :1].copy()
    model._tree.__setstate__(tuple(state))
    with pytest.raises(ModelFileError, match="has nodes that point outside its points"):
        check_sound(model)


def test_a_random_state_stands_at_one_of_its_numbers(tmp_path):
    state = np.random.RandomState(0)
    inside = state.get_state(legacy=False)
    inside["state"]["pos"] = 10**6
    state.set_state(inside)
    path = tmp_path / "model.skops"
    skops.io.dump(DecisionTreeClassifier(random_state=state), path)
    with pytest.raises(ModelFileError, match="random_state has a position outside"):
        load(path)  # the next number drawn from it would end the process


@pytest.mark.parametrize("kind", ["csr", "csc"])
def test_sparse_matrices_are_looked_into(kind):
    model = DecisionTreeClassifier().fit(X, Y)
    model.points_ = scipy.sparse.random(6, 5, density=0.5, format=kind, rng=0)
    check_sound(model)
    model.points_.indices[0] = 99
    with pytest.raises(ModelFileError, match=r"points_ has indices"):
        check_sound(model)
    model.points_ = scipy.sparse.random(6, 5, format="bsr", rng=0)
    with pytest.raises(ModelFileError, match=r"points_ has indices"):
        check_sound(model)


def test_the_walk_meets_everything_once_and_says_where():
    shared = [1.5]
    model = DecisionTreeClassifier()
    model.a = {"x": (shared, np.array([None, shared], dtype=object))}
    model.itself = model
    ways = dict(walk(model))
    assert ways["DecisionTreeClassifier"] is model
    assert [way for way, value in walk(model) if value is shared] in (
        ["DecisionTreeClassifier.a['x'][0]"],
        ["DecisionTreeClassifier.a['x'][1][1]"],
    )
    assert sum(value == 1.5 for value in ways.values() if isinstance(value, float)) == 1


def test_nothing_hides_behind_a_name():
    """Instances that claim to be functions are looked into all the same."""
    holder = DecisionTreeClassifier()
    outside = scipy.sparse.bsr_array((6, 5))
    holder.__dict__.update({"__name__": "harmless", "__class__": int, "x": outside})
    with pytest.raises(ModelFileError, match=r"\.x has indices"):
        check_sound(holder)


def test_saved_models_are_sound(tmp_path):
    forest = RandomForestClassifier(n_estimators=5, random_state=0).fit(X, Y)
    save(forest, tmp_path / "forest.skops")
    again = load(tmp_path / "forest.skops")
    assert np.array_equal(again.predict_proba(X), forest.predict_proba(X))


@pytest.mark.parametrize("index", [10**7, -(10**7)])
def test_weights_of_a_path_stay_inside_it(tmp_path, monkeypatch, index):
    """A path keeps them sparse, and is unpacked while the file is read."""
    model = CommitteeClassifier(generator=Bagging(4), combiner=EPPruner()).fit(X, Y)
    whole = Path.__getstate__

    def forged(path):
        state = whole(path)
        state["weights"].indices[0] = index
        return state

    monkeypatch.setattr(Path, "__getstate__", forged)
    skops.io.dump(model, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match="damaged"):
        load(tmp_path / "m.skops")


@pytest.mark.parametrize("n_jobs", [0, 1e30, 2**62, "many", int])
def test_a_model_that_would_start_no_or_countless_processes_is_refused(
    tmp_path, n_jobs
):
    """The made-up rows of `load` are predicted in one process."""
    forest = RandomForestClassifier(n_estimators=2, n_jobs=-1).fit(X, Y)
    save(forest, tmp_path / "m.skops")
    assert load(tmp_path / "m.skops").n_jobs == -1
    forest.n_jobs = n_jobs
    skops.io.dump([forest], tmp_path / "m.skops")
    with pytest.raises(
        ModelFileError, match=r"list\[0\] has an n_jobs that is not a number"
    ):
        load(tmp_path / "m.skops")
