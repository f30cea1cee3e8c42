"""Keeps the pages to what this book uses: no dead button, no sphinx-thebe, no misleading role; numbers chapters by file."""

import re

from docutils import nodes
from sphinx.environment.collectors.toctree import TocTreeCollector

NUMBER_FIGURES = TocTreeCollector.assign_figure_numbers  # the step after the numbers of sections, which it uses


def show_live_buttons(app, config):
    """Show the repository and launch buttons where the public address is known, and only there."""
    options = config.html_theme_options
    known = bool(options.get("repository_url"))
    options["use_repository_button"] = known
    if not known:
        options["launch_buttons"] = {}


def forget_thebe(app, config):
    """Take sphinx-thebe, which Jupyter Book always loads, off every event: its scripts name other hosts."""
    for listeners in app.events.listeners.values():
        listeners[:] = [listener for listener in listeners if listener.handler.__module__ != "sphinx_thebe"]
    app.registry.css_files[:] = [sheet for sheet in app.registry.css_files if sheet[0] != "sphinx-thebe.css"]


def unname_citation_list(app, pagename, templatename, context, doctree):
    """Take the role `list` off the bibliography: its entries have a role of their own, which no list may hold."""
    if "body" in context:
        context["body"] = context["body"].replace('<div role="list" class="citation-list">', '<div class="citation-list">')


def number_by_file_name(app):
    """Let each chapter have the number that its file's name begins with, whichever chapters are there before it."""

    def renumber(collector, env):
        for name, numbers in env.toc_secnumbers.items():
            if chapter := re.match(r"chapters/(\d+)_", name):
                for node in (env.titles[name], *env.tocs[name].findall(nodes.reference)):
                    if node.get("secnumber"):
                        node["secnumber"] = [int(chapter[1]), *node["secnumber"][1:]]
                numbers.update({anchor: (int(chapter[1]), *number[1:]) for anchor, number in numbers.items() if number})
        return NUMBER_FIGURES(collector, env)

    TocTreeCollector.assign_figure_numbers = renumber


def setup(app):
    """Connect all to Sphinx, after what they correct."""
    app.connect("config-inited", show_live_buttons, priority=900)
    app.connect("config-inited", forget_thebe, priority=900)
    app.connect("builder-inited", number_by_file_name, priority=900)
    app.connect("html-page-context", unname_citation_list, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
