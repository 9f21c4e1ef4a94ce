"""Extreme weights, columns and targets: finite answers without a warning, or one sentence.

Warnings are errors in tests, so whatever fits here has warned of nothing.
"""

import inspect
from contextlib import nullcontext

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import committee
from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    EPPruner,
    MixtureOfExpertsClassifier,
    MixtureOfExpertsRegressor,
    Pool,
    SoftmaxGate,
)
from committee._validation import check_sample_weight
from committee.combiners import Combiner
from committee.gates import Gate
from committee.losses import mean_and_se, mean_of
from committee.members import Generator, MemberFitError
from committee.targets import as_numbers

N = 40
RNG = np.random.default_rng(0)
X = RNG.normal(size=(N, 3))
Y = X[:, 0] + 0.1 * RNG.normal(size=N)
CODES = (Y > 0).astype(int)
F = Y[:, None] + RNG.normal(size=(N, 5))
P = 1 / (1 + np.exp(-F))
VOTES = np.stack([1 - P, P], axis=2)

ONE = np.eye(N)[3]
TWO = np.isin(np.arange(N), [CODES.argmin(), CODES.argmax()]).astype(float)
#: What becomes of the rows, the targets and the weights.
CASES = {
    "weights of 1e-100": lambda A, y: (A, y, np.full(N, 1e-100)),
    "weights of 1e100": lambda A, y: (A, y, np.full(N, 1e100)),
    "weights of 1e-300": lambda A, y: (A, y, np.full(N, 1e-300)),
    "weights of both": lambda A, y: (A, y, np.where(np.arange(N) % 2, 1e-100, 1e100)),
    "one row with a weight": lambda A, y: (A, y, ONE),
    "a row of each class": lambda A, y: (A, y, TWO),
    "columns of 1e-150": lambda A, y: (A * 1e-150, y, None),
    "a column of 1e-150": lambda A, y: (np.c_[A, 1e-150 * A[:, :1]], y, None),
    "targets of 1e100": lambda A, y: (A, y * 1e100, None),
    "targets of 1e-150": lambda A, y: (A, y * 1e-150, None),
    "targets of 1e200": lambda A, y: (A, y * 1e200, None),
    "two rows": lambda A, y: (A[TWO > 0], y[TWO > 0], None),
}

SMALL = {
    **dict.fromkeys(("n_members", "max_epochs", "n_steps"), 3),
    **dict.fromkeys(("max_cell", "max_rows", "n_samples"), 20),
    "n_warmup": 10,
    "n_generations": 3,
    "random_state": 0,
}


def small(model):
    known = model.get_params()
    return model.set_params(**{k: v for k, v in SMALL.items() if k in known})


def _models():
    for name in committee.__all__:
        kind = getattr(committee, name)
        if (
            inspect.isclass(kind)
            and issubclass(kind, BaseEstimator)
            and not issubclass(kind, (Generator, Gate))
            and not name.startswith("Pruned")
        ):
            yield name, small(kind())
    stump, curve = (
        DecisionTreeClassifier(max_depth=2),
        DecisionTreeRegressor(max_depth=2),
    )
    bag = {"generator": Bagging(4), "gate": SoftmaxGate(), "random_state": 0}
    yield "a gate of numbers", CommitteeRegressor(curve, **bag)
    yield "a gate of classes", CommitteeClassifier(stump, **bag)
    yield (
        "a pool of numbers",
        CommitteeRegressor(
            generator=Pool([Ridge(), curve]),
            combiner="ep",
            uncertainty=True,
            random_state=0,
        ),
    )
    yield (
        "a pool of classes",
        CommitteeClassifier(
            generator=Pool([LogisticRegression(), stump]),
            combiner="log-pool",
            calibration="vector",
            random_state=0,
        ),
    )
    yield "EP on log-odds", EPPruner(pool="log")
    for kind in (MixtureOfExpertsRegressor, MixtureOfExpertsClassifier):
        yield f"hard {kind.__name__}", kind(assignment="hard", random_state=0)
        yield f"{kind.__name__} in a tree", kind(depth=2, random_state=0)


MODELS = dict(_models())


ON_CLASSES = {"LogPool", "EP on log-odds", "OrderPruner", "KappaErrorHullPruner"}
ON_NUMBERS = {"RidgeWeights"}
COUPLED = {"CoupledKernelRegressor", "CoupledKernelClassifier"}
POOLS = {"a pool of numbers", "a pool of classes"}
GATES = {"a gate of numbers", "a gate of classes"}
HARD = {"hard MixtureOfExpertsRegressor", "hard MixtureOfExpertsClassifier"}

