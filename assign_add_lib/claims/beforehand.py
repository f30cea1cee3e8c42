"""Rules that were fixed before measuring: what will be concluded from which number, and what was known by then.

The levels of the scoreboard are fixed in the claims themselves, and the predictions of the worlds in their files; beforehand.toml
holds the rules for everything else.  A rule is committed before what it decides is measured.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from pathlib import Path


@dataclass(frozen=True)
class Rule:
    """A rule of a system, the day on which it was committed, what had been seen by then, and what it says of what came out.

    `verdict` is the conclusion in a word or two, `outcome` has the numbers.
    """

    id: str
    fixed: date
    system: str
    rule: str
    seen: str
    verdict: str
    outcome: str


def fixed_rules() -> list[Rule]:
    """All rules, system by system."""
    text = Path(__file__).with_suffix(".toml").read_text("utf-8")
    return [Rule(**each) for each in tomllib.loads(text)["rules"]]
