"""What a network of rows does, and what stands inside: wrong examples, attention, exchanges between rows, waves.

What answers is anything that gives scores (row, shot, p) of the answers to questions of rows, of which the last is read: a
network, which is asked no other, or a solver.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from .data import KINDS, Rows, factors_of_last, index_of, kinds_of, with_wrong_answers
from .model import EVERY, Network, record
from .solvers import accuracy

Answering = Callable[[Rows], Tensor]  # rows -> scores (row, shot, p)
LAST = -2  # the position of the last question's y
END = slice(-1, None)  # the same, of tokens that end there
CHUNK = 250  # rows that are asked at a time: more take longer, each


def answering(network: Network) -> Answering:
    """A network as what answers the last question of rows, by its probabilities (row, 1, p)."""
    return lambda rows: torch.cat([network(part, END) for part in rows.asking.split(CHUNK)]).softmax(2).double()


def right(answer: Answering, rows: Rows) -> Tensor:
    """The chance with which the last question of each row is answered right, (row,)."""
    return accuracy(answer(rows)[:, -1], rows.answers[:, -1])


def said_to(answer: Answering, rows: Rows) -> Tensor:
    """What is said to the last question of each row, (row,)."""
    return answer(rows)[:, -1].argmax(1)


def following(
    answer: Answering, rows: Rows, example: Tensor, by: Tensor, said: Tensor | None = None
) -> tuple[Tensor, Tensor, Tensor]:
    """What becomes of right answers to the last question once one example's answer is wrong: three times booleans (row,).

    Where it was right before; where it then still is; and where it now is what follows by ratio from the wrong example, c times
    its answer.  The last two are false where it was not right before, the last where the question is no multiple of the example.
    `said` is what was said before (row,), where this is known.
    """
    truth, said = rows.answers[:, -1], said_to(answer, rows) if said is None else said
    after = said_to(answer, with_wrong_answers(rows, example, by))
    factor = factors_of_last(rows)[torch.arange(len(example)), example]
    before = said == truth
    return before, before & (after == truth), before & (factor > 0) & (after == (truth + factor * by) % rows.p)


def streams(network: Network, tokens: Tensor) -> list[Tensor]:
    """The stream (row, position, d_model) after the embedding and after each layer."""
    return record(network, tokens, network.streams)


def patterns_at_questions(network: Network, rows: Rows) -> Tensor:
    """Attention weights (layer, row, head, key position) of the last question, at its y."""
    patterns = record(network, rows.asking, [f"blocks.{n}.attn.hook_pattern" for n in range(len(network.layers))], END)
    return torch.stack([each[:, :, -1] for each in patterns])


def read_by_kind(network: Network, rows: Rows) -> dict[str, Tensor]:
    """The mean weight that the last question gives x, y and z of one example of each of KINDS, (layer, head, 3).

    Even attention would give every token 1 / its number of tokens; a kind that no row has is not a number.
    """
    weights = patterns_at_questions(network, rows)[..., : 3 * (rows.answers.shape[1] - 1)].unflatten(3, (-1, 3))
    kinds = kinds_of(rows)
    of_kind = {kind: (kinds == place).to(weights.dtype) for place, kind in enumerate(KINDS)}
    return {kind: torch.einsum("lrhst,rs->lht", weights, of) / of.sum() for kind, of in of_kind.items()}


def head_outputs(network: Network, tokens: Tensor) -> Tensor:
    """What each head writes into the stream at the last question, (layer, head, row, d_model)."""
    read = record(network, tokens[:, :-1], [f"blocks.{n}.attn.hook_z" for n in range(len(network.layers))], END)
    out = [layer.out.weight.unflatten(1, (layer.heads, -1)) for layer in network.layers]  # each (d_model, head, d_head)
    return torch.stack([torch.einsum("rhc,mhc->hrm", z[:, -1], each) for z, each in zip(read, out)])


def without_heads(network: Network, rows: Rows, layer: int, heads: list[int]) -> Tensor:
    """Where the last question is answered right though heads of a layer read their mean over the rows at it, (row,)."""

    def silenced(z: Tensor) -> Tensor:
        z = z.clone()
        z[:, -1, heads] = z[:, -1, heads].mean(0)
        return z

    logits = network(rows.asking, END, {f"blocks.{layer}.attn.hook_z": silenced})
    return logits[:, -1].argmax(1) == rows.answers[:, -1]


def after_exchange(network: Network, base: Rows, source: Rows, depth: int, positions: slice) -> Tensor:
    """What is answered (row,) to the last questions of rows whose stream, at a depth and at some positions, is that of others."""
    site = network.streams[depth]
    [given] = record(network, source.tokens, [site])
    alter = {site: lambda stream: stream.slice_scatter(given[:, positions], 1, positions.start, positions.stop)}
    return network(base.tokens, EVERY, alter)[:, LAST].argmax(1)


def outcomes(said: Tensor, base: Rows, source: Rows, example: int) -> dict[str, float]:
    """Which answer is given after an exchange, as shares of the rows on which those that the causal model knows differ.

    The model is ratio matching: a factor c, of the question and the example, times the answer z of the example.  `c z` is that
    of the row itself; `c' z` has the factor of the other row, `c z'` the answer of its example, `c' z'` both.  Where the two
    rows have the same inputs there is one factor, and two answers.
    """
    c, other_c = (factors_of_last(rows)[:, example] for rows in (base, source))
    z, other_z = (rows.answers[:, example] for rows in (base, source))
    named = {"c z": c * z, "c' z": other_c * z, "c z'": c * other_z, "c' z'": other_c * other_z}
    if torch.equal(base.inputs, source.inputs):
        named = {name: named[name] for name in ("c z", "c z'")}
    values = torch.stack(list(named.values())) % base.p
    differ = (values.sort(0).values.diff(dim=0) > 0).all(0)
    return {name: (said == value)[differ].double().mean().item() for name, value in zip(named, values)}


def over_inputs(outputs: Tensor, rows: Rows) -> Tensor:
    """The mean of outputs (row, d) over the rows that ask each input, (p, p, d); an input that no row asks is not a number."""
    place = index_of(rows.inputs[:, -1], rows.p)
    total = outputs.new_zeros(rows.p**2, outputs.shape[1]).index_add(0, place, outputs)
    return (total / place.bincount(minlength=rows.p**2)[:, None]).unflatten(0, (rows.p, rows.p))


def largest_wave(table: Tensor, names: Tensor) -> float:
    """The largest share that one wave has in the variance of a table (p, p, d) over the inputs (x, y) without 0.

    `names` (p,) says which power of a root each number is taken for, -1 for 0: the true `logarithms`, or others as a null.  A
    wave is a pair of frequencies, of log x and of log y, with its opposite.
    """
    order = names[1:].argsort() + 1
    power = torch.fft.fft2(table[order][:, order].double(), dim=(0, 1)).abs().square().sum(2)
    power[0, 0] = 0
    opposite = (-torch.arange(len(order))) % len(order)
    alone = (opposite == torch.arange(len(order))).outer(opposite == torch.arange(len(order)))  # their own opposites
    folded = torch.where(alone, power, power + power[opposite][:, opposite])
    return (folded.max() / power.sum()).item()


def relabelled(table: Tensor, generator: torch.Generator, draws: int = 100) -> Tensor:
    """The table (p, ...) with its numbers but 0 in `draws` random orders, (draws, p, ...): the null of waves and groups."""
    orders = torch.rand(draws, len(table) - 1, generator=generator).argsort(1) + 1
    return table[torch.cat([torch.zeros_like(orders[:, :1]), orders], 1)]
