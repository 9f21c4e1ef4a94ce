"""The plug in AutoGluon and TabArena themselves, where they are installed."""

from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import make_classification, make_friedman1

from committee import (
    BudgetPruner,
    CommitteeEnsembler,
    EPPruner,
    GreedyPruner,
    predictor_predictions,
)
from committee.interop import add_committee, shrink_predictor
from committee.interop.autogluon_predictor import base_models

pd = pytest.importorskip("pandas")
autogluon = pytest.importorskip("autogluon.tabular", reason="pip install '.[arena]'")
GreedySelection = pytest.importorskip(
    "committee.interop.autogluon_model"
).GreedySelection

pytestmark = [
    pytest.mark.slow,
    # AutoGluon and its libraries warn about each other.
    pytest.mark.filterwarnings("default"),
]

KINDS = ("binary", "multiclass", "regression")
#: Two of one type: of few rows, AutoGluon's own ensembles would weigh one of them.
FORESTS = [
    {"n_estimators": 20},
    {"n_estimators": 20, "max_leaf_nodes": 8, "ag_args": {"name_suffix": "Small"}},
]
LEARNERS = {"XT": FORESTS, "RF": {"n_estimators": 20}, "KNN": {}, "LR": {}}
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


def fitted(kind, path, metric=None, **options):
    """Return a predictor with five models, and new rows."""
    rows = table(kind)
    metric = metric or METRICS.get(kind, "log_loss")
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


@pytest.mark.parametrize("bagged", [False, True])
def test_validation_rows_weigh_where_there_are_some(bagged, tmp_path):
    predictor, new = fitted(
        "binary",
        tmp_path,
        num_bag_folds=3 * bagged,
        tuning_data=table("binary", 700)[600:],
        use_bag_holdout=bagged,
    )
    known = predictor_predictions(predictor)
    rows, _ = predictor.load_data_internal("val")
    assert len(known.y) == len(known.F) == len(rows) == 100
    name = add_committee(predictor, "ep", name_suffix="_ep")
    assert name.endswith("_ep")
    expected = EPPruner().fit(known.F, known.y)
    new_F = predictor_predictions(predictor, new).F
    np.testing.assert_allclose(
        predictor.predict_proba(new, model=name),
        expected.probabilities(expected.combine(new_F)),
        atol=1e-5,
    )


PRESETS = [
    ("binary", "accuracy"),
    ("binary", "roc_auc"),
    ("multiclass", "accuracy"),
    ("regression", "mean_absolute_error"),
]


@pytest.mark.parametrize(("kind", "metric"), PRESETS)
def test_a_preset_without_bagging(kind, metric, tmp_path):
    """Weighed by log-loss or squared error, ranked by the metric."""
    predictor, new = fitted(
        kind, tmp_path / "all", metric, presets="medium_quality", num_bag_folds=0
    )
    name = add_committee(predictor)
    board = predictor.leaderboard(new).set_index("model")
    scores = predictor.evaluate(new, model=name)
    assert board.loc[name, "score_test"] == pytest.approx(scores[metric])
    found = shrink_predictor(predictor, max_models=2)
    assert found.n_members_after <= 2
    predictor.refit_full()
    again = autogluon.TabularPredictor.load(str(tmp_path / "all"))
    assert again.model_best == "CommitteeEnsemble_L2_small_FULL"
    assert len(again.predict(new)) == len(new)


@pytest.mark.parametrize("kind", ["binary", "regression"])
def test_a_stacked_preset_without_fold_models(kind, tmp_path):
    """Copies predict, and a stacked model counts with the four that it needs."""
    predictor, new = fitted(
        kind,
        tmp_path / "all",
        presets="high_quality",
        num_stack_levels=1,
        dynamic_stacking=False,
    )
    name = add_committee(predictor)
    assert name in predictor.model_names(can_infer=True)
    assert len(predictor.predict(new, model=name)) == len(new)
    small = predictor.clone(str(tmp_path / "small"), return_clone=True)
    found = shrink_predictor(small, max_models=4)
    assert not any("L2" in model for model in found.names_after)
    again = autogluon.TabularPredictor.load(str(tmp_path / "small"))
    assert again.model_best.startswith("CommitteeEnsemble_L3_small")
    assert base_models(again) == found.names_after
    assert predictor_predictions(again).names == found.names_after
    assert (again.predict(new) == small.predict(new)).all()
    assert len(base_models(predictor)) == 9  # the original was not touched
    fast = shrink_predictor(again, max_seconds=10.0)
    assert fast.n_members_after <= found.n_members_after


def test_a_combiner_that_fails_says_why(tmp_path):
    predictor, _ = fitted("binary", tmp_path, num_bag_folds=0)
    before = predictor.model_names()
    with pytest.raises(ValueError, match="costs must be one finite number"):
        add_committee(predictor, BudgetPruner(costs=[1.0, 2.0]))
    assert predictor.model_names() == before


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


