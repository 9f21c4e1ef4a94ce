"""A model comes back as it went, and an old file survives whatever goes wrong."""

import ast
import errno
import inspect
import itertools
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import zipfile

import numpy as np
import pandas as pd
import pytest
import scipy.sparse
import sklearn.ensemble
import skops.io
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.exceptions import NotFittedError
from sklearn.feature_selection import SelectKBest
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import committee
from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CoupledKernelClassifier,
    CoupledKernelRegressor,
    CrossSplits,
    EPPruner,
    LSSVMClassifier,
    LSSVMRegressor,
    MiniBatches,
    ModelFileError,
    Pool,
    RandomInits,
    load,
    prune,
    save,
)
from committee.combiners import Combiner
from committee.persistence import registry
from committee.persistence.file_format import SCHEMA

# Files of other libraries' types say so when they are written; one test is about that.
pytestmark = pytest.mark.filterwarnings("ignore:.*is written. It contains types")

RNG = np.random.default_rng(0)
X = RNG.normal(size=(90, 4))
NEW = RNG.normal(size=(70, 4))
SCORE = X[:, 0] + X[:, 1] ** 2
CODES = np.digitize(SCORE, [0.5, 1.5])
LABELS = np.array(["low", "middle", "high"], dtype=object)[CODES]

COMBINERS = sorted(
    name
    for name in committee.__all__
    if inspect.isclass(getattr(committee, name))
    and issubclass(getattr(committee, name), Combiner)
    and name != "RidgeWeights"
)
#: These have other likelihoods, and hold other parts, where they weigh numbers.
ON_NUMBERS = [
    *("ARDPruner", "EMPruner", "EPPruner", "LeastSquares", "MCMCPruner"),
    "RidgeWeights",
]


def there_and_back(model, folder, **options):
    save(model, folder / "model.skops")
    with zipfile.ZipFile(folder / "model.skops") as archive:
        modules = set(re.findall(r'"(committee\.[\w.]+)"', str(archive.read(SCHEMA))))
    assert modules <= {registry.__name__}, "a class has no line in the registry"
    return load(folder / "model.skops", **options)


def assert_same(model, again, data=NEW):
    """Bit by bit, on rows that no model keeps.

    On the very array that a model keeps, BLAS sees a matrix times itself and takes a
    shortcut with another rounding; no copy of the model can see that.
    """
    assert type(again) is type(model)
    for method in ("predict", "predict_proba", "decision_function"):
        if hasattr(model, method):
            one, other = getattr(model, method)(data), getattr(again, method)(data)
            assert one.dtype == other.dtype
            assert np.array_equal(one, other)


def make_combiner(name):
    """With sizes that make every one of them quick on few members."""
    kind = getattr(committee, name)
    quick = {
        "n_members": 3,
        "n_samples": 40,
        "n_warmup": 10,
        "n_generations": 5,
        "n_steps": 5,
    }
    known = kind().get_params()
    return kind(**{key: value for key, value in quick.items() if key in known})


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:.*chains:UserWarning")
@pytest.mark.parametrize(
    ("name", "task"),
    [(name, "classes") for name in COMBINERS] + [(n, "regression") for n in ON_NUMBERS],
)
def test_every_combiner_comes_back(tmp_path, name, task):
    kind = CommitteeRegressor if task == "regression" else CommitteeClassifier
    model = kind(
        generator=Bagging(8),
        combiner=make_combiner(name),
        random_state=np.random.RandomState(0),
    )
    model.fit(X, SCORE if task == "regression" else LABELS)
    again = there_and_back(model, tmp_path)
    assert_same(model, again)
    assert np.array_equal(again.weights_, model.weights_)
    for attribute, value in vars(model.combiner_).items():
        assert type(getattr(again.combiner_, attribute)) is type(value)
    assert np.array_equal(
        again.random_state.randint(99), model.random_state.randint(99)
    )


