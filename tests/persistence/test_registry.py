"""Names of classes in files, and the types that are trusted."""

import inspect
import io
import json
import subprocess
import sys
import zipfile

import numpy as np
import pytest
import skops.io
from sklearn.base import BaseEstimator
from sklearn.linear_model import LinearRegression

import committee
from committee import Average, Bagging, CommitteeRegressor, ModelFileError, load, save
from committee.persistence import registry
from committee.persistence.registry import is_trusted, type_names


def test_public_estimators_are_registered_and_trusted():
    for name in committee.__all__:
        kind = getattr(committee, name)
        expected = inspect.isclass(kind) and issubclass(kind, BaseEstimator)
        assert (name in registry.CLASSES) == expected
        assert is_trusted(f"{registry.__name__}.{name}") == expected


def test_registered_are_classes_of_ours_that_keep_what_they_are_given():
    for name in registry.CLASSES:
        kind = getattr(registry, name)
        assert inspect.isclass(kind)
        assert kind.__module__.startswith("committee.")
        assert is_trusted(f"{kind.__module__}.{kind.__name__}")
        assert registry.public_name(kind) == f"committee.{name}"


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


def test_a_file_imports_the_classes_that_it_names_only(tmp_path):
    model = CommitteeRegressor(generator=Bagging(3)).fit([[0.0], [1.0]], [0.0, 1.0])
    save(model, tmp_path / "m.skops")
    code = (
        "import sys; from committee.persistence import load, registry;"
        "print([registry.is_trusted(n) for n in ('committee.cells.X', 'a.LSSVMRegressor')]);"
        "load(sys.argv[1]);"
        "print([n for n in ('base_committee', 'cells', 'coupled', 'mixtures', 'networks')"
        " if 'committee.' + n in sys.modules])"
    )
    arguments = [sys.executable, "-c", code, str(tmp_path / "m.skops")]
    found = subprocess.run(arguments, capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == ["[False, False]", "['base_committee']"]


def test_the_registry_holds_nothing_else():
    with pytest.raises(AttributeError, match="has no attribute 'no_such_name'"):
        registry.no_such_name  # noqa: B018


# Files of other libraries' types say so when they are written; one test is about that.
pytestmark = pytest.mark.filterwarnings("ignore:.*is written. It contains types")

X = np.arange(8.0).reshape(4, 2)


class Mine(LinearRegression):
    """A member that this library does not know."""


@pytest.mark.parametrize(
    "name",
    [
        "os.system",
        "posix.system",
        "builtins.eval",
        "builtins.getattr",
        "operator.methodcaller",
        "functools.partial",
        "committee.persistence.save_load.load",
        "committee.persistence.file_format.ModelFileError",
        "committee.predictions.combine",
        "committee.committee.np",
        "committee.committee.BaseCommittee",
        "committee.base_committee.BaseCommittee",
        "committee.Average",
        "committee.persistence.registry.CLASSES",
        "committee.persistence.registry.json",
        "committee.persistence.registry.WeightsDisplay",
        "committee.persistence.registry.ModelFileError",
        "committee.committee.CommitteeClassifier.fit",
        "committee.committee.CommitteeClassifier.",
        "committee.ep.path",
        "committee.ep",
        "committee",
        "committee.",
        "committee.committee.no_such_thing",
        "committee.no_such_module.Thing",
        "committee.combiners.no_such_module.Thing",
        "committee_evil.estimators.CommitteeClassifier",
        "sklearn.utils._testing.SkipTest",
        "",
        ".",
    ],
)
def test_these_are_not_trusted(name):
    assert not is_trusted(name)


def test_types_are_given_by_name_or_as_they_are():
    name = f"{__name__}.Mine"
    assert type_names([Mine, "a.B"]) == {name, "a.B"}
    for wrong in ("a.B", True, None, 3):
        with pytest.raises(TypeError, match="list of types or of their names"):
            type_names(wrong)


def test_an_unknown_type_is_refused_by_name_until_it_is_trusted(tmp_path):
    path = tmp_path / "model.skops"
    model = CommitteeRegressor(Mine(), generator=Bagging(3), random_state=0)
    save(model.fit(X, X[:, 0]), path)
    name = f"{__name__}.Mine"
    with pytest.raises(ModelFileError, match="not known to be safe") as caught:
        load(path)
    assert f"trusted=['{name}']" in str(caught.value)
    for trusted in ([name], [Mine], (Mine, "another.Type")):
        again = load(path, trusted=trusted)
        assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("wrong", ["a.B", True, None])
def test_trusted_must_be_a_list(tmp_path, wrong):
    save(LinearRegression().fit(X, X[:, 0]), tmp_path / "m.skops")
    with pytest.raises(TypeError, match="trusted must be a list"):
        load(tmp_path / "m.skops", trusted=wrong)


def node(loader, module, name, **rest):
    return {"__class__": name, "__module__": module, "__loader__": loader, **rest}


def json_node(value):
    return node("JsonNode", "builtins", "str", content=json.dumps(value))


def call(module, name, *arguments):
    """A node that calls something by name."""
    content = node(
        "TupleNode", "builtins", "tuple", content=[json_node(a) for a in arguments]
    )
    return node("ConstructorFromReduceNode", module, name, content=content)


def partial_of(function, *arguments):
    return node(
        "PartialNode",
        "functools",
        "partial",
        content={
            "func": function,
            "args": node(
                "TupleNode",
                "builtins",
                "tuple",
                content=[json_node(a) for a in arguments],
            ),
            "kwds": json_node({}),
            "namespace": json_node(None),
        },
    )


TOUCH = {
    "call": lambda trace: call("os", "system", f"touch {trace}"),
    "open": lambda trace: call("io", "open", trace, "w"),
    "function": lambda trace: node("FunctionNode", "os", "system"),
    "type": lambda trace: node("TypeNode", "os", "system"),
    "object": lambda trace: node("ObjectNode", "subprocess", "Popen"),
    "partial": lambda trace: partial_of(node("FunctionNode", "os", "system"), trace),
    "operator": lambda trace: node(
        "OperatorFuncNode",
        "operator",
        "methodcaller",
        attrs=node("TupleNode", "builtins", "tuple", content=[json_node("fit")]),
    ),
    "our function": lambda trace: call("committee._files", "replaced_atomically"),
    "our loader": lambda trace: call("committee.persistence.save_load", "load", trace),
    "method of ours": lambda trace: node(
        "MethodNode",
        "committee.combiners.weights",
        "Average",
        content={
            "obj": node("ObjectNode", "committee.combiners.weights", "Average"),
            "func": "fit",
        },
    ),
    "disguised as a trusted name": lambda trace: node(
        "MethodNode",
        "committee.ep",
        "path",
        content={
            "obj": node("JsonNode", "committee.ep", "path", content="{}"),
            "func": "Path",
        },
    ),
    "imported by a module of ours": lambda trace: call(
        "committee.persistence.registry", "importlib", "os"
    ),
    "function of the registry": lambda trace: call(
        "committee.persistence.registry", "with_registered_names", "{}"
    ),
    "key of a dictionary": lambda trace: node(
        "DictNode",
        "builtins",
        "dict",
        content={f"touch {trace}": json_node(1)},
        key_types=node(
            "ListNode",
            "builtins",
            "list",
            content=[node("TypeNode", "os", "system")],
        ),
    ),
    "bit generator": lambda trace: node(
        "RandomGeneratorNode",
        "numpy.random",
        "Generator",
        content={
            "bit_generator": node(
                "DictNode",
                "builtins",
                "dict",
                content={"bit_generator": json_node("seed")},
                key_types=node("ListNode", "builtins", "list", content=[]),
            ),
            "seed_seq": json_node({}),
        },
    ),
}


@pytest.mark.parametrize("kind", TOUCH)
def test_a_schema_that_names_something_else_is_refused(tmp_path, kind):
    trace, path = tmp_path / "trace", tmp_path / "model.skops"
    schema = TOUCH[kind](str(trace))
    for protocol in (0, 1, 2):
        with zipfile.ZipFile(path, "w") as archive:
            schema["protocol"] = protocol
            archive.writestr("schema.json", json.dumps(schema))
        with pytest.raises(ModelFileError):
            load(path)
        assert not trace.exists()


def test_a_graft_on_a_real_model_is_refused(tmp_path):
    """The rest of the file is as it was; one attribute is a call."""
    trace, path = tmp_path / "trace", tmp_path / "model.skops"
    model = LinearRegression().fit(X, X[:, 0])
    model.grafted = 12345
    data = skops.io.dumps(model)
    with (
        zipfile.ZipFile(io.BytesIO(data)) as old,
        zipfile.ZipFile(path, "w") as new,
    ):
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json":
                schema = json.loads(content)
                schema["content"]["content"]["grafted"] = call(
                    "posix", "system", f"touch {trace}"
                )
                content = json.dumps(schema)
            new.writestr(name, content)
    with pytest.raises(ModelFileError, match=r"not known to be safe: posix\.system"):
        load(path)
    assert not trace.exists()
    load(path, trusted=["posix.system"])
    assert trace.exists()  # the type was trusted
