"""The runs of a seed that chapter 16 measures, and the rows that they are tested on.

All runs of a seed share tasks and inputs, but for those with other tasks or other numbers; all main arms get the same test
rows.  Of a run the last step counts, whatever it gives, and beside it the best step, which is named as such: this was settled
before the runs were made.
"""

from collections.abc import Callable
from functools import cache, cached_property, partial

import torch
from torch import Tensor

from .analysis import Answering, answering
from .data import Rows, Split, draw_rows, draw_where, matched, unmatched
from .model import Network
from .solvers import memory, ratio_matching, regression
from .training import RuleConfig, RuleRun, load_rules

SEEDS = (0, 1, 2)
FEWER = (8, 16, 24, 32)  # tasks of training, where they are fewer than in the other runs
MAIN = {  # arms that every seed has: what they change of the settings
    "four layers": {},
    "two layers": {"depth": 2},
    "one layer": {"depth": 1},
    "plain": {"plan": "plain"},
}
ELEVEN = "11 numbers"
OTHERS = {  # arms of the first seed alone
    **{f"{n} tasks": {"tasks": n} for n in FEWER},
    **{plan: {"plan": plan} for plan in ("reversed", "one-line")},
    "random tasks": {"way": "random"},
    ELEVEN: {"p": 11, "tasks": 96, "d_model": 128},
}
ROWS = 1000  # of each kind on which something is measured
MANY = 16 * ROWS  # where rows are parted into kinds that are rare
EXAMPLES = 8  # of a row that is taken apart: some rows have one match, some none
MATCH = 3  # the place of the one match
ZEROS = ("with a 0", "without a 0")  # tasks (a, b), or inputs (x, y), by whether one of the two numbers is 0


def by_zero(pairs: Tensor) -> dict[str, Tensor]:
    """Which of some pairs (n, 2) are of each of ZEROS, (n,)."""
    zero = (pairs == 0).any(1)
    return dict(zip(ZEROS, (zero, ~zero)))


class RuleSeed:
    """The runs of one seed that count modulo p, and the rows that they are tested on."""

    def __init__(self, seed: int, p: int = RuleConfig.p, load: Callable[[str], RuleRun] = load_rules):
        self.seed, self.p, self.load = seed, p, cache(load)
        there = MAIN | (OTHERS if seed == SEEDS[0] else {})
        self.arms = {arm: settings for arm, settings in there.items() if settings.get("p", RuleConfig.p) == p}
        self.main = [arm for arm in self.arms if arm in (*MAIN, ELEVEN)]  # those of which more is asked than their metrics

    def run(self, arm: str) -> RuleRun:
        """The run of an arm."""
        return self.load(RuleConfig(seed=self.seed, **self.arms[arm]).name)

    @property
    def split(self) -> Split:
        """The tasks and inputs of training of the main arms."""
        return self.run(self.main[0]).split

    @cached_property
    def networks(self) -> dict[str, Network]:
        """The networks of the main arms, and an untrained one, by their names in tables."""
        untrained = self.run(self.main[0]).config.network().requires_grad_(False)
        return {arm: self.run(arm).network() for arm in self.main} | {"untrained": untrained}

    @property
    def answering(self) -> dict[str, Answering]:
        """These networks, as what answers rows."""
        return {arm: answering(network) for arm, network in self.networks.items()}

    @property
    def solvers(self) -> dict[str, Answering]:
        """The three solvers; what is remembered are the tasks of training."""
        return {"ratio matching": ratio_matching, "regression": regression, "memory": partial(memory, tasks=self.split.seen)}

    def generator(self, of: int = 0) -> torch.Generator:
        """The stream from which test rows are drawn, a fresh one for each kind."""
        return torch.Generator().manual_seed(4_000_000 + 100 * self.seed + of)

    def rows(self) -> Rows:
        """Rows of unseen tasks."""
        return draw_rows(ROWS, EXAMPLES + 1, self.p, self.split.unseen, self.split.shown, self.generator(1))

    def any_question(self) -> Rows:
        """Rows of unseen tasks whose last question is any input, shown in training or not."""
        return self._draw(7, asked=torch.ones_like(self.split.shown))(ROWS)

    def tasks(self, name: str, zero: str = "") -> Tensor:
        """The tasks of one of TASKS: all, or those of one of ZEROS."""
        found = {"seen tasks": self.split.seen, "unseen tasks": self.split.unseen}[name]
        return found[by_zero(found)[zero]] if zero else found

    def matched(self, of: int = 0, tasks: str = "unseen tasks", place: int = MATCH) -> Rows:
        """Rows whose last question is a multiple of the example at one place alone; `of` draws others."""
        return draw_where(partial(matched, example=place), ROWS, self._draw(10 + of, self.tasks(tasks)))

    def unmatched(self, tasks: str = "unseen tasks", lines: int = 0, zero: str = "", rows: int = 0) -> Rows:
        """Rows whose last question is a multiple of no example; with `lines`, the examples lie on exactly so many lines."""
        draw = self._draw(20 + lines if lines else 2, self.tasks(tasks, zero), lines)
        return draw_where(partial(unmatched, lines=lines), rows or ROWS, draw)

    def rows_by_match(self, tasks: str = "unseen tasks") -> dict[str, Rows]:
        """Rows with one match, and with none."""
        return {"one match": self.matched(tasks=tasks), "no match": self.unmatched(tasks)}

    def _draw(self, of: int, tasks: Tensor | None = None, lines: int = 0, asked: Tensor | None = None) -> Callable[[int], Rows]:
        """What draws rows of tasks, the unseen ones by default, by a stream of their own; the last input is of those asked."""
        split, generator = self.split, self.generator(of)
        tasks, asked = split.unseen if tasks is None else tasks, split.shown if asked is None else asked
        return lambda n: draw_rows(n, EXAMPLES + 1, self.p, tasks, split.shown, generator, lines, asked)
