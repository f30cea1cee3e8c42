"""Many gradient steps in the simplified network, and which pairs of numbers pull at which position."""

from collections.abc import Iterable

import torch
from torch import Tensor

from ..task import Task
from .forward import attention, content, convolve, vectors
from .population import gradient, one_variable_sequences, representatives, symmetrised
from .setting import Setting, coordinates


def silenced(task: Task, tokens: Tensor) -> Tensor:
    """The tokens with PAD in place of every assigned number that is not asked for, (batch, pos)."""
    wanted = torch.zeros_like(tokens, dtype=torch.bool).scatter_(1, task.value_positions(tokens), True)
    return torch.where(task.assigned_numbers(tokens) & ~wanted, task.pad, tokens)


def descent(setting: Setting, W: Tensor, asked: int = 1, silent: bool = False) -> Tensor:
    """-gradient (D, D) over all sequences with `asked` variables, from one of each class, at a W that has the symmetries.

    With `silent` the MLP does not see the distractors' numbers, though attention does.
    """
    tokens, weight = representatives(setting, asked)
    read = silenced(setting.task, tokens) if silent else None
    return -symmetrised(setting.task, gradient(setting, W, tokens, weight, read=read))


def follow(
    parts: Iterable[tuple[Setting, int]], size: float = 0.1, every: int = 2, start: Tensor | None = None, **options
) -> list[Tensor]:
    """W (D, D) before the first and after each `every` steps of all (setting, steps), and the last.

    A step goes along `descent` and moves the largest entry of W by `size`; `start` is W before the first if not the initial.
    The options are those of `descent`: `asked`, how many variables each problem asks for, and `silent`.
    """
    W, kept = start, []
    for setting, steps in parts:
        W = setting.initial() if W is None else W
        for step in range(steps):
            if step % every == 0:
                kept.append(W)
            direction = descent(setting, W, **options)
            W = W + size * direction / direction.abs().max()
    return [*kept, W]


def votes(setting: Setting, W: Tensor, tokens: Tensor) -> Tensor:
    """What every ordered pair (s, t) of numbers votes, (batch, pos, pos): 2 a_s a_t (1 if it is right, less its probability)."""
    task, N = setting.task, setting.task.n_numbers
    a, held = attention(task, W, tokens), tokens < N
    guess = (setting.gamma * convolve(content(task, a, tokens))).softmax(1)
    n = torch.where(held, tokens, 0)
    total = (n[:, :, None] + n[:, None]) % N
    right = (total == task.right_answers(tokens)[:, None, None]).to(a.dtype)
    weight = 2 * (a * held)[:, :, None] * (a * held)[:, None]
    return weight * (right - guess.gather(1, total.flatten(1)).view(total.shape))


def vote_tables(setting: Setting) -> dict[str, Tensor]:
    """The votes (N, N) over x and y, for one name and slot, of the four ordered pairs of positions, without their weights.

    For one assignment, and the variable on the left.
    """
    task, N, W = setting.task, setting.task.n_numbers, setting.initial()
    x, y = torch.cartesian_prod(torch.arange(N), torch.arange(N)).T
    first = torch.zeros(N * N, 1, dtype=torch.long)
    tokens = one_variable_sequences(task, x[:, None], y, first, first, torch.ones(N * N, dtype=torch.bool))
    a, each, at = attention(task, W, tokens), votes(setting, W, tokens), {"y": task.right, "x": 1}
    each = each / (2 * a[:, :, None] * a[:, None])
    return {f"({s}, {t})": each[:, at[s], at[t]].view(N, N) for s, t in ("yy", "xx", "xy", "yx")}


def descent_of(task: Task, each: Tensor, a: Tensor, tokens: Tensor, batch: int = 4096) -> Tensor:
    """What `votes` (batch, pos, pos) write into W under attention a (batch, pos), on average: -gradient / gamma, (D, D)."""
    total = 0
    for vote, seen, part in zip(each.split(batch), a.split(batch), tokens.split(batch)):
        r = vectors(task, part)
        pull = vote.sum(2) - seen * vote.sum((1, 2))[:, None]
        total = total + torch.einsum("bt,btk->bk", pull, r).T @ r[:, -1]
    return total / len(tokens)


def step_on_batch(setting: Setting, tokens: Tensor, struck: bool = False) -> Tensor:
    """The theorem's step (D, D) on a batch of one-variable problems; `struck` leaves out the votes of y with itself."""
    W, written = setting.initial(), 0
    for part in tokens.split(16384):
        each = votes(setting, W, part)
        each = without_operand(setting.task, each, part) if struck else each
        written = written + descent_of(setting.task, each, attention(setting.task, W, part), part) * len(part)
    return setting.step_size * setting.gamma * written / len(tokens)


def without_operand(task: Task, each: Tensor, tokens: Tensor) -> Tensor:
    """`votes` (batch, pos, pos) of one-variable problems without those of the number operand with itself."""
    each, places = each.clone(), [task.left, task.right]
    each[:, places, places] = 0
    return each


def named_entries(task: Task, W: Tensor) -> dict[str, float]:
    """Entries of a W (D, D) that has the symmetries: the signal and four terms that know nothing of which name is asked."""
    at, q0 = coordinates(task), task.equal
    moved, variable, position = (at[name].start for name in ("moved variable", "variable", "position"))
    return {
        "signal": (W[moved, moved] - W[moved, moved + 1]).item(),
        "all assigned numbers": W[moved, q0].item(),
        "number slots": W[position + 1, q0].item(),
        "variables": W[variable, q0].item(),
        "left operand": W[position + task.left, q0].item(),
    }
