"""The notebooks in plain Markdown, for readers without MyST (Colab, Jupyter as it comes): `python tools/plain.py FOLDER`.

Figures get their captions, cross references the numbers and words that they have in the book, and links lead to the site.
"""

import copy
import html
import posixpath
import re
import sys
from dataclasses import dataclass
from pathlib import Path

import nbformat
import yaml
from guess import read_guess
from links import NUMBERED, read_links
from markdown_it.renderer import RendererHTML
from myst_parser.config.main import MdParserConfig
from myst_parser.parsers.mdit import create_md_parser
from nbformat.v4 import new_markdown_cell
from pybtex.database import parse_file
from quiz import load_quiz

ROOT = Path(__file__).resolve().parents[1]

# All that differs in MyST: a fence with what it holds, a display that may have a label, a role or code, a link to a page,
# and the label of a section.
PART = re.compile(
    r"""
      ^(?P<fence>`{3,}|:{3,})(?P<info>.*)\n(?P<body>(?:.*\n)*?)(?P=fence)[ ]*$
    | ^\$\$\n(?P<formula>(?:.*\n)*?)\$\$(?:[ ]\((?P<label>.+)\))?$
    | (?:\{(?P<role>[\w:]+)\})?(?P<ticks>`+)(?P<content>.+?)(?P=ticks)
    | ^\((?P<mark>[\w-]+)\)=\n+\#\#[ ](?P<heading>.+)$
    | \[(?P<words>(?:[^][]|\[[^][]*\])*)\]\((?P<path>[^():\s#]+)(?P<suffix>\.ipynb|\.md)(?P<place>\#[^()\s]*)?\)
    """,
    re.MULTILINE | re.VERBOSE,
)
DIRECTIVE = re.compile(r"\{(?P<name>[\w:]+)\} *(?P<title>.*)")
OPTIONS = re.compile(r"(?::\w+:.*\n)*")

# What has a number: a figure, a display, or a statement such as a theorem.
LABELLED = re.compile(
    r"""
      ^`{3,}\{figure\}.*\n(?::.*\n)*?:name:[ ](?P<figure>.+)$
    | ^\$\$[ ]\((?P<equation>.+)\)$
    | ^`{3,}\{prf:(?P<kind>\w+)\}.*\n:label:[ ](?P<statement>.+)$
    """,
    re.MULTILINE | re.VERBOSE,
)

# Where pages lie; a book has those that its contents list, and a reference to another is words without a link.
FOLDERS = ("chapters", "evidence", "pages", "teaching/lecturers")

# The tokens of Markdown that every notebook understands; MyST's parser gives others to all that is its own.
PLAIN = re.compile(
    r"(paragraph|heading|em|strong|link|blockquote|(bullet|ordered)_list|list_item|table|thead|tbody|tr|th|td)_(open|close)"
    r"|inline|text|softbreak|hardbreak|code_inline|code_block|fence|image|hr|html_inline|html_block"
    r"|math_inline|math_inline_double|math_block|amsmath"
)

# A formula as MyST's parser writes it in HTML.
MATHS = re.compile(r'<span class="math inline">(.*?)</span>')

# What of a stored view waits for the site's script: the control and the data behind it.
LIVE = "[a-z]+(?:-[a-z]+)+"  # an element of our own, as assign-add
LIFELESS = re.compile(rf'<div class="control".*?</div>|<script\b.*?</script>|</?(?:{LIVE})\b.*?>', re.DOTALL)
REVIVE = " Run the cell to bring this view to life."


@dataclass(frozen=True)
class Target:
    """What a reference points to: its words, its page, and its place there."""

    text: str
    page: str
    anchor: str


