"""Rules from examples: rows of solved examples of z = a x + b y modulo p, and which rules and inputs training shows.

A task is a rule, the pair (a, b); an input is a pair (x, y).  A row gives examples x y z of one task, one after the other;
each is a question first, and an example for those after it.  He, Doshi, Das and Gromov, arXiv 2406.02550, at sizes of our own.
"""

from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

WAYS = ("rectangles", "random")  # of choosing the tasks of training
SPLIT_SEED = 3_000_000  # added to the seed: tasks and inputs are drawn from a stream of their own
SETS = ("seen tasks", "unseen tasks", "seen tasks, new inputs", "unseen tasks, new inputs")  # of questions
KINDS = ("the same input", "a multiple", "another direction", "the origin")  # of an example, seen from a question


def all_pairs(p: int) -> Tensor:
    """All pairs of numbers modulo p, (p * p, 2), in order: tasks, or inputs."""
    return torch.cartesian_prod(torch.arange(p), torch.arange(p))


def index_of(pairs: Tensor, p: int) -> Tensor:
    """The place of each pair (..., 2) in `all_pairs`, (...)."""
    return pairs[..., 0] * p + pairs[..., 1]


def inverses(p: int) -> Tensor:
    """The inverse of each number modulo a prime p, (p,); of 0 it is 0."""
    return torch.tensor([pow(number, p - 2, p) for number in range(p)])


def line_of(pairs: Tensor, p: int) -> Tensor:
    """The line through the origin on which each pair (..., 2) lies, (...): y / x, or p where x is 0; -1 for the origin."""
    x, y = pairs.unbind(-1)
    slope = torch.where(x == 0, p, y * inverses(p).to(x.device)[x] % p)
    return torch.where((x == 0) & (y == 0), -1, slope)


def choose_tasks(p: int, n: int, way: str, generator: Generator) -> Tensor:
    """n different tasks (n, 2) in order.

    At random, or by rectangles: a task (a, b) and new values x of a and y of b give the four tasks (a, b), (a, y), (x, b) and
    (x, y), so that each shares its a and its b with others.  Rectangles are drawn as long as tasks are missing, and one that
    would bring too many is drawn again.
    """
    if not 4 <= n <= p * p or way == "rectangles" and n % 4:
        raise ValueError(f"training has from 4 to {p * p} tasks, of rectangles a multiple of 4, not {n}")
    if way == "random":
        return all_pairs(p)[torch.randperm(p * p, generator=generator)[:n].sort().values]
    chosen = torch.zeros(p, p, dtype=torch.bool)
    while missing := n - int(chosen.sum()):
        a, x = torch.randperm(p, generator=generator)[:2]
        b, y = torch.randperm(p, generator=generator)[:2]
        corners = torch.stack([a, a, x, x]), torch.stack([b, y, b, y])
        if 0 < int((~chosen[corners]).sum()) <= missing:
            chosen[corners] = True
    return chosen.nonzero()


class Split(NamedTuple):
    """What training shows of a world of p numbers: some of the tasks, and some of the inputs, the same for all tasks."""

    p: int
    seen: Tensor  # (task, 2)
    shown: Tensor  # (p * p,) whether an input is one of training, in the order of `all_pairs`

    @classmethod
    def draw(cls, p: int, n: int, way: str, alpha: float, seed: int) -> "Split":
        """n tasks chosen one of the WAYS, and a share alpha of the inputs."""
        generator = torch.Generator().manual_seed(SPLIT_SEED + seed)
        tasks = choose_tasks(p, n, way, generator)
        shown = torch.zeros(p * p, dtype=torch.bool)
        shown[torch.randperm(p * p, generator=generator)[: round(alpha * p * p)]] = True
        return cls(p, tasks, shown)

    @property
    def unseen(self) -> Tensor:
        """The tasks that training does not show, (task, 2)."""
        left = torch.ones(self.p * self.p, dtype=torch.bool)
        left[index_of(self.seen, self.p)] = False
        return all_pairs(self.p)[left]

    def to(self, device: torch.device | str) -> "Split":
        """The same on a device."""
        return self._replace(seen=self.seen.to(device), shown=self.shown.to(device))


class Rows(NamedTuple):
    """Rows of examples, each of one task."""

    p: int
    inputs: Tensor  # (row, shot, 2)
    answers: Tensor  # (row, shot)

    @classmethod
    def solve(cls, p: int, tasks: Tensor, inputs: Tensor) -> "Rows":
        """Inputs (row, shot, 2) with the answers of tasks (row, 2)."""
        return cls(p, inputs, (tasks[:, None] * inputs).sum(2) % p)

    def at(self, which: Tensor | slice) -> "Rows":
        """Some of the rows."""
        return self._replace(inputs=self.inputs[which], answers=self.answers[which])

    @property
    def tokens(self) -> Tensor:
        """x y z of each example, one after the other, (row, 3 * shots)."""
        return torch.cat([self.inputs, self.answers[..., None]], 2).flatten(1)

    @property
    def asking(self) -> Tensor:
        """The same without the last answer, (row, 3 * shots - 1)."""
        return self.tokens[:, :-1]


