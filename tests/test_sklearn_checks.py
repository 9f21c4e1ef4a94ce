"""scikit-learn's own checks; every exemption carries its reason."""

import pytest
from sklearn.base import is_classifier
from sklearn.ensemble import (
    ExtraTreesRegressor,
    GradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from committee import (
    AdaBoost,
    Average,
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    CrossSplits,
    LeastSquares,
    MiniBatches,
    OptimalWeights,
    Pool,
    PrunedClassifier,
    PrunedRegressor,
    RandomInits,
    SimplexWeights,
)
from tests.reference.sklearn_checks import assert_passes_all_checks

_EQUIVALENCE = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
_RANDOM_ROWS = (
    "weights and repetitions agree in distribution only: random row sets are drawn by "
    "row number, and repeated rows have other numbers"
)
_TIES = (
    "boosting makes the errors of the last member weigh exactly one half, so splits of "
    "the next tree tie, and the order of summation decides"
)
_NO_LIMIT = (
    "the check limits trees by min_weight_fraction_leaf, which here is a setting of the "
    "estimator: trees without a limit separate the classes whatever they weigh"
)


def _expected_failures(committee):
    """Return {check: reason}."""
    generator = committee.generator
    weighted = is_classifier(committee) and isinstance(
        generator, (AdaBoost, MiniBatches, RandomInits)
    )
    limit = {"check_class_weight_classifiers": _NO_LIMIT} if weighted else {}
    if isinstance(generator, AdaBoost):
        return limit | dict.fromkeys(_EQUIVALENCE[:1], _TIES)
    draws_no_rows = isinstance(generator, RandomInits) and not getattr(
        committee.combiner, "needs_rows", False
    )
    return limit if draws_no_rows else limit | dict.fromkeys(_EQUIVALENCE, _RANDOM_ROWS)


#: Every generator and every way of weighing, on one kind of committee or the other.
COMMITTEES = [
    CommitteeClassifier(generator=Bagging(3), combiner=SimplexWeights()),
    CommitteeClassifier(
        generator=MiniBatches(2, 1), combiner=LeastSquares(), weigh_on=0.3, n_jobs=1
    ),
    CommitteeClassifier(generator=RandomInits(2), combiner=Average()),
    CommitteeClassifier(generator=AdaBoost(3)),
    CommitteeClassifier(
        generator=Pool([GaussianNB(), KNeighborsClassifier(3)], n_splits=2),
        combiner=SimplexWeights(),
    ),
    CommitteeRegressor(generator=Bagging(3)),
    CommitteeRegressor(generator=CrossSplits(3, 1), combiner=OptimalWeights()),
    CommitteeRegressor(
        generator=MiniBatches(2, 1), combiner=SimplexWeights(), weigh_on="train"
    ),
    CommitteeRegressor(generator=RandomInits(2)),
]


@pytest.mark.parametrize(
    "committee",
    [
        PrunedClassifier(RandomForestClassifier(10)),
        PrunedClassifier(GradientBoostingClassifier(n_estimators=3)),
        PrunedRegressor(ExtraTreesRegressor(4), combiner=SimplexWeights()),
    ],
    ids=lambda c: str(c.estimator),
)
def test_pruning_keeps_the_contract_too(committee):
    committee.set_params(random_state=0)
    assert_passes_all_checks(committee, dict.fromkeys(_EQUIVALENCE, _RANDOM_ROWS))


@pytest.mark.filterwarnings(
    # check_classifiers_one_label and others train on rows that say nothing.
    "ignore:AdaBoost stopped",
)
@pytest.mark.parametrize(
    "committee", COMMITTEES, ids=lambda c: f"{type(c).__name__}-{c.generator}"
)
def test_scikit_learn_contract(committee):
    # Some checks set no seed, and three bootstrap samples of ten rows may be unlucky.
    committee.set_params(random_state=0)
    assert_passes_all_checks(committee, _expected_failures(committee))
