"""The slides of the chapters, one deck a chapter: `make book` builds them into _build/html/slides, `make slides` prints them."""

import re
import shutil
import sys
from base64 import b64encode
from hashlib import sha256
from pathlib import Path

import yaml

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "tools/site"), str(ROOT / "tools")]

from plain import listed  # noqa: E402

FRONT, *PAGES = listed(yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8")))

project = "Assign and Add"
author = "The Assign and Add authors"
extensions = ["myst_parser", "sphinx_revealjs", "mathematics", "from_chapter"]
myst_enable_extensions = ["amsmath", "attrs_inline", "colon_fence", "dollarmath", "smartquotes"]
html_math_renderer = "mathml"
# a deck to which no page of the book leads is left out, as its chapter is
DECKS = [path.stem for path in Path(__file__).parent.glob("[0-9]*.md")]
exclude_patterns = [f"{deck}.*" for deck in DECKS if not {f"chapters/{deck}", f"teaching/lecturers/{deck}"} & {*PAGES}]
suppress_warnings = ["toc.excluded"]
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


def strict(static):
    """The policy of a deck: what comes from its own site alone, and the page of the speaker's window, which Reveal writes."""
    view = (static / "revealjs/plugin/notes/speaker-view.html").read_text("utf-8")
    allowed = {}
    for kind in ("script", "style"):
        (written,) = re.findall(rf"(?s)<{kind}>(.*?)</{kind}>", view)
        allowed[kind] = f"{kind}-src 'self' 'sha256-{b64encode(sha256(written.encode()).digest()).decode()}'"
    rest = "img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'"
    content = "; ".join(["default-src 'self'", *allowed.values(), rest])
    return f'<meta http-equiv="Content-Security-Policy" content="{content}">'


def setup(app):
    """Let a phone zoom in and each deck lead back, under a strict policy; leave out what none uses: maps, styles, plugins."""

    def finish(app, error):
        static = Path(app.outdir, "_static")
        policy = strict(static)
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
            chapter = f"chapters/{deck.stem}" in PAGES
            way_back = f'href="../chapters/{deck.name}">The chapter</a>' if chapter else f'href="../{FRONT}.html">The book</a>'
            way_back = f'<a class="way-back" {way_back}'
            if deck.stem == "index":  # a list, and no slides
                text = re.sub("(?s)<script.*?</script>", "", text).replace('class="reveal"', 'class="list"')
                way_back = way_back.replace(' class="way-back"', "")
            for begins in re.findall("(?s)<script>(.*?)</script>", text):  # the same in every deck
                (static / "begin.js").write_text(begins, "utf-8")
            text = re.sub("(?s)<script>.*?</script>", '<script src="_static/begin.js"></script>', text)
            text = text.replace("<head>", f'<head>\n{policy}\n<link rel="icon" href="_static/favicon.svg">', 1)
            deck.write_text(re.sub('(<div class="(reveal|list)">)', rf"\1\n{way_back}", text, count=1), "utf-8")

    app.connect("build-finished", finish)
