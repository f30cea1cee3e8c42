"""The network: a GPT as in the paper, pre-LN with rotary positions and a ReLU MLP, and an unembedding that is its embedding."""

import torch
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention

ASKED = slice(1, None, 3)  # the positions of every y, where z is predicted


def rotary(x: Tensor, positions: Tensor, base: float = 10_000.0) -> Tensor:
    """Vectors (..., position, d) turned by positions (position,): coordinates i and i + d / 2 by position / base^(2i / d)."""
    d = x.shape[-1]
    angle = positions[:, None] * base ** (-torch.arange(0, d, 2, device=x.device, dtype=torch.float) / d)
    cos, sin = angle.cos().to(x.dtype), angle.sin().to(x.dtype)
    one, two = x.chunk(2, -1)
    return torch.cat([one * cos - two * sin, one * sin + two * cos], -1)


class Layer(nn.Module):
    """A pre-LN transformer layer: causal attention with rotary positions, and a ReLU MLP; no matrix has a bias."""

    def __init__(self, d_model: int, heads: int):
        super().__init__()
        self.heads = heads
        self.norm_attention, self.norm_mlp = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.q, self.k, self.v, self.out = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.up, self.down = nn.Linear(d_model, 4 * d_model, bias=False), nn.Linear(4 * d_model, d_model, bias=False)

    def queries_keys_values(self, resid: Tensor, queries: slice = slice(None)) -> tuple[Tensor, Tensor, Tensor]:
        """Queries at some positions and keys and values at all, each (row, head, position, d_head), turned by their positions."""
        normed, places = self.norm_attention(resid), torch.arange(resid.shape[1], device=resid.device)
        split = lambda x: x.unflatten(2, (self.heads, -1)).transpose(1, 2)  # noqa: E731
        q = rotary(split(self.q(normed[:, queries])), places[queries])
        return q, rotary(split(self.k(normed)), places), split(self.v(normed))

    def read(self, resid: Tensor, queries: slice = slice(None)) -> Tensor:
        """What each head reads at some positions, (row, head, position, d_head)."""
        q, k, v = self.queries_keys_values(resid, queries)
        places = torch.arange(resid.shape[1], device=resid.device)
        return scaled_dot_product_attention(q, k, v, places <= places[queries][:, None])

    def add(self, resid: Tensor, read: Tensor) -> Tensor:
        """The stream (row, position, d_model) with what heads read (row, head, position, d_head), and what the MLP makes."""
        resid = resid + self.out(read.transpose(1, 2).flatten(2))
        return resid + self.down(self.up(self.norm_mlp(resid)).relu())

    def forward(self, resid: Tensor, queries: slice = slice(None)) -> Tensor:
        """(row, position, d_model) -> the same, at some of the positions."""
        return self.add(resid[:, queries], self.read(resid, queries))


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

    def read_out(self, resid: Tensor) -> Tensor:
        """The logits (..., p) of a stream (..., d_model)."""
        return self.norm(resid) @ self.embed.weight.T

    def forward(self, tokens: Tensor) -> Tensor:
        """The logits (row, shot, p) of the answer to each question of tokens (row, 3 * shots)."""
        resid = self.embed(tokens)
        for layer in self.layers[:-1]:
            resid = layer(resid)
        return self.read_out(self.layers[-1](resid, ASKED))
