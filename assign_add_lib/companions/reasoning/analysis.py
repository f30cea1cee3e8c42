"""Inside a looped arm: values iteration by iteration, wrong values put in, what heads read and move, exchanges, and waves."""

from collections.abc import Callable, Sequence
from itertools import islice

import torch
from torch import Tensor

from ...analysis.fourier import remove
from .data import FACTORS, FAN_IN, Graphs, Vocabulary, write
from .model import Layer, Network, iterate, passed_on
from .training import TOKENS_PASS, at_definitions, iterations

MENTIONS = ("all", "own", "other")  # which of them layer 1 does not read


def renumbered(graphs: Graphs, generator: torch.Generator) -> Graphs:
    """The same graphs with other numbers in their leaves."""
    numbers = torch.randint(graphs.vocabulary.modulus, graphs.numbers.shape, generator=generator)
    return graphs._replace(numbers=numbers * graphs.leaf)


@torch.no_grad()
def disturbed(network: Network, arm: str, graphs: Graphs, at: int, share: float, more: int, generator: torch.Generator) -> Tensor:
    """The values (1 + more, graph, node) as a share of the nodes gets wrong latents after `at` iterations, and after each more.

    The wrong latent of a node is what it holds at that moment in a run of the same graph with other numbers, where that
    run holds another value: so the injection is the same for every looped arm.
    """
    tokens, discrete = write(graphs), arm in TOKENS_PASS
    other = write(renumbered(graphs, generator))
    ended = [list(islice(iterate(network, network.embed(each.factors), discrete), at))[-1] for each in (tokens, other)]
    own, wrong = (network.value(at_definitions(each, tokens)).argmax(2) for each in ended)
    hit = (torch.rand(own.shape, generator=generator) < share) & (own != wrong)
    there = torch.zeros_like(tokens.defines).scatter(1, tokens.definitions, hit)
    latent, donor = (passed_on(network, each, discrete) for each in ended)
    after = iterations(network, arm, tokens, torch.where(there[..., None], donor, latent), more)
    return torch.cat([torch.where(hit, wrong, own)[None], after])


def last_equation(graphs: Graphs, operands: Tensor) -> Graphs:
    """The same graphs with other operands of the last node, (graph, FAN_IN)."""
    changed = graphs.operands.clone()
    changed[:, -1] = operands
    depths = graphs.depths.clone()
    there = operands >= 0
    depths[:, -1] = 1 + torch.where(there, depths.gather(1, operands.clamp(min=0)), 0).amax(1)
    return graphs._replace(operands=changed, depths=depths)


@torch.no_grad()
def head_outputs(network: Network, factors: Tensor) -> Tensor:
    """What each head of a block adds to the stream, (layer, graph, head, position, d_model), from tokens (graph, position, 4)."""
    resid, found = network.embed(factors), []
    for layer in network.blocks[0].layers:
        read = layer.read(resid)
        found.append(torch.einsum("ghpd,mhd->ghpm", read, layer.out.weight.unflatten(1, (layer.heads, -1))))
        resid = layer.add(resid, read)
    return torch.stack(found)


@torch.no_grad()
def operand_variances(network: Network, graphs: Graphs) -> Tensor:
    """How the output of each head at the last definition depends on each operand, (layer, head, operand): variances.

    For each operand of the last node, which has three, all earlier nodes that are no operand stand in for it in turn, the
    others fixed; the variance of the head's output over these is summed over its directions, and a mean over graphs.  All
    earlier nodes hold their values, the last one none.
    """
    nodes, variances = graphs.names.shape[1], []
    held = graphs.solution.clone()
    held[:, -1] = graphs.vocabulary.empty
    fixed = graphs.operands[:, -1]
    for operand in range(fixed.shape[1]):
        outputs = []
        for node in range(nodes - 1):
            tokens = write(last_equation(graphs, fixed.index_fill(1, torch.tensor(operand), node)))
            here = tokens.definitions[:, -1]
            found = head_outputs(network, tokens.holding(held, held))
            outputs.append(found[:, torch.arange(len(here)), :, here])  # (graph, layer, head, d_model)
        outputs = torch.stack(outputs)
        allowed = (fixed[:, None] != torch.arange(nodes - 1)[:, None]).all(2) | (
            fixed[:, operand, None] == torch.arange(nodes - 1)
        )  # (graph, node): each stands in once, other operands never twice
        weight = (allowed / allowed.sum(1, keepdim=True)).T[:, :, None, None, None]
        mean = (outputs * weight).sum(0)
        variances.append(((outputs - mean).square() * weight).sum((0, 1, 4)) / len(fixed))
    return torch.stack(variances, 2)


