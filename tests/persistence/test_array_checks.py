"""Whatever compiled code would follow out of an array is refused when it is read."""

import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
import skops.io
from scipy.sparse import csr_array
from sklearn.ensemble import RandomForestRegressor
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
    LocalOutlierFactor,
    NearestNeighbors,
    RadiusNeighborsClassifier,
)
from sklearn.svm import SVC, SVR, NuSVC, OneClassSVM

from committee import ModelFileError, load
from committee.export.tree_sums import tree_sum
from committee.persistence.array_checks import has_children_in_its_trees, is_tree
from committee.persistence.soundness import check_sound
from tests.persistence.forgeries import CODES, ENTRIES, FORGERIES, TRUSTED, X

#: Reads every forged file and uses it, as somebody would who was sent one.
USE = """
import sys
from committee import ModelFileError, load
from tests.persistence.forgeries import FORGERIES, TRUSTED
for name, path in zip(FORGERIES, sys.argv[1:], strict=True):
    try:
        FORGERIES[name][1](load(path, trusted=TRUSTED))
    except ModelFileError:
        continue
    print("used:", name, flush=True)
"""


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_file_is_refused_and_says_why(name, tmp_path):
    make, _, problem = FORGERIES[name]
    skops.io.dump(make(), tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=problem) as refusal:
        load(tmp_path / "m.skops", trusted=TRUSTED)
    assert str(refusal.value).endswith("the file is damaged or malicious.")


@pytest.mark.slow
def test_nobody_who_uses_forged_files_loses_the_process(tmp_path):
    paths = []
    for i, (make, _, _) in enumerate(FORGERIES.values()):
        paths.append(str(tmp_path / f"{i}.skops"))
        skops.io.dump(make(), paths[-1])
    done = subprocess.run(
        [sys.executable, "-c", USE, *paths], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, ""), done.stderr


@pytest.mark.parametrize(
    "model",
    [
        KNeighborsClassifier(algorithm="brute"),
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsRegressor(algorithm="ball_tree", leaf_size=1),
        RadiusNeighborsClassifier(radius=9.0),
        LocalOutlierFactor(novelty=True),
        NearestNeighbors(leaf_size=500),
        KernelDensity(),
        SVC(kernel="linear"),
        NuSVC(nu=0.2),
        SVR(),
        OneClassSVM(),
    ],
    ids=str,
)
def test_what_is_sound_passes(model):
    check_sound(model)
    check_sound(model.fit(X, CODES))


def test_other_sound_vectors_pass():
    several = np.c_[CODES, CODES % 2]
    check_sound(KNeighborsClassifier().fit(X, several))
    check_sound(KNeighborsRegressor().fit(X, several))
    check_sound(SVC(kernel="precomputed").fit(X @ X.T, CODES))
    sparse = csr_array(X)
    check_sound(SVC().fit(sparse, CODES))
    check_sound(KNeighborsClassifier().fit(sparse, CODES))
    check_sound(KernelDensity().fit(X, sample_weight=np.ones(120)))
    check_sound(CountVectorizer().fit(["a b c", "dd ee"]))
    check_sound(DictVectorizer().fit(ENTRIES))
    check_sound(np.random.default_rng(0))
    check_sound(np.random.Generator(np.random.SFC64(0)))
    check_sound(np.random.Generator(np.random.Philox(0)))


def test_each_rule_of_trees_is_a_rule_of_its_own():
    """A wrong number of nodes is refused though there are nodes, and every tree has one."""
    forest = RandomForestRegressor(2, max_depth=2, random_state=0).fit(X, X[:, 0])
    state = forest.estimators_[0].tree_.__getstate__()
    nodes, n = state["nodes"], state["node_count"]
    for count, sound in [(n, True), (n + 1, False), (n - 1, False)]:
        assert is_tree(nodes, X.shape[1], count, state["max_depth"]) == sound
    table = tree_sum(forest).trees
    assert has_children_in_its_trees(table)
    for end in (-1, 1):
        start = table.start.copy()
        start[-1] += end
        assert not has_children_in_its_trees(replace(table, start=start))
