"""Directives for the page of the API: `package-map`, and `module-api` for the names that a module offers.

Each line of the latter is a name, with the members to show after a colon; `*` shows all that have a docstring.  A config
shows its settings.
"""

import re
from importlib import import_module
from inspect import isclass

from sphinx.util.docutils import SphinxDirective

import assign_add_lib
from assign_add_lib.engine.learner import Config


def table(head, rows):
    """The lines of a table in reStructuredText."""
    cells = [f"{'  ' if place else '* '}- {cell}" for row in (head, *rows) for place, cell in enumerate(row)]
    return [".. list-table::", "   :header-rows: 1", "", *(f"   {each}" for each in cells), ""]


class Lines(SphinxDirective):
    """A directive that stands for lines of reStructuredText."""

    def run(self):
        """Let Sphinx read them."""
        self.content = type(self.content)(self.lines(), source=self.get_source_info()[0])
        return self.parse_content_to_nodes()


class PackageMap(Lines):
    """The map at the head of the package."""

    def lines(self):
        """A row for each of its entries."""
        entries = re.sub(r",\n +", ", ", assign_add_lib.__doc__)
        rows = re.findall(r"^    (\w+/?) +(\S.*?)(?:  +(\S.*))?$", entries, re.MULTILINE)
        return table(("module", "what it holds", "used in"), [(f"`{name}`", words, where) for name, words, where in rows])


class ModuleApi(Lines):
    """Names of the module that is its argument: a table of them, then what each docstring says."""

    required_arguments, has_content = 1, True

    def lines(self):
        """What autosummary and autodoc are asked for."""
        module, content = self.arguments[0], [line.partition(":")[::2] for line in self.content]
        names = [f"   {name}" for name, _ in content]
        lines = [f".. currentmodule:: {module}", "", ".. autosummary::", "   :nosignatures:", "", *names, ""]
        for name, members in content:
            thing = getattr(import_module(module), name)
            kind = "class" if isclass(thing) else "function" if callable(thing) else "data"
            lines += [f".. auto{kind}:: {module}.{name}", *["   :no-value:"] * isinstance(thing, dict)]
            lines += [f"   :members: {members.strip('* ')}"] * bool(members) + [""]
            if isclass(thing) and issubclass(thing, Config):
                settings = [
                    (f"`{each}`", f"`{default}`", words.replace("*", "\\*"))
                    for each, (_, default, words) in thing.settings().items()
                ]
                lines += [f"   {line}" for line in table(("setting", "default", "meaning"), settings)]
        return lines


def named_defaults(app, what, name, thing, options, signature, returned):
    """A signature in which functions and classes that are defaults stand by their names, so that it can be read."""
    return signature and re.sub(r"<(?:class|function) '?([\w.]+)[^>]*>", r"\1", signature), returned


def setup(app):
    """Add them."""
    app.add_directive("package-map", PackageMap)
    app.add_directive("module-api", ModuleApi)
    app.connect("autodoc-process-signature", named_defaults)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
