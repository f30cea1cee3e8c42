"""All training sequences at once: exact enumeration, the gradient of the population loss, and the symmetry that shortens both.

Renaming variables, exchanging slots and replacing every number n by u n + s (u not 0) change no probability.  So the gradient
at a W that has these symmetries has them too, and for a prime N two cases stand for all numbers: x = y, and x = y + 1.
"""

from dataclasses import replace
from itertools import permutations

import torch
from torch import Tensor

from ..task import Task
from .forward import logits
from .setting import Setting, coordinates, dimensions


def one_variable_sequences(task: Task, numbers: Tensor, y: Tensor, names: Tensor, slots: Tensor, left: Tensor) -> Tensor:
    """One-variable sequences (batch, length) with `numbers`, `names` and `slots` (batch, K), the asked assignment first.

    The operand y (batch,) stands on the other side of the variable, which is `left` (batch,) or not.
    """
    tokens = torch.full((len(y), task.length), task.pad)
    tokens.scatter_(1, 2 * slots, names + task.first_variable).scatter_(1, 2 * slots + 1, numbers)
    variable = names[:, 0] + task.first_variable
    tokens[:, task.room], tokens[:, task.last] = task.plus, task.equal
    tokens[:, task.left], tokens[:, task.right] = torch.where(left, variable, y), torch.where(left, y, variable)
    return tokens


def _combinations(*lists: Tensor) -> Tensor:
    """The places (list, combination) of all combinations of the rows of several lists."""
    return torch.cartesian_prod(*(torch.arange(len(each)) for each in lists)).T


def _orders(rho: float) -> tuple[Tensor, Tensor]:
    """Where the variable stands (left or not), and how often."""
    p = torch.tensor([rho, 1 - rho], dtype=torch.float64)
    return torch.tensor([True, False])[p > 0], p[p > 0]


def every_sequence(setting: Setting) -> tuple[Tensor, Tensor]:
    """All one-variable sequences (batch, length), and the probability (batch,) of each."""
    task, K, N = setting.task, setting.assignments, setting.task.n_numbers
    numbers = torch.cartesian_prod(*[torch.arange(N)] * (K + 1))  # x, the distractors', y
    names = torch.tensor(list(permutations(range(task.n_variables), K)))
    slots = torch.tensor(list(permutations(range(setting.slots), K)))
    left, p = _orders(setting.rho)
    number, name, slot, order = _combinations(numbers, names, slots, left)
    tokens = one_variable_sequences(task, numbers[number, :-1], numbers[number, -1], names[name], slots[slot], left[order])
    return tokens, p[order] / p[order].sum()


def representatives(setting: Setting, asked: int = 1) -> tuple[Tensor, Tensor]:
    """One sequence for each class of `every_sequence` under the symmetries, for a prime N, with the probability of the class.

    With `asked` 2 both operands are variables: the classes of all two-variable sequences; ValueError for other numbers.
    """
    task, K, N = setting.task, setting.assignments, setting.task.n_numbers
    if not 1 <= asked <= min(2, K):
        raise ValueError("one or two assigned variables can be asked for")
    if asked == 2:  # the number operand becomes the second assignment
        tokens, weight = representatives(replace(setting, assignments=K - 1, rho=1.0))
        slot = 2 * (K - 1)
        tokens[:, slot], tokens[:, slot + 1] = task.first_variable + K - 1, tokens[:, task.right]
        tokens[:, task.right] = tokens[:, slot]
        return tokens, weight
    first, of_first = torch.tensor([0, 1]), torch.tensor([1 / N, 1 - 1 / N], dtype=torch.float64)  # x, with y = 0
    others = torch.combinations(torch.arange(N), K - 1, with_replacement=True) if K > 1 else torch.zeros(1, 0, dtype=torch.long)
    repeats = (others[:, :, None] == torch.arange(N)).sum(1)  # (multisets, N)
    weight = (-(repeats + 1.0).double().lgamma().sum(1)).exp()  # of K - 1 numbers in any order, but for a constant
    left, p = _orders(setting.rho)
    case, other, order = _combinations(first, others, left)
    x, places = first[case], torch.arange(K).expand(len(case), K)
    numbers = torch.cat([x[:, None], others[other]], 1)
    tokens = one_variable_sequences(task, numbers, torch.zeros_like(x), places, places, left[order])
    return tokens, of_first[case] * (weight / weight.sum())[other] * p[order]


