"""Inside a looped arm: wrong values put in, what heads read and move, what is read in their stead, and waves.

A *last* node is looked at one iteration before its value is computed, when all that it needs is known.
"""

from collections.abc import Collection, Sequence
from itertools import islice

import torch
from torch import Tensor

from ...analysis.fourier import basis, frequencies
from .data import FACTORS, FAN_IN, Graphs, Vocabulary, write
from .model import Alter, Layer, Network, iterate, passed_on, run
from .training import TOKENS_PASS, at_definitions, iterations

# the site of what the heads of a layer, counted from 0, read: (graph, position, head, d_head)
HEADS_READ = "blocks.{}.attn.hook_z"
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


def before_the_last(graphs: Graphs) -> tuple[Tensor, Tensor, Tensor]:
    """Graphs one iteration before their last node is computed: the tokens (graph, position, 4), and places in its equation.

    These are where it is defined, (graph,), and where its operands stand, (graph, FAN_IN); of an operand that it does not
    have, the place of the definition.
    """
    tokens, states, row = write(graphs), graphs.states(), torch.arange(len(graphs.names))
    depth, here = graphs.depths[:, -1], tokens.definitions[:, -1]
    factors = tokens.holding(states[depth - 1, row], states[(depth - 2).clamp(min=0), row])
    missing = torch.arange(FAN_IN) - graphs.adds[:, -1:]
    return factors, here, here[:, None] + 2 * missing.clamp(max=0)


def value_at(network: Network, factors: Tensor, here: Tensor, alter: Alter | None = None) -> Tensor:
    """The values (graph,) that one iteration on tokens (graph, position, 4), altered at some sites, writes at `here` (graph,)."""
    ended = run(network, factors, alter or {})["ln_final.hook_normalized"]
    return network.value(ended[torch.arange(len(here)), here]).argmax(1)


def readings(network: Network, factors: Tensor, layer: int, places: Tensor) -> Tensor:
    """What the heads of a layer, counted from 0, read at `places` (graph,): (graph, head, d_head)."""
    return run(network, factors)[HEADS_READ.format(layer)][torch.arange(len(places)), places]


def exchange(layer: int, heads: Collection[int], places: Tensor, given: Tensor) -> Alter:
    """Heads of a layer read at `places` (graph,) what is given, (graph, head, d_head), or (1, head, d_head) for all graphs."""
    at = torch.arange(len(places))[:, None], places[:, None], torch.tensor(heads, dtype=torch.long)
    return {HEADS_READ.format(layer): lambda read: read.index_put(at, given[:, heads].expand(len(places), -1, -1))}


def unread(layer: int, head: int, places: Tensor, back: Collection[int]) -> Alter:
    """A head of a layer, both counted from 0, reads at `places` (graph,) no token that stands so many places back."""

    def hidden(scores: Tensor) -> Tensor:  # (graph, head, query, key)
        row, keys = torch.arange(len(places)), torch.arange(scores.shape[3])
        behind = torch.isin(places[:, None] - keys, torch.tensor(list(back), dtype=torch.long))  # (graph, key)
        its = scores[row, head, places].masked_fill(behind, -torch.inf)
        return scores.index_put((row, torch.tensor(head), places), its)

    return {f"blocks.{layer}.attn.hook_attn_scores": hidden}


def silent_heads(layer: int, heads: Collection[int], real: Tensor) -> Alter:
    """Heads of a layer read everywhere their mean over the real tokens (graph, position) of all graphs."""

    def at_mean(read: Tensor) -> Tensor:
        chosen = torch.tensor([head in heads for head in range(read.shape[2])])
        return torch.where(chosen[:, None], read[real].mean(0), read)

    return {HEADS_READ.format(layer): at_mean}


@torch.no_grad()
def head_outputs(network: Network, factors: Tensor, here: Tensor) -> Tensor:
    """What each head of a block adds to the stream at `here` (graph,), (graph, layer, head, d_model)."""
    found, row = [], torch.arange(len(here))
    sites = run(network, factors)
    for number, layer in enumerate(network.blocks[0].layers):
        out = layer.out.weight.unflatten(1, (layer.heads, -1))
        found.append(torch.einsum("ghd,mhd->ghm", sites[HEADS_READ.format(number)][row, here], out))
    return torch.stack(found, 1)


@torch.no_grad()
def operand_variances(network: Network, graphs: Graphs) -> Tensor:
    """How the output of each head at the last definition depends on each operand, (layer, head, operand): variances.

    For each operand of the last node, which has three, all earlier nodes that are no operand stand in for it in turn, the
    others fixed; the variance of the head's output over these is summed over its directions, and a mean over graphs.  All
    earlier nodes hold their values, the last one none.
    """
    fixed, others, variances = graphs.operands[:, -1], torch.arange(graphs.names.shape[1] - 1), []
    held = graphs.solution.index_fill(1, torch.tensor(graphs.names.shape[1] - 1), graphs.vocabulary.empty)
    for operand in range(FAN_IN):
        outputs = []
        for node in others:
            operands = graphs.operands.clone()
            operands[:, -1, operand] = node
            tokens = write(graphs._replace(operands=operands))
            outputs.append(head_outputs(network, tokens.holding(held, held), tokens.definitions[:, -1]))
        outputs = torch.stack(outputs)  # (node, graph, layer, head, d_model)
        free = (fixed[:, None] != others[:, None]).all(2) | (fixed[:, operand, None] == others)  # (graph, node)
        weight = (free / free.sum(1, keepdim=True)).T[:, :, None, None, None]
        spread = (outputs - (outputs * weight).sum(0)).square()
        variances.append((spread * weight).sum((0, 1, 4)) / len(fixed))
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


