"""`python -m exam --seed 7 --chapters "1 5 7"` writes an exam and its marking key, as `make exam` calls it."""

import sys

from assign_add_lib.engine.interrupt import listen, stop_at_once

if __name__ == "__main__":
    stop_at_once()

from html import escape
from pathlib import Path
from random import Random

from markdown_it import MarkdownIt

from assign_add_lib.engine.cli import Parser, refuse
from assign_add_lib.engine.files import write_atomic

from .questions import QUESTIONS, Question

MARKDOWN = MarkdownIt("commonmark").enable("table")
PAGE = """\
<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
body {{ font: 1rem/1.5 Georgia, serif; max-width: 42rem; margin: 2rem auto; padding: 0 1rem }}
table {{ border-collapse: collapse; margin: 1rem 0 }}
th, td {{ border: 1px solid #999; padding: .2rem .6rem; text-align: right }}
th {{ font-weight: 600 }}
h2 {{ font-size: 1.1rem; margin-top: 2rem }}
section {{ break-inside: avoid }}
@media print {{ body {{ margin: 0; max-width: none }} }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def draw(seed: str, chapters: list[int]) -> list[Question]:
    """A question for each of the chapters; the same whichever others are asked."""
    return [QUESTIONS[each](Random(f"assign and add {seed} {each}")) for each in chapters]


def exam(title: str, questions: list[Question]) -> str:
    """What students get."""
    total = sum(each.points for each in questions)
    parts = [f"<p>{total} points, about {2 * total} minutes. Name:</p>"]
    for number, question in enumerate(questions, start=1):
        heading = f"<h2>{number}. {escape(question.title)} ({question.points} points)</h2>"
        parts.append(f"<section>{heading}\n{formatted(question.asked)}</section>")
    return PAGE.format(title=escape(title), body="\n".join(parts))


def key(title: str, questions: list[Question], of: str) -> str:
    """What the marker gets: of which exam it is, and for each part of a question its points, and what earns them."""
    parts = [f"<p>{escape(of)}</p>"]
    parts.append("<p>Half a point where the way is right and the number wrong; a wrong number that is carried on costs once.</p>")
    for number, question in enumerate(questions, start=1):
        rows = "\n".join(f"<li>({points}) {MARKDOWN.renderInline(answer)}</li>" for points, answer in question.key)
        parts.append(f"<section><h2>{number}. {escape(question.title)}</h2>\n<ul>\n{rows}\n</ul></section>")
    return PAGE.format(title=escape(title), body="\n".join(parts))


def formatted(markdown: str) -> str:
    """As HTML; formulas in dollars have letters and numbers alone, and are set in italics."""
    return MARKDOWN.render(plain_formulas(markdown))


def plain_formulas(markdown: str) -> str:
    pieces = markdown.split("$")
    for place in range(1, len(pieces), 2):
        text = pieces[place]
        for command, sign in ((r"\ne", "≠"), (r"\sum_j", "Σ<sub>j</sub>")):
            text = text.replace(command, sign)
        for letter in "asg":
            for index in "ij":
                text = text.replace(f"{letter}_{index}", f"{letter}<sub>{index}</sub>")
        pieces[place] = f"<i>{text}</i>"
    return "".join(pieces)


def main(arguments=None) -> int:
    """Write an exam and its key; bad input gives one line on stderr and exit code 2."""
    parser = Parser(prog="exam", description=__doc__)
    parser.add_argument("--seed", required=True, help="any word or number; who knows it can make the exam and its key again")
    parser.add_argument("--chapters", default="1 2 5 6 7 9 12", help="of which to ask one question each")
    parser.add_argument("--folder", type=Path, default=Path("exam"))
    options = parser.parse_args(arguments)
    listen()
    try:
        there, words = {str(each): each for each in QUESTIONS}, options.chapters.split()
        if unknown := [each for each in words if each not in there]:
            raise ValueError(f"there is no question on chapter {unknown[0]}; there are those on {', '.join(there)}")
        if not options.seed.strip() or not words:
            raise ValueError("say a seed, and at least one chapter")
        chapters = [there[each] for each in words]
        questions = draw(options.seed, chapters)
        of = f"Seed {options.seed}, chapters {', '.join(map(str, chapters))}"
        for name, page in (("exam", exam("Exam", questions)), ("key", key("Marking key", questions, of))):
            write_atomic(options.folder / f"{name}.html", page)
            print(options.folder / f"{name}.html")
    except (ValueError, OSError) as error:
        return refuse(error)
    except KeyboardInterrupt:
        return refuse("stopped") + 128
    return 0


if __name__ == "__main__":
    sys.exit(main())
