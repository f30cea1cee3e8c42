"""Where a page once had another address, that address leads on to it, with what stands behind `?` and `#`."""

import posixpath
import re
from html import escape
from pathlib import Path

from finish import POLICY

# the pages that moved, and where each lay before
MOVED = {
    r"pages/(explorer|algorithm|notation|glossary|bibliography|made|changes|status)": r"\1",
    r"teaching/(lecturers/(course|marking|\d\d_\w+))": r"\1",
}
PAGE = """\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<link rel="canonical" href="{canonical}">
<script src="{root}/_static/moved.js" data-to="{to}"></script>
<noscript><meta http-equiv="refresh" content="0; url={to}"></noscript>
</head>
<body><main><h1>{title}</h1><p>This page has moved: <a href="{to}">{title}</a></p></main></body>
</html>
"""


def former(page):
    """The address that a page had before, without suffix, or None."""
    return next((re.sub(here, there, page) for here, there in MOVED.items() if re.fullmatch(here, page)), None)


def lead_on(app, error):
    """Write a page at each former address."""
    if error or app.builder.format != "html":
        return
    for page in app.env.found_docs:
        if old := former(page):
            folder = posixpath.dirname(old)
            to = posixpath.relpath(f"{page}.html", folder)
            canonical = f"{app.config.html_baseurl}/{page}.html" if app.config.html_baseurl else to
            root, title = posixpath.relpath(".", folder), escape(app.env.titles[page].astext())
            path = Path(app.outdir, f"{old}.html")
            path.parent.mkdir(exist_ok=True)
            path.write_text(PAGE.format(policy=POLICY, title=title, canonical=canonical, root=root, to=to), "utf-8")


def setup(app):
    """Connect to the end of the build, once the other pages are finished."""
    app.connect("build-finished", lead_on, priority=950)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
