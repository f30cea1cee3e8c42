"""Keeps the pages to what this book uses: no dead button, no extension without use; numbers chapters by file."""

import re
from pathlib import Path

from docutils import nodes
from plain import site_of
from sphinx.environment.collectors.toctree import TocTreeCollector

# Jupyter Book always loads these: the scripts of the first name other hosts, and no page needs the others
UNUSED = ("sphinx_thebe", "sphinx_togglebutton", "sphinx_design")
NUMBER_FIGURES = TocTreeCollector.assign_figure_numbers  # the step after the numbers of sections, which it uses


def know_address(app, config):
    """Where the public address is known, pages say where they stand and show the repository and launch buttons.

    No page shows a button that a browser has itself.
    """
    options = config.html_theme_options
    known = bool(options.get("repository_url"))
    config.html_baseurl = site_of(options.get("repository_url") or "")
    options["use_repository_button"] = known
    if not known:
        options["launch_buttons"] = {}
    options["use_fullscreen_button"] = False
    options["primary_sidebar_end"] = []


def forget_unused(app, config=None):
    """Take the unused extensions off every event, and their files off the pages, proof colours with them."""
    for listeners in app.events.listeners.values():
        listeners[:] = [listener for listener in listeners if not listener.handler.__module__.startswith(UNUSED)]
    unused = ("sphinx-thebe", "sphinx-design", "togglebutton", "design-tabs", "proof.css", "exercise.css")
    for files in (app.registry.css_files, app.registry.js_files):
        files[:] = [file for file in files if not str(file[0]).startswith(unused)]


def offer_slides(app, page, template, context, doctree):
    """Let a chapter lead to its slides."""
    if page.startswith("chapters/") and Path(app.srcdir, "teaching/slides", f"{page.removeprefix('chapters/')}.md").exists():
        url = context["pathto"](page.replace("chapters", "slides") + ".html", 1)
        look = {"tooltip": "Slides of this chapter", "icon": "fas fa-display", "label": "slides-button"}
        context["header_buttons"].insert(0, {"type": "link", "url": url, **look})


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
    app.connect("config-inited", know_address, priority=900)
    forget_unused(app)
    app.connect("config-inited", forget_unused, priority=900)
    app.connect("builder-inited", number_by_file_name, priority=900)
    app.connect("html-page-context", offer_slides, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
