"""The slides of the chapters, one deck a chapter: `make book` builds them into _build/html/slides, `make slides` prints them."""

import re
import shutil
import sys
from pathlib import Path

sys.path[:0] = [str(Path(__file__).parents[2] / "tools/site")]

project = "Assign and Add"
author = "The Assign and Add authors"
extensions = ["myst_parser", "sphinx_revealjs", "mathematics", "from_chapter"]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath", "smartquotes"]
html_math_renderer = "mathml"
exclude_patterns = []
nitpicky = True

revealjs_style_theme = "white"
revealjs_static_path = ["../../assets"]
revealjs_css_files = ["math.css", "slides.css"]
revealjs_use_section_ids = True
revealjs_notes_from_comments = True  # a line that begins with % is for the speaker
revealjs_script_conf = {
    "hash": True,
    "slideNumber": "c/t",
    "transition": "none",
    "center": False,
    "margin": 0.06,
    "width": 1120,
    "height": 630,
}
revealjs_script_plugins = [
    {"src": "revealjs/plugin/notes/notes.js", "name": "RevealNotes"},
]


def setup(app):
    """Let a phone zoom in and each deck lead back; leave out what none uses: maps, sources of styles, plugins."""

    def finish(app, error):
        static = Path(app.outdir, "_static")
        for unused in (
            "**/*.map",
            "**/*.scss",
            "revealjs/plugin/[!n]*",
            "revealjs/css",
            "book.*",
            "moved.js",
            "print.css",
            "search.js",
        ):
            for path in static.glob(unused):
                shutil.rmtree(path) if path.is_dir() else path.unlink()
        for deck in Path(app.outdir).glob("*.html"):
            text = deck.read_text("utf-8").replace(", maximum-scale=1.0, user-scalable=no", "")
            way_back = f'<a class="way-back" href="../chapters/{deck.name}">The chapter</a>'
            if deck.stem == "index":  # a list, and no slides
                text = re.sub("(?s)<script.*?</script>", "", text).replace('class="reveal"', 'class="list"')
                way_back = '<a href="../intro.html">The book</a>'
            deck.write_text(re.sub('(<div class="(reveal|list)">)', rf"\1\n{way_back}", text, count=1), "utf-8")

    app.connect("build-finished", finish)
