"""The directive `{guess} LABEL` asks for a guess and folds the answer; the site's guess.js keeps the guess and compares it."""

import json
from html import escape

from docutils import nodes
from guess import read_guess
from sphinx.util.docutils import SphinxDirective


def raw(text):
    """A piece of HTML."""
    return nodes.raw("", text, format="html")


class GuessFirst(SphinxDirective):
    """The question, what can be guessed, and the answer in a fold."""

    required_arguments = 1
    has_content = True

    def run(self):
        """The nodes of the guess: a form, which its script brings to life."""
        label = self.arguments[0]
        try:
            guess = read_guess("\n".join(self.content))
        except ValueError as error:
            raise self.error(str(error)) from None
        data = {"kind": guess.kind, "answer": json.dumps(guess.right), "within": guess.within, "unit": guess.unit}
        held = "".join(f' data-{name}="{escape(str(value))}"' for name, value in data.items())
        return [
            raw(f'<form class="guess-first" id="guess-{label}"{held} autocomplete="off"><div id="asked-{label}">'),
            nodes.paragraph("", "Guess first", classes=["guess-title"]),
            *self.parse_text_to_nodes(guess.asked),
            raw(f'</div><fieldset class="{guess.kind}" aria-labelledby="asked-{label}">'),
            *self.inputs(guess),
            raw('</fieldset><button class="pst-js-only">Guess</button><div class="verdict"></div>'),
            raw("<details><summary>The answer</summary>"),
            nodes.container("", *self.parse_text_to_nodes(f"{guess.told}\n\n{guess.meant}")),
            raw("</details></form>"),
        ]

    def inputs(self, guess):
        """What the reader types or chooses; the words of options and cells are there without a script, too."""
        if guess.kind == "number":
            field = '<input type="number" step="any" required>'
            yield raw(f'<label class="pst-js-only">Your guess {field}{escape(guess.unit)}</label>')
        for option in guess.options:
            said, messages = self.parse_inline(option.said)
            field = '<label><input type="radio" name="option" class="pst-js-only" required> <span>'
            yield nodes.paragraph("", "", raw(field), *said, raw("</span></label>"))
            yield from messages
        for place, token in enumerate(guess.tokens):
            field = '<input type="checkbox" class="pst-js-only">'
            yield raw(f"<label>{field}<span>{escape(token)}</span> <small>{place}</small></label>")


def load_script(app, page, template, context, doctree):
    """Let a page that asks for a guess load what keeps and compares it."""
    if '<form class="guess-first"' in context.get("body", ""):
        script = f'<script defer src="{context["pathto"]("_static/guess.js", 1)}"></script>'
        context["metatags"] = "\n".join((context.get("metatags", ""), script))


def setup(app):
    """Add the directive, and its script to the pages that need it."""
    app.add_directive("guess", GuessFirst)
    app.connect("html-page-context", load_script)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
