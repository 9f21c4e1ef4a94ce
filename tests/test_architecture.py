"""Imports point downwards, modules stay small, every module has its tests."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "committee"
MODULES = {str(p.relative_to(SOURCE)): p for p in sorted(SOURCE.rglob("*.py"))}

LAYERS = [
    {"_typing"},
    {"_validation", "_progress", "_parallel", "_files", "_notebook"},
    {"linalg"},
    {"kernels", "distributed"},
    {"ep"},
    {"bayes"},
    {"ensembles"},
    {"predictions"},
    {"diagnostics", "export"},
    {"members", "coupled", "combiners"},
    {"growing", "_speaking"},
    {"base"},
    {"estimators"},
    {"pruning", "persistence", "compare"},
    {"displays"},
    {"reporting"},
    {"studies", "demo"},
    {"shell"},
    {"cli"},
]
HEIGHT = {name: i for i, layer in enumerate(LAYERS) for name in layer}
PACKAGES = (
    "linalg",
    "ep",
    "bayes",
    "distributed",
    "diagnostics",
    "members",
    "coupled",
    "combiners",
    "ensembles",
    "export",
    "pruning",
    "compare",
    "displays",
    "persistence",
    "reporting",
    "shell",
)

#: Modules without a test file of their own, and where they are tested instead.
TESTED_ELSEWHERE = {
    "members/base.py": "data classes and the abstract generator: in every members test",
    "members/out_of_fold.py": "the machine of Pool and RandomInits: test_pool.py",
    "ep/checks.py": "the door of all public functions: test_posterior, test_evidence",
    "ep/fitting.py": "the loop behind every posterior: test_posterior",
    "ep/gaussian_likelihood.py": "the regression half of test_posterior",
    "ep/likelihood.py": "a protocol without code",
    "ep/loo.py": "leave-one-out against explicit removal: test_posterior",
    "ep/moments.py": "moments against rows: test_posterior, test_evidence",
    "ep/moves.py": "gains and best alphas: test_evidence",
    "ep/path.py": "rules and columns of the path: test_evidence",
    "ep/probit_likelihood.py": "the classification half of test_posterior",
    "ep/probit_rows.py": "blocks against whole sweeps: test_posterior",
    "ep/sequence.py": "the loop behind every path: test_evidence",
    "ep/targets.py": "rows of a regression: test_posterior, test_evidence",
    "ep/threads.py": "threads are given back: test_evidence",
    "ep/truncated.py": "truncations against integration: test_posterior",
    "ep/votes.py": "rows of votes: test_posterior, test_evidence",
    "combiners/evidence_pruner.py": "what EPPruner and ARDPruner share: test_bayesian.py",
    "pruning/workshop.py": "what prune() puts together: test_prune and test_path",
    "compare/table.py": "how a comparison prints: test_comparison",
    "export/finish.py": "labels and inputs of the files: tests/export/test_onnx.py",
    "export/graph.py": "what onnxruntime runs: tests/export/test_onnx.py",
    "shell/columns.py": "which columns there are: tests/shell/test_encoding.py",
    "shell/demo_command.py": "what it prints: tests/test_cli.py",
    "shell/options.py": "help and completion: tests/test_cli.py",
    "combiners/base.py": "the contract of all combiners: tests/test_combiners.py",
}


def _imports(path):
    """The modules of this package that a file imports, wherever the line stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            depth = len(path.relative_to(SOURCE).parts)
            if 0 < node.level < depth:
                continue  # relative, within its package
            names = [node.module or ""]
            if node.level == depth:
                names = [f"committee.{node.module}"]
            if (node.module or "committee") == "committee":
                names = [f"committee.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name.split(".")[1] for name in names if name[:10] == "committee.")


def _home(name):
    """The top-level module or package that a file belongs to."""
    return name.split("/")[0].removesuffix(".py")


@pytest.mark.parametrize(
    "name", sorted(MODULES.keys() - {"__init__.py", "__main__.py"})
)
def test_imports_point_to_lower_layers(name):
    home = _home(name)
    for imported in _imports(MODULES[name]):
        assert imported == home or HEIGHT[imported] < HEIGHT[home], (
            f"{name} (layer {HEIGHT[home]}) imports {imported} "
            f"(layer {HEIGHT.get(imported)})"
        )


@pytest.mark.parametrize("name", MODULES)
def test_modules_are_small_and_finished(name):
    text = MODULES[name].read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 400
    assert "TODO" not in text
    assert "FIXME" not in text
    assert ast.get_docstring(ast.parse(text)), "a module says what it is for"


@pytest.mark.parametrize(
    "name",
    [n for n in MODULES if _home(n) in PACKAGES and not n.endswith("__init__.py")],
)
def test_modules_have_a_test_file_of_their_name(name):
    package, module = name.split("/")
    found = (ROOT / "tests" / package / f"test_{module}").exists()
    assert found != (name in TESTED_ELSEWHERE), (
        f"write tests/{package}/test_{module}, or say in TESTED_ELSEWHERE where "
        f"{name} is tested (and remove the line when it has a file of its own)"
    )


def test_exemptions_name_modules_that_exist():
    assert TESTED_ELSEWHERE.keys() <= MODULES.keys()
