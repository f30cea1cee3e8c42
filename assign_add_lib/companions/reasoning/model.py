"""The arms: six ways to solve a graph with the same block of two transformer layers.

Four apply one block as often as the graph is deep; the two others stack blocks of their own weights, and answer at once
or write the solution down token by token.  What is told apart is what passes from one iteration to the next.
"""

from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

from .data import FACTORS, Vocabulary

LOOPED = ("recurrent", "continuous", "discrete", "corrected")
STACKED = ("feed-forward", "chain")
ARMS = (*STACKED, *LOOPED)
RIGHT_STARTS = {"right-starts": 2, "right-starts-four": 4}  # arms beside these, which loop: rounds that vectors pass in training
LAYERS = 2  # of a block
REACH = 16  # distances from REACH on share one bias

Past = list[tuple[Tensor, Tensor]]  # keys and values (graph, head, position, d_head) that each layer has seen
At = Callable[[str, Tensor], Tensor]  # called with the name and the value of a site, it gives the value that goes on
Alter = Mapping[str, Callable[[Tensor], Tensor]]  # what is made of the values at some sites, by their names


def unchanged(site: str, value: Tensor) -> Tensor:
    """The value as it is."""
    return value


class Layer(nn.Module):
    """A pre-LN transformer layer: causal attention whose scores get a learned bias for each distance, and a ReLU MLP."""

    def __init__(self, d_model: int, heads: int, d_mlp: int, mimetic: bool):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.qkv, self.out = nn.Linear(d_model, 3 * d_model), nn.Linear(d_model, d_model)
        self.bias = nn.Parameter(torch.zeros(heads, REACH + 1))
        self.mlp = nn.Sequential(nn.Linear(d_model, d_mlp), nn.ReLU(), nn.Linear(d_mlp, d_model))
        if mimetic:
            self._mimic()

    @torch.no_grad()
    def _mimic(self) -> None:
        """Start with tokens that look for their like and pass on what they find: mimetic initialisation, arXiv 2305.09828."""
        q, k, v = self.qkv.weight.chunk(3)
        k.copy_(q.mul_(2))
        self.out.weight.copy_(v.T)

    def mask(self, queries: int, keys: int) -> Tensor:
        """What is added to scores (head, query, key), the queries being the last tokens: a bias, -inf for what comes later."""
        places = torch.arange(keys, device=self.bias.device)
        distance = places[keys - queries :, None] - places
        return self.bias[:, distance.clamp(0, REACH)].masked_fill(distance < 0, -torch.inf)

    def queries_keys_values(self, resid: Tensor) -> Tensor:
        """Of each token (graph, position, d_model), as (3, graph, head, position, d_head)."""
        return self.qkv(self.norm_attention(resid)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)

    def forward(self, resid: Tensor, past: Past | None = None, at: At = unchanged) -> Tensor:
        """(graph, position, d_model) -> the same; after `past`, if given, to which keys and values are added.

        `at` is called with the name and the value of each site, and says what goes on from there.
        """
        q, k, v = self.queries_keys_values(resid)
        if past is not None:
            k, v = (torch.cat(pair, 2) for pair in zip(past.pop(0), (k, v)))
            past.append((k, v))
        mask = self.mask(q.shape[2], k.shape[2])
        if at is unchanged:  # the same, faster
            z = scaled_dot_product_attention(q, k, v, mask)
        else:
            scores = at("attn.hook_attn_scores", q @ k.mT / q.shape[-1] ** 0.5 + mask)  # (graph, head, query, key)
            z = at("attn.hook_pattern", scores.softmax(-1)) @ v
        z = at("attn.hook_z", z.transpose(1, 2))  # (graph, position, head, d_head)
        resid = at("hook_resid_mid", resid + self.out(z.flatten(2)))
        before, relu, after = self.mlp
        neurons = at("mlp.hook_pre", before(self.norm_mlp(resid)))
        return at("hook_resid_post", resid + after(at("mlp.hook_post", relu(neurons))))


def _in_layer(number: int, at: At) -> At:
    return lambda site, value: at(f"blocks.{number}.{site}", value)