class Book:
    """What the pages of a checkout refer to, and how a page says it in plain Markdown.

    `site` is the address of the built book; without one, links lead to other notebooks alone.
    """

    def __init__(self, root=ROOT, site=None):
        config = yaml.safe_load((root / "_config.yml").read_text("utf-8"))
        contents = yaml.safe_load((root / "_toc.yml").read_text("utf-8"))
        there = {path.relative_to(root).with_suffix("").as_posix() for folder in FOLDERS for path in root.glob(f"{folder}/*.md")}
        pages = dict.fromkeys([*listed(contents), *sorted(there)])
        files = {page: page + (".ipynb" if (root / f"{page}.ipynb").exists() else ".md") for page in pages}
        self.files = {page: files.pop(page) for page in listed(contents)}
        self.absent = files
        self.site = site_of(config["repository"]["url"]) if site is None else site
        self.root = root
        self.links = read_links(root, {page: root / file for page, file in self.files.items()})
        self.parser = create_md_parser(MdParserConfig(enable_extensions=config["parse"]["myst_enable_extensions"]), RendererHTML)
        self.sources = parse_file(root / "pages/references.bib").entries
        self.targets = {target.anchor: target for target in reversed([*self._numbered()])}  # a page that is there comes first
        self.terms = {}
        for term in re.findall(r"(?m)^(\w.*)\n  ", (root / "pages/glossary.md").read_text("utf-8")):
            self.terms[term.lower()] = Target(term, "pages/glossary", "term-" + term.replace(" ", "-"))

    def notebooks(self):
        """The pages that are notebooks, by name."""
        return {page: nbformat.read(self.root / file, 4) for page, file in self.files.items() if file.endswith(".ipynb")}

    def title(self, page):
        """The title of a page, there or not."""
        return re.search(r"(?m)^# (.+)", (self.root / f"{page}.md").read_text("utf-8"))[1]

    def _numbered(self):
        """All that has a number, on absent pages too; pages that have none themselves share one count, as in the book."""
        counts = {}

        def number(kind, page):
            found = NUMBERED.match(page)
            chapter = f"{'E' * (found['kind'] == 'evidence')}{int(found['number'])}." if found else ""
            counts[kind, chapter] = counts.get((kind, chapter), 0) + 1
            return f"{chapter}{counts[kind, chapter]}"

        for page, file in (self.files | self.absent).items():
            if file.endswith(".ipynb"):
                cells = nbformat.read(self.root / file, 4).cells
            else:
                cells = [new_markdown_cell((self.root / file).read_text("utf-8"))]
            for cell in cells:
                if name := figure_of(cell).get("name"):
                    yield Target(f"Fig. {number('figure', page)}", page, name)
                for found in LABELLED.finditer(cell.source) if cell.cell_type == "markdown" else ():
                    if found["figure"]:
                        yield Target(f"Fig. {number('figure', page)}", page, found["figure"])
                    elif found["equation"]:
                        yield Target(f"({number('equation', page)})", page, "equation-" + found["equation"])
                    else:
                        kind = found["kind"]
                        yield Target(f"{kind.title()} {number(kind, page)}", page, found["statement"])

    def link(self, text, here, target):
        """A link from one page to a target; without a site, plain words unless that is in another notebook."""
        if target.page not in self.files:
            return text
        if self.site:
            return f"[{text}]({self.site}/{target.page}.html#{target.anchor})"
        if target.page == here or not self.files[target.page].endswith(".ipynb"):
            return text
        return f"[{text}]({posixpath.relpath(self.files[target.page], posixpath.dirname(here))})"

    def markdown(self, text, page):
        """MyST Markdown of a page as plain Markdown.

        Raises ValueError for what is neither plain nor known here, KeyError for a reference to nothing.
        """
        plain = self._replace(text, page)
        for token in self.parser.parse(plain):
            for part in (token, *(token.children or ())):
                if not PLAIN.fullmatch(part.type) or "{" in part.info[:1]:
                    raise ValueError(f"{page}: {part.type} {part.info} in plain Markdown:\n{plain}")
        return plain

    def _replace(self, text, page):
        def part(match):
            if match["fence"]:
                return self._directive(match, page)
            if match["label"]:
                number = self.targets["equation-" + match["label"]].text[1:-1]
                return f"$$\n{match['formula']}\\tag{{{number}}}\n$$"
            if match["mark"]:
                return self._section(match, page)
            if match["role"]:
                return self._role(match["role"], match["content"], page)
            if match["path"]:
                there = posixpath.normpath(posixpath.join(posixpath.dirname(page), match["path"]))
                words, place = self._replace(match["words"], page), match["place"] or ""
                if there in self.absent or not self.site and match["suffix"] == ".md":
                    return words or self.title(there)
                address = f"{self.site}/{there}.html" if self.site else match["path"] + match["suffix"]
                return f"[{words}]({address}{place})"
            return match[0]

        return PART.sub(part, text)

    def _section(self, match, page):
        """The heading of a section of evidence, with its number, and the places that ask for it."""
        section = self.links.sections.get(match["mark"])
        if not section or section.page != page:
            return match[0]
        places = self.links.places[match["mark"]]
        names = [Target(", ".join(filter(None, (each.whole, each.section))), each.page, each.anchor) for each in places]
        listed = "; ".join(self.link(each.text, page, each) for each in names)
        return f"## {section.number} {self._replace(match['heading'], page)}\n\n*Asked for by:* {listed}"

    def _role(self, role, content, page):
        if role in ("cite", "cite:p", "cite:t"):
            cited = [self._cited(key, role == "cite:t") for key in content.split(",")]
            return ", ".join(cited) if role == "cite:t" else f"({'; '.join(cited)})"
        if role == "evidence":
            section = self.links.sections.get(content)
            if not section or section.page not in self.files:
                return section.name if section else "Evidence"
            return self.link(section.name, page, Target(section.name, section.page, content))
        text, label = re.fullmatch(r"(?:(.*) <(?=.*>))?(.*?)>?", content).groups()
        if role == "term":
            return self.link(text or label, page, self.terms[label.lower()])
        if role in ("numref", "prf:ref", "eq") and not text:
            target = self.targets["equation-" * (role == "eq") + label]
            return self.link(target.text, page, target)
        raise ValueError(f"{page}: the role {{{role}}}`{content}` is unknown here")

    def _cited(self, key, in_text):
        """A source by authors and year, with a link to arXiv or else to the site's bibliography."""
        source = self.sources[key]
        names = [" ".join(person.prelast_names + person.last_names) for person in source.persons["author"]]
        authors = " and ".join(names) if len(names) < 3 else f"{names[0]} et al."
        text = f"{authors} ({source.fields['year']})" if in_text else f"{authors}, {source.fields['year']}"
        if preprint := source.fields.get("eprint"):
            return f"[{text}](https://arxiv.org/abs/{preprint})"
        return f"[{text}]({self.site}/pages/bibliography.html)" if self.site and "pages/bibliography" in self.files else text

    def _directive(self, match, page):
        """A theorem, a note and the like as a quoted block under its title, folded where the book folds it."""
        directive = DIRECTIVE.fullmatch(match["info"])
        if not directive:
            return match[0]  # a listing
        options = OPTIONS.match(match["body"])[0]
        option = dict(re.findall(r":(\w+): *(.*)", options))
        name, title = directive["name"], self._replace(directive["title"], page)
        if name == "quiz":
            return self._quiz(title, page)
        if name == "guess":
            asked, told = (quoted(self._replace(part, page)) for part in read_guess(match["body"]).plain)
            return f"{asked}\n\n<details>\n<summary>The answer</summary>\n\n{told}\n\n</details>"
        if name.startswith("prf:") and set(option) == {"label"}:
            heading = f"**{self.targets[option['label']].text}** ({title})"
        elif name == "note" and not title and not option:
            heading = "**Note**"
        elif name == "admonition" and set(option) <= {"class"}:
            heading = f"**{title}**"
        else:
            raise ValueError(f"{page}: the directive {{{name}}} with {option} is unknown here")
        body = self._replace(match["body"].removeprefix(options).strip(), page)
        if "dropdown" in option.get("class", "").split():
            return f"<details>\n<summary>{title}</summary>\n\n{quoted(body)}\n\n</details>"
        return quoted(f"{heading}\n\n{body}")

    def _quiz(self, name, page):
        """A quiz: questions with a number, and each option as a fold that opens to its explanation."""
        parts = []
        for number, question in enumerate(load_quiz(self.root, name), start=1):
            parts.append(f"**{number}.** {self._replace(question.asked, page)}")
            for option in question.options:
                said = self.parser.renderInline(option.said)
                summary = MATHS.sub(lambda formula: html.unescape(f"${formula[1]}$"), said)  # notebooks set what stands so
                answer = quoted(self._replace(option.answer, page))
                parts.append(f"<details>\n<summary>{summary}</summary>\n\n{answer}\n\n</details>")
        return "\n\n".join(parts)


