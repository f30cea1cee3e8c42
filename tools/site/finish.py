"""Finishes each page once it is written: a strict policy and nothing against it, one sheet, light icons, pictures in files.

Elements are looked for by name, since a selector would be tried on each of the thousands that a page has.
"""

import re
import shutil
from base64 import b64decode
from hashlib import sha256
from pathlib import Path
from urllib.parse import urljoin

import site_search
from bs4 import BeautifulSoup
from PIL import Image
from sheets import SHEET, join, put, words_of

from assign_add_lib.views.page import DENSITY

POLICY = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; form-action 'self'"
# what the theme writes into its pages, and book.js and book.css do instead; a script of any other kind stays, and a test finds it
KNOWN_SCRIPTS = ("document.documentElement.dataset.mode", "DOCUMENTATION_OPTIONS.pagename")
# what no page needs: icons are drawn, and the search is our own
NEEDLESS = ("fontawesome.js", "sphinx_highlight.js", "searchtools.js", "language_data.js")
# where the theme looks which boxes scroll, as book.js does, and lays out for it all that lies in closed ones
LAYS_OUT = re.compile(r'"complete"===document\.readyState\?(\w+)\(\):window\.addEventListener\("load",\1\)')
DRAWINGS = BeautifulSoup((Path(__file__).parent / "icons.svg").read_text("utf-8"), "html.parser").svg
COMPOSED = frozenset({"bs-tooltip-auto"})  # a class that no page and no script holds in one piece: Bootstrap puts it together
NAMED = frozenset("summary th a h2 h3 h4".split())
ABOUT = "A book in which you build, train and take apart a small transformer that looks up variables and adds numbers."
CARD = "Arrows carry b and 19 through two layers of attention to an equals sign, above which stands the answer, 36."
DATA = re.compile(r"data:image/(png|webp);base64,([A-Za-z0-9+/=]+)")


def file_pictures(text, site, root):
    """Put each picture that a page holds as data into a file, named by its content."""

    def filed(match):
        content = b64decode(match[2])
        name = f"_images/{sha256(content).hexdigest()[:24]}.{match[1]}"
        (site / name).write_bytes(content)
        return root + name

    return DATA.sub(filed, text)


def kinds(element):
    """The classes of an element."""
    return element.get("class", ())


def make_strict(page):
    """Take out what a strict policy forbids, and set the policy."""
    for script in page.find_all("script"):
        known = script.get_text().strip().startswith(KNOWN_SCRIPTS) and not script.has_attr("src")
        if known or any(name in script.get("src", "") for name in NEEDLESS):
            script.decompose()
    for name in ("style", "noscript"):
        for element in page.find_all(name):
            element.decompose()
    for element in page.find_all(True):
        for attribute in ("style", "onclick"):
            element.attrs.pop(attribute, None)
    page.head.insert(1, page.new_tag("meta", attrs={"http-equiv": "Content-Security-Policy", "content": POLICY}))


def order_scripts(page):
    """Let the first sight of a page wait for no script but book.js, which runs the others once it is painted."""
    page.body.attrs.pop("data-bs-spy", None)  # which book.js does once all is laid out
    for hint in page.find_all("link"):
        if "preload" in hint.get("rel", ()):
            hint.decompose()
    scripts = [script for script in page.find_all("script") if script.has_attr("src")]
    search = any("search.js" in script["src"] for script in scripts)  # where they are what the reader came for
    for script in scripts:
        if "book.js" not in script["src"]:
            script["defer" if search else "type"] = "" if search else "later"


def draw_icons(page):
    """Draw each icon in place of a letter of an icon font."""
    for mark in [each for each in page.find_all(True) if any("fa-" in kind for kind in kinds(each))]:
        name = next(name for name in (kind.removeprefix("fa-") for kind in mark["class"]) if DRAWINGS.find(id=name))
        icon = page.new_tag("svg", attrs={**DRAWINGS.attrs, "class": ["icon"], "aria-hidden": "true"})
        icon["class"] += [kind for kind in mark["class"] if not re.match("fa[srb]?(-|$)", kind)]
        if "data-mode" in mark.attrs:
            icon["data-mode"] = mark["data-mode"]
        icon.extend(BeautifulSoup(DRAWINGS.find(id=name).decode_contents(), "html.parser").contents)
        mark.replace_with(icon)