@pytest.mark.parametrize(
    "generator",
    [
        Bagging(4),
        CrossSplits(3, 2),
        MiniBatches(3, 2),
        RandomInits(3),
        AdaBoost(4),
        Pool([LogisticRegression(), DecisionTreeClassifier(max_depth=3)], n_splits=3),
    ],
    ids=lambda generator: type(generator).__name__,
)
def test_every_generator_comes_back(tmp_path, generator):
    tree = DecisionTreeClassifier(max_depth=2)
    estimator = None if isinstance(generator, Pool) else tree
    model = CommitteeClassifier(estimator, generator=generator, random_state=0)
    model.fit(X, LABELS)
    again = there_and_back(model, tmp_path)
    assert_same(model, again)
    assert again.held_out_ is None or np.array_equal(again.held_out_, model.held_out_)
    assert np.array_equal(again.member_predictions(X), model.member_predictions(X))


def test_the_path_of_a_pruner_comes_back(tmp_path):
    """Frozen data classes and their arrays, not only the weights."""
    model = CommitteeClassifier(
        generator=Bagging(8), combiner=EPPruner(), random_state=0
    ).fit(X, LABELS)
    one, other = model.combiner_, there_and_back(model, tmp_path).combiner_
    assert len(other.path_) == len(one.path_)
    assert np.array_equal(other.path_.error, one.path_.error)
    assert np.array_equal(other.path_.weights, one.path_.weights)
    assert np.array_equal(
        other.path_.choose(max_members=3), one.path_.choose(max_members=3)
    )
    assert type(other.inclusion_) is type(one.inclusion_)
    with pytest.raises(AttributeError):
        other.path_.note = ""


@pytest.mark.parametrize(
    "model",
    [
        CoupledKernelRegressor(n_members=3),
        CoupledKernelRegressor(n_members=3, solver="cg", combiner=EPPruner()),
        CoupledKernelClassifier(n_members=3),
        CoupledKernelClassifier(n_members=3, kernel="matern32", voting="soft"),
        LSSVMRegressor(kernel="linear"),
        LSSVMClassifier(),
    ],
    ids=str,
)
def test_coupled_kernels_come_back(tmp_path, model):
    model.fit(X, LABELS if hasattr(model, "predict_proba") else SCORE)
    assert_same(model, there_and_back(model, tmp_path))


FOREST = RandomForestClassifier(n_estimators=3, random_state=0)


@pytest.mark.parametrize(
    "model",
    [
        FOREST,
        ExtraTreesRegressor(n_estimators=3, random_state=0),
        GradientBoostingClassifier(n_estimators=3),
        HistGradientBoostingClassifier(max_iter=3),
        AdaBoostClassifier(n_estimators=3),
        BaggingClassifier(n_estimators=3, max_features=2, random_state=0),
        VotingClassifier([("one", LogisticRegression()), ("two", FOREST)]),
        StackingClassifier([("one", LogisticRegression())], cv=2),
        CalibratedClassifierCV(SVC(), cv=2),
        CommitteeClassifier(
            generator=Pool(
                [
                    KNeighborsClassifier(),
                    KNeighborsClassifier(algorithm="ball_tree", metric="manhattan"),
                    SVC(random_state=0),
                    MLPClassifier(hidden_layer_sizes=4, tol=1.0, random_state=0),
                    GaussianProcessClassifier(),
                    make_pipeline(StandardScaler(), SelectKBest(k=2), SVC()),
                    make_pipeline(SimpleImputer(), LogisticRegression()),
                    make_pipeline(FunctionTransformer(np.arctan), SVC()),
                ],
                n_splits=2,
            ),
            combiner=Average(),
            random_state=0,
        ),
    ],
    ids=lambda model: type(model).__name__,
)
def test_ensembles_and_members_of_scikit_learn_come_back(tmp_path, model):
    model.fit(X, CODES)
    assert_same(model, there_and_back(model, tmp_path))


