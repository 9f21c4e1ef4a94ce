"""What a file holds about itself."""

import datetime
import io
import json
import warnings
import zipfile

import numpy as np
import pandas as pd
import pytest
import sklearn
import skops.io
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import committee
from committee import (
    Bagging,
    CommitteeClassifier,
    ModelFileError,
    OrderPruner,
    load,
    save,
)
from committee.persistence import read_metadata
from committee.persistence.metadata import FORMAT

X = np.arange(24.0).reshape(12, 2) % 7
Y = np.array(["no", "yes", "maybe"])[np.arange(12) % 3]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def described_again(path, **changes):
    """Write the file again with another description."""
    data = path.read_bytes()
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(buffer, "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name == "committee.json":
                content = json.dumps({**json.loads(content), **changes}).encode()
            new.writestr(name, content)
    path.write_bytes(buffer.getvalue())


def fitted():
    pruned = CommitteeClassifier(
        generator=Bagging(5), combiner=OrderPruner("best", 2), random_state=0
    )
    return pruned.fit(pd.DataFrame(X, columns=["width", "height"]), Y)


def test_a_committee_is_described(path):
    before = datetime.datetime.now(datetime.UTC).replace(microsecond=0)
    save(fitted(), path, metadata={"data": "toy", "seed": 1, "tags": [None, True]})
    found = read_metadata(path)
    assert found["format"] == FORMAT
    assert found["committee"] == committee.__version__
    assert found["scikit-learn"] == sklearn.__version__
    assert found["numpy"] == np.__version__
    assert found["kind"] == "classifier"
    assert found["class"] == "committee.CommitteeClassifier"
    assert found["n_members"] == 2
    assert found["n_features"] == 2
    assert found["feature_names"] == ["width", "height"]
    assert found["classes"] == ["maybe", "no", "yes"]
    assert found["metadata"] == {"data": "toy", "seed": 1, "tags": [None, True]}
    created = datetime.datetime.fromisoformat(found["created"])
    assert before <= created <= datetime.datetime.now(datetime.UTC)


@pytest.mark.parametrize(
    ("model", "kind", "n_members"),
    [
        (LinearRegression(), "regressor", None),
        (StandardScaler(), "other", None),
        (GradientBoostingRegressor(n_estimators=4), "regressor", 4),
        (
            make_pipeline(StandardScaler(), RandomForestClassifier(n_estimators=3)),
            "classifier",
            3,
        ),
    ],
)
def test_other_models_are_described_too(path, model, kind, n_members):
    save(model.fit(X, np.arange(12) % 2), path)
    found = read_metadata(path)
    assert (found["kind"], found["n_members"]) == (kind, n_members)
    assert found["n_features"] == 2
    assert found["feature_names"] is None


@pytest.mark.parametrize("value", [np.zeros(2), float("nan"), {1, 2}, object()])
def test_metadata_must_be_json(path, value):
    path.write_bytes(b"old")
    with pytest.raises(ValueError, match="metadata must hold JSON values"):
        save(fitted(), path, metadata={"value": value})
    assert path.read_bytes() == b"old"


def test_a_file_of_skops_alone_has_no_description(path):
    skops.io.dump(LinearRegression().fit(X, X[:, 0]), path)
    assert read_metadata(path) == {}
    assert isinstance(load(path), LinearRegression)


def test_a_newer_format_is_refused_with_both_versions(path):
    save(fitted(), path)
    described_again(path, format=FORMAT + 1, committee="9.1")
    assert read_metadata(path)["format"] == FORMAT + 1
    with pytest.raises(
        ModelFileError,
        match=rf"written by committee 9\.1, format {FORMAT + 1}; this is committee "
        rf".* reads up to format {FORMAT}: upgrade",
    ):
        load(path)


def test_files_from_before_the_first_release_are_refused(path):
    save(fitted(), path)
    described_again(path, format=1)
    with pytest.raises(ModelFileError, match=r"no longer read: fit and save.*again\.$"):
        load(path)


@pytest.mark.parametrize("number", [None, "1", 0, -1, 1.5])
def test_a_format_must_be_a_number(path, number):
    save(fitted(), path)
    described_again(path, format=number)
    with pytest.raises(ModelFileError, match="format must be a whole number"):
        load(path)


def test_a_description_must_be_an_object(path):
    save(fitted(), path)
    data = path.read_bytes()
    buffer = io.BytesIO(data)
    with (
        pytest.warns(UserWarning, match="Duplicate name"),
        zipfile.ZipFile(buffer, "a") as archive,
    ):
        archive.writestr("committee.json", "[1]")
    path.write_bytes(buffer.getvalue())
    for reader in (load, read_metadata):
        with pytest.raises(ModelFileError, match="must hold a JSON object"):
            reader(path)


def test_another_scikit_learn_is_warned_of_once(path, monkeypatch):
    """Not once for each member, as scikit-learn itself would."""
    monkeypatch.setattr("sklearn.__version__", "0.1.2")
    monkeypatch.setattr("sklearn.base.__version__", "0.1.2")
    save(fitted(), path)
    monkeypatch.undo()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        load(path)
    (warning,) = caught
    assert "saved with scikit-learn 0.1.2; this is " in str(warning.message)
    assert sklearn.__version__ in str(warning.message)
    assert warning.filename == __file__


def test_another_patch_of_scikit_learn_is_no_warning(path):
    save(fitted(), path)
    described_again(path, **{"scikit-learn": sklearn.__version__ + "9"})
    load(path)


@pytest.mark.parametrize(
    ("name", "value", "kind"),
    [
        ("metadata", ["a"], "an object or null. Got a list"),
        ("metadata", "text", "an object or null. Got text"),
        ("committee", 3, "text. Got a whole number"),
        ("created", {}, "text. Got an object"),
        ("classes", 1.5, "a list or null. Got a number"),
        ("n_members", True, "a whole number or null. Got true or false"),
    ],
)
def test_a_description_of_the_wrong_types_is_refused(path, name, value, kind):
    save(fitted(), path)
    described_again(path, **{name: value})
    for reader in (load, read_metadata):
        with pytest.raises(ModelFileError, match=f"'{name}' must be {kind}"):
            reader(path)
