"""A guess before the answer: what the directive `{guess} LABEL` holds, and how plain Markdown says it.

Its text asks, and tells below a line `---`.  What can be guessed ends the question, with what is right in brackets: a number
with how far off a guess may be and a unit, `[93 ± 2%]`; a choice, a list of tasks as in a quiz; or cells, a row of tokens,
`b 17 PAD + [b] [19] =`.  Where no script runs, on paper and in plain notebooks, what is told is a fold.
"""

import re
from typing import NamedTuple

from quiz import Option, read_options

NUMBER = re.compile(r"\[(?P<answer>-?\d+(?:\.\d+)?)(?: ± (?P<within>\d+(?:\.\d+)?))?(?P<unit> ?[^]\d±.,\s][^]±]*)?\]")
FORM = "a question, an empty line, what can be guessed with what is right in brackets, a line ---, and what is told then"


class Guess(NamedTuple):
    """A question, what can be guessed, and what is told then, in Markdown."""

    asked: str
    told: str
    answer: float | str | list[int]  # a number, the words of the right option, or the places of the right cells
    within: float = 0
    unit: str = ""  # with the space before it
    options: tuple[Option, ...] = ()
    tokens: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """One of `choice`, `cells` and `number`."""
        return "choice" if self.options else "cells" if self.tokens else "number"

    @property
    def right(self) -> float | list[int]:
        """What is right as the page's script compares it: a number, or places of options or cells."""
        return [place for place, option in enumerate(self.options) if option.right] or self.answer

    @property
    def meant(self) -> str:
        """A list of what each option means."""
        return "\n".join(f"- {option.said} {option.answer}".replace("\n", "\n  ") for option in self.options)

    @property
    def plain(self) -> tuple[str, str]:
        """What is asked and what is told, for a page on which nothing can be clicked."""
        shown = [f"- {option.said}" for option in self.options] or [" ".join(f"`{token}`" for token in self.tokens)]
        return "\n".join((f"**Guess first.** {self.asked}\n", *shown)).strip(), f"{self.told}\n\n{self.meant}".strip()


def read_guess(text: str) -> Guess:
    """The guess that a text asks for; ValueError for one of another form."""
    before, _, told = (part.strip() for part in re.sub(r"(?m)^---$", "\0", text, count=1).partition("\0"))
    asked, options = read_options(before)
    if options or "\n- [" in before:
        right = [option.said for option in options if option.right]
        if asked and told and len(options) > 1 and len(right) == 1 and all(option.why for option in options):
            return Guess(asked, told, right[0], options=tuple(options))
        raise ValueError(f"a choice needs a question, options with a sentence each, one of them right, and an answer: {text}")
    asked, _, row = before.rpartition("\n\n")
    if not (asked and told):
        raise ValueError(f"a guess needs {FORM}: {text}")
    if found := NUMBER.fullmatch(row):
        return Guess(asked, told, float(found["answer"]), float(found["within"] or 0), found["unit"] or "")
    marked = [re.fullmatch(r"\[(.+)\]", token) for token in row.split()]
    if "\n" in row or len(marked) < 2 or not any(marked):
        raise ValueError(f"a guess needs {FORM}: {text}")
    tokens = tuple(mark[1] if mark else token for mark, token in zip(marked, row.split()))
    return Guess(asked, told, [place for place, mark in enumerate(marked) if mark], tokens=tokens)


def guesses(text: str) -> dict[str, Guess]:
    """The guesses of a page's Markdown, by label; ValueError for a label twice."""
    found = re.findall(r"(?ms)^(:{3,}|`{3,})\{guess\} (\S+)\n(.*?)^\1$", text)
    if len(found) > len({label for _, label, _ in found}):
        raise ValueError("two guesses of a page have one label")
    return {label: read_guess(body) for _, label, body in found}
