"""The plug in AutoGluon and TabArena themselves, where they are installed."""

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from committee import CommitteeEnsembler, GreedyPruner, predictor_predictions
from committee.interop import add_committee, shrink_predictor
from committee.interop.autogluon_predictor import base_models

pd = pytest.importorskip("pandas")
autogluon = pytest.importorskip("autogluon.tabular", reason="pip install '.[arena]'")

pytestmark = [
    pytest.mark.slow,
    # AutoGluon and its libraries warn about each other.
    pytest.mark.filterwarnings("default"),
]

KINDS = ("binary", "multiclass", "regression")
LEARNERS = {"XT": {"n_estimators": 20}, "RF": {"n_estimators": 20}, "KNN": {}, "LR": {}}
METRICS = {"regression": "root_mean_squared_error"}


def table(kind, n=500):
    """Return a frame with its target, text for two classes."""
    if kind == "regression":
        X, y = make_friedman1(n, 8, noise=1.0, random_state=0)
    else:
        K = 2 if kind == "binary" else 4
        X, y = make_classification(
            n, 12, n_informative=6, n_classes=K, flip_y=0.1, random_state=0
        )
        y = np.array(["no", "yes"])[y] if K == 2 else y
    return pd.DataFrame(X, columns=[f"x{i}" for i in range(X.shape[1])]).assign(t=y)


def fitted(kind, path, **options):
    """Return a predictor with four models, and new rows."""
    rows = table(kind)
    metric = METRICS.get(kind, "log_loss")
    predictor = autogluon.TabularPredictor(
        "t", problem_type=kind, eval_metric=metric, path=str(path), verbosity=0
    )
    known = {"num_bag_folds": 3, "num_stack_levels": 0} | options
    if known["num_bag_folds"]:
        known["ag_args_ensemble"] = {"fold_fitting_strategy": "sequential_local"} | (
            known.get("ag_args_ensemble", {})
        )
    predictor.fit(rows[:300], hyperparameters=LEARNERS, num_cpus=1, **known)
    return predictor, rows[300:]


@pytest.mark.parametrize("kind", KINDS)
def test_a_committee_is_a_model_of_the_predictor(kind, tmp_path):
    predictor, new = fitted(kind, tmp_path / "models")
    name = add_committee(predictor)
    known = predictor_predictions(predictor)
    ours = CommitteeEnsembler(problem_type=kind)
    ours.fit(np.moveaxis(known.F, 1, 0), known.y)
    expected = ours.predict_proba(
        np.moveaxis(predictor_predictions(predictor, new).F, 1, 0)
    )
    ask = predictor.predict if kind == "regression" else predictor.predict_proba
    np.testing.assert_allclose(ask(new, model=name), expected, atol=1e-5)

    predictor.refit_full()
    again = autogluon.TabularPredictor.load(str(tmp_path / "models"))
    assert {name, f"{name}_FULL"} <= set(again.leaderboard(new)["model"])
    ask = again.predict if kind == "regression" else again.predict_proba
    np.testing.assert_allclose(ask(new, model=name), expected, atol=1e-5)
    assert np.isfinite(np.asarray(ask(new, model=f"{name}_FULL"))).all()
    assert predictor_predictions(again).names == known.names


def test_without_bagging_the_validation_rows_weigh(tmp_path):
    predictor, new = fitted("binary", tmp_path, num_bag_folds=0)
    known = predictor_predictions(predictor)
    rows, _ = predictor.load_data_internal("val")
    assert len(known.y) == len(known.F) == len(rows)
    name = add_committee(predictor, "ep", name_suffix="_ep")
    assert name.endswith("_ep")
    assert len(predictor.predict(new, model=name)) == len(new)


def test_models_without_folds_predict_by_their_copies(tmp_path):
    predictor, new = fitted(
        "binary", tmp_path, ag_args_ensemble={"save_bag_folds": False}
    )
    with pytest.raises(ValueError, match="cannot predict new rows"):
        predictor_predictions(predictor, new)
    predictor.refit_full()
    known = predictor_predictions(predictor, new)
    assert known.names == predictor_predictions(predictor).names
    copy = f"{known.names[0]}_FULL"
    np.testing.assert_allclose(
        known.F[:, 0], predictor.predict_proba(new, model=copy), atol=1e-7
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fast", [True, False])
def test_in_the_simulation_of_tabarena(kind, fast):
    """Greedy selection of ours and of theirs have nearly the same log-loss."""
    pytest.importorskip("tabarena")
    from autogluon.core.metrics import get_metric
    from tabarena.metrics._fast_log_loss import fast_log_loss
    from tabarena.simulation.ensemble.greedy_ensembler import GreedyEnsembler
    from tabarena.simulation.ensemble_selection_config_scorer import TaskEvaluator

    from tests.interop.test_ensembler import task

    P, y = task(kind, np.random.default_rng(0), N=600)
    metric = get_metric("rmse" if kind == "regression" else "log_loss", kind)
    if fast and kind != "regression":
        metric = fast_log_loss

    def error(cls, **options):
        evaluator = TaskEvaluator(
            ensembler_cls=cls,
            ensembler_kwargs=options,
            eval_metric=metric,
            fit_eval_metric=metric,
            problem_type=kind,
        )
        return evaluator.run(
            pred_train=P[:, :400],
            y_train=y[:400],
            pred_test=P[:, 400:],
            y_test=y[400:],
            return_metric_error_val=False,
        )[0]["metric_error"]

    scoring = "neg_mean_squared_error" if kind == "regression" else "neg_log_loss"
    theirs = error(GreedyEnsembler)
    greedy = error(CommitteeEnsembler, combiner=GreedyPruner(scoring=scoring))
    assert greedy == pytest.approx(theirs, rel=0.02)
    if fast and kind != "regression":
        with pytest.raises(ValueError, match="use_fast_metrics=False"):
            error(CommitteeEnsembler)
    else:
        assert error(CommitteeEnsembler) < 1.02 * theirs


@pytest.mark.parametrize("kind", KINDS)
def test_a_predictor_made_small(kind, tmp_path):
    predictor, new = fitted(kind, tmp_path / "models")
    best = predictor.model_best
    score = -predictor.leaderboard().set_index("model").loc[best, "score_val"]
    found = shrink_predictor(predictor, max_models=2)
    again = autogluon.TabularPredictor.load(str(tmp_path / "models"))
    left = base_models(again)
    assert left == found.names_after
    assert len(left) == found.n_members_after <= 2
    assert again.model_best == "CommitteeEnsemble_L2_small"
    assert len(again.predict(new)) == len(new)
    before = found.error_before if kind == "regression" else found.log_loss_before
    assert before == pytest.approx(score, rel=1e-4)
    assert found.bytes_after == again.disk_usage() < found.bytes_before
    assert "kept: " in str(found)


def test_a_predictor_for_a_number_of_seconds(tmp_path):
    predictor, _ = fitted("regression", tmp_path)
    for wrong in ({}, {"max_models": 1, "max_seconds": 1.0}):
        with pytest.raises(ValueError, match="Give one of max_models and max_seconds"):
            shrink_predictor(predictor, **wrong)
    before = predictor.model_names()
    with pytest.raises(ValueError, match="No member costs at most"):
        shrink_predictor(predictor, max_seconds=1e-12)
    assert predictor.model_names() == before
    assert shrink_predictor(predictor, max_seconds=10.0).n_members_after <= 4
