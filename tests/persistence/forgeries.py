"""Models that compiled code would follow out of their arrays, once they are used.

Each is made by a fit and one change, as a file could hold it, together with a call that
would end the process or read what lies behind an array.
"""

import functools
from dataclasses import replace

import numpy as np
import pandas as pd
from sklearn.cluster import KMeans
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.feature_extraction import DictVectorizer
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import (
    KernelDensity,
    KNeighborsClassifier,
    KNeighborsRegressor,
    NearestNeighbors,
)
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC, SVR, OneClassSVM
from sklearn.tree import DecisionTreeClassifier

from committee import SimplexWeights, prune

RNG = np.random.default_rng(0)
X = RNG.normal(size=(120, 4))
NOISE = RNG.normal(size=120)
#: The target is in the last of many columns.
WIDE = np.c_[np.zeros((120, 2000)), NOISE, X[:, 0]]
CODES = np.digitize(X[:, 0], [-0.5, 0.5])
CATEGORIES = np.c_[X[:, :3], np.arange(120) % 5]


def predict(model):
    """Use a model on as many columns as it takes."""
    return model.predict(np.zeros((50, model.n_features_in_)))


def _pruned(booster, A, y):
    return prune(booster.fit(A, y), A, y, combiner=SimplexWeights(), oob=False)


def joined(one, other):
    """The first committee, with a round of the second behind its own first."""
    members = [one.members_[0], other.members_[0]]
    one.roster_ = replace(one.roster_, members=members, weights=np.full(2, 0.5))
    one.support_ = np.arange(2)
    return one


def rounds_of_two_widths(make, y):
    return joined(_pruned(make(), X, y), _pruned(make(), WIDE, y))


def rounds_of_two_binnings():
    y = np.arange(120) % 5 > 2
    plain = HistGradientBoostingClassifier(max_iter=3)
    by_set = HistGradientBoostingClassifier(max_iter=3, categorical_features=[3])
    return joined(_pruned(plain, CATEGORIES, y), _pruned(by_set, CATEGORIES, y))


def _neighbours(change, make=KNeighborsClassifier, **options):
    model = make(**options).fit(X, CODES)
    tree = model._tree if hasattr(model, "_tree") else model.tree_
    state = list(tree.__getstate__())
    state[1], state[2] = state[1].copy(), state[2].copy()
    change(state)
    tree.__setstate__(tuple(state))
    return model


def _no_leaf(state):
    state[2]["is_leaf"] = 0


def _overlapping(state):
    state[2]["idx_start"][1:], state[2]["idx_end"][1:] = 0, 120


def _same_point_always(state):
    state[1][:] = 7


def _no_metric(state):
    state[11] = None


def _short_weight(state):
    state[12] = np.ones(1)


def with_attributes(model, **changes):
    for name, value in changes.items():
        setattr(model, name, value)
    return model


def _histogram(change, frame=False):
    A = pd.DataFrame(CATEGORIES, columns=list("abcd")) if frame else CATEGORIES
    model = HistGradientBoostingClassifier(max_iter=3, categorical_features=[3])
    model.fit(A, np.arange(120) % 5 > 2)
    change(model._preprocessor)
    return model


def _by_slice(preprocessor):
    _, (name, numbers, _), *_ = preprocessor.transformers_
    numbers.n_features_in_ = 1
    # As booleans a slice says that every column is taken once.
    preprocessor.transformers_ = [(name, numbers, slice(0, 1))]


def _by_numbers(preprocessor):
    _, (name, numbers, _), *_ = preprocessor.transformers_
    numbers.n_features_in_ = 1
    preprocessor.transformers_ = [(name, numbers, [1])]


def _by_other_names(preprocessor):
    preprocessor._transformer_to_input_indices = {"encoder": [3], "numerical": [0]}


def _with_less(preprocessor):
    preprocessor.transformers_[1][1].func = functools.partial(np.delete, obj=0, axis=1)


def _random(kind, **changes):
    generator = np.random.Generator(getattr(np.random, kind)(0))
    state = generator.bit_generator.state
    for part in (state, state["state"]):
        part.update({k: v for k, v in changes.items() if k in part})
    generator.bit_generator.state = state
    return DecisionTreeClassifier(random_state=generator)


def draw(model):
    return [model.random_state.integers(9, size=9) for _ in range(1000)]


def _vectors(make=SVC, y=CODES, **changes):
    model = make().fit(X, y)
    return with_attributes(
        model,
        **{name: change(getattr(model, name)) for name, change in changes.items()},
    )


def _words(vectoriser, rows):
    model = make_pipeline(vectoriser, LogisticRegression())
    model.fit(rows, np.arange(len(rows)) % 2)
    first = next(iter(vectoriser.vocabulary_))
    vectoriser.vocabulary_[first] = 10**8
    return model


def _predict_frame(model):
    return model.predict(pd.DataFrame(CATEGORIES, columns=list("abcd")))


