"""The style of a page: one sheet in place of nine, and of the theme's rules those alone that some page can use."""

import os
import re
from functools import cache
from hashlib import sha256
from itertools import pairwise

import tinycss2

ADDRESS = re.compile(r"(url\([\"']?)(?![\"']|data:|#)([^\"')]+)")
SHEET = "_static/sheet.css"
WORD = re.compile(r"[\w-]+")
NESTED = ("media", "supports")
READ = re.compile(r"var\(\s*(--[\w-]+)")


def words_of(text):
    """All that may be the name of a class, or of one element, in a page or in a script."""
    return set(WORD.findall(text))


def join(page, site, root):
    """Let a page link one sheet, SHEET for now, in place of nine, and return its text: each costs a reader time at the start."""
    first, *others = (link for link in page.find_all("link") if "stylesheet" in link.get("rel", ()))
    text = "\n".join(moved(site / link["href"].removeprefix(root).split("?")[0]) for link in (first, *others))
    first.attrs = {"rel": "stylesheet", "href": root + SHEET}
    # a script after a sheet waits for it, and the page for the script
    first.insert_before(next(each for each in page.find_all("script") if "book.js" in each.get("src", "")).extract())
    for link in others:
        link.decompose()
    return text


@cache
def moved(path):
    """A sheet as it must read in the folder _static, which it lies in or below."""
    static = next(parent for parent in path.parents if parent.name == "_static")
    return ADDRESS.sub(lambda match: f"{match[1]}{os.path.relpath(path.parent / match[2], static)}", path.read_text("utf-8"))


@cache
def put(text, words, site):
    """Write what is left of a sheet into a file, and return its name, which is by its content."""
    left = trimmed(text, words)
    name = f"_static/sheet-{sha256(left.encode()).hexdigest()[:12]}.css"
    (site / name).write_text(left, "utf-8")
    return name


def trimmed(text, words):
    """A sheet without rules on a class or an element that these words do not name, and without variables that nothing reads."""
    known = words.union(READ.findall(text))
    left = "\n".join(_kept(tinycss2.parse_stylesheet(text, skip_comments=True, skip_whitespace=True), known))
    return left if left == text else trimmed(left, words)  # what only such a variable read is read no more


def _kept(rules, words):
    for rule in rules:
        if rule.type == "qualified-rule":
            selectors = [each for each in _parts(rule.prelude, ",") if _named(each) <= words]
            content = ";".join(tinycss2.serialize(each) for each in _parts(rule.content, ";") if _variables(each) <= words)
            if selectors and content:
                yield f"{','.join(map(tinycss2.serialize, selectors))}{{{content}}}"
        elif rule.type == "at-rule" and rule.lower_at_keyword in NESTED:
            inner = _kept(tinycss2.parse_rule_list(rule.content, skip_comments=True, skip_whitespace=True), words)
            if text := "".join(inner):
                yield f"@{rule.at_keyword}{tinycss2.serialize(rule.prelude)}{{{text}}}"
        elif rule.type != "at-rule" or rule.lower_at_keyword != "font-face" or "Font Awesome" not in rule.serialize():
            yield rule.serialize()  # all but the icon font


def _parts(tokens, sign):
    """What stands between the signs: the selectors of a rule, or its declarations, each as its tokens."""
    found = [[]]
    for token in tokens:
        if token == sign:
            found.append([])
        else:
            found[-1].append(token)
    return found


def _variables(declaration):
    """The variable that a declaration sets, if it sets one."""
    return {token.value for token in declaration[:2] if token.type == "ident" and token.value.startswith("--")}


def _named(selector):
    """The words of the classes and elements that a selector names; what stands in :not() or :is() may be missing."""
    classes = [name.value for dot, name in pairwise(selector) if dot == "." and name.type == "ident"]
    return words_of(" ".join(classes + [token.value for token in selector if token.type == "hash"]))
