"""The sources of the site: Markdown of the repository, and a page for each name."""

import inspect
import posixpath
import re
import shutil
from collections.abc import Iterator
from pathlib import Path

import committee

#: Pages from the top of the repository, beside those of docs/.
FROM_THE_TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
#: Pages whose links are the navigation, the more special first.
CONTENTS = (
    "guide/index.md", "studies/index.md", "theory/index.md", "project.md", "index.md",
)  # fmt: skip
#: Methods that members, combiners and committees call on each other.
INTERNAL = frozenset(
    [
        "bar_name",
        "batches",
        "check_chunks",
        "check_inputs",
        "check_members",
        "copy_for",
        "default_member",
        "has_held_out_rows",
        "has_unseen_rows",
        "hold",
        "joint",
        "linear",
        "linear_form",
        "linked",
        "n_seeds",
        "of_chunk",
        "offset",
        "own_rows",
        "pool_",
        "sample",
        "splitter",
        "training_settings",
    ]
)


def stage(root: Path, target: Path, *, pictures: bool = True) -> None:
    """Make or renew the folder that Sphinx reads; nothing is written elsewhere."""
    pages = {
        name: _with_gallery_links(name, text, pictures)
        for name, text in _markdown(root)
    }
    _add_contents(pages)
    pages["api.md"] += _contents_of_the_api(pages["api.md"])
    for name in public_names():
        pages[f"api/{page_of(name)}.rst"] = _api_page(name)
    for old in [*target.glob("*.md"), *target.glob("[a-fh-z]*/*")]:
        if old.suffix in (".md", ".rst") and str(old.relative_to(target)) not in pages:
            old.unlink()
    for name, text in pages.items():
        _write_if_new(target / name, text)
    shutil.copytree(root / "docs" / "figures", target / "figures", dirs_exist_ok=True)


def public_names() -> list[str]:
    """Return the names of `committee` that have a page of their own."""
    return [name for name in committee.__all__ if not name.startswith("_")]


def page_of(name: str) -> str:
    """Return the page's name; small letters could be another file's in capitals."""
    twins = [other for other in public_names() if other.lower() == name.lower()]
    return f"{name}-function" if len(twins) > 1 and name.islower() else name


def _markdown(root: Path) -> Iterator[tuple[str, str]]:
    for path in sorted((root / "docs").rglob("*.md")):
        text = path.read_text(encoding="utf-8")
        for name in FROM_THE_TOP:
            text = text.replace(f"](../{name})", f"]({name})")
        yield str(path.relative_to(root / "docs")), _without_source_links(text)
    for name in FROM_THE_TOP:
        text = (root / name).read_text(encoding="utf-8").replace("](docs/", "](")
        yield name, _without_source_links(text)


def _without_source_links(text: str) -> str:
    """Links into src/ become the path: the site has no copy of the sources."""
    return re.sub(r"\[([^\]]+)\]\((?:\.\./)*(src/[^)]+)\)", r"\1 (`\2`)", text)


def _with_gallery_links(name: str, text: str, pictures: bool) -> str:
    """Links to examples lead to the gallery; a line of its own is the picture."""
    up = "../" * name.count("/")
    if pictures:
        text = re.sub(
            r"^\[([^\]]+)\]\((?:\.\./)+examples/(\w+)\.py\)$",
            rf"[![\1]({up}gallery/images/sphx_glr_\2_001.png)]({up}gallery/\2.rst)",
            text,
            flags=re.MULTILINE,
        )
    text = re.sub(
        r"\]\((?:\.\./)+examples/(\w+)\.py\)", rf"]({up}gallery/\1.rst)", text
    )
    return re.sub(r"\]\((?:\.\./)+examples\)", f"]({up}gallery/index.rst)", text)


def _add_contents(pages: dict[str, str]) -> None:
    """Append the pages that a page of contents links to, each to one of them."""
    known = set(pages) | {"gallery/index.rst"}
    placed = {"index.md"}
    for name in CONTENTS:
        links = re.findall(r"\]\(([^)#:]+\.(?:md|rst))\)", pages[name])
        targets = [posixpath.normpath(f"{posixpath.dirname(name)}/{t}") for t in links]
        targets = [t.lstrip("/") for t in targets]
        new = [t for t in dict.fromkeys(targets) if t in known and t not in placed]
        placed.update(new)
        rows = "".join(f"/{target.rsplit('.', 1)[0]}\n" for target in new)
        pages[name] += f"\n```{{toctree}}\n:hidden:\n\n{rows}```\n"


def _contents_of_the_api(page: str) -> str:
    """List every name under the heading of the API page that has it first."""
    sections: dict[str, list[str]] = {}
    heading = ""
    where = {}
    for line in page.splitlines():
        if line.startswith("## "):
            heading = line[3:]
            sections[heading] = []
        for word in re.findall(r"\w+", line):
            where.setdefault(word, heading)
    for name in public_names():
        sections[where[name]].append(name)
    return "".join(
        f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n"
        + "".join(f"api/{page_of(name)}\n" for name in sorted(names, key=str.lower))
        + "```\n"
        for heading, names in sections.items()
        if names
    )


def _api_page(name: str) -> str:
    thing = getattr(committee, name)
    title = f"{name}\n{'=' * len(name)}\n\n.. currentmodule:: committee\n\n"
    if inspect.isclass(thing):
        body = f".. autoclass:: {name}\n   :members: {', '.join(_methods(thing))}\n"
    else:
        body = f".. autofunction:: {name}\n"
    gallery = (
        f"\n.. minigallery:: committee.{name}\n   :add-heading: Examples that use it\n"
    )
    return title + body.replace("   :members: \n", "") + gallery


def _methods(cls: type) -> list[str]:
    """Return the public methods and properties that are ours, also inherited ones."""
    return [
        name
        for name, value in inspect.getmembers(cls)
        if not name.startswith("_") and name not in INTERNAL
        if _is_ours(cls, name, value)
    ]


def _is_ours(cls: type, name: str, value: object) -> bool:
    if issubclass(cls, tuple):
        return False  # fields are in the docstring
    if isinstance(value, property):
        return value.__doc__ is not None and _defined_by_us(cls, name)
    # set_fit_request and the like are made by scikit-learn, for every class alike.
    return callable(value) and _defined_by_us(cls, name) and "_request" not in name


def _defined_by_us(cls: type, name: str) -> bool:
    home = next((base for base in cls.__mro__ if name in vars(base)), cls)
    return home.__module__.startswith("committee")


def _write_if_new(path: Path, text: str) -> None:
    """Leave the file's time alone where nothing changed, so that builds are short."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
