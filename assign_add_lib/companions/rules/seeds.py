"""The runs of a seed that chapter 16 measures, and the rows that they are tested on.

All runs of a seed share tasks and inputs, but for those with other tasks or other numbers; all main arms get the same test
rows.  Of a run the last step counts, whatever it gives, and beside it the best step, which is named as such: this was settled
before the runs were made.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import cache

import torch
from torch import Tensor

from .analysis import chosen_rows, matched_at, unmatched, unmatched_on
from .data import Rows, Split, draw_questions, draw_rows
from .model import Network
from .training import RuleConfig, RuleRun, load_rules

SEEDS = (0, 1, 2)
FEWER = (8, 16, 24, 32)  # tasks of training, where they are fewer than in the other runs
MAIN = {  # arms that every seed has
    "four layers": {"plan": "lines", "depth": 4},
    "two layers": {"plan": "lines", "depth": 2},
    "one layer": {"plan": "lines", "depth": 1},
    "plain": {"plan": "plain", "depth": 4},
}
ELEVEN = "11 numbers"
OTHERS = {  # arms of the first seed alone
    **{f"{n} tasks": {"plan": "lines", "depth": 4, "tasks": n} for n in FEWER},
    **{plan: {"plan": plan, "depth": 4} for plan in ("reversed", "one-line")},
    "random tasks": {"plan": "lines", "depth": 4, "way": "random"},
    ELEVEN: {"plan": "lines", "depth": 4, "p": 11, "tasks": 96, "d_model": 128},
}
ROWS = 1000  # of each kind on which something is measured
EXAMPLES = 8  # of a row that is taken apart: some rows have one match, some none
MATCH = 3  # the place of the one match
ZEROS = ("with a 0", "without a 0")  # tasks (a, b) by whether a or b is 0
Table = dict[tuple[str, str], float]


class RuleSeed:
    """The runs of one seed, and what they are tested on: those of the main arms, or of another arm alone, see `of`."""

    def __init__(self, seed: int, load=load_rules, main: Sequence[str] = tuple(MAIN)):
        self.seed, self.load, self.main = seed, cache(load), tuple(main)

    def of(self, arm: str) -> "RuleSeed":
        """The same seed where one arm alone is measured, on tasks and inputs of its own."""
        return RuleSeed(self.seed, self.load, [arm])

    @property
    def arms(self) -> dict[str, dict]:
        """The settings of each arm that this seed has."""
        return MAIN | (OTHERS if self.seed == SEEDS[0] else {})

    def run(self, arm: str) -> RuleRun:
        """The run of an arm."""
        return self.load(RuleConfig(seed=self.seed, **(MAIN | OTHERS)[arm]).name)

    @property
    def split(self) -> Split:
        """The tasks and inputs of training of the arms that are measured."""
        return self.run(self.main[0]).split

    def networks(self) -> Iterator[tuple[str, Network]]:
        """The networks of the arms that are measured, and an untrained one, with their names in tables."""
        for arm in self.main:
            yield arm, self.run(arm).network()
        yield "untrained", self.run(self.main[0]).config.network().requires_grad_(False)

    def generator(self, of: int = 0) -> torch.Generator:
        """The stream from which test rows are drawn, a fresh one for each kind."""
        return torch.Generator().manual_seed(4_000_000 + 100 * self.seed + of)

    def rows(self, examples: int = EXAMPLES) -> Rows:
        """Rows of unseen tasks with so many examples before the last question."""
        split = self.split
        return draw_rows(ROWS, examples + 1, split.p, split.unseen, split.shown, self.generator(1))

    def any_question(self) -> Rows:
        """Rows of unseen tasks whose last question is any input, shown in training or not."""
        split = self.split
        every = torch.ones_like(split.shown)
        return draw_questions(ROWS, EXAMPLES + 1, split.p, split.unseen, split.shown, every, self.generator(7))

    def tasks(self, name: str) -> Tensor:
        """The tasks of training, or the others, by what their rows are called in tables: all, or those of one of ZEROS."""
        kind, _, zero = name.partition(", ")
        found = {"seen tasks": self.split.seen, "unseen tasks": self.split.unseen}[kind]
        return found[(found == 0).any(1) == (zero == ZEROS[0])] if zero else found

    def matched(self, of: int = 0, tasks: str = "unseen tasks") -> Rows:
        """Rows whose last question is a multiple of the example at MATCH alone; `of` draws others."""
        return chosen_rows(ROWS, self._drawing(tasks, 10 + of), matched_at(MATCH))

    def unmatched(self, tasks: str = "unseen tasks") -> Rows:
        """Rows whose last question is a multiple of no example."""
        return chosen_rows(ROWS, self._drawing(tasks, 2), unmatched)

    def unmatched_on(self, lines: int, tasks: str = "unseen tasks") -> Rows:
        """The same, where the examples lie on exactly so many lines through the origin, or on it."""
        return chosen_rows(ROWS, self._drawing(tasks, 20 + lines, lines), unmatched_on(lines))

    def _drawing(self, tasks: str, of: int, lines: int = 0) -> Callable[[int], Rows]:
        """What draws rows of tasks, by a stream of their own."""
        split, generator = self.split, self.generator(of)
        shown = split.shown
        return lambda n: draw_questions(n, EXAMPLES + 1, split.p, self.tasks(tasks), shown, shown, generator, lines)


def seeds() -> dict[str, RuleSeed]:
    """The shipped seeds, by name."""
    return {f"seed-{seed}": RuleSeed(seed) for seed in SEEDS}
