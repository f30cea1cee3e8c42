"""A book may leave pages out: what refers to one that is not there says its words, without a link.

The words are those that the reference would have, for pages keep their numbers.  A reference to nothing is still a warning.
"""

from functools import cache
from pathlib import Path

from docutils import nodes
from plain import Book
from sphinx.addnodes import pending_xref
from sphinx.transforms.post_transforms import SphinxPostTransform

load = cache(Book)


class WordsForAbsent(SphinxPostTransform):
    """Puts words for each reference to an absent page, before those look at it who would warn."""

    default_priority = 8

    def run(self, **_):
        """Look at every reference of the page."""
        book = load(Path(self.env.srcdir))
        for node in [*self.document.findall(pending_xref)] if book.absent else ():
            if words := self.words(book, node):
                node.replace_self(words)

    def words(self, book, node):
        """The nodes that stand for a reference to an absent page; nothing for any other."""
        role, label = node["reftype"], node["reftarget"]
        if role == "myst":
            return (node[0].children or [nodes.Text(book.title(label))]) if label in book.absent else None
        target = book.terms.get(label.lower()) if role == "term" else book.targets.get("equation-" * (role == "eq") + label)
        if target and target.page in book.absent:
            return [nodes.Text(node.astext() if role == "term" else target.text)]


def setup(app):
    """Add the transform."""
    app.add_post_transform(WordsForAbsent)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
