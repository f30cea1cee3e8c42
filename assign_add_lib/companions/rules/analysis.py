"""What a network of rows does: how often it is right by shots, which of two algorithms it follows, and whom it reads.

What answers is anything that gives scores (row, shot, p) of the answers to all questions of rows: a network, or a solver.
"""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from .data import Rows, Split, draw_questions, line_of
from .model import ASKED, Network
from .solvers import accuracy

Answering = Callable[[Rows], Tensor]  # rows -> scores (row, shot, p)
Keep = Callable[[Rows], Tensor]  # rows -> which to keep, (row,)
KINDS = ("the same input", "a multiple", "another direction", "the origin")  # of an example, seen from a question


def answering(network: Network) -> Answering:
    """A network as what answers rows, by its probabilities."""
    return lambda rows: network(rows.tokens).softmax(2).double()


def accuracy_by_shots(answer: Answering, split: Split, name: str, shots: int, rows: int, generator: torch.Generator) -> Tensor:
    """How often it is right on one of SETS after 0, 1, ... examples of training inputs, (shots,)."""
    tasks = split.unseen if name.startswith("unseen") else split.seen
    asked = ~split.shown if name.endswith("new inputs") else split.shown
    right = []
    for examples in range(shots):
        drawn = draw_questions(rows, examples + 1, split.p, tasks, split.shown, asked, generator)
        right.append(accuracy(answer(drawn)[:, -1], drawn.answers[:, -1]).mean())
    return torch.stack(right)


def kinds_of(rows: Rows) -> Tensor:
    """Which of KINDS each example (row, shots - 1) is for the last question, as their places."""
    line, question = line_of(rows.inputs, rows.p), rows.inputs[:, -1:]
    found = torch.where(line[:, :-1] == line[:, -1:], 1, 2)
    found[line[:, :-1] < 0] = KINDS.index("the origin")
    found[(rows.inputs[:, :-1] == question).all(2)] = KINDS.index("the same input")
    return found


def factor_of(rows: Rows) -> Tensor:
    """What the last input is a multiple of: the factor for each example (row, shots - 1), 0 where it is of no such example."""
    x, y = rows.inputs.unbind(2)
    factors = torch.arange(rows.p)[:, None, None]
    fits = (factors * x[:, :-1] % rows.p == x[:, -1:]) & (factors * y[:, :-1] % rows.p == y[:, -1:])
    return torch.where(fits.any(0) & ((x != 0) | (y != 0))[:, :-1], fits.int().argmax(0), 0)


def chosen_rows(n: int, draw: Callable[[int], Rows], keep: Keep) -> Rows:
    """n rows, those that `keep` says, of as many as it takes to draw."""
    kept: list[Rows] = []
    while sum(len(each.answers) for each in kept) < n:
        drawn = draw(4 * n)
        kept.append(drawn.at(keep(drawn)))
    inputs, answers = (torch.cat([getattr(each, name) for each in kept])[:n] for name in ("inputs", "answers"))
    return Rows(drawn.p, inputs, answers)


def matched_at(example: int) -> Keep:
    """Where the last question is a multiple of one example, at this place, by a factor that is not 1, and of no other."""

    def keep(rows: Rows) -> Tensor:
        factors = factor_of(rows)
        return (factors[:, example] > 1) & ((factors > 0).sum(1) == 1)

    return keep


def unmatched(rows: Rows) -> Tensor:
    """Where the last question is a multiple of no example, and not the origin, but two examples of other lines tell the task."""
    line = line_of(rows.inputs, rows.p)
    examples, question = line[:, :-1], line[:, -1:]
    several = examples.amax(1) != torch.where(examples >= 0, examples, rows.p + 1).amin(1)
    return (question[:, 0] >= 0) & (examples != question).all(1) & (examples >= 0).any(1) & several


def lines_known(rows: Rows) -> Tensor:
    """On how many lines through the origin the examples of each row lie, (row,)."""
    line = line_of(rows.inputs[:, :-1], rows.p)
    return (one_hot(line.clamp(min=0), rows.p + 1) * (line >= 0)[..., None]).amax(1).sum(1)


def unmatched_on(lines: int) -> Keep:
    """As `unmatched`, where the examples but those of the origin lie on exactly so many lines."""
    return lambda rows: unmatched(rows) & (lines_known(rows) == lines)


def ordered(scores: Tensor, right: Tensor) -> float:
    """How often, of a right one and a wrong one drawn at random, the right one has the larger score (n,); ties count half."""
    values, place = scores.unique(return_inverse=True)
    rights, wrongs = (place[of].bincount(minlength=len(values)).double() for of in (right, ~right))
    return (rights @ (wrongs.cumsum(0) - wrongs / 2) / (rights.sum() * wrongs.sum())).item()


def altered(rows: Rows, example: Tensor, by: Tensor) -> Rows:
    """The rows with the answer of one example each, (row,), made wrong by some number (row,)."""
    row = torch.arange(len(example))
    answers = rows.answers.clone()
    answers[row, example] = (answers[row, example] + by) % rows.p
    return rows._replace(answers=answers)


def following(answer: Answering, rows: Rows, example: Tensor, by: Tensor) -> dict[str, Tensor]:
    """What becomes of right answers to the last question once one example's answer is wrong: booleans (row,).

    `before` says where it was right; `kept`, where it then still is; `moved`, where it now is what follows by ratio from the
    altered example, c times its answer.  Both are false where it was not right before, and `moved` where the question is no
    multiple of the example.
    """
    said, truth = answer(rows)[:, -1].argmax(1), rows.answers[:, -1]
    after = answer(altered(rows, example, by))[:, -1].argmax(1)
    factor = factor_of(rows)[torch.arange(len(example)), example]
    before = said == truth
    followed = (truth + factor * by) % rows.p
    return {"before": before, "kept": before & (after == truth), "moved": before & (factor > 0) & (after == followed)}


def patterns_at_questions(network: Network, rows: Rows) -> Tensor:
    """Attention weights (layer, row, head, key position) of the last question, at its y."""
    resid, found = network.embed(rows.tokens), []
    last = resid.shape[1] - 2
    for layer in network.layers:
        q, k, _ = layer.queries_keys_values(resid, slice(last, last + 1))
        found.append((q @ k[:, :, : last + 1].transpose(2, 3) / q.shape[-1] ** 0.5).softmax(3)[:, :, 0])
        resid = layer(resid)
    return torch.stack(found)


def read_by_kind(network: Network, rows: Rows) -> dict[tuple[str, str], Tensor]:
    """The mean weight that the last question gives one example of each of KINDS, by its token: (kind, "z") -> (layer, head).

    Even attention would give every token 1 / its number of tokens; a kind that no row has is not a number.
    """
    weights = patterns_at_questions(network, rows)[..., : 3 * (rows.answers.shape[1] - 1)].unflatten(3, (-1, 3))
    kinds = kinds_of(rows)
    found = {}
    for place, kind in enumerate(KINDS):
        of = (kinds == place).to(weights.dtype)
        mean = torch.einsum("lrhst,rs->lht", weights, of) / of.sum()
        found |= {(kind, token): mean[..., i] for i, token in enumerate("xyz")}
    return found


def stream_at_questions(network: Network, rows: Rows) -> list[Tensor]:
    """The stream (row, shot, d_model) at every question, after the embedding and after each layer."""
    resid = network.embed(rows.tokens)
    found = [resid[:, ASKED]]
    for layer in network.layers:
        resid = layer(resid)
        found.append(resid[:, ASKED])
    return found
