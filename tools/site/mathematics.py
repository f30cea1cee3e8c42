"""Sets formulas as MathML when the book is built: browsers draw it themselves, and it reads without scripts."""

import re

from docutils import nodes
from math_core import LatexError, LatexToMathML
from sphinx.util import logging
from sphinx.util.math import get_node_equation_number

CONVERTER = LatexToMathML(fancy_error=False, unicode_substitution="never")

# styles in which the converter sets cells and gaps, which a strict policy forbids, and the classes of book.css that say the same
CLASSES = {
    "text-align: right;justify-items: end;padding-right: 0;": "right",
    "text-align: left;justify-items: start;padding-left: 0;": "left",
    "text-align: left;justify-items: start;padding-right: 0;": "case",
    "text-align: left;justify-items: start;padding-right: 0;padding-left:1em;": "condition",
    "margin-left:-0.16666667em;": "closer",
}


def mathml(node, display):
    """The formula of a node as MathML; one that cannot be set is a warning, so that no build passes with it."""
    try:
        formula = CONVERTER.convert_with_local_state(node.astext(), displaystyle=display)
        return re.sub(' style="(.*?)"', lambda style: f' class="{CLASSES[style[1]]}"', formula)
    except (LatexError, KeyError) as error:
        logging.getLogger(__name__).warning("formula %s: %s", node.astext(), error, location=node)
        return ""


def visit_inline(self, node):
    """A formula within a line."""
    self.body.append(f'<span class="math">{mathml(node, display=False)}</span>')
    raise nodes.SkipNode


def visit_display(self, node):
    """A formula in a line of its own, with its number beside it where it has one."""
    self.body.append(self.starttag(node, "div", CLASS="math"))
    self.body.append(mathml(node, display=True))
    if node["number"]:
        self.body.append(f'<span class="eqno">({get_node_equation_number(self, node)})')
        self.add_permalink_ref(node, "Link to this equation")
        self.body.append("</span>")
    self.body.append("</div>\n")
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer, which `html_math_renderer` picks."""
    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_display, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
