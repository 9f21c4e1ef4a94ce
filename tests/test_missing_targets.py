"""Every estimator refuses targets that are missing or mixed, by one sentence."""

import inspect
from functools import partial

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, is_classifier, is_regressor
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

import committee
from committee import Bagging, CommitteeClassifier, CommitteeRegressor, prune, refine
from committee._validation import refuse_missing
from committee.combiners import Combiner
from committee.gates import Gate
from committee.members import Generator

RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 3))
CODES = (X[:, 0] > 0).astype(int)
LABELS = np.array(["no", "yes"])[CODES]
F = X[:, :1] + RNG.normal(size=(40, 4))
MISSING = [None, float("nan"), pd.NA, pd.NaT]


def with_one(y, value):
    y = y.astype(object)
    y[3] = value
    return y


NAMES = [name for name in committee.__all__ if not name.startswith("Pruned")]
ESTIMATORS = [
    kind
    for kind in map(partial(getattr, committee), NAMES)
    if inspect.isclass(kind)
    and issubclass(kind, BaseEstimator)
    and not issubclass(kind, (Gate, Generator))
]


@pytest.mark.parametrize("kind", ESTIMATORS)
def test_y_of_objects_with_a_gap_is_refused_by_every_estimator(kind):
    if issubclass(kind, Combiner):
        cases = [(F, X[:, 0]), (np.eye(2)[CODES][:, None].repeat(4, axis=1), CODES)]
    else:
        cases = [(X, LABELS if is_classifier(kind()) else X[:, 0])]
    for rows, y in cases:
        for value in MISSING:
            with pytest.raises(ValueError, match="Input y contains NaN"):
                kind().fit(rows, with_one(y, value))


@pytest.mark.parametrize("make", [prune, refine])
@pytest.mark.parametrize("value", MISSING, ids=str)
def test_y_with_a_gap_is_refused_by_prune_and_refine(make, value):
    for kind, y in [(RandomForestClassifier, LABELS), (RandomForestRegressor, X[:, 0])]:
        with pytest.raises(ValueError, match="Input y contains NaN"):
            make(kind(3).fit(X, y), X, with_one(y, value), oob=False)


@pytest.mark.parametrize("gate", ["SoftmaxGate", "NeighbourGate"])
def test_y_with_a_gap_is_refused_by_gates(gate):
    with pytest.raises(ValueError, match="Input y contains NaN"):
        getattr(committee, gate)().fit(X, F, with_one(X[:, 0], None))


@pytest.mark.parametrize(
    ("y", "what"),
    [
        (with_one(X[:, 0], np.inf), "infinity"),
        (np.r_[np.inf, X[1:, 0]], "infinity"),
        (np.r_[np.nan, X[1:, 0]], "NaN"),
        (pd.Series([pd.NA, *CODES[1:]], dtype="Int64"), "NaN"),
        (with_one(np.c_[X, X], None), "NaN"),
    ],
    ids=["an infinite object", "infinite", "NaN", "a gap of pandas", "two columns"],
)
def test_numbers_that_are_not_finite_are_refused(y, what):
    with pytest.raises(ValueError, match=f"Input y contains {what}"):
        refuse_missing(y)
    if np.ndim(y) == 1:
        for kind in (CommitteeRegressor, CommitteeClassifier):
            with pytest.raises(ValueError, match=f"Input y contains {what}"):
                kind(generator=Bagging(2)).fit(X, y)


def test_whole_targets_of_every_kind_pass():
    for y in (LABELS, LABELS.astype(object), CODES, CODES > 0, X, pd.Series(LABELS)):
        refuse_missing(y)
    refuse_missing(np.array([1, 2.5, "a", np.float32(3)], dtype=object))


CLASSIFIERS = [
    kind
    for kind in ESTIMATORS
    if not issubclass(kind, Combiner) and is_classifier(kind())
]


@pytest.mark.parametrize("kind", CLASSIFIERS)
def test_labels_of_mixed_types_are_refused(kind):
    y = np.array([0, "yes"], dtype=object)[CODES]
    sentence = (
        r"y mixes labels of the types int, str, which cannot be sorted\. Make all"
    )
    with pytest.raises(ValueError, match=sentence):
        kind().fit(X, y)


@pytest.mark.parametrize(
    "kind",
    [kind for kind in ESTIMATORS if is_regressor(kind()) and kind not in CLASSIFIERS],
)
def test_text_in_the_place_of_numbers_is_refused(kind):
    for y in (LABELS, LABELS.astype(object)):
        with pytest.raises(ValueError, match="A regressor needs numbers as y"):
            kind().fit(X, y)
