"""Plain notebooks: nothing of MyST is left in them, and their numbers, captions, citations and links are the book's."""

import html
import posixpath
import re
from functools import cache

import browsing
import nbformat
import pytest
from bs4 import BeautifulSoup
from nbconvert.filters import markdown2html
from plain import Book, plain, site_of
from student import parted, without_solutions

SITE = "https://owner.github.io/repository"
ADDRESSES = {"published": SITE, "checkout": "", "built": None}
PAGES = [path.with_suffix("").relative_to(browsing.ROOT).as_posix() for path in sorted(browsing.ROOT.glob("[cep]*/*.ipynb"))]
LINK = re.compile(r"\[([^][]+)\]\(([^()\s]+)\)")

# what a reader of rendered HTML sees of a role, a directive or its options, a label, a comment, a break
RAW = re.compile(r"\{[\w:-]+\}\s*CODE|:::|```|(?m:^\s*(:[\w-]+:|%|\+\+\+|\([\w-]+\)=))|\$\$ *\(\w|\{\{|\[\^")


@cache
def raw(source):
    """What of MyST is seen, outside code, where nbconvert renders a cell's Markdown."""
    cell = BeautifulSoup(markdown2html(source), "lxml")
    for listing in cell.find_all("pre"):
        # nbconvert takes a directive for a listing in a language of that name
        listing.replace_with("```" if listing.select('code[class^="language-{"]') else "")
    for code in cell.find_all("code"):
        code.replace_with("CODE")
    return [found[0] for found in RAW.finditer(cell.get_text())]


@cache
def book(edition):
    return Book(browsing.ROOT, ADDRESSES[edition])


@cache
def sources():
    """The pages that are notebooks, by name."""
    return book("checkout").notebooks()


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    return request.param


@pytest.fixture(scope="module", params=["published", "checkout", "student"])
def edition(request):
    return request.param


@cache
def made(page, edition="published"):
    """The plain notebook of a page, in one of the editions."""
    source = sources()[page]
    if edition == "student":
        source, edition = without_solutions(source), "checkout"
    return plain(source, page, book(edition))


def prose(notebook):
    return "\n\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")


@cache
def built(page):
    """The built page's HTML."""
    return (browsing.SITE / f"{page}.html").read_text("utf-8")


def tagless(text):
    return html.unescape(re.sub(r"<[^>]*>", "", text))


def test_nothing_raw_is_left(page, edition):
    notebook = made(page, edition)
    nbformat.validate(notebook)
    assert [raw(cell.source) for cell in notebook.cells if cell.cell_type == "markdown" and raw(cell.source)] == []


PLANTED = ["See {term}`logit`.", "See {numref}`fig-network`.", "```{note}\nMind this.\n```", ":::{tip}\nMind this.\n:::"]
PLANTED += ["$$\na = b\n$$ (eq-new)", "(place)=\n# A title", "% a comment", "{{ name }}", "A word.[^1]\n\n[^1]: A note."]
UNKNOWN = ["{abbr}`MLP`", "{eq}`here <eq-qk>`", "```{tip}\nMind this.\n```", "```{note} Title\nMind this.\n```"]
UNKNOWN += [":::{figure} a.png\nA caption.\n:::", "````{prf:theorem}\n:label: th-step\n:nonumber:\n\nSo it is.\n````"]
UNKNOWN += ["(place)=\n# A title", "% a comment", "a word\n: its meaning", "A word.[^1]\n\n[^1]: A note."]


@pytest.mark.parametrize("planted", PLANTED)
def test_raw_source_is_seen(planted):
    assert raw(planted)


@pytest.mark.parametrize("unknown", UNKNOWN)
def test_unknown_source_is_an_error(unknown):
    with pytest.raises(ValueError, match="chapters/02_model"):
        book("published").markdown(unknown, "chapters/02_model")


@pytest.mark.parametrize("nothing", ["{eq}`eq-nothing`", "{numref}`fig-nothing`", "{term}`nothing`", "{cite:t}`nothing1900`"])
def test_reference_to_nothing_is_an_error(nothing):
    with pytest.raises(KeyError):
        book("published").markdown(nothing, "chapters/02_model")


def test_code_stays_as_it_is():
    listing = "Take `x[0](y.md)` and ``{eq}`a` ``:\n\n```python\n{term}`logit` % 3\n```"
    assert book("published").markdown(listing, "chapters/02_model") == listing


