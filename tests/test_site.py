"""The site: what it is made of, and every page of the built one."""

import ast
import html.parser
import re
from pathlib import Path
from urllib.parse import unquote, urldefrag

import pytest

import committee
from docs.site.docstrings import as_restructured_text
from docs.site.pages import CONTENTS, page_of, public_names, stage

ROOT = Path(__file__).parents[1]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


@pytest.fixture(scope="module")
def staged(tmp_path_factory):
    """The sources that Sphinx is given."""
    folder = tmp_path_factory.mktemp("site") / "docs"
    stage(ROOT, folder)
    return folder


def test_every_public_name_has_its_page(staged):
    pages = {path.stem for path in (staged / "api").glob("*.rst")}
    names = {name for name in committee.__all__ if not name.startswith("_")}
    assert pages == {page_of(name) for name in names}
    contents = (staged / "api.md").read_text(encoding="utf-8")
    assert all(f"\napi/{page}\n" in contents for page in pages)


def test_methods_of_the_machinery_are_not_on_the_pages(staged):
    """A page has what users call: `EPPruner.combine`, but not `check_chunks`."""
    page = (staged / "api" / "EPPruner.rst").read_text(encoding="utf-8")
    methods = page.split(":members: ")[1].split("\n")[0].split(", ")
    assert {"fit", "combine", "support_"} <= set(methods)
    assert not {"check_chunks", "check_members", "copy_for", "linked"} & set(methods)


def test_pages_of_names_that_differ_by_capitals_are_different_files():
    pages = [page_of(name).lower() for name in public_names()]
    assert len(set(pages)) == len(pages)


def test_navigation_leads_to_every_page_once(staged):
    rows = [
        line.lstrip("/")
        for page in [*CONTENTS, "api.md"]
        for block in re.findall(
            r"```\{toctree\}\n(.*?)```", (staged / page).read_text("utf-8"), re.DOTALL
        )
        for line in block.splitlines()
        if line and not line.startswith(":")
    ]
    pages = {
        str(path.relative_to(staged).with_suffix(""))
        for path in staged.rglob("*")
        if path.suffix in (".md", ".rst")
    }
    assert sorted(rows) == sorted(pages - {"index"} | {"gallery/index"})


def test_a_page_that_is_gone_leaves_the_site(staged):
    (staged / "api" / "Gone.rst").write_text("Gone\n====\n", encoding="utf-8")
    stage(ROOT, staged)
    assert not (staged / "api" / "Gone.rst").exists()


def test_links_to_examples_lead_to_the_gallery_and_single_ones_are_its_pictures(staged):
    first = (staged / "index.md").read_text(encoding="utf-8")
    assert "](gallery/index.rst)" in first
    assert "examples" not in re.findall(r"\]\(([^)]+)\)", first)
    guide = (staged / "guide" / "prune.md").read_text(encoding="utf-8")
    assert (
        "](../gallery/images/sphx_glr_shrink_a_forest_001.png)](../gallery/shrink_a"
        in guide
    )


def test_docstrings_keep_their_equations_and_signs():
    lines = ["Sum.", "", "    f = sum_m w_m f_m", "", "`a_b_` and path_ of Forest*."]
    assert as_restructured_text(lines) == [
        "Sum.",
        "",
        ".. code-block:: text",
        "",
        "    f = sum_m w_m f_m",
        "",
        r"`a_b_` and path\_ of Forest\*.",
    ]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_examples_are_short_ask_a_question_and_draw(path):
    text = path.read_text(encoding="utf-8")
    title = ast.get_docstring(ast.parse(text)).splitlines()[0]
    assert title.endswith("?")
    assert len(text.splitlines()) < 85
    assert "plt.show()" in text or ".plot(" in text or "savefig" in text
    assert "fetch_" not in text


class _Links(html.parser.HTMLParser):
    """What a page refers to, and the anchors that it has."""

    def __init__(self):
        super().__init__()
        self.targets, self.anchors = [], set()

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        self.anchors.add(values.get("id"))
        self.targets += [values[k] for k in ("href", "src") if values.get(k)]


@pytest.fixture(scope="module")
def site():
    """The site that `python -m docs` has built."""
    folder = ROOT / "build" / "site"
    if not (folder / "index.html").exists():
        pytest.skip("there is no site: python -m docs")
    return folder


@pytest.mark.slow
def test_links_of_the_built_site_lead_somewhere(site):
    """Files and anchors; other sites are left to `python -m docs --external-links`."""
    pages = {}
    for path in set(site.rglob("*.html")) - set(site.glob("_static/**/*")):
        pages[path] = _Links()
        pages[path].feed(path.read_text(encoding="utf-8"))
    broken = []
    for path, page in pages.items():
        for target in page.targets:
            if re.match(r"(https?|mailto|data|javascript):", target):
                continue
            name, anchor = urldefrag(unquote(target.split("?")[0]))
            there = (path.parent / name).resolve() if name else path
            known = there not in pages or anchor in ({""} | pages[there].anchors)
            if not there.exists() or not known:
                broken.append(f"{path.relative_to(site)}: {target}")
    assert not broken
    assert {f"{page_of(name)}.html" for name in public_names()} == {
        path.name for path in (site / "api").glob("*.html")
    }