@torch.no_grad()
def factor_gains(network: Network, layer: Layer) -> Tensor:
    """How much of the spread of each factor's embeddings a head's OV map keeps, (head, factor): a ratio of root mean squares.

    The gain of the norm before it is taken into the map; the norm's division, the same for all factors, is left out.
    """
    values = layer.qkv.weight.chunk(3)[2].unflatten(0, (layer.heads, -1)) * layer.norm_attention.weight  # (head, d_head, d_model)
    out = layer.out.weight.unflatten(1, (layer.heads, -1))  # (d_model, head, d_head)
    ratios = []
    for embedding in network.embeddings:
        spread = embedding.weight - embedding.weight.mean(0)
        through = torch.einsum("em,hdm,nhd->hen", spread, values, out)
        ratios.append(through.square().sum((1, 2)).sqrt() / spread.norm())
    return torch.stack(ratios, 1)


def before_the_last(graphs: Graphs, others: Graphs | None = None) -> tuple[Tensor, Tensor, Tensor]:
    """Graphs one iteration before their last node is computed: the tokens (graph, position, 4), and places in its equation.

    These are where it is defined, (graph,), and where its operands stand, (graph, FAN_IN); of an operand that it does not
    have, the place of the definition.  With `others`, the same graphs with other numbers, definitions hold what they hold
    in the one, and operands of equations what they hold in the other.
    """
    tokens, row, depth = write(graphs), torch.arange(len(graphs.names)), graphs.depths[:, -1]
    beside = (others or graphs).states()[(depth - 2).clamp(min=0), row]
    factors = tokens.holding(graphs.states()[depth - 1, row], beside)
    here = tokens.definitions[:, -1]
    missing = torch.arange(FAN_IN) - graphs.adds[:, -1:]
    return factors, here, here[:, None] + 2 * missing.clamp(max=0)


def _entering(network: Network, graphs: Graphs, layer: int) -> tuple[Layer, Tensor]:
    """A layer, counted from 0, and the stream (graph, position, d_model) that enters it before the last node is computed."""
    factors, *_ = before_the_last(graphs)
    resid, layers = network.embed(factors), network.blocks[0].layers
    for each in layers[:layer]:
        resid = each(resid)
    return layers[layer], resid


@torch.no_grad()
def readings(network: Network, graphs: Graphs, layer: int, places: Tensor) -> Tensor:
    """What the heads of a layer, counted from 0, read at `places` (graph,) before the last: (graph, head, d_head)."""
    reader, resid = _entering(network, graphs, layer)
    return reader.read(resid)[torch.arange(len(places)), :, places]


@torch.no_grad()
def last_values(network: Network, factors: Tensor, here: Tensor) -> Tensor:
    """The values (graph,) that one iteration writes at `here` (graph,), from tokens (graph, position, 4)."""
    return network.value(network(network.embed(factors))[torch.arange(len(here)), here]).argmax(1)


@torch.no_grad()
def weights_at(network: Network, graphs: Graphs, layer: int, places: Tensor) -> Tensor:
    """The attention weights (graph, head, key) of a layer, counted from 0, at `places` (graph,) before the last."""
    reader, resid = _entering(network, graphs, layer)
    q, k, _ = reader.queries_keys_values(resid)
    scores = q @ k.mT / q.shape[-1] ** 0.5 + reader.mask(q.shape[2], k.shape[2])
    return scores[torch.arange(len(places)), :, places].softmax(-1)


def _last_value(network: Network, graphs: Graphs, layer: int, change: Callable[[Tensor], Tensor]) -> Tensor:
    """The value (graph,) that the last node gets as what a layer reads, (graph, head, position, d_head), is changed."""
    factors, here, _ = before_the_last(graphs)
    resid = network.embed(factors)
    for number, each in enumerate(network.blocks[0].layers):
        read = each.read(resid)
        resid = each.add(resid, change(read) if number == layer else read)
    return network.value(network.blocks[0].norm(resid)[torch.arange(len(here)), here]).argmax(1)


@torch.no_grad()
def with_readings(network: Network, graphs: Graphs, layer: int, heads: Sequence[int], places: Tensor, given: Tensor) -> Tensor:
    """The value (graph,) that the last node gets as heads of a layer read at `places` (graph,) what is given.

    `given` is (graph, head, d_head), or (1, head, d_head) for all; all that follows the heads is computed anew.
    """
    at = torch.arange(len(places))[:, None], torch.tensor(heads, dtype=torch.long), places[:, None]
    return _last_value(network, graphs, layer, lambda read: read.index_put(at, given[:, heads].expand(len(places), -1, -1)))