def without_mentions(network: Network, graphs: Graphs, which: str = "all") -> Tensor:
    """The values (graph, node) that a network passing tokens on ends with, as layer 1 reads no earlier mention of a node.

    A mention is an operand of an equation; a token still reads itself, and all definitions.  `which` of MENTIONS are not
    read: all, those of the node that the reading token stands for, or those of other nodes.
    """
    tokens, depth, held = write(graphs), graphs.depth, []
    mention, same = (tokens.node >= 0) & ~tokens.defines, tokens.node[:, :, None] == tokens.node[:, None]
    kept = {"all": torch.zeros_like(same), "own": ~same, "other": same}[which]
    hidden = mention[:, None] & ~torch.eye(mention.shape[1], dtype=torch.bool) & ~kept  # (graph, query, key)
    alter = {"blocks.0.attn.hook_attn_scores": lambda scores: scores.masked_fill(hidden[:, None], -torch.inf)}
    factors = tokens.factors
    for _ in range(int(depth.max())):
        factors = network.tokens(run(network, factors, alter)["ln_final.hook_normalized"])
        held.append(factors[..., 3].gather(1, tokens.definitions))
    return torch.stack(held)[depth - 1, torch.arange(len(depth))]


def all_pairs(vocabulary: Vocabulary) -> Graphs:
    """`x = a, y = b, a ADD b = c` for all numbers x and y, in rows x P + y: modulus² graphs of three nodes."""
    P = vocabulary.modulus
    x, y = torch.cartesian_prod(torch.arange(P), torch.arange(P)).T
    operands = torch.tensor([[-1, -1, -1], [-1, -1, -1], [0, 1, -1]]).expand(P * P, -1, -1)
    names, depths = (torch.tensor(each).expand(P * P, -1) for each in ([0, 1, 2], [1, 1, 2]))
    return Graphs(names, torch.stack([x, y, torch.zeros_like(x)], 1), operands, depths, vocabulary)


@torch.no_grad()
def along_the_sum(network: Network, alter: Alter | None = None) -> dict[str, Tensor]:
    """What stands at the sum of two nodes when all values but its own are known, by x and y: (P, P, directions) each.

    The stream before and after the last layer's attention, its neurons before and after the ReLU, and the logits of the
    numbers; altered at some sites.
    """
    P, names = (len(network.embeddings[FACTORS.index(name)].weight) for name in ("value", "variable"))
    graphs = all_pairs(Vocabulary(P - 2, names - 1))
    tokens, held = write(graphs), graphs.solution.index_fill(1, torch.tensor(2), P - 2)
    sites = run(network, tokens.holding(held, held), alter or {})
    found = {
        "stream before": sites["blocks.0.hook_resid_post"],
        "stream after": sites["blocks.1.hook_resid_mid"],
        "neurons": sites["blocks.1.mlp.hook_pre"],
        "after the ReLU": sites["blocks.1.mlp.hook_post"],
        "logits": network.value(sites["ln_final.hook_normalized"])[..., : P - 2],
    }
    return {name: each[:, tokens.definitions[0, -1]].unflatten(0, (P - 2, P - 2)) for name, each in found.items()}


def waves(P: int, chosen: Sequence[int]) -> Tensor:
    """The cosines and sines of some frequencies as orthonormal directions of the numbers, (P, k)."""
    return basis(P)[:, torch.isin(frequencies(P), torch.tensor(list(chosen), dtype=torch.long))]


def along_operands(table: Tensor) -> Tensor:
    """How columns of a table (P, P, columns) vary with x alone, and with y alone: (P, 2 columns), less their means."""
    varies = torch.cat([table.mean(1), table.mean(0)], 1).double()
    return varies - varies.mean(0)


@torch.no_grad()
def sums_without(network: Network, out: Tensor, seen: dict[str, Tensor] | None = None) -> Tensor:
    """The sums (P, P) that a network gives where its last neurons have lost some directions (P, k) of x, and of y.

    The directions are orthonormal, and taken from what enters the ReLU; all else is as in `along_the_sum`, which is `seen`
    where it is known: nothing that comes before the neurons changes.
    """
    kept, seen, block = torch.eye(len(out)) - out @ out.T, seen or along_the_sum(network), network.blocks[0]
    neurons = torch.einsum("xa,yb,abn->xyn", kept, kept, seen["neurons"].double()).to(seen["neurons"].dtype)
    _, relu, after = block.layers[-1].mlp
    return network.value(block.norm(seen["stream after"] + after(relu(neurons))))[..., : len(out)].argmax(2)


def as_large(varies: Tensor, out: Tensor, generator: torch.Generator) -> Tensor:
    """Random directions (P, k) of the numbers that hold as much as those of `out` of what varies with them, (P, columns).

    They are the smallest principal ones, turned until they hold as much.
    """
    (P, k), held = out.shape, lambda each: (each.T @ varies).square().sum()
    as_much = held(out)
    principal = torch.linalg.svd(varies)[0].flip(1)[:, 1:]  # but for the constant, the smallest first
    while True:
        turn, low, high = principal @ torch.randn(P - 1, k, generator=generator, dtype=varies.dtype), 0.0, 30.0
        for _ in range(40):
            turned = torch.linalg.qr(principal[:, :k] + (low + high) / 2 * turn)[0]
            low, high = (low, (low + high) / 2) if held(turned) > as_much else ((low + high) / 2, high)
        if high < 30:
            return turned


def best_frequencies(table: Tensor) -> Tensor:
    """For each column of a table (P, columns), the share of its variance at its best frequency; columns of little variance go.

    Little is less than a hundredth of the largest.
    """
    energies = torch.fft.rfft(table - table.mean(0), dim=0).abs().square()[1:]
    whole = energies.sum(0)
    return (energies.amax(0) / whole)[whole > whole.max() / 100]
