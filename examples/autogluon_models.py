"""The models of an AutoGluon predictor, weighed by EPPruner and LogPool.

Needs autogluon.tabular; trains for a minute: python examples/autogluon_models.py
"""

from sklearn.datasets import fetch_openml
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

from committee import EPPruner, LogPool, predictor_predictions


def main() -> None:
    """Print the log-loss of AutoGluon's own ensemble, and of two committees."""
    from autogluon.tabular import TabularPredictor

    table = fetch_openml("phoneme", version=1, as_frame=True).frame
    train, test = train_test_split(table, random_state=0)
    predictor = TabularPredictor("Class", eval_metric="log_loss")
    predictor.fit(train, time_limit=60, num_bag_folds=5)

    known = predictor_predictions(predictor)  # out of fold: the rows of train
    new = predictor_predictions(predictor, test, models=known.names)
    y, y_test = known.codes(train["Class"]), new.codes(test["Class"])
    print("AutoGluon", log_loss(test["Class"], predictor.predict_proba(test)))
    for combiner in (EPPruner(pool="log", rule="max-density"), LogPool()):
        combiner.fit(known.F, y)
        p = combiner.probabilities(combiner.combine(new.F))
        print(combiner, log_loss(y_test, p), known.by_name(combiner.weights_))


if __name__ == "__main__":
    main()