RECIPE = Path(__file__).parents[2] / "docs" / "guide" / "weight.md"


@pytest.mark.parametrize("kind", KINDS)
def test_the_recipe_for_tabarena(kind, tmp_path):
    """It runs as the guide has it, and greedy selection is nearly that of TabArena."""
    repository = pytest.importorskip("tabarena.repository")
    predictor, new = fitted(kind, tmp_path)
    known, fresh = predictor_predictions(predictor), predictor.simulation_artifact(new)
    zeros = ("metric_error", "metric_error_val", "time_train_s", "time_infer_s", "tid")
    configs = pd.DataFrame({"framework": known.names, "dataset": "ours", "fold": 0})
    configs = configs.assign(
        metric=predictor.eval_metric.name,
        problem_type=kind,
        **dict.fromkeys(zeros, 0),
    )
    repo = repository.EvaluationRepository.from_raw(configs, [{"ours": {0: fresh}}])
    names = {"repo": repo, "dataset": "ours", "fold": 0}
    section = RECIPE.read_text(encoding="utf-8").split("**TabArena.**")[1]
    exec(section.split("```python\n")[1].split("```")[0], names)  # noqa: S102

    ours = CommitteeEnsembler(problem_type=kind)
    ours.fit(np.moveaxis(known.F, 1, 0), fresh["y_val"])
    p = ours.predict_proba(np.moveaxis(predictor_predictions(predictor, new).F, 1, 0))
    error = predictor.eval_metric.error(fresh["y_test"], p)
    assert names["result"]["metric_error"].item() == pytest.approx(error, rel=1e-4)

    def measured(**options):
        result, _ = repo.evaluate_ensemble("ours", 0, ensemble_kwargs=options)
        return result["metric_error"].item()

    scoring = "neg_mean_squared_error" if kind == "regression" else "neg_log_loss"
    greedy = {"combiner": GreedyPruner(scoring=scoring)}
    both = {"ensembler_cls": CommitteeEnsembler, "ensembler_kwargs": greedy}
    theirs = measured(use_fast_metrics=False)
    assert measured(use_fast_metrics=False, **both) == pytest.approx(theirs, rel=0.02)
    if kind != "regression":  # its fast metric needs a compiler
        assert measured(**both) == pytest.approx(theirs, rel=0.02)
        with pytest.raises(ValueError, match="use_fast_metrics=False"):
            measured(ensembler_cls=CommitteeEnsembler)


@pytest.mark.parametrize("kind", KINDS)
def test_the_selection_of_autogluon_gives_the_weights_of_its_ensemble(kind, tmp_path):
    predictor, _ = fitted(kind, tmp_path)
    scores = predictor.leaderboard().set_index("model")["score_val"]
    forests = ["ExtraTrees_BAG_L1", "ExtraTreesSmall_BAG_L1"]
    names = [m for m in base_models(predictor) if m != scores[forests].idxmin()]
    known = predictor_predictions(predictor, models=names)
    y = known.y.astype(float if kind == "regression" else int)
    selection = GreedySelection(kind, predictor.eval_metric).fit(known.F, y)
    ensemble = predictor._trainer.load_model("WeightedEnsemble_L2")
    found = {m: pytest.approx(w) for m, w in known.by_name(selection.weights_).items()}
    assert ensemble._get_model_weights() == found


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
    # Held out, so above the score on the rows that AutoGluon's weights were learned on.
    before = found.error_before if kind == "regression" else found.log_loss_before
    assert score < before < 1.2 * score
    assert found.bytes_after == again.disk_usage() < found.bytes_before
    assert "kept: " in str(found)
    assert "bytes on disk" in str(found)


def test_a_predictor_for_a_number_of_seconds(tmp_path):
    predictor, _ = fitted("regression", tmp_path)
    before = predictor.model_names()
    with pytest.raises(ValueError, match=r"limit 1e-12: \w+_BAG_L1 needs the least"):
        shrink_predictor(predictor, max_seconds=1e-12)
    with pytest.raises(ValueError, match="'best-of-all'"):
        shrink_predictor(predictor, max_seconds=10.0, combiner="best-of-all")
    assert predictor.model_names() == before
    found = shrink_predictor(predictor, max_seconds=10.0, combiner="greedy")
    assert found.n_members_after <= 5


def test_a_predictor_without_its_rows(tmp_path):
    predictor, new = fitted("binary", tmp_path / "all")
    predictor.set_decision_threshold(0.3)
    shrink_predictor(predictor, max_models=2)
    assert predictor.decision_threshold == 0.3
    served = predictor.clone_for_deployment(str(tmp_path / "served"), return_clone=True)
    assert (served.predict(new) == predictor.predict(new)).all()
    with pytest.raises(ValueError, match="does not have the rows"):
        shrink_predictor(served, max_models=1)
