"""report(): any ensemble, a page as a text and as a file."""

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import GradientBoostingClassifier, RandomForestRegressor
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from committee import (
    Bagging,
    CommitteeClassifier,
    CommitteeRegressor,
    report,
)


def test_the_file_is_the_text(classifier, tmp_path):
    committee, X, y = classifier
    path = tmp_path / "page.html"
    path.write_text("an old page", encoding="utf-8")
    html = report(committee, X, y, path, title="Wine")
    assert path.read_text(encoding="utf-8") == html
    assert "<title>Wine</title>" in html
    assert len(html.encode()) < 700_000
    assert [p.name for p in tmp_path.iterdir()] == ["page.html"]


def test_an_old_page_stays_where_the_new_one_fails(classifier, tmp_path):
    committee, X, _ = classifier
    path = tmp_path / "page.html"
    path.write_text("an old page", encoding="utf-8")
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        report(committee, X, [0], path)
    assert path.read_text(encoding="utf-8") == "an old page"


def test_numbers_have_residuals_and_classes_a_confusion_matrix(classifier, regressor):
    assert "residuals-chart" in report(*regressor)
    page = report(*classifier)
    assert 'class="confusion"' in page
    assert "A committee of " in page


def test_the_data_are_left_alone(classifier):
    committee, X, y = classifier
    before, weights = X.copy(), committee.weights_.copy()
    report(committee, X, y, sample_weight=y + 1.0)
    assert (before == X).all()
    assert (weights == committee.weights_).all()


@pytest.mark.parametrize("model", ["forest", "booster", "pipeline", "list"])
def test_other_ensembles_have_a_page(model, classifier, regressor):
    X, y = load_iris(return_X_y=True)
    committee = CommitteeClassifier(generator=Bagging(4), random_state=0)
    if model == "forest":
        _, X, y = regressor
        made = RandomForestRegressor(4, random_state=0).fit(X, y)
    elif model == "booster":
        made = GradientBoostingClassifier(n_estimators=3, random_state=0).fit(X, y)
    elif model == "pipeline":
        made = make_pipeline(StandardScaler(), committee).fit(X, y)
    else:
        made = committee.fit(X, y).members_
    assert "<h2" in report(made, X, y)


def test_a_member_alone_has_a_page(regressor):
    _, X, y = regressor
    one = CommitteeRegressor(generator=Bagging(1), random_state=0).fit(X, y)
    assert "1 of 1" in report(one, X, y)


def test_rows_of_one_class_have_a_page(classifier):
    committee, X, y = classifier
    one = X[y == 0]
    page = report(committee, one, y[y == 0])
    assert "Where does it err?" in page


def test_what_is_no_fitted_ensemble_is_refused(classifier):
    _, X, y = classifier
    with pytest.raises(NotFittedError):
        report(CommitteeClassifier(), X, y)
    with pytest.raises(TypeError, match="must be one of"):
        report(StandardScaler(), X, y)
