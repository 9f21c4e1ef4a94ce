"""The package as a user sees it: names, docstrings and what an import costs."""

import ast
import inspect
import re
import subprocess
import sys
import types
from importlib import import_module
from pathlib import Path

import pytest

import committee
from committee import _hints
from committee.combiners.order_pruner import CRITERIA

PUBLIC = [name for name in committee.__all__ if name != "__version__"]


def test_all_is_sorted_and_the_public_namespace():
    assert committee.__all__ == sorted(committee.__all__)
    assert set(PUBLIC) == set(committee._MODULE_OF)
    assert set(committee.__all__) <= set(dir(committee))
    namespace = {
        name
        for name, value in vars(committee).items()
        if not name.startswith("_") and not isinstance(value, types.ModuleType)
    }
    assert namespace - set(PUBLIC) == {
        "TYPE_CHECKING",
        "Any",
        "find_spec",
        "import_module",
    }


def test_type_checkers_see_every_name_where_it_comes_from():
    """The imports that a checker reads, and the ones that are done on first use."""
    tree = ast.parse(Path(committee.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    seen = {
        (node.module, alias.name)
        for node in block.body
        for alias in node.names
        if node.module != "committee"
    }
    modules = committee._MODULE_OF.items()
    assert seen == {(f"committee.{module}", name) for name, module in modules}


def test_every_name_can_be_imported_and_there_are_no_others():
    for name in committee.__all__:
        assert getattr(committee, name) is not None
    assert committee.__version__
    with pytest.raises(AttributeError):
        committee.no_such_name  # noqa: B018


def test_objects_are_equal_to_themselves_only_and_can_be_keys():
    """Arrays among their fields have no single truth."""
    for name in PUBLIC:
        kind = getattr(committee, name)
        if inspect.isclass(kind) and not issubclass(kind, Exception):
            assert kind.__eq__ is object.__eq__, name
            assert kind.__hash__ is object.__hash__, name


def test_every_name_is_documented_with_an_example():
    docs = {name: inspect.getdoc(getattr(committee, name)) for name in PUBLIC}
    assert not [n for n, doc in docs.items() if len(doc.splitlines()[0]) > 80]
    assert not [n for n, doc in docs.items() if "Examples\n--------\n" not in doc]
    assert not [n for n, doc in docs.items() if ">>> " not in doc]


def _made_by_users():
    """Public names with a signature of their own; the others the library makes."""
    for name in PUBLIC:
        thing = getattr(committee, name)
        if not (inspect.isclass(thing) and issubclass(thing, (tuple, Exception))):
            yield name, thing


def test_every_parameter_is_documented():
    """Of classes in the class docstring, of functions in their own."""
    assert not [
        f"{name}({parameter})"
        for name, thing in _made_by_users()
        for parameter in inspect.signature(thing).parameters
        if not re.search(rf"[\n, ]{parameter}( :|,)", inspect.getdoc(thing))
    ]


def _documented_defaults(thing):
    """Names and defaults of parameters, as their lines in the docstring have them."""
    doc = inspect.getdoc(thing).replace("\\\n", "")
    for names, default in re.findall(
        r"^(\w[\w, ]*) : .*default=([^\s,]+|\"[^\"]*\")$", doc, re.MULTILINE
    ):
        for name in names.split(", "):
            yield name, default


def test_documented_defaults_are_the_defaults():
    for name, thing in _made_by_users():
        signature = inspect.signature(thing).parameters
        for parameter, text in _documented_defaults(thing):
            default = signature[parameter].default
            assert default == ast.literal_eval(text), f"{name}({parameter})"


def test_public_methods_are_documented():
    assert not [
        f"{name}.{method}"
        for name in PUBLIC
        for method, value in inspect.getmembers(
            getattr(committee, name), inspect.isfunction
        )
        if not method.startswith("_")
        and value.__module__.startswith("committee")
        and not inspect.getdoc(value)
    ]


HEAVY = [
    "lightgbm",
    "xgboost",
    "catboost",
    "matplotlib",
    "pandas",
    "polars",
    "typer",
    "rich",
    "click",
    "IPython",
    "jinja2",
]


def _run(code):
    """Run in a fresh interpreter and return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert done.stderr == ""
    return done.stdout.strip()


def test_import_pulls_in_nothing():
    """Whoever asks for the version does not wait for SciPy."""
    found = _run("import sys, committee; dir(committee); print(*sys.modules)").split()
    assert not {"numpy", "scipy", "sklearn", *HEAVY} & set(found)
    assert "committee.combiners" not in found


def test_packages_are_there_without_an_import_of_their_own():
    code = "import committee; print(committee.ensembles, committee.compare.friedman)"
    assert "friedman" in _run(code)


def test_models_pull_in_nothing_heavy():
    """Nothing that scikit-learn (which from 1.9 on takes pandas and rich) does not."""
    assert (
        _run(
            "import sys, sklearn.ensemble, sklearn.model_selection\n"
            "before = set(sys.modules)\n"
            "from committee import CommitteeClassifier, LSSVMClassifier, load, prune\n"
            f"print(sorted((set(sys.modules) - before) & set({HEAVY})))"
        )
        == "[]"
    )


@pytest.mark.slow
def test_import_and_fit_work_where_nothing_heavy_is_installed():
    assert (
        _run(
            "import sys\n"
            "class Missing:\n"
            "    def find_spec(self, name, path=None, target=None):\n"
            f"        if name.split('.')[0] in {HEAVY}:\n"
            "            raise ModuleNotFoundError(name)\n"
            "sys.meta_path.insert(0, Missing())\n"
            "import committee\n"
            "committee.CommitteeRegressor(generator=committee.Bagging(2)).fit("
            "[[0.0], [1.0]], [0.0, 1.0])\n"
            "print('fitted')"
        )
        == "fitted"
    )


@pytest.mark.parametrize(
    ("module", "old", "new"),
    [
        ("committee", "KappaPruner", 'OrderPruner("kappa")'),
        (
            "committee",
            "HierarchicalMixtureRegressor",
            "MixtureOfExpertsRegressor(depth=2)",
        ),
        ("committee", "shrink", "refine"),
        ("committee.ep", "Site", "committee.ep.sites.tilted"),
        ("committee.linalg", "solve_block_indefinite", "solve_blocks_indefinite"),
    ],
)
def test_former_names_say_what_to_use(module, old, new):
    text = re.escape(f"{old!r}: use {new}")
    with pytest.raises(AttributeError, match=text):
        getattr(import_module(module), old)
    with pytest.raises(ImportError, match=text):
        exec(f"from {module} import {old}")  # noqa: S102
    assert not hasattr(import_module(module), old)


def test_what_replaces_a_former_name_exists():
    assert set(_hints._CRITERIA.values()) == {*CRITERIA, "random"} - {"kl-rows"}
    for old, new in _hints._OTHERS.items():
        assert not hasattr(committee, old)
        own = re.match(r"([A-Z]\w+)", new)
        assert own is None or hasattr(committee, own[1])
