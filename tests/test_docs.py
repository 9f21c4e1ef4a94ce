"""The documents are true: the README runs, the API page is complete."""

import re
from pathlib import Path

import committee

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```python\n(.*?)^```", README, flags=re.DOTALL | re.MULTILINE)


def test_the_readme_is_short():
    assert 0 < len(README.splitlines()) <= 120


def test_the_readme_has_a_quick_start_that_runs(capsys):
    """All blocks in order, in one namespace; `>>>` blocks are doctests already."""
    assert BLOCKS
    namespace = {"__name__": "readme"}
    for number, block in enumerate(BLOCKS):
        if ">>> " not in block:
            exec(compile(block, f"README.md, block {number}", "exec"), namespace)  # noqa: S102


def test_every_public_name_is_on_the_api_page():
    page = (ROOT / "docs" / "api.md").read_text(encoding="utf-8")
    names = [name for name in committee.__all__ if not name.startswith("_")]
    assert not [name for name in names if not re.search(rf"\b{name}\b", page)]


def test_links_lead_to_files_that_exist():
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert not [
        f"{page.relative_to(ROOT)}: {target}"
        for page in pages
        for target in re.findall(r"\]\(([^)#]+)", page.read_text(encoding="utf-8"))
        if "://" not in target and not (page.parent / target).exists()
    ]
