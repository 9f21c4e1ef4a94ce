"""What `Combiner` does for all combiners, on three that differ in what they take."""

import operator

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

from committee import (
    ClusterPruner,
    EMPruner,
    EPPruner,
    GeneticPruner,
    GreedyPruner,
    KappaErrorHullPruner,
    OrderPruner,
    SimplexWeights,
)
from committee.combiners import Combiner
from tests.reference.problems import KINDS, make_held_out, make_problem

#: Any predictions; with an output of its own; votes only.
COMBINERS = {
    SimplexWeights: KINDS,
    EPPruner: KINDS,
    KappaErrorHullPruner: ("binary", "multiclass"),
}
every_combiner = pytest.mark.parametrize("combiner", COMBINERS)
every_kind = pytest.mark.parametrize(
    ("combiner", "kind"),
    [(c, kind) for c, kinds in COMBINERS.items() for kind in kinds],
)
classification = pytest.mark.parametrize("kind", ["binary", "multiclass"])
regression_and_votes = pytest.mark.parametrize("kind", ["regression", "multiclass"])


@every_kind
def test_combine_is_the_weighted_sum_over_the_support(combiner, kind):
    made = EPPruner(pool="votes") if combiner is EPPruner else combiner()
    fitted = made.fit(*make_problem(kind))
    w = fitted.weights_
    fresh, _ = make_problem(kind, N=11, seed=5)
    np.testing.assert_allclose(
        fitted.combine(fresh),
        np.tensordot(fresh, w, axes=(1, 0)),
        rtol=1e-13,
        atol=1e-15,
    )
    np.testing.assert_array_equal(fitted.support_, np.flatnonzero(w))
    assert fitted.n_features_in_ == 7


@every_kind
def test_lists_and_a_mask_that_is_true_throughout(combiner, kind):
    F, y = make_problem(kind)
    w = combiner().fit(F, y).weights_
    np.testing.assert_array_equal(combiner().fit(F.tolist(), y.tolist()).weights_, w)
    mask = np.ones((40, 7), dtype=bool)
    np.testing.assert_array_equal(combiner().fit(F, y, held_out=mask).weights_, w)


@every_combiner
def test_codes_may_be_floats_or_booleans(combiner, binary_problem):
    F, y = binary_problem
    w = combiner().fit(F, y).weights_
    for codes in (y.astype(float), y.astype(bool), y.astype(np.uint8)):
        np.testing.assert_array_equal(combiner().fit(F, codes).weights_, w)


@pytest.mark.parametrize("combiner", [SimplexWeights, EPPruner])
def test_columns_of_a_frame_are_the_names_of_the_members(combiner, regression_problem):
    F, y = regression_problem
    frame = pd.DataFrame(F, columns=[f"member {m}" for m in range(7)])
    fitted = combiner().fit(frame, pd.Series(y))
    assert fitted.feature_names_in_.tolist() == frame.columns.tolist()
    np.testing.assert_allclose(fitted.combine(frame), F @ fitted.weights_)
    with pytest.raises(ValueError, match=r"not seen.*\['other'\].*\['member 3'\]"):
        fitted.combine(frame.rename(columns={"member 3": "other"}))
    with pytest.raises(ValueError, match=r"missing: \['member 6'\]"):
        fitted.combine(frame.iloc[:, :6])
    with pytest.raises(ValueError, match=r"another order: \['member 6'"):
        fitted.combine(frame[frame.columns[::-1]])
    with pytest.warns(UserWarning, match="F has no member names"):
        fitted.combine(F)
    with pytest.warns(UserWarning, match="was fitted without names"):
        combiner().fit(F, y).combine(frame)


@every_combiner
def test_combine_before_fit(combiner, binary_problem):
    with pytest.raises(NotFittedError, match=combiner.__name__):
        combiner().combine(binary_problem[0])
    with pytest.raises(NotFittedError, match=combiner.__name__):
        _ = combiner().support_


@every_kind
def test_combine_of_other_predictions_than_those_of_the_fit(combiner, kind):
    F, y = make_problem(kind)
    fitted = combiner().fit(F, y)
    with pytest.raises(ValueError, match=r"F has 6 members.*was fitted on 7"):
        fitted.combine(F[:, :6])
    other = F[..., 0] if F.ndim == 3 else np.stack([F, F], axis=2)
    with pytest.raises(ValueError, match="was fitted on F of shape"):
        fitted.combine(other)


@regression_and_votes
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_predictions_that_are_not_finite(kind, value):
    F, y = make_problem(kind)
    fitted = SimplexWeights().fit(F, y)
    F[3, 2] = value
    with pytest.raises(ValueError, match=r"F contains NaN.*members \[2\]"):
        SimplexWeights().fit(F, y)
    with pytest.raises(ValueError, match=r"F contains NaN.*members \[2\]"):
        fitted.combine(F)


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ((40, 7, 2, 2), r"F must have shape \(N, M\).*Got shape"),
        ((40, 7, 1), r"F must have shape \(N, M\).*Got shape"),
        ((40, 0, 2), r"F must have at least one member"),
        ((40, 7, 0), r"F must have shape \(N, M\).*Got shape"),
        ((0, 7), r"0 sample\(s\)"),
        ((40, 0), r"0 feature\(s\)"),
    ],
)
def test_predictions_of_another_shape(shape, message):
    with pytest.raises(ValueError, match=message):
        SimplexWeights().fit(np.zeros(shape), np.zeros(shape[0], dtype=int))