def draw_inputs(rows: int, shots: int, p: int, allowed: Tensor, generator: Generator, lines: int = 0) -> Tensor:
    """Inputs (row, shot, 2), each one of those allowed (p * p,), drawn with replacement.

    With `lines`, the inputs of a row lie on so many lines through the origin, drawn for each row, and none is the origin;
    ValueError where the allowed inputs lie on fewer.
    """
    pairs, random = all_pairs(p).to(allowed.device), {"generator": generator, "device": generator.device}
    if not shots:
        return pairs.new_empty(rows, 0, 2)
    if not lines:
        return pairs[torch.multinomial(allowed.float(), rows * shots, replacement=True, generator=generator)].view(rows, shots, 2)
    line = line_of(pairs, p)
    there = line[allowed & (line >= 0)].unique()
    if lines > len(there):
        raise ValueError(f"the inputs lie on {len(there)} lines through the origin, not on {lines}")
    on = torch.zeros(rows, p + 2, device=allowed.device)  # the last column is that of the origin
    on.scatter_(1, there[torch.rand(rows, len(there), **random).argsort(1)[:, :lines]], 1)
    return pairs[torch.multinomial(on[:, line] * allowed, shots, replacement=True, generator=generator)]


def draw_tasks(rows: int, tasks: Tensor, generator: Generator) -> Tensor:
    """A task for each row, (row, 2): each of those given (task, 2) as often as any other, but for a remainder."""
    order = torch.randperm(len(tasks), generator=generator, device=tasks.device)
    return tasks[order.repeat(-(-rows // len(tasks)))[:rows]]


def draw_rows(
    n: int, shots: int, p: int, tasks: Tensor, allowed: Tensor, generator: Generator, lines: int = 0, asked: Tensor | None = None
) -> Rows:
    """n rows of examples of these tasks (task, 2) on allowed inputs (p * p,): see `draw_tasks` and `draw_inputs`.

    With `asked` (p * p,), the last question of each row is one of these inputs, whatever the lines of the examples.
    """
    drawn = draw_tasks(n, tasks, generator)
    if asked is None:
        return Rows.solve(p, drawn, draw_inputs(n, shots, p, allowed, generator, lines))
    examples = draw_inputs(n, shots - 1, p, allowed, generator, lines)
    return Rows.solve(p, drawn, torch.cat([examples, draw_inputs(n, 1, p, asked, generator)], 1))


def draw_set(name: str, split: Split, rows: int, shots: int, generator: Generator) -> Rows:
    """Rows of one of SETS: examples of the inputs of training, and a last question from these, or from the others."""
    tasks = split.unseen if name.startswith("unseen") else split.seen
    asked = ~split.shown if name.endswith("new inputs") else split.shown
    return draw_rows(rows, shots, split.p, tasks.to(asked.device), split.shown, generator, asked=asked)


def draw_where(keep: Callable[[Rows], Tensor], n: int, draw: Callable[[int], Rows]) -> Rows:
    """n rows, those that `keep` says (row,), of as many as it takes to draw."""
    kept: list[Rows] = []
    while sum(len(rows.answers) for rows in kept) < n:
        drawn = draw(4 * n)
        kept.append(drawn.at(keep(drawn)))
    return Rows(drawn.p, torch.cat([rows.inputs for rows in kept])[:n], torch.cat([rows.answers for rows in kept])[:n])


def factors(rows: Rows) -> Tensor:
    """What each question is of each example before it: the factor (row, shot, example), 0 where it is no multiple."""
    x, y = rows.inputs.unbind(2)
    inverse = inverses(rows.p).to(x.device)
    turned = (x[:, :, None] * y[:, None] - y[:, :, None] * x[:, None]) % rows.p
    factor = torch.where(x[:, None] != 0, x[:, :, None] * inverse[x][:, None], y[:, :, None] * inverse[y][:, None]) % rows.p
    return torch.where(turned == 0, factor, 0).tril(-1)


def factors_of_last(rows: Rows) -> Tensor:
    """What the last question is of each example: the factor (row, shots - 1), 0 where it is no multiple."""
    return factors(rows)[:, -1, :-1]


def kinds_of(rows: Rows) -> Tensor:
    """Which of KINDS each example (row, shots - 1) is for the last question, as their places."""
    examples, question = rows.inputs[:, :-1], rows.inputs[:, -1:]
    found = torch.where(factors_of_last(rows) > 0, KINDS.index("a multiple"), KINDS.index("another direction"))
    found[(examples == 0).all(2)] = KINDS.index("the origin")
    found[(examples == question).all(2)] = KINDS.index("the same input")
    return found


def lines_known(rows: Rows) -> Tensor:
    """On how many lines through the origin the examples of each row lie, (row,)."""
    line = line_of(rows.inputs[:, :-1], rows.p)
    return (one_hot(line.clamp(min=0), rows.p + 1) * (line >= 0)[..., None]).amax(1).sum(1)


def matched(rows: Rows, example: int) -> Tensor:
    """Where the last question is a multiple of one example, at this place, by a factor that is not 1, and of no other, (row,)."""
    factor = factors_of_last(rows)
    return (factor[:, example] > 1) & ((factor > 0).sum(1) == 1)


def unmatched(rows: Rows, lines: int = 0) -> Tensor:
    """Where the last question is a multiple of no example, and not the origin, but two examples of other lines tell the task.

    With `lines`, only where the examples lie on exactly so many; (row,).
    """
    known = lines_known(rows)
    alone = (rows.inputs[:, -1] != 0).any(1) & (factors_of_last(rows) == 0).all(1)
    return alone & (known == lines if lines else known > 1)


def with_wrong_answers(rows: Rows, example: Tensor, by: Tensor) -> Rows:
    """The rows with the answer of one example each, (row,), made wrong by some number (row,)."""
    row, answers = torch.arange(len(example)), rows.answers.clone()
    answers[row, example] = (answers[row, example] + by) % rows.p
    return rows._replace(answers=answers)