class Block(nn.Module):
    """Two layers and a last norm: one iteration."""

    def __init__(self, d_model: int, heads: int, d_mlp: int, mimetic: bool = True):
        super().__init__()
        self.layers = nn.ModuleList(Layer(d_model, heads, d_mlp, mimetic) for _ in range(LAYERS))
        self.norm = nn.LayerNorm(d_model)

    def forward(self, resid: Tensor, past: Past | None = None, at: At = unchanged) -> Tensor:
        """(graph, position, d_model) -> the same, normalised; what `at` is called with begins with the layer's number."""
        for number, layer in enumerate(self.layers):
            resid = layer(resid, past, at if at is unchanged else _in_layer(number, at))
        return at("ln_final.hook_normalized", self.norm(resid))


class Network(nn.Module):
    """Embeddings of the four factors, one block or several, and an unembedding for each factor."""

    def __init__(self, vocabulary: Vocabulary, blocks: int, d_model: int, heads: int, d_mlp: int, mimetic: bool = True):
        super().__init__()
        self.embeddings = nn.ModuleList(nn.Embedding(count, d_model) for count in vocabulary.counts.values())
        for name, embedding in zip(FACTORS, self.embeddings):
            nn.init.normal_(embedding.weight, std=1 if name == "variable" else 0.5)  # names are what is looked for
        self.blocks = nn.ModuleList(Block(d_model, heads, d_mlp, mimetic) for _ in range(blocks))
        self.unembeddings = nn.ModuleList(nn.Linear(d_model, count) for count in vocabulary.counts.values())

    def embed(self, factors: Tensor) -> Tensor:
        """Tokens (graph, position, 4) as the sums of their factors' embeddings, (graph, position, d_model)."""
        return sum(embedding(factors[..., i]) for i, embedding in enumerate(self.embeddings))

    def forward(self, resid: Tensor, past: Past | None = None) -> Tensor:
        """All blocks, one after the other, (graph, position, d_model) -> the same; a looped network has one."""
        for block in self.blocks:
            resid = block(resid, past)
        return resid

    def read(self, resid: Tensor) -> list[Tensor]:
        """The logits of each factor, (graph, position, its values), in the order of FACTORS."""
        return [head(resid) for head in self.unembeddings]

    def value(self, resid: Tensor) -> Tensor:
        """The logits of the value alone, (graph, position, values)."""
        return self.unembeddings[FACTORS.index("value")](resid)

    def tokens(self, resid: Tensor) -> Tensor:
        """The likeliest value of each factor, (graph, position, 4)."""
        return torch.stack([logits.argmax(2) for logits in self.read(resid)], 2)

    def past(self, graphs: int) -> Past:
        """The keys and values of no tokens, for all layers."""
        layers = [layer for block in self.blocks for layer in block.layers]
        empty = [layer.bias.new_zeros(graphs, layer.heads, 0, layer.out.in_features // layer.heads) for layer in layers]
        return [(each, each) for each in empty]


@torch.no_grad()
def run(network: Network, factors: Tensor, alter: Alter = MappingProxyType({})) -> dict[str, Tensor]:
    """What stands at each site of one iteration of a looped network on tokens (graph, position, 4), by TransformerLens' names.

    What `alter` gives at some sites goes on from there: `{"blocks.1.attn.hook_z": function}`.  ValueError for no site.
    """
    sites: dict[str, Tensor] = {}

    def at(site: str, value: Tensor) -> Tensor:
        sites[site] = alter[site](value) if site in alter else value
        return sites[site]

    network.blocks[0](at("hook_embed", network.embed(factors)), at=at)
    if unknown := set(alter) - set(sites):
        raise ValueError(f"there is no site {min(unknown)}; there are: {', '.join(sites)}")
    return sites


def passed_on(network: Network, ended: Tensor, discrete: bool) -> Tensor:
    """The latent (graph, position, d_model) that the next iteration starts from: what the last one ended with, (the same).

    Where it is discrete, it is the embedding of the tokens that are read from it.
    """
    return network.embed(network.tokens(ended)) if discrete else ended


def iterate(network: Network, latent: Tensor, discrete: bool) -> Iterator[Tensor]:
    """What each iteration of a looped network ends with (graph, position, d_model), from a latent of that shape on."""
    while True:
        ended = network(latent)
        yield ended
        latent = passed_on(network, ended, discrete)


def continue_chain(network: Network, factors: Tensor, steps: int) -> Tensor:
    """The tokens (graph, steps, 4) that a network writes after those given (graph, position, 4): the likeliest, one by one."""
    past, written = network.past(len(factors)), []
    for _ in range(steps):
        factors = network.tokens(network(network.embed(factors), past)[:, -1:])
        written.append(factors)
    return torch.cat(written, 1)
