"""Names in backticks lead to their pages, in guides and docstrings alike."""

import re

from docutils import nodes
from sphinx import addnodes
from sphinx.transforms.post_transforms import SphinxPostTransform

from docs.site.pages import page_of, public_names

#: Where a public name has its page.
PAGES = {name: f"api/{page_of(name)}" for name in public_names()}


class LinkNames(SphinxPostTransform):
    """Make `EPPruner(rule="one-se")` a link to the page of EPPruner."""

    default_priority = 5
    _start = re.compile(r"(?:committee\.)?(\w+)(?=$|\()")

    def run(self, **kwargs):
        """Wrap literals that begin with a public name."""
        here = self.env.docname
        for literal in list(self.document.findall(nodes.literal)):
            found = self._start.match(literal.astext())
            page = PAGES.get(found[1]) if found else None
            if page is None or page == here or _is_linked(literal):
                continue
            address = self.app.builder.get_relative_uri(here, page)
            link = nodes.reference("", "", internal=True, refuri=address)
            literal.replace_self(link)
            link += literal


def _is_linked(node):
    while node is not None:
        if isinstance(node, (nodes.reference, addnodes.pending_xref, nodes.title)):
            return True
        node = node.parent
    return False