@regression_and_votes
def test_targets_that_are_missing_too_few_or_not_finite(kind):
    F, y = make_problem(kind)
    with pytest.raises(ValueError, match=r"39 targets for 40 rows"):
        SimplexWeights().fit(F, y[:-1])
    with pytest.raises(ValueError, match="requires y to be passed"):
        SimplexWeights().fit(F, None)
    y = np.where(np.arange(40) == 5, np.nan, y)
    with pytest.raises(ValueError, match="y contains NaN"):
        SimplexWeights().fit(F, y)


@regression_and_votes
@pytest.mark.parametrize("value", [None, "nan", "inf"])
def test_missing_targets_in_other_clothes(kind, value):
    """None and text become NaN where they are made numbers, not before."""
    F, y = make_problem(kind)
    for objects in (np.array(y, dtype=object), y.astype(str).astype(object)):
        objects[5] = value
        with pytest.raises(ValueError, match=r"y contains (NaN|infinity)"):
            SimplexWeights().fit(F, objects)


@classification
@pytest.mark.parametrize(
    "relabel",
    [
        lambda y: np.array(["a", "b", "c"])[y],
        lambda y: np.array(["a", "b", "c"], dtype=object)[y],
        lambda y: y + 1,
        lambda y: y - 1,
        lambda y: y + 0.5,
    ],
    ids=["strings", "objects", "too large", "negative", "half"],
)
def test_labels_that_are_not_codes(kind, relabel):
    F, y = make_problem(kind)
    with pytest.raises(ValueError, match=r"codes 0\.\.[12].*LabelEncoder"):
        SimplexWeights().fit(F, relabel(y))


def test_labels_where_numbers_are_due(regression_problem):
    F, y = regression_problem
    with pytest.raises(ValueError, match=r"y must contain numbers.*classes need F of"):
        SimplexWeights().fit(F, np.where(y > 0, "yes", "no"))


@regression_and_votes
@pytest.mark.parametrize(
    ("mask", "message"),
    [
        (np.ones((40, 7)), r"boolean array of shape \(40, 7\).*Got"),
        (np.ones((40, 7), dtype=int), r"boolean array of shape \(40, 7\).*Got"),
        (np.ones((40, 6), dtype=bool), r"boolean array of shape \(40, 7\).*Got"),
        (np.ones(40, dtype=bool), r"boolean array of shape \(40, 7\).*Got"),
        (np.ones((40, 7, 2), dtype=bool), r"boolean array of shape \(40, 7\).*Got"),
        (np.zeros((40, 7), dtype=bool), "held_out is False everywhere"),
    ],
    ids=["float", "int", "too narrow", "rows only", "per class", "false"],
)
def test_masks_of_another_kind(kind, mask, message):
    with pytest.raises(ValueError, match=message):
        SimplexWeights().fit(*make_problem(kind), held_out=mask)


@regression_and_votes
@pytest.mark.parametrize(
    ("sample_weight", "message"),
    [
        (np.where(np.arange(40) == 7, -2.0, 1.0), r"non-negative.*minimum of -2"),
        (np.zeros(40), "at least one"),
        (np.ones(39), "sample_weight"),
        (np.where(np.arange(40) == 7, np.nan, 1.0), "sample_weight contains NaN"),
    ],
    ids=["negative", "zero", "too short", "nan"],
)
def test_row_weights_out_of_range(kind, sample_weight, message):
    with pytest.raises(ValueError, match=message):
        SimplexWeights().fit(*make_problem(kind), sample_weight=sample_weight)


@pytest.mark.parametrize(
    ("combiner", "attributes"),
    [
        (EPPruner(), ["inclusion_.strength", "posterior_.weights"]),
        (GreedyPruner(5, scoring="accuracy"), []),
        (ClusterPruner(2), ["labels_"]),
        (GeneticPruner(n_generations=5, random_state=0), ["evolved_"]),
        (OrderPruner("contribution", 2), ["scores_"]),
        (OrderPruner("orientation", 2), ["scores_"]),
        (EMPruner(start=np.arange(1.0, 8.0)), []),
    ],
    ids=lambda value: str(value) if isinstance(value, Combiner) else "",
)
def test_what_is_stored_knows_all_members_by_their_numbers(combiner, attributes):
    """Members 0 and 3 are never heard, and the fit does not see them."""
    F, y = make_problem("binary", N=80)
    held_out = make_held_out(80)
    held_out[:, [0, 3]] = False
    fitted = combiner.fit(F, y, held_out=held_out)
    assert set(fitted.support_) <= {1, 2, 4, 5, 6}
    for name in ("order_", "pairs_"):
        assert not np.isin(getattr(fitted, name, []), [0, 3]).any()
    for name in attributes:
        assert len(operator.attrgetter(name)(fitted)) == 7
    if isinstance(fitted, EPPruner):
        step = fitted.posterior_
        np.testing.assert_array_equal(step.active, fitted.support_)
        np.testing.assert_array_equal(
            fitted.path_.steps[0].weights, fitted.path_.weights[0]
        )