TARGETS = {"regression": SCORE, "binary": CODES // 2, "classes": LABELS}


BOOSTERS = {
    "LightGBM": ("LGBM", {"min_child_samples": 5, "verbose": -1, "n_jobs": 1}),
    "XGBoost": ("XGB", {"n_jobs": 1}),
    "CatBoost": (
        "CatBoost",
        {"depth": 2, "verbose": 0, "thread_count": 1, "allow_writing_files": False},
    ),
}


def ensemble(kind, task):
    """A small ensemble of one kind for one task."""
    end = "Regressor" if task == "regression" else "Classifier"
    if kind == "Pipeline":
        return make_pipeline(StandardScaler(), ensemble("RandomForest", task))
    if kind == "search":
        forest = ensemble("RandomForest", task)
        return GridSearchCV(forest, {"max_depth": [2, 3]}, cv=2)
    if kind in BOOSTERS:
        prefix, options = BOOSTERS[kind]
        library = pytest.importorskip(kind.lower())
        return getattr(library, prefix + end)(n_estimators=4, **options)
    tree, other = (
        (DecisionTreeRegressor(max_depth=3), Ridge())
        if task == "regression"
        else (DecisionTreeClassifier(max_depth=3), LogisticRegression())
    )
    make = getattr(sklearn.ensemble, kind + end)
    if kind in ("Voting", "Stacking"):
        return make([("tree", tree), ("other", other), ("stump", clone(tree))])
    options = {
        "Bagging": {"n_estimators": 5, "max_features": 2},
        "HistGradientBoosting": {"max_iter": 4},
    }
    return make(**options.get(kind, {"n_estimators": 5}))


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(
    ("kind", "task"),
    [
        ("RandomForest", "classes"),
        ("ExtraTrees", "regression"),
        ("Bagging", "binary"),
        ("AdaBoost", "classes"),
        ("Voting", "regression"),
        ("Stacking", "binary"),
        ("Pipeline", "classes"),
        ("search", "regression"),
        *itertools.product(
            ["GradientBoosting", "HistGradientBoosting", *BOOSTERS], TARGETS
        ),
    ],
)
def test_pruned_ensembles_come_back(tmp_path, kind, task):
    model = ensemble(kind, task)
    seeds = [name for name in model.get_params() if name.endswith("random_state")]
    model.set_params(**dict.fromkeys(seeds, 0))
    # XGBoost takes no labels but 0, 1, 2.
    y = CODES if (kind, task) == ("XGBoost", "classes") else TARGETS[task]
    small = prune(model.fit(X, y), X, y, oob=False)
    summary = small.summary()  # measured before, so that the file has it
    again = there_and_back(small, tmp_path, trusted=types_to_trust(small, tmp_path))
    assert_same(small, again)
    assert np.array_equal(again.weights_, small.weights_)
    assert again.summary() == summary


def types_to_trust(model, folder):
    """The types in the sentence that refuses the file."""
    save(model, folder / "model.skops")
    try:
        load(folder / "model.skops")
    except ModelFileError as error:
        return ast.literal_eval(str(error).partition("trusted=")[2].rstrip("."))
    return []


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        ("LightGBM", ["lightgbm.basic.Booster", "lightgbm.sklearn.LGBMClassifier"]),
        ("XGBoost", ["xgboost.core.Booster", "xgboost.sklearn.XGBClassifier"]),
        ("CatBoost", ["catboost.core.CatBoostClassifier"]),
        ("RandomForest", []),
        ("HistGradientBoosting", []),
    ],
)
def test_only_types_of_other_libraries_need_trust(tmp_path, kind, names):
    model = ensemble(kind, "binary").fit(X, CODES // 2)
    assert types_to_trust(prune(model, X, CODES // 2, oob=False), tmp_path) == names
    if isinstance(model, BaseEstimator):  # CatBoost's models are none
        assert types_to_trust(model, tmp_path) == names


def test_save_says_what_load_will_need(tmp_path):
    """Whoever saves has the classes at hand; whoever loads has an error first."""
    codes = CODES // 2
    small = prune(ensemble("LightGBM", "binary").fit(X, codes), X, codes, oob=False)
    with pytest.warns(UserWarning, match="read it with load") as said:
        save(small, tmp_path / "m.skops")
    call = str(said[0].message).partition("read it with ")[2].rstrip(".")
    again = eval(call, {"load": load})
    assert_same(small, again, NEW)


def test_categories_of_histograms_need_trust_in_a_check(tmp_path):
    A = np.c_[X[:, :3], np.arange(90) % 5]
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[3])
    names = ["functools.partial", "sklearn.utils.validation.check_array"]
    assert types_to_trust(model.fit(A, CODES), tmp_path) == names
    assert_same(model, there_and_back(model, tmp_path, trusted=names), A)


@pytest.mark.parametrize("labels", ["object", "str", "bool", "float", "int8"])
def test_labels_of_every_kind_come_back(tmp_path, labels):
    y = LABELS.astype(str) if labels == "str" else CODES.astype(labels)
    if labels == "object":
        y = LABELS
    model = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, y)
    again = there_and_back(model, tmp_path)
    assert again.classes_.dtype == model.classes_.dtype
    assert_same(model, again)


def test_frames_in_a_pipeline_come_back(tmp_path):
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = np.where(X[:, 0] > 0, "u", "v")
    model = make_pipeline(
        make_column_transformer(
            (OneHotEncoder(), ["kind"]),
            (make_pipeline(SimpleImputer(), StandardScaler()), ["a", "b"]),
            remainder="passthrough",
        ),
        CommitteeClassifier(generator=Bagging(3), random_state=0),
    ).fit(frame, LABELS)
    again = there_and_back(model, tmp_path)
    assert_same(model, again, frame)
    assert list(again.feature_names_in_) == list(frame)


def test_members_that_keep_a_sparse_matrix_come_back(tmp_path):
    sparse = scipy.sparse.csr_matrix(np.where(X > 0, X, 0))
    model = CommitteeClassifier(
        KNeighborsClassifier(), generator=Bagging(2), random_state=0
    ).fit(sparse, CODES)
    assert_same(model, there_and_back(model, tmp_path), sparse)


def test_saving_changes_nothing_in_the_model(tmp_path):
    model = CommitteeRegressor(generator=Bagging(3), random_state=0).fit(X, SCORE)
    before = {key: id(value) for key, value in vars(model).items()}
    save(model, tmp_path / "model.skops")
    assert {key: id(value) for key, value in vars(model).items()} == before


def test_the_file_holds_no_pickle(tmp_path):
    model = CommitteeClassifier(generator=Bagging(3), random_state=0).fit(X, LABELS)
    save(model, str(tmp_path / "model.skops"))
    with zipfile.ZipFile(tmp_path / "model.skops") as archive:
        endings = {name.rpartition(".")[2] for name in archive.namelist()}
        assert archive.testzip() is None
    assert endings == {"json", "npy"}


# What cannot be saved


class AtTop(RegressorMixin, BaseEstimator):
    """A member with whatever in it."""

    def __init__(self, held=None):
        self.held = held

    def fit(self, X, y):
        self.n_features_in_ = X.shape[1]
        self.held_ = self.held
        return self

    def predict(self, X):
        return np.zeros(len(X))


@pytest.fixture
def old(tmp_path):
    path = tmp_path / "model.skops"
    save(LinearRegression().fit(X, SCORE), path)
    return path, path.read_bytes()


def assert_old(old):
    path, content = old
    assert path.read_bytes() == content
    assert os.listdir(path.parent) == [path.name]


def test_a_lambda_is_refused_with_its_place(old):
    model = CommitteeRegressor(
        make_pipeline(FunctionTransformer(lambda A: A), Ridge()), generator=Bagging(2)
    ).fit(X, SCORE)
    with pytest.raises(ModelFileError, match=r"func cannot be saved: .*<lambda>") as e:
        save(model, old[0])
    assert "CommitteeRegressor." in str(e.value)
    assert "Define it there" in str(e.value)
    assert_old(old)


def test_functions_and_classes_within_functions_are_refused(old):
    def inner(A):
        return A

    class Inner(AtTop):
        pass

    for model, place in [
        (AtTop(inner), r"AtTop\.held"),
        (Inner(), "^Inner"),
        (AtTop([Inner]), r"held_?\[0\]"),
    ]:
        with pytest.raises(ModelFileError, match=f"{place}.* cannot be saved: "):
            save(model.fit(X, SCORE), old[0])
        assert_old(old)


def test_a_function_that_hides_behind_the_name_of_another_is_refused(old):
    def assert_old(A):  # there is one at the top level, too
        return A

    with pytest.raises(ModelFileError, match="not at the top level"):
        save(AtTop(assert_old).fit(X, SCORE), old[0])


@pytest.mark.parametrize(
    "held",
    [threading.Lock(), (i for i in range(3)), memoryview(b"x")],
    ids=lambda held: type(held).__name__,
)
def test_what_skops_cannot_write_is_refused(old, held):
    with pytest.raises(
        ModelFileError, match="AtTop cannot be saved, because part of it"
    ):
        save(AtTop(held).fit(X, SCORE), old[0])
    assert_old(old)


def test_a_model_that_holds_itself_is_refused(old):
    model = AtTop().fit(X, SCORE)
    model.itself_ = model
    with pytest.raises(ModelFileError, match="RecursionError"):
        save(model, old[0])
    assert_old(old)


def test_only_fitted_estimators_are_saved(old):
    with pytest.raises(TypeError, match=r"takes a fitted scikit-learn estimator.*list"):
        save([1, 2], old[0])
    with pytest.raises(NotFittedError):
        save(CommitteeRegressor(), old[0])
    assert_old(old)


def test_a_file_of_something_else_than_an_estimator_is_refused(tmp_path):
    skops.io.dump({"a": 1}, tmp_path / "m.skops")
    with pytest.raises(ModelFileError, match=r"must contain a scikit-learn .*dict"):
        load(tmp_path / "m.skops")


def test_a_module_that_is_not_here_is_named(tmp_path, monkeypatch):
    path = tmp_path / "model.skops"
    save(AtTop().fit(X, SCORE), path)
    monkeypatch.setitem(sys.modules, __name__, None)
    with pytest.raises(ModelFileError, match="needs a module that is not installed"):
        load(path, trusted=[f"{__name__}.AtTop"])


# The old file survives


@pytest.mark.parametrize("stage", ["fsync", "replace"])
def test_a_full_disk_leaves_the_old_model(old, monkeypatch, stage):
    def full(*args):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, stage, full)
    with pytest.raises(OSError, match="No space"):
        save(Ridge().fit(X, SCORE), old[0])
    assert_old(old)