def mend_head(page):
    """One viewport, a title that says no name twice, on paper the same."""
    for repeated in [each for each in page.find_all("meta") if each.get("name") == "viewport"][1:]:
        repeated.decompose()
    for sheet in page.find_all("link"):
        if "styles/theme.css" in sheet.get("href", ""):
            sheet["href"] = sheet["href"].split("styles/")[0] + "basic.css"  # which is all that it imports
    words = page.title.get_text().split(" — ")
    page.title.string = " — ".join(dict.fromkeys(words))
    for printed in page.find_all("h1"):
        if printed.parent.get("id") == "jb-print-docs-body":
            printed.string = words[0]  # which has the chapter's number


def describe(page, root, book):
    """What a page says of itself where others link to it: title, first sentences, and the book's picture.

    Its addresses are whole only where the book's is known.
    """
    canonical = next((link["href"] for link in page.find_all("link") if "canonical" in link.get("rel", ())), "")
    said = (" ".join(each.get_text().split()) for each in page.find_all("p") if each.parent.name == "section")
    said = next((words for words in said if len(words) > 80), ABOUT)
    if len(said) > 200:
        said = said[:200].rsplit(" ", 1)[0] + " …"
    told = {"og:type": "article", "og:title": page.title.string, "og:description": said, "og:site_name": book}
    told |= {"og:url": canonical} if canonical else {}
    told |= {"og:image": urljoin(canonical, f"{root}_static/card.png"), "og:image:alt": CARD}
    told |= {"og:image:width": "1200", "og:image:height": "630"}
    for name, content in told.items():
        page.head.append(page.new_tag("meta", attrs={"property": name, "content": content}))
    for name, content in {"description": said, "twitter:card": "summary_large_image"}.items():
        page.head.append(page.new_tag("meta", attrs={"name": name, "content": content}))


def mend_tables(page):
    """Cells that hold words, and not numbers, are marked as such; a long name may go on below after an underscore."""
    for cell in page.find_all("td"):
        if "dataframe" not in kinds(cell.find_parent("table")):
            continue
        if re.search("[a-z]{4}", cell.get_text()):
            cell["class"] = "words"
        for text in cell.find_all(string=lambda text: "_" in text):
            for part in text.split("_")[:-1]:
                text.insert_before(part + "_", page.new_tag("wbr"))
            text.replace_with(text.split("_")[-1])
    for corner in page.find_all("th"):
        if not corner.get_text(strip=True):
            corner.name = "td"


def size_of(path):
    """How large a picture is on a page, as attributes of its element."""
    with Image.open(path) as image:
        return {name: str(round(side / DENSITY)) for name, side in zip(("width", "height"), image.size)}


def mend_body(page):
    """Closed boxes that need no script, no id twice, true roles and names."""
    for box in page.find_all("div"):
        if {"admonition", "dropdown"} <= {*kinds(box)}:
            box.name, box.find(class_="admonition-title").name = "details", "summary"
        if "citation" in kinds(box) and "citation-list" in kinds(box.parent):
            box["role"] = "listitem"  # the list has its role
    for answers in page.find_all("div", class_="quiz-answers"):
        page.article.append(answers)
    for fold in page.find_all("details"):
        if "tag_solution" in kinds(fold.parent):
            for prompt in fold.summary.find_all(class_=["collapsed", "expanded"]):
                prompt.string = f"{'Show' if 'collapsed' in prompt['class'] else 'Hide'} solution"
    for section in page.find_all("section"):
        if "admonition" in kinds(section.parent) and section.get("id", "").endswith("-content"):
            del section["id"]
    if sidebar := page.find(id="pst-primary-sidebar"):
        sidebar["role"], sidebar["aria-label"] = "complementary", "Book"
    for summary in page.find_all("summary"):
        if summary.get("aria-label") == "Toggle hidden content":
            del summary["aria-label"]  # it is named by the words that are seen
        if summary.find(class_="toctree-toggle", recursive=False):
            summary["aria-label"] = f"Pages of {summary.find_previous('a').get_text(strip=True)}"
    for button in page.find_all("button"):
        if "search-button-field" in kinds(button):
            del button["aria-label"]
    for formula in page.find_all("math"):
        for named in formula.parents:
            if named.name in NAMED:  # browsers leave formulas out of names
                named["aria-label"] = named.get_text(" ", strip=True).removesuffix(" #")


