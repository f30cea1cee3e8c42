"""The network: a GPT as in the paper, pre-LN with rotary positions and a ReLU MLP, and an unembedding that is its embedding."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

ASKED, EVERY = slice(1, None, 3), slice(None)  # positions: of every y, where z is predicted; and all
Alter = Mapping[str, Callable[[Tensor], Tensor]]  # by site: what stands there -> what is to stand there
AS_IT_IS: Alter = MappingProxyType({})


def rotary(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Vectors (..., position, d) turned by positions (position,): coordinates i and i + d / 2 by position / base^(2i / d)."""
    d = x.shape[-1]
    angle = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float) / d)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    one, two = x.chunk(2, -1)
    return torch.cat([one * cos - two * sin, one * sin + two * cos], -1)


def altered(alter: Alter, site: str, value: Tensor) -> Tensor:
    """What stands at a site."""
    return alter[site](value) if site in alter else value


class Layer(nn.Module):
    """A pre-LN transformer layer: causal attention with rotary positions, and a ReLU MLP; no matrix has a bias."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(d_model, 4 * d_model, bias=False), nn.Linear(4 * d_model, d_model, bias=False)

    def queries_keys_values(self, resid: Tensor, queries: slice = EVERY) -> tuple[Tensor, Tensor, Tensor]:
        """Queries at some positions and keys and values at all, each (row, head, position, d_head), turned by their positions."""
        normed, positions = self.norm_attention(resid), torch.arange(resid.shape[1], device=resid.device)
        split = lambda x: x.unflatten(2, (self.heads, -1)).transpose(1, 2)  # noqa: E731
        q = rotary(split(self.q(normed[:, queries])), positions[queries])
        return q, rotary(split(self.k(normed)), positions), split(self.v(normed))

    def forward(self, resid: Tensor, queries: slice = EVERY, alter: Alter = AS_IT_IS, name: str = "") -> Tensor:
        """The stream (row, position, d_model) after this layer, at some of the positions; for the sites see `Network.forward`."""
        q, k, v = self.queries_keys_values(resid, queries)
        positions = torch.arange(resid.shape[1], device=resid.device)
        causal = positions <= positions[queries][:, None]  # (query, key)
        if f"{name}attn.hook_pattern" in alter:
            scores = (q @ k.transpose(2, 3) / q.shape[-1] ** 0.5).masked_fill(~causal, -torch.inf)
            z = altered(alter, f"{name}attn.hook_pattern", scores.softmax(3)) @ v
        else:  # the same at once
            z = scaled_dot_product_attention(q, k, v, causal)
        z = altered(alter, f"{name}attn.hook_z", z.transpose(1, 2))
        resid = resid[:, queries] + self.out(z.flatten(2))
        resid = resid + self.down(self.up(self.norm_mlp(resid)).relu())
        return altered(alter, f"{name}hook_resid_post", resid)


class Network(nn.Module):
    """The whole network on rows of tokens x y z, which are numbers modulo p."""

    def __init__(self, p: int, depth: int, d_model: int, heads: int, std: float = 0.05):
        super().__init__()
        self.embed = nn.Embedding(p, d_model)
        self.layers = nn.ModuleList(Layer(d_model, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(d_model)
        for name, weights in self.named_parameters():
            if weights.ndim == 2:
                ends = name.endswith(("out.weight", "down.weight"))  # what writes into the stream
                nn.init.normal_(weights, std=std / (2 * depth) ** 0.5 if ends else std)

    @property
    def streams(self) -> list[str]:
        """The sites of the stream: after the embedding, and after each layer."""
        return ["hook_embed", *(f"blocks.{n}.hook_resid_post" for n in range(len(self.layers)))]

    def read_out(self, resid: Tensor) -> Tensor:
        """The logits (..., p) of a stream (..., d_model)."""
        return self.norm(resid) @ self.embed.weight.T

    def forward(self, tokens: Tensor, asked: slice = ASKED, alter: Alter = AS_IT_IS) -> Tensor:
        """The logits (row, asked, p) at some positions of tokens (row, position): of the answers, at every y.

        `alter` may replace what stands at sites that go by TransformerLens' names: `hook_embed` (row, position, d_model), and in
        each layer `blocks.0.attn.hook_pattern` (row, head, query, key), `blocks.0.attn.hook_z` (row, query, head, d_head) and
        `blocks.0.hook_resid_post` (row, query, d_model).  In the last layer the queries are those asked.
        """
        resid = altered(alter, "hook_embed", self.embed(tokens))
        for n, layer in enumerate(self.layers):
            last = n == len(self.layers) - 1
            resid = layer(resid, asked if last else EVERY, alter, f"blocks.{n}.")
        return self.read_out(resid)


def record(network: Network, tokens: Tensor, sites: Iterable[str], asked: slice = EVERY) -> list[Tensor]:
    """What stands at each of these sites."""
    found = {}
    network(tokens, asked, {site: lambda value, site=site: found.setdefault(site, value) for site in sites})
    return [found[site] for site in sites]
