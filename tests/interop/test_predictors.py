"""Against the methods that TabularPredictor documents, without AutoGluon."""

import numpy as np
import pytest

from committee import EPPruner, predictor_predictions


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
    with pytest.raises(ValueError, match="Got 'quantile'"):
        predictor_predictions(Predictor("quantile", {}))
    with pytest.raises(ValueError, match="Got None"):
        predictor_predictions(object())
    with pytest.raises(ValueError, match="no models but its own weighted"):
        predictor_predictions(Predictor("binary", {}))