def test_numbers_are_those_of_the_site():
    targets = book("checkout").targets.values()
    assert {"Fig. 2.1", "(2.1)", "Theorem 13.1"} <= {target.text for target in targets}
    for target in targets:
        start = built(target.page).index(f'id="{target.anchor}"')
        number = re.compile(r'class="(?:caption-number|eqno)">([^<]*)').search(built(target.page), start)
        assert number[1].strip() == target.text


def test_displays_and_statements_are_numbered_as_on_the_site(page):
    text = prose(made(page))
    equations = re.findall(r'class="eqno">\((.*?)\)', built(page))
    assert re.findall(r"\\tag\{(.*?)\}", text) == equations
    statements = [number.strip() for number in re.findall(r'caption-number">([A-Z]\w+ [\d.]+) ', built(page))]
    assert re.findall(r"(?m)^> \*\*([A-Z]\w+ [\d.]+)\*\*", text) == statements


def test_every_figure_has_its_caption(page, edition):
    """Below it, with the words and the number of the site, and its alt text with the picture."""
    notebook, captions = made(page, edition), []
    for cell, below in zip(notebook.cells, [*notebook.cells[1:], None]):
        for output in cell.get("outputs", ()):
            if "image/png" in output.get("data", {}):
                assert below.cell_type == "markdown" and below.source.startswith("**Fig. ")
                assert output.metadata["image/png"]["alt"]
                captions.append(below)
    shown = re.findall(
        r'<span class="caption-number">(Fig\. E?[\d.]+) </span><span class="caption-text">(.*?)</span><a', built(page)
    )
    assert len(captions) == len(shown)
    for caption, (number, words) in zip(captions, shown):
        assert caption.source.startswith(f"**{number}.** ")
        # the site sets quotes and dashes, and draws mathematics
        letters = [re.sub(r"[\W_]+", "", tagless(text).replace("Fig.", "")) for text in (caption.source, words)]
        assert letters[0].removeprefix(re.sub(r"\W", "", number.removeprefix("Fig."))) == letters[1]


def test_citations_are_those_of_the_site(page):
    text = prose(made(page))
    cited = [
        tagless(c).translate(str.maketrans("[]", "()"))
        for c in re.findall(r'class="bibtex-citation"[^>]*>(.*?)</span>', built(page))
    ]
    ours = re.sub(r"\]\((?:https://arxiv\.org|\S*/pages/bibliography\.html)\S*?\)", "]", text)
    found = re.findall(r"\(\[[^][]+, \d{4}\]\)|\[[^][]+ \(\d{4}\)\]", ours)
    assert [re.sub(r"[][]", "", citation) for citation in found] == cited


def test_links_lead_somewhere(page):
    for text, address in LINK.findall(prose(made(page))):
        if address.startswith(SITE):
            name, _, anchor = address.removeprefix(f"{SITE}/").partition("#")
            there = built(name.removesuffix(".html"))
            assert not anchor or f'id="{anchor}"' in there, text
        else:
            assert address.startswith("https://")


@pytest.mark.parametrize("folder", ["checkout", "student"])
def test_links_without_a_site_lead_to_files(page, folder):
    for text, address in LINK.findall(prose(made(page, folder))):
        there = posixpath.normpath(posixpath.join(posixpath.dirname(page), address))  # in student/ as well
        assert address.startswith("https://") or there.removesuffix(".ipynb") in sources(), text


def test_references_are_in_words():
    published = book("published")
    for source, expected in {
        "{term}`Logits <logit>`": f"[Logits]({SITE}/pages/glossary.html#term-logit)",
        "{term}`PAD`": f"[PAD]({SITE}/pages/glossary.html#term-PAD)",
        "{eq}`eq-qk`": f"[(2.1)]({SITE}/chapters/02_model.html#equation-eq-qk)",
        "{prf:ref}`th-step`": f"[Theorem 13.1]({SITE}/chapters/13_theorem.html#th-step)",
        "[text](../pages/notation.md)": f"[text]({SITE}/pages/notation.html)",
        "{cite:p}`gromov2023`": "([Gromov, 2023](https://arxiv.org/abs/2301.02679))",
    }.items():
        assert published.markdown(source, "chapters/02_model") == expected
    assert book("checkout").markdown("{eq}`eq-qk`", "chapters/02_model") == "(2.1)"
    assert book("checkout").markdown("{eq}`eq-qk`", "chapters/03_training") == "[(2.1)](02_model.ipynb)"


