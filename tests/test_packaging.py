"""What is shipped: the same wheel from the tree and from the sdist, with all it needs."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import yaml

import committee

ROOT = Path(__file__).parents[1]


def _build(kind, source, target):
    """Call the build backend itself: no environment, no network."""
    code = f"import hatchling.build as b; print(b.build_{kind}({str(target)!r}))"
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, cwd=source, capture_output=True, text=True, check=True
    )
    return target / done.stdout.split()[-1]


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Paths of the wheel of the tree, the sdist, and the wheel of the sdist."""
    pytest.importorskip("hatchling", reason="needs the extra dev")
    folder = tmp_path_factory.mktemp("dist")
    tree = folder / "tree"
    shutil.copytree(
        ROOT,
        tree,
        ignore=shutil.ignore_patterns(
            "build", ".git", ".venv", ".*_cache", "__pycache__"
        ),
    )
    wheel = _build("wheel", tree, folder)
    sdist = _build("sdist", tree, folder)
    shutil.unpack_archive(sdist, folder / "unpacked")
    (unpacked,) = (folder / "unpacked").iterdir()
    (folder / "again").mkdir()
    return wheel, sdist, _build("wheel", unpacked, folder / "again")


@pytest.mark.slow
def test_the_sdist_makes_the_same_wheel(built):
    wheel, sdist, again = built
    assert (
        wheel.name
        == again.name
        == f"committee-{committee.__version__}-py3-none-any.whl"
    )
    assert sdist.name == f"committee-{committee.__version__}.tar.gz"
    with zipfile.ZipFile(wheel) as one, zipfile.ZipFile(again) as other:
        assert one.namelist() == other.namelist()
        assert [i.CRC for i in one.infolist()] == [i.CRC for i in other.infolist()]


@pytest.mark.slow
def test_the_wheel_has_types_assets_and_the_licences_of_what_it_bundles(built):
    with zipfile.ZipFile(built[0]) as wheel:
        names = wheel.namelist()
        metadata = wheel.read(
            next(n for n in names if n.endswith("/METADATA"))
        ).decode()
    assert "committee/py.typed" in names
    assert {n.rsplit("/", 1)[-1] for n in names if "/licenses/" in n} == {
        "LICENSE",
        "LICENSE-d3",
        "LICENSE-plot",
    }
    scripts = {n.rsplit("/", 1)[-1] for n in names if n.endswith(".min.js")}
    assert scripts == {"d3.min.js", "plot.min.js"}
    assert "License-Expression: BSD-3-Clause AND ISC" in metadata
    assert not [n for n in names if n.startswith(("tests/", "benchmarks/", "docs/"))]


def test_the_citation_has_the_version_and_no_one_else():
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == committee.__version__
    assert citation["authors"] == [{"name": "the committee developers"}]


def test_actions_of_workflows_are_pinned_and_have_few_rights():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        workflow = yaml.safe_load(path.read_text(encoding="utf-8"))
        assert workflow["permissions"] == {"contents": "read"}
        for job in workflow["jobs"].values():
            used = [step["uses"] for step in job["steps"] if "uses" in step]
            assert all(len(name.split("@")[1]) == 40 for name in used), path.name
