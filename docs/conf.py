"""Sphinx reads this; `python -m docs` is the command."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

import committee

project = "committee"
author = "the committee developers"
copyright = author
release = version = committee.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
root_doc = "index"
default_role = "literal"
highlight_language = "text"
nitpicky = True
#: Docstrings name types of other libraries, and sklearn's pages are not at hand.
nitpick_ignore_regex = [("py:.*", r"(?!committee\b).*")]

myst_heading_anchors = 4
myst_enable_extensions = ["deflist", "colon_fence"]
numpydoc_show_class_members = False
autodoc_typehints = "none"
autodoc_member_order = "bysource"
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

sphinx_gallery_conf = {
    "examples_dirs": str(ROOT / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r".*\.py",
    "within_subsection_order": "docs.site.examples.Order",
    "backreferences_dir": "gallery/backreferences",
    "doc_module": ("committee",),
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "write_computation_times": False,
    "min_reported_time": 0,
    "remove_config_comments": True,
    "image_scrapers": ("matplotlib",),
    "matplotlib_animations": False,
}

html_theme = "pydata_sphinx_theme"
html_title = "committee"
html_favicon = "site/static/committee.svg"
# Light or dark as the reader's system has it; the theme complains without it.
html_context = {"default_mode": "auto"}
html_static_path = ["site/static"]
html_css_files = ["site.css"]
html_sidebars = {"is-it-for-you": []}
html_show_sphinx = False
html_theme_options = {
    "logo": {
        "image_light": "_static/committee.svg",
        "image_dark": "_static/committee.svg",
        "text": "committee",
    },
    "show_prev_next": False,
    "footer_start": ["copyright"],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "navbar_align": "left",
}
html_copy_source = False


def setup(app):
    """Docstrings before numpydoc, links of names after everything."""
    from docs.site.docstrings import process
    from docs.site.names import LinkNames

    app.connect("autodoc-process-docstring", process, priority=400)
    app.add_post_transform(LinkNames)