def mend_pictures(page, site, folder):
    """Pictures of known size that can be enlarged, and views with numbers."""
    pictures = [each for each in page.find_all("img") if each.has_attr("src") and each.find_parent("article")]
    for index, picture in enumerate(pictures):
        path = (folder / picture["src"]).resolve()
        if "width" not in picture.attrs and path.suffix in (".png", ".webp") and path.is_relative_to(site):
            picture.attrs |= size_of(path)
        if index and not picture.find_parent("assign-add"):  # whose picture is for print
            picture["loading"] = "lazy"
    chapter, evidence = page.select_one("h1 .section-number"), re.match(r"Evidence (\d+):", page.title.string)
    whole = f"E{evidence[1]}." if evidence else chapter.get_text().strip() if chapter else ""
    figures = page.find_all("figure")
    for figure in (each for each in figures if "align-default" in kinds(each)):
        for picture in figure.find_all("img", recursive=False):
            picture.wrap(page.new_tag("div", attrs={"class": "view"}))
    moving = [each for each in figures if {"step-slider", "attention-view"} & {*kinds(each)}]
    for place, caption in enumerate((each for figure in moving for each in figure.find_all("figcaption")), start=1):
        number = page.new_tag("span", attrs={"class": "view-number"})
        number.string = f"View {whole}{place} "  # as Fig. 8.1: View 8.1
        caption.insert(0, number)
    for figure in (each for each in figures if {"align-default", "step-slider"} & {*kinds(each)}):
        for view in figure.find_all(class_="view", recursive=False):
            button = page.new_tag("button", attrs={"class": "enlarge pst-js-only", "type": "button"})
            button.string = "Enlarge"
            view.insert_after(button)


def finish(app, error):
    """Finish every page of the site, and drop the icon font."""
    if error or app.builder.format != "html":
        return
    site, sheets, words, sections = Path(app.outdir).resolve(), {}, set(), {}
    for path in site.rglob("*.html"):
        folders = path.relative_to(site).parts[:-1]
        if {"_static", "slides"} & {*folders} or path.name == "index.html":  # which only leads on
            continue
        root, text = "../" * len(folders), path.read_text("utf-8")
        page = BeautifulSoup(file_pictures(text, site, root), "html.parser")
        if not any(each.has_attr("http-equiv") for each in page.find_all("meta")):  # or it was not written anew
            make_strict(page)
            order_scripts(page)
            draw_icons(page)
            mend_head(page)
            describe(page, root, app.config.html_title)
            mend_tables(page)
            mend_body(page)
            mend_pictures(page, site, path.parent)
            sheets[path] = join(page, site, root)
            path.write_text(text := str(page), "utf-8")
        words |= words_of(text)
        sections[path.relative_to(site).with_suffix("").as_posix()] = site_search.read(page)
    site_search.write(sections, site)
    for name in NEEDLESS:
        for unused in site.glob(f"_static/**/{name}*"):
            unused.unlink()
    theme = site / "_static/scripts/pydata-sphinx-theme.js"
    theme.write_text(LAYS_OUT.sub("0", theme.read_text("utf-8")), "utf-8")
    shutil.rmtree(site / "_static/vendor/fontawesome", ignore_errors=True)
    words = COMPOSED.union(words, *(words_of(script.read_text("utf-8")) for script in site.glob("_static/**/*.js")))
    for path, sheet in sheets.items():
        name = put(sheet, words, site)
        path.write_text(path.read_text("utf-8").replace(SHEET, name), "utf-8")


def setup(app):
    """Connect to the end of the build, after the theme, which writes its colours of code only then."""
    app.connect("build-finished", finish, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