def listed(contents):
    """The pages of a table of contents, or of an entry in it, in their order."""
    own = [contents[key] for key in ("root", "file") if key in contents]
    below = (entry for key in ("parts", "chapters", "sections") for entry in contents.get(key, ()))
    return own + [page for entry in below for page in listed(entry)]


def chapters_of(root=ROOT):
    """The texts of the chapters that a checkout's table of contents lists."""
    pages = listed(yaml.safe_load((root / "_toc.yml").read_text("utf-8")))
    return [path for path in sorted(root.glob("chapters/*.md")) if f"chapters/{path.stem}" in pages]


def site_of(repository):
    """The address of the site that GitHub serves for a repository, or nothing for no or another address."""
    found = re.fullmatch(r"https://github\.com/([^/]+)/([^/]+?)(\.git)?/?", repository)
    return f"https://{found[1].lower()}.github.io/{found[2]}" if found else ""


def quoted(text):
    """A quoted block; displays stand on one line, or the marks of the block would get into them."""
    text = re.sub(r"(?ms)^\$\$$.*?^\$\$$", lambda display: display[0].replace("\n", " "), text)
    return "\n".join(f"> {line}".rstrip() for line in text.split("\n"))


def figure_of(cell):
    """What a cell's metadata say of its figure: name and caption."""
    return cell.metadata.get("mystnb", {}).get("figure", {})


