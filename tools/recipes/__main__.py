"""`make remake` lists the recipes; `make remake NAME=scoreboard` follows one, with `PARTS="..."` for some measures alone."""

import sys

from assign_add_lib.engine.interrupt import listen, stop_at_once

if __name__ == "__main__":
    stop_at_once()

import os
from collections.abc import Sequence

from assign_add_lib.engine.cli import refuse
from assign_add_lib.engine.loop import FAILURES

from .book import RECIPES
from .recipe import ROOT, Recipe, follow


def duration(minutes: float) -> str:
    """Minutes as they are said; none are seconds."""
    return "seconds" if not minutes else f"{minutes:g} min" if minutes < 100 else f"{minutes / 60:.0f} h"


def told(recipe: Recipe) -> str:
    """What a list says of a recipe."""
    lines = [f"{recipe.name}  ({duration(recipe.minutes)} of one core)", f"    {recipe.note}" if recipe.note else ""]
    lines += [f"    makes {', '.join(recipe.makes)}" if recipe.makes else "    prints"]
    lines += [f"    from  {', '.join(recipe.needs)}" if recipe.needs else ""]
    return "\n".join(filter(None, lines))


def main(argv: Sequence[str]) -> int:
    """List all recipes, or follow the one that is named; bad input gives one line on stderr and exit code 2."""
    if not argv:
        print(*map(told, RECIPES.values()), sep="\n")
        return 0
    name, *parts = argv
    if name not in RECIPES:
        return refuse(f"there is no recipe {name}; there are: {', '.join(RECIPES)}")
    os.chdir(ROOT)
    listen()
    try:
        follow(RECIPES[name], RECIPES, parts)
    except KeyboardInterrupt:
        return refuse("stopped; the same command goes on where it can") + 128
    except FAILURES as error:
        return refuse(error)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