def gradient(
    setting: Setting, W: Tensor, tokens: Tensor, weight: Tensor, batch: int = 20_000, read: Tensor | None = None
) -> Tensor:
    """Gradient (D, D) of the weighted cross entropy with respect to W, by autograd, in batches; `read` as in `logits`."""
    W = W.detach().requires_grad_()
    total, read = torch.zeros_like(W), tokens if read is None else read
    with torch.enable_grad():
        for part, given, p in zip(tokens.split(batch), read.split(batch), weight.split(batch)):
            target = setting.task.right_answers(part)
            loss = torch.nn.functional.cross_entropy(logits(setting, W, part, given), target, reduction="none") @ p
            total += torch.autograd.grad(loss, W)[0]
    return total


def symmetrised(task: Task, G: Tensor, numbers: bool = True) -> Tensor:
    """The mean of G (D, D) over all renamings of variables and exchanges of slots, and of numbers unless `numbers` is False."""
    at, D = coordinates(task), dimensions(task)
    kind = torch.zeros(D, dtype=torch.long)  # coordinates of one kind can be exchanged
    thing = -torch.arange(1, D + 1)  # what a coordinate stands for: a number or variable stays itself when moved
    for place, block in enumerate(at.values()):
        kind[block] = place
    for first, names in ((0, ("number", "moved number")), (task.n_numbers, ("variable", "moved variable"))):
        for name in names:
            thing[at[name]] = first + torch.arange(at[name].stop - at[name].start)
    if not numbers:
        for place, name in enumerate(("number", "moved number"), 2 * D):
            kind[at[name]] = place * D + torch.arange(task.n_numbers)
    position = torch.arange(task.length)
    kind[at["position"]] = len(at) + torch.where(position < task.room, position % 2, position)  # the slots are alike
    pair = 2 * (kind[:, None] * (kind.max() + 1) + kind) + (thing[:, None] == thing)
    _, orbit = pair.flatten().unique(return_inverse=True)
    means = torch.bincount(orbit, weights=G.flatten()) / torch.bincount(orbit)
    return means[orbit].view(D, D)


def step_on_pairs(setting: Setting, kept: Tensor) -> Tensor:
    """The theorem's step (D, D) for one assignment if only the pairs (left, right) in the table `kept` (N, N) occur, evenly.

    From one name and one slot alone, since pairs that are left out leave the symmetry of names and of slots.
    """
    values = kept.nonzero()
    left, p = _orders(setting.rho)
    pair, order = _combinations(values, left)
    values = torch.where(left[order, None], values[pair], values[pair].flip(1))  # the variable's number first
    zero = torch.zeros(len(pair), 1, dtype=torch.long)
    tokens = one_variable_sequences(setting.task, values[:, :1], values[:, 1], zero, zero, left[order])
    weight = p[order] / p[order].sum()
    return -setting.step_size * symmetrised(setting.task, gradient(setting, setting.initial(), tokens, weight), numbers=False)


def draw(setting: Setting, asked: int, size: int, generator: torch.Generator) -> Tensor:
    """Random problems (size, length) with 0, 1 or 2 variables among the operands, and K assignments in random slots."""
    task, K = setting.task, max(setting.assignments, asked)
    names = torch.rand(size, task.n_variables, generator=generator).argsort(1)[:, :K]
    slots = torch.rand(size, setting.slots, generator=generator).argsort(1)[:, :K]
    numbers = torch.randint(task.n_numbers, (size, K + 2), generator=generator)
    left = torch.rand(size, generator=generator) < 0.5
    tokens = one_variable_sequences(task, numbers[:, :K], numbers[:, K], names, slots, left)
    if asked != 1:
        operands = numbers[:, K:] if asked == 0 else names[:, :2] + task.first_variable
        tokens[:, task.left : task.right + 1] = operands
    return tokens


def outcome(setting: Setting, W: Tensor, tokens: Tensor) -> Tensor:
    """Whether the largest logit is the right answer, (batch,)."""
    return logits(setting, W, tokens).argmax(1) == setting.task.right_answers(tokens)