def test_statements_and_proofs_are_quoted():
    text = book("checkout").markdown(
        "````{prf:theorem} One step\n:label: th-step\n\nThen\n\n$$\na\n= b\n$$ (eq-entry)\n````\n\n"
        "````{admonition} Proof\n:class: dropdown\n\nClear.\n````",
        "chapters/13_theorem",
    )
    statement, proof = text.split("\n\n", 1)[0], text[text.index("<details>") :]
    assert statement == "> **Theorem 13.1** (One step)\n>\n> Then\n>\n> $$ a = b \\tag{13.5} $$"
    assert proof == "<details>\n<summary>Proof</summary>\n\n> Clear.\n\n</details>"


def test_stored_views_show_a_picture_or_a_table_and_no_dead_control(page, edition):
    for cell in made(page, edition).cells:
        for output in cell.get("outputs", ()):
            view = output.get("data", {}).get("text/html", "")
            assert "<input" not in view and "<script" not in view
            if "<figure" in view:
                assert re.search(r'<img alt="[^"]+" src="data:image/|<table', view)
                assert "Run the cell to bring this view to life.</figcaption>" in view


def test_what_the_site_folds_is_folded(page):
    for cell in made(page).cells:
        assert "mystnb" not in cell.metadata
        if "hide-cell" in cell.metadata.get("tags", []):
            assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}


def test_students_get_no_answer(page):
    answers = [
        answer.strip() for answer in re.findall(r":class: dropdown answer\n(.*?)\n```", prose(sources()[page]), flags=re.DOTALL)
    ]
    student, everyone = prose(made(page, "student")), prose(made(page, "checkout"))
    for answer in answers:
        # its longest line without what the plain step changes
        words = max(re.split(r"\{[\w:]+\}`.*?`|\[.*?\)|\n", answer), key=len)
        assert len(words) > 20 and words in everyone and words not in student
    assert "<summary>Answer" not in student
    assert everyone.count("<summary>Answer</summary>") == len(answers)
    if answers:  # plain, as on the published branch, it would give them away
        with pytest.raises(ValueError, match="take the branch main"):
            without_solutions(made(page))
    exercises = student.partition("## Exercises")[2]
    assert not re.search(r"\bsolution\b|folded", exercises, re.IGNORECASE)
    assert "folded below" not in student


def test_answers_are_folded(page):
    """Between a solution and the next heading stands nothing but an answer, folded; no cell beside it shows what it prints."""
    for cell, solution in parted(made(page, "checkout").cells):
        if solution and cell.cell_type == "code":
            assert cell.metadata.jupyter == {"source_hidden": True, "outputs_hidden": True}
    for cell, below in zip(made(page, "student").cells, made(page, "student").cells[1:]):
        if "exercise" in cell.metadata.get("tags", []):
            assert below.cell_type == "markdown" and below.source.startswith("#")
    cells = sources()[page].cells
    for solution, below in zip(cells, cells[1:]):
        if "solution" in solution.metadata.get("tags", []) and below.cell_type == "markdown":
            text = re.split(r"(?m)^#+ ", below.source)[0].strip()
            assert not text or re.fullmatch(
                r"```\{admonition\} Answer\n:class: dropdown answer\n\n[^`]*(`[^`]+`[^`]*)*\n```", text
            )


def test_source_notebook_stays_as_it_is():
    """The one with most in it, as all others."""
    page, source = max(sources().items(), key=lambda each: len(each[1].cells))
    before = nbformat.writes(source)
    plain(without_solutions(source), page, book("published"))
    assert nbformat.writes(source) == before


def test_downloads_of_the_site_are_plain(page):
    download = nbformat.read(browsing.SITE / f"_sources/{page}.ipynb", 4)
    assert [cell.source for cell in download.cells] == [cell.source for cell in made(page, "built").cells]


@pytest.mark.parametrize("address", ["https://github.com/Owner/repository", "https://github.com/owner/repository.git/"])
def test_the_site_stands_where_github_serves_it(address):
    assert site_of(address) == SITE
    assert site_of("") == site_of("https://example.org/owner/repository") == ""
