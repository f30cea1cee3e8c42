"""Exact solvers of rows: what could be answered at each question, by one way of using the examples before it.

Each gives probabilities (row, shot, p) of the answers to all questions: certain where its way leads to an answer, even where
it does not.  How often each is right where any input is as likely as any other follows from counting; see the formulas below.
"""

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from .data import Rows, factors, inverses


def _certain(rows: Rows, answers: Tensor, known: Tensor) -> Tensor:
    """Probabilities that are 1 for the answers (row, shot) where they are known (row, shot), and even elsewhere."""
    sure = one_hot(answers, rows.p).double()
    return torch.where(known[..., None], sure, 1 / rows.p)


def _origin(rows: Rows) -> Tensor:
    """Whether each question is of the origin, whose answer is 0 in all tasks, (row, shot)."""
    return (rows.inputs == 0).all(2)


def ratio_matching(rows: Rows) -> Tensor:
    """A question that is c times an earlier input has c times its answer; where several say so, each has a vote."""
    factor = factors(rows)
    said = one_hot(factor * rows.answers[:, None] % rows.p, rows.p).double() * (factor > 0)[..., None]
    votes = said.sum((2, 3))[..., None]
    found = torch.where(votes > 0, said.sum(2) / votes.clamp(min=1), 1 / rows.p)
    found[_origin(rows)] = one_hot(torch.tensor(0, device=found.device), rows.p).double()
    return found


def regression(rows: Rows) -> Tensor:
    """Gaussian elimination modulo p: with two earlier inputs of different directions the task is known, with one its line."""
    p, (x, y), z = rows.p, rows.inputs.unbind(2), rows.answers
    shots = torch.arange(z.shape[1], device=z.device)

    def first(there: Tensor) -> Tensor:
        """The first shot (row, 1) at which something is so, or the number of shots."""
        return torch.where(there, shots, len(shots)).amin(1, keepdim=True)

    def at(shot: Tensor) -> tuple[Tensor, ...]:
        """x, y and z of one shot of each row, each (row, 1)."""
        return tuple(of.gather(1, shot.clamp(max=len(shots) - 1)) for of in (x, y, z))

    one = first(~_origin(rows))
    x1, y1, z1 = at(one)
    two = first(((x1 * y - y1 * x) % p != 0) & (shots > one))
    x2, y2, z2 = at(two)
    scale = inverses(p).to(z.device)[(x1 * y2 - y1 * x2) % p]
    a, b = (z1 * y2 - z2 * y1) * scale % p, (x1 * z2 - x2 * z1) * scale % p
    of_first = factors(rows).gather(2, one.clamp(max=len(shots) - 1)[..., None].expand(-1, len(shots), 1))[..., 0]
    answers = torch.where(shots > two, a * x + b * y, of_first * z1) % p
    return _certain(rows, answers, (shots > two) | (of_first > 0) | _origin(rows))


def memory(rows: Rows, tasks: Tensor) -> Tensor:
    """Of known tasks (task, 2), those that the most earlier examples fit have a vote each."""
    answers = (rows.inputs[:, :, None] * tasks).sum(3) % rows.p  # (row, shot, task)
    fits = (answers == rows.answers[..., None]).long()
    before = fits.cumsum(1) - fits
    best = (before == before.amax(2, keepdim=True)).double()
    return (one_hot(answers, rows.p) * best[..., None]).sum(2) / best.sum(2, keepdim=True)


def _before(marks: Tensor) -> Tensor:
    """Which marks (row, shot, ...) were there at an earlier shot."""
    return marks.cumsum(1) - marks > 0


def _left(rows: Rows, axis: int) -> Tensor:
    """Which answers (row, shot, p) examples leave, all scaled to 1 in the first or second number of their inputs.

    Scaled to x = 1, the answers a + b y of a rule are all different, or all the same if b is 0, as two examples may show;
    likewise in y.  An example or a question with 0 there tells nothing.
    """
    p, one, other = rows.p, rows.inputs[..., axis], rows.inputs[..., 1 - axis]
    inverse = inverses(p).to(one.device)
    there = (one != 0)[..., None]
    came = _before(one_hot(inverse[one] * rows.answers % p, p) * there)  # (row, shot, answer)
    lines = _before(one_hot(inverse[one] * other % p, p) * there).sum(2)
    same = ((came.sum(2) == 1) & (lines > 1))[..., None]
    back = inverse[one][..., None] * torch.arange(p, device=one.device) % p  # from an answer to what it is at 1
    return torch.where(same, came, ~came).gather(2, back) | ~there


def elimination(rows: Rows) -> Tensor:
    """Where the question is no multiple, any answer that examples, scaled to x = 1 and to y = 1, do not strike out: see `_left`.

    A match is used as in `ratio_matching`.
    """
    left = (_left(rows, 0) & _left(rows, 1)).double()
    many = left.sum(2, keepdim=True)
    found = torch.where(many > 0, left / many.clamp(min=1), 1 / rows.p)
    matched = ratio_matching(rows)
    return torch.where((matched == 1 / rows.p).all(2, keepdim=True), found, matched)


def accuracy(probabilities: Tensor, answers: Tensor) -> Tensor:
    """The chance (...) that the likeliest of the answers (..., p), at random where several are, is the right one (...)."""
    best = probabilities == probabilities.amax(-1, keepdim=True)
    return best.gather(-1, answers[..., None])[..., 0].double() / best.sum(-1)
