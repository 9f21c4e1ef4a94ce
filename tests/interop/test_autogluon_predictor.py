"""Against AutoGluon's answers, as they were recorded from autogluon.tabular 1.6.3."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

from committee import EPPruner, predictor_predictions, prune
from committee.interop import add_committee, shrink_predictor


class Predictor:
    """What AutoGluon's answers look like: frames by name, and what they depend on."""

    class_labels = ("no", "yes")

    def __init__(self, problem_type, answers):
        self.problem_type, self.answers = problem_type, answers

    def model_names(self):
        return [*self.answers, "WeightedEnsemble_L2"]

    def predict_proba_multi(self, data=None, models=None):
        assert "WeightedEnsemble_L2" not in models
        models.append("ancestor")
        step = slice(None) if data is None else slice(data)
        return {name: values[step] for name, values in self.answers.items()}

    predict_multi = predict_proba_multi


def test_models_of_a_classifier(rng):
    pd = pytest.importorskip("pandas")
    p = rng.random((30, 3))
    answers = {
        name: pd.DataFrame({"no": 1 - p[:, m], "yes": p[:, m]}, index=range(7, 37))
        for m, name in enumerate(("LightGBM", "KNN", "RandomForest"))
    }
    predictor = Predictor("binary", answers)
    known = predictor_predictions(predictor)
    assert known.names == ["LightGBM", "KNN", "RandomForest"]
    np.testing.assert_allclose(known.F[:, :, 1], p)
    y = known.codes(np.where(p[:, 1] > 0.5, "yes", "no"))
    w = EPPruner().fit(known.F, y).weights_
    assert next(iter(known.by_name(w))) == "KNN"
    some = predictor_predictions(predictor, 10, models=["KNN"])
    np.testing.assert_allclose(some.F[:, 0, 1], p[:10, 1])


def test_models_of_a_regression(rng):
    values = rng.normal(size=20)
    predictor = Predictor("regression", {"a": values, "b": values + 1})
    known = predictor_predictions(predictor)
    assert known.classes is None
    np.testing.assert_array_equal(known.F, np.column_stack([values, values + 1]))


def test_what_is_no_predictor_of_a_known_kind(rng):
    with pytest.raises(ValueError, match="problem_type 'quantile'"):
        predictor_predictions(Predictor("quantile", {}))
    with pytest.raises(ValueError, match="no models other than its own weighted"):
        predictor_predictions(Predictor("binary", {}))


def shrunk(predictor):
    return shrink_predictor(predictor, max_models=2)


@pytest.mark.parametrize("call", [predictor_predictions, add_committee, shrunk])
@pytest.mark.parametrize("given", ["models/path", Predictor(None, {})])
def test_a_fitted_predictor_is_asked_for(call, given):
    with pytest.raises(ValueError, match=r"a fitted Tab.*load\(path\).*type None"):
        call(given)


@pytest.mark.parametrize("call", [predictor_predictions, add_committee, shrunk])
def test_rows_that_were_deleted_are_said_to_be_missing(call, rng, monkeypatch):
    """As by AutoGluon's `clone_for_deployment` and `save_space`."""
    monkeypatch.setitem(
        sys.modules,
        "committee.interop.autogluon_model",
        SimpleNamespace(CommitteeEnsembleModel=None),
    )
    predictor = refitted(rng, _trainer=SimpleNamespace(is_data_saved=False))
    with pytest.raises(ValueError, match=r"not have the rows.*clone_for_deployment"):
        call(predictor)


@pytest.mark.parametrize("models", [["a", "c"], "c"])
def test_models_that_are_not_there_are_named(models, rng):
    with pytest.raises(ValueError, match=r"a, b, Weighted.*Got \['c'\]"):
        predictor_predictions(refitted(rng), models=models)


class Refitted(Predictor):
    """A predictor after `refit_full`, whose fold models were not saved.

    Its recorded answers: every model is listed beside its copy, out of fold a copy has
    the predictions of its parent, and only copies predict new rows.
    """

    has_val = False
    _trainer = SimpleNamespace(is_data_saved=True)

    def model_names(self, can_infer=False):
        copies = [f"{name}_FULL" for name in self.answers]
        own = ["WeightedEnsemble_L2", "CommitteeEnsemble_L2_ep"]
        known = [*self.answers, *own, *copies, "CommitteeEnsemble_L2_ep_FULL"]
        return copies if can_infer else known

    def model_refit_map(self):
        return {name: f"{name}_FULL" for name in self.answers}

    def predict_proba_multi(self, data=None, models=None):
        if data is not None and any(not name.endswith("_FULL") for name in models):
            raise AttributeError("'NoneType' object has no attribute 'predict'")
        return {name: self.answers[name.removesuffix("_FULL")] for name in models}

    def load_data_internal(self, data, return_X):
        assert data == ("val" if self.has_val else "train")
        assert not return_X
        return None, self.y


def refitted(rng, **attributes):
    answers = {"a": rng.random(20), "b": rng.random(20)}
    made = Refitted("binary", answers)
    made.y = rng.integers(0, 2, 20)
    vars(made).update(attributes)
    return made


def test_copies_and_ensembles_are_no_members(rng):
    assert predictor_predictions(refitted(rng)).names == ["a", "b"]


def test_a_copy_predicts_new_rows_for_a_model_without_folds(rng):
    predictor = refitted(rng)
    known = predictor_predictions(predictor, 20)
    assert known.names == ["a", "b"]
    np.testing.assert_array_equal(known.F[:, 0, 1], predictor.answers["a"])
    predictor.model_refit_map = dict
    with pytest.raises(ValueError, match=r"a cannot predict new rows.*refit_full"):
        predictor_predictions(predictor, 20)


@pytest.mark.parametrize("has_val", [True, False])
def test_targets_come_with_the_rows_they_belong_to(rng, has_val):
    predictor = refitted(rng, has_val=has_val)
    np.testing.assert_array_equal(predictor_predictions(predictor).y, predictor.y)
    assert predictor_predictions(predictor, 20).y is None


def test_without_autogluon_the_package_to_install_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "autogluon.core.models", None)
    monkeypatch.delitem(sys.modules, "committee.interop.autogluon_model", raising=False)
    with pytest.raises(ImportError, match=r"pip install 'autogluon.tabular"):
        add_committee(Predictor("binary", {}))


LIMITS = [{}, {"max_models": 0}, {"max_models": "3"}, {"max_seconds": -1.0}]


@pytest.mark.parametrize("limits", LIMITS)
def test_one_limit_is_asked_for(limits):
    with pytest.raises(ValueError, match="exactly one positive limit"):
        shrink_predictor(None, **limits)
    with pytest.raises(ValueError, match="'max_models': 1, 'max_seconds': 2"):
        shrink_predictor(None, max_models=1, max_seconds=2)


def test_prune_names_the_function_for_a_predictor(rng):
    """The first thing to try on a predictor, by its name, is `prune`."""
    TabularPredictor = type("TabularPredictor", (), {})
    with pytest.raises(TypeError, match=r"call committee.interop.shrink_predictor"):
        prune(TabularPredictor(), rng.normal(size=(9, 2)), np.arange(9) % 2)
