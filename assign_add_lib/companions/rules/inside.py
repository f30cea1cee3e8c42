"""Inside a network of rows: waves over numbers and their logarithms, heads, and exchanges between rows.

The causal model that exchanges test is ratio matching: of the question and the examples the network takes a factor c and the
answer z of an example, and says c z.  What is exchanged between two rows then moves c, or z, or both, or nothing.
"""

from collections.abc import Callable

import torch
from torch import Tensor

from ...analysis.fourier import logarithms, spectrum
from .analysis import factor_of
from .data import Rows
from .model import ASKED, Network

Alter = Callable[[str, int, Tensor], Tensor]  # what stands somewhere, at a depth -> what is to stand there
GROUPS = ("sums", "products")  # under which numbers can be turned: all of them, or all but 0


def waves(table: Tensor, group: str) -> Tensor:
    """Shares of the variance over numbers of a table (p, ...), by frequency 1, 2, ... of the turning of a group.

    Under sums a number n turns with n, under products with its logarithm, without 0.  They add up to 1.
    """
    if group == "products":
        table = table[logarithms(len(table))[1:].argsort() + 1]
    return spectrum(table - table.mean(0))[1:]


def relabelled(table: Tensor, generator: torch.Generator, draws: int = 100) -> Tensor:
    """The table (p, ...) with its numbers but 0 in `draws` random orders, (draws, p, ...): the null of `waves`."""
    orders = torch.rand(draws, len(table) - 1, generator=generator).argsort(1) + 1
    return table[torch.cat([torch.zeros_like(orders[:, :1]), orders], 1)]


def passed(network: Network, tokens: Tensor, alter: Alter) -> Tensor:
    """The logits (row, p) of the last question, where `alter` sees and may replace what arises on the way.

    It gets ("stream", depth, (row, position, d_model)) after the embedding, depth 0, and after each layer, and
    ("heads", layer, (row, head, position, d_head)) for what the heads of layers 1, 2, ... read.
    """
    resid = alter("stream", 0, network.embed(tokens))
    for depth, layer in enumerate(network.layers, start=1):
        resid = alter("stream", depth, layer.add(resid, alter("heads", depth, layer.read(resid))))
    return network.read_out(resid[:, ASKED][:, -1])


def streams(network: Network, tokens: Tensor) -> list[Tensor]:
    """The stream (row, position, d_model) after the embedding and after each layer."""
    found = []

    def keep(place: str, depth: int, values: Tensor) -> Tensor:
        if place == "stream":
            found.append(values)
        return values

    passed(network, tokens, keep)
    return found


def head_outputs(network: Network, tokens: Tensor) -> Tensor:
    """What each head writes into the stream at the last question, (layer, head, row, d_model)."""
    found = []

    def keep(place: str, depth: int, values: Tensor) -> Tensor:
        if place == "heads":
            out = network.layers[depth - 1].out.weight.unflatten(1, (values.shape[1], -1))  # (d_model, head, d_head)
            found.append(torch.einsum("rhc,mhc->hrm", values[:, :, -2], out))
        return values

    passed(network, tokens, keep)
    return torch.stack(found)


def without_heads(network: Network, rows: Rows, layer: int, *heads: int) -> float:
    """How often the last question is answered right where heads of a layer, at that question, read their mean over the rows."""

    def alter(place: str, depth: int, values: Tensor) -> Tensor:
        if place == "heads" and depth == layer:
            values = values.clone()
            values[:, heads, -2] = values[:, heads, -2].mean(0)
        return values

    return (passed(network, rows.tokens, alter).argmax(1) == rows.answers[:, -1]).double().mean().item()


def after_exchange(network: Network, base: Rows, source: Rows, depth: int, positions: slice) -> Tensor:
    """What is answered (row,) to the last questions of rows whose stream, at a depth and at some positions, is that of others."""
    given = streams(network, source.tokens)[depth]

    def alter(place: str, at: int, values: Tensor) -> Tensor:
        if place == "stream" and at == depth:
            values = values.clone()
            values[:, positions] = given[:, positions]
        return values

    return passed(network, base.tokens, alter).argmax(1)


def outcomes(said: Tensor, base: Rows, source: Rows, example: int) -> dict[str, float]:
    """Which answer is given after an exchange, as shares of the rows on which those that the causal model knows differ.

    `c z` is that of the row itself; `c' z` has the factor of the other row, `c z'` the answer of its example, `c' z'` both.
    Where the two rows have the same inputs there is one factor, and two answers.
    """
    factors = [factor_of(rows)[:, example] for rows in (base, source)]
    answers = [rows.answers[:, example] for rows in (base, source)]
    ways = ((0, 0), (0, 1)) if torch.equal(base.inputs, source.inputs) else ((0, 0), (1, 0), (0, 1), (1, 1))
    prime = "'"
    named = {f"c{i * prime} z{j * prime}": factors[i] * answers[j] % base.p for i, j in ways}
    values = torch.stack(list(named.values()))
    different = (values[:, None] != values).sum((0, 1)) == len(ways) * (len(ways) - 1)  # in pairs both ways
    return {name: (said == value)[different].double().mean().item() for name, value in named.items()}


def triples(p: int) -> Tensor:
    """All examples x y z but those of the origin, (triple, 3)."""
    every = torch.cartesian_prod(*[torch.arange(p)] * 3)
    return every[(every[:, :2] != 0).any(1)]


def multiples(triples: Tensor, names: Tensor) -> Tensor:
    """Groups (triple,) of examples that are multiples of one another, each number n taken for names[n]; 0 must be itself."""
    p, inverse = len(names), names.argsort()
    turned = inverse[torch.arange(1, p)[:, None, None] * names[triples] % p]  # (factor, triple, 3)
    return (turned @ torch.tensor([p * p, p, 1])).amin(0).unique(return_inverse=True)[1]


def between(values: Tensor, groups: Tensor) -> float:
    """The share of the variance of values (n, d) that lies between groups (n,)."""
    values = values - values.mean(0)
    sizes = groups.bincount()[:, None]
    means = values.new_zeros(len(sizes), values.shape[1]).index_add(0, groups, values) / sizes
    return ((means.square() * sizes).sum() / values.square().sum()).item()


def after_rows(network: Network, rows: Rows, triples: Tensor) -> Tensor:
    """The stream at z of each example, put after each of the rows, (depth, row, triple, d_model)."""
    found = []
    for context in rows.tokens:
        tokens = torch.cat([context.expand(len(triples), -1), triples], 1)
        found.append(torch.stack([resid[:, -1] for resid in streams(network, tokens)]))
    return torch.stack(found, 1)


def over_inputs(outputs: Tensor, rows: Rows) -> Tensor:
    """The mean of outputs (row, d) over the rows that ask each input, (p, p, d); an input that no row asks is not a number."""
    place = rows.inputs[:, -1, 0] * rows.p + rows.inputs[:, -1, 1]
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
