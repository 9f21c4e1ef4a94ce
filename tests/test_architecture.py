"""Imports point downwards, modules stay small, every module has its tests."""

import ast
import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "committee"
MODULES = {str(p.relative_to(SOURCE)): p for p in sorted(SOURCE.rglob("*.py"))}

LAYERS = [
    {"_typing"},
    {
        "_validation",
        "_progress",
        "_parallel",
        "_files",
        "_install",
        "_format",
        "combiner_names",
    },
    {"_notebook", "linalg", "path_source", "path_table", "routing"},
    {"kernels", "distributed", "path", "probabilities"},
    {"ep", "cells", "calibration", "targets"},
    {"bayes"},
    {"ensembles"},
    {"predictions", "importances", "deviations"},
    {"diagnostics", "export", "training_sets"},
    {"votes"},
    {"members", "combiners", "refining"},
    {"gates", "interop", "networks", "weighing_rows"},
    {"weighing", "saved_state", "crossfit"},
    {"held_members", "uncertainty"},
    {"coupled"},
    {"mixtures", "gated_members", "chunk_checks", "class_probabilities"},
    {"base"},
    {"estimators"},
    {"pruning", "persistence", "compare"},
    {"displays"},
    {"reporting"},
    {"demo"},
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
    "cells",
    "coupled",
    "combiners",
    "gates",
    "interop",
    "mixtures",
    "networks",
    "ensembles",
    "export",
    "uncertainty",
    "pruning",
    "refining",
    "compare",
    "displays",
    "persistence",
    "reporting",
    "shell",
)

#: Modules without a test file of their own, and where they are tested instead.
TESTED_ELSEWHERE = {
    "cells/groups.py": "what a group does: tests/cells/test_chunked_train.py",
    "cells/chunked_joint.py": "gathered, exchanged: tests/cells/test_chunked_train.py",
    "networks/layout.py": "matrices in a row of weights: test_layers",
    "networks/rows.py": "orders, and rows to be stopped on: test_training",
    "networks/network.py": "settings, training, weights: test_estimators",
    "mixtures/base.py": "restarts and what is kept: tests/mixtures/test_experts.py",
    "members/base.py": "data classes and the abstract generator: in every members test",
    "ep/arrays.py": "checks, units and blocks of rows: test_posterior, test_evidence",
    "ep/fitting.py": "the loop behind every posterior, truncations: test_posterior",
    "ep/likelihood.py": "the two likelihoods: test_posterior, test_evidence",
    "ep/loo.py": "leave-one-out against explicit removal: test_posterior",
    "ep/moves.py": "gains and best alphas: test_evidence",
    "ep/sequence.py": "the loop behind every path: test_evidence",
    "ep/steps.py": "steps and the rules to prefer one: test_evidence",
    "ep/targets.py": "moments and rows of a regression: test_posterior",
    "ep/probit_rows.py": "signed rows, blocks against sweeps: test_posterior",
    "combiners/posterior_draws.py": "what MCMCPruner draws: test_mcmc_pruner",
    "combiners/evidence_pruner.py": "what EPPruner and ARDPruner share: test_ep_pruner",
    "pruning/refined_trees.py": "problems and committees of trees: test_refine",
    "pruning/refined_sizes.py": "bytes, tolerance and the path: test_refine",
    "pruning/refined_summary.py": "intervals and summaries: test_refine",
    "pruning/tree_rows.py": "nodes and leaves of members: test_refine",
    "refining/problem.py": "rows, folds and cuts: test_choice",
    "pruning/recipe.py": "what a clone of a pruned committee is: test_pruned",
    "pruning/keep.py": "what prune and its estimators share: test_prune, test_pruned",
    "pruning/pruning_data.py": "rows in memory: test_prune; in chunks: test_chunked_data",
    "linalg/soft_margin.py": "the programme: tests/combiners/test_programming.py",
    "ensembles/hist_boosting.py": "test_rounds.py, test_gradient_boosting.py",
    "export/graph.py": "what onnxruntime runs: tests/export/test_onnx.py",
    "export/links.py": "what onnxruntime runs: tests/export/test_onnx.py",
    "shell/columns.py": "which columns there are: tests/shell/test_encoding.py",
    "shell/reading.py": "formats in training and later: tests/shell/test_formats.py",
    "shell/demo_command.py": "what it prints: tests/test_cli.py",
    "shell/options.py": "help and completion: tests/test_cli.py",
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


def test_imports_point_to_lower_layers():
    wrong = [
        f"{name} (layer {HEIGHT[home]}) imports {imported} "
        f"(layer {HEIGHT.get(imported)})"
        for name in sorted(MODULES.keys() - {"__init__.py", "__main__.py"})
        for home in [_home(name)]
        for imported in _imports(MODULES[name])
        if imported != home and HEIGHT[imported] >= HEIGHT[home]
    ]
    assert not wrong


def test_only_two_packages_know_dask():
    """Another engine's collections would be another file of distributed/."""
    known = re.compile(r"^ *(import|from) (dask|distributed)\b", re.MULTILINE)
    homes = {_home(n) for n, p in MODULES.items() if known.search(p.read_text("utf-8"))}
    assert homes == {"distributed", "shell"}


def test_modules_are_small_and_finished_and_say_what_they_are_for():
    text = {name: path.read_text(encoding="utf-8") for name, path in MODULES.items()}
    assert not [n for n in text if len(text[n].splitlines()) > 600]
    assert not [n for n in text if "TODO" in text[n] or "FIXME" in text[n]]
    assert not [n for n in text if not ast.get_docstring(ast.parse(text[n]))]


def test_the_picture_shows_every_module_once_and_no_other():
    page = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
    tree = page.split("```")[3].split("tests/  ")[0]
    drawn = Counter(re.findall(r"[\w_]+\.py", tree))
    there = Counter(path.name for path in MODULES.values())
    # Packages are drawn as folders, and commands as one line.
    there["__init__.py"] = 1
    for command in [name for name in there if name.endswith("_command.py")]:
        del there[command]
    del drawn["NAME_command.py"]
    assert drawn == there


def test_modules_have_a_test_file_of_their_name():
    modules = {n for n in MODULES if _home(n) in PACKAGES and n[-11:] != "__init__.py"}
    untested = {
        f"{package}/{module}"
        for package, module in (name.split("/") for name in modules)
        if not (ROOT / "tests" / package / f"test_{module}").exists()
    }
    # Write the file or say in TESTED_ELSEWHERE where the module is tested; remove
    # the line when the module has a file of its own or is gone.
    assert untested == TESTED_ELSEWHERE.keys()