LIMITS = r"Positive entries of sample_weight must lie between 1e-100 and 1e\+100"
NO_WEIGHT = "None of its rows has a positive sample_weight"
NO_ROW = "No row has both a positive sample_weight and a member that did not train on"
#: The models that refuse a case, and the cause that they name. All others answer.
REFUSED = {
    "weights of 1e-300": {LIMITS: set(MODELS)},
    "weights of both": {LIMITS: set(MODELS)},
    "weights of 1e100": {"alpha=1 is too small beside .* sample weights": COUPLED},
    "one row with a weight": {
        r"A classifier needs at least 2 classes in y. Got 1 class: 0": {
            *("LSSVMClassifier", "CellKernelClassifier", "CoupledKernelClassifier"),
            *("BayesianCommitteeClassifier", "MixtureOfExpertsClassifier"),
            *("hard MixtureOfExpertsClassifier",),
            *("MixtureOfExpertsClassifier in a tree",),
        },
        r"median distance .* \(n_samples=1\), but all rows are equal: set gamma": {
            *("LSSVMRegressor", "CellKernelRegressor", "CoupledKernelRegressor"),
            *("BayesianCommitteeRegressor", "hard MixtureOfExpertsRegressor"),
        },
        r"Early stopping needs 2 rows \(n_samples=1\)": {
            *("NetworkRegressor", "NetworkClassifier"),
        },
        NO_WEIGHT: POOLS,
        NO_ROW: GATES,
    },
    "a row of each class": {
        "needs at least 6 training rows": COUPLED,
        NO_WEIGHT: POOLS,
        NO_ROW: GATES,
    },
    "two rows": {
        "needs at least 6 training rows": COUPLED,
        r"Cannot cross-fit 5 folds on 2 rows": POOLS,
    },
    "targets of 1e200": {r"y must not contain a number above 1e\+150": set(MODELS)},
}
#: Models that answer a case with a warning.
BY_DISTANCE = {
    *("LSSVMRegressor", "CellKernelRegressor", "BayesianCommitteeRegressor"),
    *("LSSVMClassifier", "CellKernelClassifier", "BayesianCommitteeClassifier"),
    *(COUPLED | HARD),
}
WARNED = {
    "a column of 1e-150": {"distances between rows hardly depend on": BY_DISTANCE},
    "weights of 1e-100": {
        "Sample weights count as numbers of rows .* they sum to 4e-99": {
            *(
                "EPPruner",
                "ARDPruner",
                "MCMCPruner",
                "EP on log-odds",
                "a pool of numbers",
            ),
        }
    },
}


def said(texts, name, case):
    """The pattern of what a model says in a case, or None."""
    by_text = texts.get(case, {})
    return next((text for text, names in by_text.items() if name in names), None)


def rows_for(name, case):
    """Rows and targets that suit a model and a case: one or two."""
    model = MODELS[name]
    if not isinstance(model, Combiner):
        return [(X, CODES if is_classifier(model) else Y)]
    on_classes = (
        "column" not in case and "targets" not in case and name not in ON_NUMBERS
    )
    return [(F, Y)] * (name not in ON_CLASSES) + [(VOTES, CODES)] * on_classes


def answers(model, A):
    """What the fitted model found, as arrays of numbers."""
    if isinstance(model, Combiner):
        return [model.weights_]
    methods = ["predict", *(["predict_proba"] if is_classifier(model) else [])]
    return [np.asarray(getattr(model, method)(A)) for method in methods]


CASES_OF = [
    (name, case)
    for name, model in MODELS.items()
    for case in CASES
    if rows_for(name, case)
    and not (is_classifier(model) and "targets" in case)
    # Combiners have units of their own, where they promise to have them.
    and not (isinstance(model, Combiner) and case == "targets of 1e200")
]


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.parametrize(("name", "case"), CASES_OF)
def test_extremes_give_finite_answers_or_one_sentence(name, case):
    refusal, warning = said(REFUSED, name, case), said(WARNED, name, case)
    for A, y in rows_for(name, case):
        A, y, s = CASES[case](A, y)
        model = clone(MODELS[name])
        if refusal:
            with pytest.raises((ValueError, MemberFitError), match=refusal):
                model.fit(A, y, sample_weight=s)
            continue
        expected = (
            pytest.warns(UserWarning, match=warning) if warning else nullcontext()
        )
        with expected:
            model.fit(A, y, sample_weight=s)
        assert all(np.isfinite(answer).all() for answer in answers(model, A))


def test_weights_beyond_products_of_three_are_refused_at_the_door():
    for s in (1e-100, 1e100):
        assert check_sample_weight(np.full(3, s), X[:3]).max() == s
    check_sample_weight([0.0, 1e-60, 1e40], X[:3])
    for s in ([1e-101, 1.0, 1.0], [1e101, 1.0, 1.0], [1e-60, 1e50, 0.0]):
        with pytest.raises(
            ValueError, match="Positive entries of sample_weight must lie"
        ):
            check_sample_weight(s, X[:3])


def test_numbers_without_squares_are_refused_at_the_door():
    with pytest.raises(ValueError, match=r"y must not contain a number above 1e\+150"):
        as_numbers([1.0, -1e151])
    assert as_numbers([1.0, -1e150]).min() == -1e150


@pytest.mark.parametrize("scale", [1e-140, 1.0, 1e140])
def test_standard_errors_scale_with_the_losses(scale):
    """Their squares would be infinite, or zero."""
    losses = Y**2
    mean, se = mean_and_se(losses, CODES + 1.0)
    assert mean_and_se(scale * losses, CODES + 1.0) == pytest.approx(
        (scale * mean, scale * se), rel=1e-14
    )
    assert mean_of(scale * losses).se == pytest.approx(scale * mean_of(losses).se)


def test_means_over_rows_of_weight_zero_are_unknown():
    assert np.isnan(mean_and_se(Y, np.zeros(N))).all()