@torch.no_grad()
def silenced(network: Network, graphs: Graphs, layer: int, heads: Sequence[int]) -> Tensor:
    """The value (graph,) that the last node gets as heads of a layer, counted from 0, read everywhere their mean over graphs."""
    real = write(graphs).real[:, None, :, None]
    chosen = torch.tensor([head in heads for head in range(network.blocks[0].layers[layer].heads)])

    def at_mean(read):
        mean = (read * real).sum((0, 2), keepdim=True) / real.sum()
        return torch.where(chosen[:, None, None], mean, read)

    return _last_value(network, graphs, layer, at_mean)


@torch.no_grad()
def without_mentions(network: Network, graphs: Graphs, which: str = "all") -> Tensor:
    """The values (graph, node) that a network passing tokens on ends with, as layer 1 reads no earlier mention of a node.

    A mention is an operand of an equation; a token still reads itself, and all definitions.  `which` of MENTIONS are not
    read: all, those of the node that the reading token stands for, or those of other nodes.
    """
    tokens, depth = write(graphs), graphs.depth
    mention, same = (tokens.node >= 0) & ~tokens.defines, tokens.node[:, :, None] == tokens.node[:, None]
    kept = {"all": torch.zeros_like(same), "own": ~same, "other": same}[which]
    hidden = mention[:, None] & ~torch.eye(mention.shape[1], dtype=torch.bool) & ~kept
    block, factors, held = network.blocks[0], tokens.factors, []
    first, last = block.layers
    for _ in range(int(depth.max())):
        resid = network.embed(factors)
        resid = last(first.add(resid, first.read(resid, hidden=hidden)))
        factors = network.tokens(block.norm(resid))
        held.append(at_definitions(factors[..., 3:], tokens)[..., 0])
    return torch.stack(held)[depth - 1, torch.arange(len(depth))]


def all_pairs(vocabulary: Vocabulary) -> Graphs:
    """`x = a, y = b, a ADD b = c` for all numbers x and y, in rows x P + y: modulus² graphs of three nodes."""
    P = vocabulary.modulus
    x, y = torch.cartesian_prod(torch.arange(P), torch.arange(P)).T
    n, zero = len(x), torch.zeros_like(x)
    operands = torch.tensor([[-1, -1, -1], [-1, -1, -1], [0, 1, -1]]).repeat(n, 1, 1)
    return Graphs(
        torch.arange(3).repeat(n, 1), torch.stack([x, y, zero], 1), operands, torch.tensor([1, 1, 2]).repeat(n, 1), vocabulary
    )


@torch.no_grad()
def along_the_sum(network: Network) -> dict[str, Tensor]:
    """What stands at the sum of two nodes when all values but its own are known, by x and y: (P, P, directions) each.

    The stream before and after the last layer's attention, its neurons before and after the ReLU, and the logits of the
    numbers.
    """
    vocabulary_size = len(network.embeddings[FACTORS.index("variable")].weight) - 1
    P = len(network.embeddings[FACTORS.index("value")].weight) - 2
    graphs = all_pairs(Vocabulary(P, vocabulary_size))
    tokens, held = write(graphs), graphs.solution.clone()
    held[:, -1] = P
    here = tokens.definitions[0, -1]
    first, last = network.blocks[0].layers
    before = first(network.embed(tokens.holding(held, held)))
    mixed = before + last.out(last.read(before).transpose(1, 2).flatten(2))
    neurons = last.mlp[0](last.norm_mlp(mixed))
    logits = network.value(network.blocks[0].norm(last(before)))[..., :P]
    found = {"stream before": before, "stream after": mixed, "neurons": neurons, "after the ReLU": neurons.relu()}
    found["logits"] = logits
    return {name: each[:, here].unflatten(0, (P, P)) for name, each in found.items()}


@torch.no_grad()
def sums_without(network: Network, removed: Sequence[int], order: Tensor | None = None) -> Tensor:
    """The sums (P, P) that a network gives where its last neurons have lost the waves of these frequencies, of x and of y.

    They are taken from what enters the ReLU; all else is as in `along_the_sum`.  The waves are those along the numbers in
    this `order` (P,), by default their own.
    """
    found, block = along_the_sum(network), network.blocks[0]
    neurons = found["neurons"]
    order = torch.arange(len(neurons)) if order is None else order
    back = order.argsort()
    for _ in range(2):  # along x, then along y
        neurons = remove(neurons[order], removed)[back].transpose(0, 1)
    last = block.layers[-1]
    return network.value(block.norm(found["stream after"] + last.mlp[2](neurons.relu())))[..., : len(neurons)].argmax(2)


def best_frequencies(table: Tensor) -> Tensor:
    """For each column of a table (P, columns), the share of its variance at its best frequency; columns of little variance go.

    Little is less than a hundredth of the largest.
    """
    energies = torch.fft.rfft(table - table.mean(0), dim=0).abs().square()[1:]
    whole = energies.sum(0)
    return (energies.amax(0) / whole)[whole > whole.max() / 100]