def plain(notebook, page, book):
    """A page's notebook as a plain one."""
    notebook = copy.deepcopy(notebook)
    cells, notebook.cells = notebook.cells, []
    for cell in cells:
        notebook.cells.append(cell)
        if cell.cell_type == "markdown":
            cell.source = book.markdown(cell.source, page)
            continue
        fold(cell)
        alt = cell.metadata.get("mystnb", {}).get("image", {}).get("alt")
        for output in cell.outputs:
            data = output.get("data", {})
            if alt and "image/png" in data:
                output.metadata["image/png"] = {"alt": alt}
            if LIFELESS.search(shown := data.get("text/html", "")):
                data["text/html"] = LIFELESS.sub("", shown).replace("</figcaption>", f"{REVIVE}</figcaption>")
        if figure := figure_of(cell):
            number = book.targets[figure["name"]].text
            caption = book.markdown(f"**{number}.** {figure['caption']}", page)
            notebook.cells.append(new_markdown_cell(caption, id=f"{cell.id}-caption"))
        cell.metadata.pop("mystnb", None)
    return notebook


def fold(cell):
    """Hide in Jupyter and Colab what the site hides until it is asked for."""
    tags, hidden = cell.metadata.get("tags", []), {}
    if {"hide-cell", "hide-input", "remove-cell"} & set(tags):
        cell.metadata["cellView"] = "form"  # Colab's word for it
        hidden["source_hidden"] = True
    if {"hide-cell", "hide-output", "remove-cell"} & set(tags):
        hidden["outputs_hidden"] = True
    if hidden:
        cell.metadata["jupyter"] = hidden


if __name__ == "__main__":
    book = Book()
    for page, notebook in book.notebooks().items():
        nbformat.write(plain(notebook, page, book), Path(sys.argv[1]) / f"{page}.ipynb")
