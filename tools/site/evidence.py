"""The second kind of page, evidence: `{evidence}` leads from the course to a section, and the section leads back.

Sections have the number of their page's file, figures and formulas an E before it, so that none has a number of the course.
"""

from pathlib import Path

from docutils import nodes
from links import NUMBERED, anchor_of, read_links
from sphinx.environment.collectors.toctree import TocTreeCollector
from sphinx.util.docutils import SphinxRole

# what folds are called, by the tag of their cell; what others hold is code
PROMPTS = {"check": ("Check these numbers", "Hide the check"), "hide-output": ("Show what it prints", "Hide what it prints")}


def know_links(app, env, docnames):
    """Read the links of the pages that are built."""
    env.evidence_links = read_links(Path(app.srcdir), {page: Path(env.doc2path(page)) for page in sorted(env.found_docs)})


def address(env, here, page, anchor):
    """Where a place stands, seen from a page."""
    return f"{env.app.builder.get_relative_uri(here, page)}#{anchor}"


class Evidence(SphinxRole):
    """A link to a section of evidence, by its label; words where the section is not built."""

    def run(self):
        """The link, which is also the place that the section leads back to."""
        asked = anchor_of(self.text, self.env.new_serialno(f"asks-{self.text}"))
        section = self.env.evidence_links.sections.get(self.text)
        words = section.name if section else "Evidence"
        if not section or section.page not in self.env.found_docs:
            return [nodes.inline("", words, ids=[asked])], []
        there = address(self.env, self.env.docname, section.page, self.text)
        return [nodes.reference("", words, ids=[asked], internal=True, refuri=there)], []


def lead_back(app, doctree):
    """Say below the heading of each section of evidence which places ask for it; name the folds of checks on any page."""
    env, links = app.env, app.env.evidence_links
    for section in doctree.findall(nodes.section):
        for label in {*section["ids"]} & {label for label, each in links.sections.items() if each.page == env.docname}:
            line = nodes.paragraph("", "Asked for by: ", classes=["asked-for"])
            for number, place in enumerate(links.places[label]):
                link = nodes.reference("", place.whole, internal=True, refuri=address(env, env.docname, place.page, place.anchor))
                if place.section:
                    link += [nodes.Text(", "), nodes.emphasis("", place.section)]
                line += [nodes.Text("; " if number else ""), link]
            section.insert(section.first_child_matching_class(nodes.title) + 1, line)
    for cell in doctree.findall(nodes.container):
        for tag, (show, hide) in PROMPTS.items():
            if f"tag_{tag}" in cell["classes"] and "prompt_show" in cell:
                cell.attributes.update(prompt_show=show, prompt_hide=hide)


def number_sections(app):
    """Number the sections of evidence by the file of their page, but not the page, whose title says its number."""
    number = TocTreeCollector.assign_figure_numbers

    def renumber(collector, env):
        pages = {page: int(NUMBERED.match(page)["number"]) for page in env.tocs if page.startswith("evidence/")}
        env.toc_secnumbers |= {page: {"": (f"E{which}",)} for page, which in pages.items()}
        rewritten = number(collector, env)
        for page, which in pages.items():
            title, *lists = env.tocs[page][0]
            sections = [entry[0][0] for each in lists for entry in each.children]
            env.toc_secnumbers[page] = {}
            for place, link in enumerate(sections, start=1):
                link["secnumber"] = env.toc_secnumbers[page][link["anchorname"]] = (which, place)
        return rewritten

    TocTreeCollector.assign_figure_numbers = renumber


def setup(app):
    """Add the role, and connect the rest; numbers come after those of the chapters, which set theirs in the same way."""
    app.add_role("evidence", Evidence())
    app.connect("env-before-read-docs", know_links)
    app.connect("doctree-read", lead_back)
    app.connect("builder-inited", number_sections, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
