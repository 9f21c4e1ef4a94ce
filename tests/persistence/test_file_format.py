"""The archive of a model, its description, and what is no model file."""

import datetime
import gzip
import io
import json
import pickle
import re
import warnings
import zipfile
import zlib

import joblib
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
from committee.persistence.file_format import (
    FORMAT,
    MEMBER,
    SCHEMA,
    explained,
    read_archive,
    read_member,
)
from tests.persistence.archives import array_of, as_file, opened, written

readers = pytest.mark.parametrize("reader", [load, read_metadata])


class Hostile:
    """Writes a file when it is unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return open, (str(self.trace), "w")


def dumped(obj, **options):
    buffer = io.BytesIO()
    joblib.dump(obj, buffer, **options)
    return buffer.getvalue()


PICKLES = {
    **{f"pickle {p}": lambda o, p=p: pickle.dumps(o, protocol=p) for p in range(2, 6)},
    "gzipped pickle": lambda o: gzip.compress(pickle.dumps(o)),
    "zlib pickle": lambda o: zlib.compress(pickle.dumps(o)),
    "joblib": dumped,
    **{
        f"joblib {kind}": lambda o, kind=kind: dumped(o, compress=(kind, 3))
        for kind in ["zlib", "gzip", "bz2", "xz", "lzma"]
    },
}


@readers
@pytest.mark.parametrize("kind", PICKLES)
def test_a_hostile_pickle_is_refused_and_does_not_run(tmp_path, kind, reader):
    trace, path = tmp_path / "trace", tmp_path / "model.skops"
    path.write_bytes(PICKLES[kind](Hostile(trace)))
    with pytest.raises(ModelFileError) as caught:
        reader(path)
    assert not trace.exists()
    assert "can run any code" in str(caught.value)
    assert "joblib" in str(caught.value)


@pytest.mark.parametrize("text", ["colour,town\nred,Bonn\n", '{"a": 1}', "2.", "\0\1"])
def test_other_files_are_not_taken_for_a_pickle(tmp_path, text):
    path = tmp_path / "model.skops"
    path.write_text(text)
    with pytest.raises(ModelFileError, match="is not a model file"):
        load(path)


def test_the_hostile_pickle_would_have_run(tmp_path):
    pickle.loads(pickle.dumps(Hostile(tmp_path / "trace"))).close()
    assert (tmp_path / "trace").exists()


def test_a_pickle_with_an_archive_behind_it_is_refused(tmp_path):
    buffer = io.BytesIO(pickle.dumps(Hostile(tmp_path / "trace")))
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.writestr("schema.json", "{}")
    (tmp_path / "model.skops").write_bytes(buffer.getvalue())
    assert zipfile.is_zipfile(tmp_path / "model.skops")
    with pytest.raises(ModelFileError, match="is a pickle"):
        load(tmp_path / "model.skops")


def archive_of(**members):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, content in members.items():
            archive.writestr(name.replace("_", "."), content)
    return buffer.getvalue()


@readers
@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "is empty"),
        (b"a,b\n1,2\n", "is not a model file.*begins with b'a,b"),
        (archive_of(data_csv="1,2"), "without a model: it has no schema.json"),
        (archive_of(schema_json="{}")[:-10], "cut short or damaged"),
        (archive_of(schema_json="{}" * 99)[:60], "cut short or damaged"),
    ],
    ids=["empty", "text", "other zip", "truncated", "half"],
)
def test_what_is_no_model_is_named(tmp_path, content, message, reader):
    path = tmp_path / "model.skops"
    path.write_bytes(content)
    with pytest.raises(ModelFileError, match=message) as caught:
        reader(path)
    assert str(path) in str(caught.value)


@readers
def test_a_folder_and_a_missing_file(tmp_path, reader):
    with pytest.raises(ModelFileError, match="is a folder, not a model file"):
        reader(tmp_path)
    with pytest.raises(FileNotFoundError):
        reader(tmp_path / "missing.skops")


@pytest.mark.parametrize(
    "schema",
    ["", "[1, 2]", "{}", '{"protocol": 2}', '{"protocol": 999}', "[" * 100_000],
)
def test_an_archive_without_a_proper_model_is_explained(tmp_path, schema):
    path = tmp_path / "model.skops"
    path.write_bytes(archive_of(schema_json=schema))
    with pytest.raises(
        ModelFileError, match="is cut short or damaged, or made for other versions"
    ):
        load(path)


def test_a_damaged_member_is_noticed(tmp_path):
    data = bytearray(archive_of(schema_json="{}" + " " * 100))
    data[data.index(b"  ")] = ord("x")
    (tmp_path / "model.skops").write_bytes(data)
    with pytest.raises(ModelFileError, match="Bad CRC"):
        load(tmp_path / "model.skops")


def test_an_array_of_npz_is_a_zip_without_a_model(tmp_path):
    np.savez(tmp_path / "model.npz", a=np.zeros(2))
    with pytest.raises(ModelFileError, match="without a model"):
        read_archive(tmp_path / "model.npz")


def test_members_are_read_by_name():
    data = archive_of(schema_json="{}")
    assert read_member(data, "schema.json") == b"{}"
    assert read_member(data, "committee.json") is None


def test_explanations_keep_the_cause():
    not_here = "needs a module that is not installed"
    with pytest.raises(ModelFileError, match=not_here) as e, explained("m.skops"):
        import no_such_module  # noqa: F401
    assert isinstance(e.value.__cause__, ImportError)
    with pytest.raises(ModelFileError, match=r"^as it was$"), explained("m.skops"):
        raise ModelFileError("as it was")


@readers
def test_an_entry_for_a_newer_zip_is_refused(tmp_path, reader):
    data = bytearray(archive_of(schema_json="{}"))
    data[data.index(b"PK\x01\x02") + 6] = 99  # version needed to extract
    (tmp_path / "model.skops").write_bytes(data)
    with pytest.raises(ModelFileError, match="zip file version"):
        reader(tmp_path / "model.skops")


def test_names_out_of_a_file_do_not_steer_the_terminal(tmp_path):
    path = tmp_path / "model.skops"
    skops.io.dump(LinearRegression(), path)
    forged = read_member(path.read_bytes(), "schema.json").replace(
        b"LinearRegression", rb"Linear\u001b[2J\u202eRegression"
    )
    path.write_bytes(archive_of(schema_json=forged))
    with pytest.raises(ModelFileError) as caught:
        load(path)
    assert r"Linear\x1b[2J\u202eRegression" in str(caught.value)
    assert "\x1b" not in str(caught.value)


X = np.arange(24.0).reshape(12, 2) % 7
Y = np.array(["no", "yes", "maybe"])[np.arange(12) % 3]


@pytest.fixture
def path(tmp_path):
    return tmp_path / "model.skops"


def described_again(path, **changes):
    """Write the file again with another description, and its digest."""
    members = opened(path)
    description = {**json.loads(members[MEMBER]), **changes}
    written({**members, MEMBER: json.dumps(description).encode()}, path)


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
    with pytest.raises(ValueError, match="metadata must contain JSON values"):
        save(fitted(), path, metadata={"value": value})
    assert path.read_bytes() == b"old"


def test_a_file_of_skops_alone_has_no_description(path):
    skops.io.dump(LinearRegression().fit(X, X[:, 0]), path)
    assert read_metadata(path) == {}
    assert isinstance(load(path), LinearRegression)


@pytest.mark.parametrize("number", [FORMAT + 1, FORMAT - 1, 1, None, "two", 1.5])
def test_other_formats_are_refused_with_both_versions(path, number):
    save(fitted(), path)
    described_again(path, format=number, committee="9.1")
    assert read_metadata(path)["format"] == number
    with pytest.raises(
        ModelFileError,
        match=rf"written by committee 9\.1 in format {re.escape(repr(number))}; "
        rf"committee .* reads format {FORMAT} only: load it",
    ):
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
        with pytest.raises(ModelFileError, match="must contain a JSON object"):
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
        ("metadata", ["a"], "of type dict or NoneType. Got \\['a'\\]"),
        ("metadata", "text", "of type dict or NoneType. Got 'text'"),
        ("committee", 3, "of type str. Got 3"),
        ("created", {}, "of type str. Got {}"),
        ("classes", 1.5, "of type list or NoneType. Got 1.5"),
        ("n_members", True, "of type int or NoneType. Got True"),
    ],
)
def test_a_description_of_the_wrong_types_is_refused(path, name, value, kind):
    save(fitted(), path)
    described_again(path, **{name: value})
    for reader in (load, read_metadata):
        with pytest.raises(ModelFileError, match=f"'{name}' must be {kind}"):
            reader(path)


def test_a_file_that_changed_since_it_was_saved_is_refused(path):
    """One number, one name or one entry of the description is enough."""
    save(fitted(), path)
    whole = opened(path)
    (array, *_) = (name for name in whole if name.endswith(".npy"))
    other = array_of(whole[array])[::-1]
    schema = whole[SCHEMA].replace(b"min_samples_leaf", b"min_samples_sheaf")
    described = whole[MEMBER].replace(b'"maybe"', b'"may be"')
    changed = {array: as_file(other), SCHEMA: schema, MEMBER: described}
    for name, content in changed.items():
        assert content != whole[name]
        written({**whole, name: content}, path, sign=False)
        with pytest.raises(ModelFileError, match="has changed since it was saved"):
            load(path)
    for more_or_less in (
        {**whole, "more.txt": b""},
        {name: content for name, content in whole.items() if name != array},
        {**whole, MEMBER: re.sub(rb',\s*"sha256": "\w+"', b"", whole[MEMBER])},
    ):
        written(more_or_less, path, sign=False)
        with pytest.raises(ModelFileError, match="has changed since it was saved"):
            load(path)


def test_a_file_that_was_only_packed_anew_is_read(path):
    """Order and compression of the archive are no content."""
    save(fitted(), path, metadata={3: "a number as key", "ü": [1.5, None]})
    content = dict(reversed(opened(path).items()))
    with zipfile.ZipFile(path, "w", zipfile.ZIP_LZMA) as archive:
        for name, member in content.items():
            archive.writestr(name, member)
    assert load(path).n_members_ == 2


@readers
@pytest.mark.parametrize("name", [MEMBER, SCHEMA])
def test_a_run_of_spaces_is_not_read(path, reader, name):
    """Compressed to a thousandth, it would take the memory that it wants."""
    save(fitted(), path)
    whole = opened(path)
    written({**whole, name: whole[name] + b" " * 2**25}, path, sign=False)
    if (reader, name) == (read_metadata, SCHEMA):
        assert reader(path)["n_members"] == 2  # the schema is not read
        return
    with pytest.raises(ModelFileError, match=rf"{name} has 33,\d+,\d+ bytes, which"):
        reader(path)


def test_save_refuses_metadata_that_load_would_refuse(path):
    path.write_bytes(b"old")
    with pytest.raises(ModelFileError, match=r"committee.json has .* bytes, which"):
        save(fitted(), path, metadata={"spaces": " " * 2**25})
    assert path.read_bytes() == b"old"
