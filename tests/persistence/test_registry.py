"""Files know public names; where the code stands is nobody's business."""

import inspect
import json

import pytest
import skops.io
from sklearn.base import BaseEstimator

import committee
from committee import Average, Bagging, CommitteeRegressor, load
from committee.persistence import read_metadata, registry
from committee.persistence.trust import is_trusted
from tests.persistence.write_saved import FOLDER, MODELS, predictions


@pytest.mark.filterwarnings("ignore:.*was saved with scikit-learn:UserWarning")
@pytest.mark.parametrize("path", sorted(FOLDER.glob("*.skops")), ids=lambda p: p.stem)
def test_old_files_load_for_ever(path):
    """`python -m tests.persistence.write_saved` wrote them, once for each format."""
    known = read_metadata(path)["metadata"]
    assert predictions(load(path)) == pytest.approx(known["predictions"], rel=1e-6)


def test_every_kind_of_old_file_is_there():
    assert {path.stem for path in FOLDER.glob("*.skops")} >= MODELS.keys()


def test_public_estimators_are_registered_and_trusted():
    for name in committee.__all__:
        kind = getattr(committee, name)
        expected = inspect.isclass(kind) and issubclass(kind, BaseEstimator)
        assert (name in registry.types()) == expected
        assert is_trusted(f"{registry.__name__}.{name}") == expected


def test_registered_are_classes_of_ours_that_keep_what_they_are_given():
    for name, kind in registry.types().items():
        assert inspect.isclass(kind)
        assert kind.__module__.startswith("committee.")
        assert is_trusted(f"{kind.__module__}.{kind.__name__}")
        assert getattr(registry, name) is kind


def test_a_moved_class_is_found_by_its_old_name(tmp_path, monkeypatch):
    model = CommitteeRegressor(combiner=Average(), generator=Bagging(3))
    committee.save(model.fit([[0.0], [1.0]], [0.0, 1.0]), tmp_path / "m.skops")
    monkeypatch.setattr(Average, "__module__", "committee.elsewhere")
    assert type(load(tmp_path / "m.skops").combiner_) is Average


def test_names_of_keys_and_of_strangers_stay():
    node = {"__module__": "a.b", "__class__": "C"}
    ours = {"__module__": "committee.combiners.weights", "__class__": "Average"}
    schema = {**node, "content": {"__module__": ours, "__class__": node}}
    changed = json.loads(registry.with_registered_names(json.dumps(schema).encode()))
    new = {"__module__": registry.__name__, "__class__": "Average"}
    assert changed == {**node, "content": {"__module__": new, "__class__": node}}


def test_a_file_of_skops_alone_may_hold_a_committee(tmp_path):
    model = CommitteeRegressor(generator=Bagging(3)).fit([[0.0], [1.0]], [0.0, 1.0])
    skops.io.dump(model, tmp_path / "m.skops")
    assert load(tmp_path / "m.skops").predict([[0.0]]) == model.predict([[0.0]])


def test_the_registry_holds_nothing_else():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        registry.no_such_name  # noqa: B018
