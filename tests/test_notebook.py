"""The three numbers above a committee's diagram in a notebook."""

from dataclasses import replace

import numpy as np
import pytest
import sklearn
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier

from committee import Average, Bagging, CommitteeClassifier, EPPruner, prune
from committee._format import figures

X, Y = load_iris(return_X_y=True)


def shown(committee):
    """What stands before scikit-learn's diagram."""
    return committee._repr_html_().split("<style>")[0]


def fitted(combiner, **options):
    committee = CommitteeClassifier(
        generator=Bagging(8), combiner=combiner, random_state=0, **options
    )
    return committee.fit(X, Y)


def test_a_committee_shows_its_held_out_error():
    committee = fitted(EPPruner())
    assert f"<b>{figures(committee.held_out_error_)}</b> held-out error rate" in shown(
        committee
    )


def test_a_committee_shows_members_and_leave_one_out_error():
    committee = fitted(EPPruner(), weigh_on="train")
    assert f"<b>{committee.n_members_} of 8</b> members" in shown(committee)
    step = committee.combiner_.posterior_
    assert f"{figures(step.loo_error)} ± {figures(step.loo_se, 1)}" in shown(committee)


def test_a_pruned_ensemble_shows_its_bytes_too():
    forest = RandomForestClassifier(30, max_depth=2, random_state=0).fit(X, Y)
    small = prune(forest, X, Y, oob=True)
    assert f"<b>{small.n_members_} of 30</b> members" in shown(small)
    assert "of the bytes" not in shown(small)  # nothing is measured for a headline
    share = small.summary().bytes_after / small.summary().bytes_before
    assert f"<b>{100 * share:.3g} %</b> of the bytes" in shown(small)


def test_what_is_not_known_is_left_out():
    assert shown(fitted(Average(), calibration=None)).count("<b>") == 1
    assert shown(CommitteeClassifier()) == ""


def test_the_diagram_is_still_there_and_can_be_turned_off():
    committee = fitted(None)
    bundle = committee._repr_mimebundle_()
    assert "sk-container" in bundle["text/html"]
    assert bundle["text/html"].startswith("<div><span")
    with sklearn.config_context(display="text"):
        assert not hasattr(committee, "_repr_html_")
        assert "text/html" not in committee._repr_mimebundle_()


@pytest.mark.parametrize("name", ["<script>alert(1)</script>"])
def test_names_of_columns_stay_text(name):
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({name: X[:, 0]})
    labels = np.array([name, "b", "c"])[Y]
    committee = CommitteeClassifier(generator=Bagging(2), random_state=0)
    assert name not in committee.fit(frame, labels)._repr_html_()


def test_an_error_of_prune_is_told_to_be_cross_fitted():
    forest = RandomForestClassifier(20, max_depth=2, random_state=0).fit(X, Y)
    small = prune(forest, X, Y, oob=True)
    assert "leave-one-out" in shown(small)
    small.summary()
    assert "held-out error rate" in shown(small)


def test_a_spread_of_nothing_is_left_out():
    committee = fitted(EPPruner())
    step = committee.combiner_.posterior_
    committee.combiner_.posterior_ = replace(step, loo_se=0.0)
    assert "±" not in shown(committee)
