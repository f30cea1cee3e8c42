"""How long the pages take to read: `python tools/minutes.py` writes it into their heads, and prints what there is to read.

A minute is 110 words of prose and captions before the quiz, ten lines of visible code, or one figure.
"""

import re
import sys
from pathlib import Path
from typing import NamedTuple

import jupytext
import nbformat

ROOT = Path(__file__).resolve().parents[1]
CELL = re.compile(r"```\{code-cell\}[^\n]*\n(.*?)\n```", re.DOTALL)
OPTIONS = re.compile(r"\A(?:---.*?\n---\n|(?::[a-z-]+:.*\n)+)", re.DOTALL)
STATED = re.compile(r"(\*\*Minutes:\*\* )(?:about )?(\d+)(?= minutes? to read)")
EXERCISES = re.compile(r"(?<=about )\d+(?= minutes more for the exercises)")
ASKED = re.compile(r"(?m)^\*Difficulty: .* · (\d+) minutes")
UNREAD = re.compile(r"\s*(\||:|```|---)")  # lines of tables, options and fences
RESULT = re.compile(r"\d[\d.,]*\s?%|(?<![\w\d])0?\.\d+|\b\d+ (?:of|in|out of) \d+")


class Measure(NamedTuple):
    """What there is to read on a page."""

    words: int
    cells: int  # of which the code is seen
    lines: int  # of code in these
    longest: int  # lines in one of them
    figures: int
    results: float  # percents, decimals, n of m, in 1000 words
    long: float  # share of sentences with more than 28 words

    @property
    def minutes(self) -> int:
        """Minutes to read all."""
        return round(self.words / 110 + self.lines / 10 + self.figures)


def lines_of(cell: str) -> int:
    """Lines of code of a cell of a text twin, without options and blank lines."""
    return sum(bool(line.strip()) for line in OPTIONS.sub("", cell).splitlines())


def measure(text: str) -> Measure:
    """What there is to read on a page, given as a text twin."""
    text = re.sub(r"\A---.*?\n---\n", "", text, flags=re.DOTALL)
    cells = CELL.findall(text)
    about = [cell.metadata.get("mystnb", {}) for cell in jupytext.reads(text, "md:myst").cells]
    captions = [each["figure"]["caption"] for each in about if "figure" in each]
    prose = re.split(r"(?m)^## (?:Quiz|Exercises)", re.sub(r"(?s)```\{code-cell\}.*?\n```", "", text))[0]
    prose = "\n\n".join([prose, *captions])
    drawn = prose.count("```{figure}")
    prose = re.sub(r"(?sm)^\$\$.*?^\$\$", " FORMULA. ", prose)
    prose = re.sub(r"\{[a-z:]+\}`([^`<]*)(?:<[^`]*>)?`", r"\1", prose)  # roles by what they show
    prose = re.sub(r"\]\([^)]*\)", "]", prose)
    prose = " ".join(line for line in prose.splitlines() if not UNREAD.match(line))
    sentences = [each for each in re.split(r"(?<=[.!?:])\s+", prose) if len(each.split()) > 3]
    seen = [lines_of(cell) for cell in cells if not re.search("remove-|hide-cell|hide-input", cell.split("\n\n")[0])]
    words = len(prose.split())
    return Measure(
        words,
        len(seen),
        sum(seen),
        max(seen, default=0),
        drawn + sum(any(kind in cell for kind in ("figure:", "explorer(", "slider(")) for cell in cells),
        1000 * len(RESULT.findall(re.sub(r"`[^`]*`|\$[^$]*\$", "", prose))) / max(words, 1),
        sum(len(each.split()) > 28 for each in sentences) / max(len(sentences), 1),
    )


def stated(text: str) -> int:
    """The minutes that the head of a page states; ValueError where there are none."""
    if not (found := STATED.search(text)):
        raise ValueError("the head states no minutes to read")
    return int(found[2])


def state(path: Path) -> Measure:
    """Write the minutes into the head of a page's text twin and of its notebook."""
    text, notebook = path.read_text("utf-8"), nbformat.read(path.with_suffix(".ipynb"), 4)
    found, exercises = measure(text), sum(map(int, ASKED.findall(text)))

    def written(text: str) -> str:
        return EXERCISES.sub(str(exercises), STATED.sub(rf"\g<1>{found.minutes}", text, count=1), count=1)

    head = notebook.cells[0]
    head.source = written(head.source)
    path.write_text(written(text), "utf-8")
    nbformat.write(notebook, path.with_suffix(".ipynb"))
    return found


if __name__ == "__main__":
    pages = [Path(name) for name in sys.argv[1:]] or [*sorted(ROOT.glob("chapters/*.md")), *sorted(ROOT.glob("evidence/*.md"))]
    print(f"{'page':30} minutes  words  cells  lines  longest  figures  results in 1000 words  long sentences")
    for page in pages:
        m = state(page)
        print(f"{page.parent.name}/{page.stem:20} {m.minutes:7} {m.words:6} {m.cells:6} {m.lines:6} {m.longest:8} {m.figures:8}"
              f" {m.results:22.0f} {m.long:15.0%}")  # fmt: skip