@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_a_process_killed_while_saving_leaves_the_old_model(old):
    code = """
        import os, signal, sys
        from sklearn.linear_model import Ridge
        import committee
        os.fsync = lambda handle: os.kill(os.getpid(), signal.SIGKILL)
        committee.save(Ridge().fit([[0.0], [1.0]], [0.0, 1.0]), sys.argv[1])
    """
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(old[0])], check=False
    )
    assert done.returncode == -signal.SIGKILL
    assert old[0].read_bytes() == old[1]
    assert isinstance(load(old[0]), LinearRegression)
    save(Ridge().fit(X, SCORE), old[0])
    assert isinstance(load(old[0]), Ridge)
    (left,) = set(os.listdir(old[0].parent)) - {old[0].name}
    assert left.endswith(".partial")


@pytest.mark.slow
def test_a_tree_for_regression_comes_back_from_another_process(tmp_path):
    model = CommitteeRegressor(
        DecisionTreeRegressor(), generator=Bagging(3), random_state=0
    ).fit(X, SCORE)
    save(model, tmp_path / "model.skops")
    np.save(tmp_path / "X.npy", X)
    code = """
        import sys
        import numpy as np
        from committee import load
        np.save(sys.argv[3], load(sys.argv[1]).predict(np.load(sys.argv[2])))
    """
    names = [str(tmp_path / name) for name in ("model.skops", "X.npy", "out.npy")]
    subprocess.run([sys.executable, "-c", textwrap.dedent(code), *names], check=True)
    assert np.array_equal(np.load(tmp_path / "out.npy"), model.predict(X))