TEXTS = ["aa bb cc", "dd ee ff"]
ENTRIES = [{"a": 1.0, "b": 2.0}, {"b": 3.0, "c": 1.0}]
ROUNDS = "rounds of more than one booster"
POINTS = "has nodes that point outside its points"
NODES = "nodes that point outside its trees"
NUMBERS = "has a position outside its block of numbers"
TARGETS = "points, targets and features that do not match"
VECTORS = "do not fit its support vectors"

#: What files with categories need: who reads one has looked at these.
TRUSTED = ["functools.partial", "sklearn.utils.validation.check_array", "numpy.delete"]
#: By name: how it is made, how it would be used, and what is said of it.
FORGERIES = {
    **{
        f"rounds of two widths, {make.__name__}": (
            lambda make=make, option=option, y=y: rounds_of_two_widths(
                functools.partial(make, **{option: 3}), y
            ),
            predict,
            ROUNDS,
        )
        for make, option, y in (
            (GradientBoostingClassifier, "n_estimators", CODES),
            (GradientBoostingRegressor, "n_estimators", NOISE),
            (HistGradientBoostingClassifier, "max_iter", CODES),
            (HistGradientBoostingRegressor, "max_iter", NOISE),
        )
    },
    "rounds of two binnings": (rounds_of_two_binnings, predict, ROUNDS),
    **{
        f"{change.__name__[1:]}, {algorithm}": (
            lambda change=change, algorithm=algorithm: _neighbours(
                change, algorithm=algorithm
            ),
            predict,
            POINTS,
        )
        for change in (_no_leaf, _overlapping, _same_point_always, _no_metric)
        for algorithm in ("kd_tree", "ball_tree")
    },
    "short weights of a density": (
        lambda: _neighbours(_short_weight, KernelDensity),
        lambda model: model.score_samples(X),
        POINTS,
    ),
    "columns by a slice": (lambda: _histogram(_by_slice), predict, NODES),
    "columns by numbers": (lambda: _histogram(_by_numbers), predict, NODES),
    "columns by other names": (
        lambda: _histogram(_by_other_names, frame=True),
        _predict_frame,
        NODES,
    ),
    "fewer columns": (lambda: _histogram(_with_less), predict, NODES),
    **{
        f"{kind} at {value}": (
            lambda kind=kind, key=key, value=value: _random(kind, **{key: value}),
            draw,
            NUMBERS,
        )
        for kind, key in (("MT19937", "pos"), ("Philox", "buffer_pos"))
        for value in (-(10**7), -1, 10**7)
    },
    "narrow points": (
        lambda: with_attributes(
            KNeighborsRegressor(algorithm="brute").fit(X, X[:, 0]),
            _fit_X=np.zeros((120, 1)),
        ),
        predict,
        TARGETS,
    ),
    "a tree of other points": (
        lambda: with_attributes(
            NearestNeighbors(algorithm="kd_tree").fit(X), _fit_X=np.zeros((9, 4))
        ),
        lambda model: model.kneighbors(X),
        TARGETS,
    ),
    "a class that is none": (
        lambda: with_attributes(
            KNeighborsClassifier(algorithm="brute", metric="manhattan").fit(X, CODES),
            _y=np.full(120, 10**7),
        ),
        predict,
        TARGETS,
    ),
    "fewer targets": (
        lambda: with_attributes(
            KNeighborsClassifier(algorithm="brute", metric="manhattan").fit(X, CODES),
            _y=np.zeros(2, dtype=int),
        ),
        predict,
        TARGETS,
    ),
    "vectors of another width": (
        lambda: _vectors(support_vectors_=lambda a: a[:, :1].copy()),
        predict,
        VECTORS,
    ),
    "fewer coefficients": (
        lambda: _vectors(_dual_coef_=lambda a: a[:, :1].copy()),
        predict,
        VECTORS,
    ),
    "coefficients of one class": (
        lambda: _vectors(SVR, X[:, 0], _dual_coef_=lambda a: a[:, :1].copy()),
        predict,
        VECTORS,
    ),
    "fewer intercepts": (
        lambda: _vectors(_intercept_=lambda a: a[:1].copy()),
        predict,
        VECTORS,
    ),
    "vectors of more classes": (
        lambda: _vectors(
            _n_support=lambda a: np.array([a.sum(), *[0] * 5000], dtype=np.int32)
        ),
        predict,
        VECTORS,
    ),
    "negative numbers of vectors": (
        lambda: _vectors(
            _n_support=lambda a: np.array([10**6, a.sum() - 10**6, 0], dtype=np.int32)
        ),
        predict,
        VECTORS,
    ),
    "vectors of no class": (
        lambda: _vectors(OneClassSVM, _dual_coef_=lambda a: a[:, :1].copy()),
        predict,
        VECTORS,
    ),
    "narrow centres": (
        lambda: with_attributes(
            KMeans(3, n_init=1).fit(X), cluster_centers_=np.zeros((3, 1))
        ),
        predict,
        "centres that do not fit its features",
    ),
    "a word beyond the last": (
        lambda: _words(CountVectorizer(), TEXTS),
        lambda model: model.predict(TEXTS),
        "words with invalid columns",
    ),
    "a key beyond the last": (
        lambda: _words(DictVectorizer(), ENTRIES),
        lambda model: model.predict(ENTRIES),
        "words with invalid columns",
    ),
}
