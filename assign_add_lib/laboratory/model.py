"""The network of a world: the study's, with any number of layers and heads.

It has no biases and no normalisation, and one MLP, after the last layer of attention.  So the residual stream is a sum over
*paths*: an embedding reaches a position by itself, or moved by a head of one layer, and of the next.  A path is a mixture of
positions and a table with a row for each token and each position.  Layers read tables instead of the stream.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn


class Seen(NamedTuple):
    """What the plain forward saw at every position."""

    logits: Tensor  # (batch, pos, N)
    patterns: Tensor  # (batch, layer, head, query, key)
    mlp_in: Tensor  # (batch, pos, d_model)


class Path(NamedTuple):
    """A part of the residual stream: at each query a mixture of rows, one for each key's token and one for its position."""

    mix: Tensor | None  # (batch, query, key); None where each position has its own
    table: Tensor  # (d_vocab + length, d_model)


class Network(nn.Module):
    """The whole network; with two layers of one head its weights are those that the study's code draws from the seed.

    Weights are named as there; attention has axes for layer and head, and heads share the width between them.
    """

    def __init__(
        self, d_vocab: int, length: int, n_numbers: int, layers: int, heads: int, d_model: int, d_mlp: int, seed: int = 0
    ):
        super().__init__()
        self.d_vocab, self.length, d_head = d_vocab, length, d_model // heads
        shapes = {
            "W_E": (d_vocab, d_model),
            "W_pos": (length, d_model),
            **{f"W_{part}": (layers, heads, d_model, d_head) for part in "QKV"},
            "W_O": (layers, heads, d_head, d_model),
            "W_in": (d_model, d_mlp),
            "W_out": (d_mlp, d_model),
            "W_U": (d_model, n_numbers),
        }
        generator, scale = torch.Generator().manual_seed(seed), 0.8 / math.sqrt(d_model)
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(scale * torch.randn(shape, generator=generator)))

    def circuits(self) -> tuple[Tensor, Tensor]:
        """QK and OV of every head, each (layer, head, d_model, d_model): queries on the left, and what attention moves."""
        return self.W_Q @ self.W_K.mT / math.sqrt(self.W_Q.shape[-1]), self.W_V @ self.W_O

    def read_out(self, resid: Tensor) -> Tensor:
        """Logits (..., N) from what the MLP reads, (..., d_model): through the MLP and beside it."""
        return resid @ self.W_U + (resid @ self.W_in).relu() @ (self.W_out @ self.W_U)

    def plain(self, tokens: Tensor) -> Seen:
        """The plain forward on token ids (batch, pos), at every position."""
        resid, patterns = self.W_E[tokens] + self.W_pos, []
        future = torch.ones(self.length, self.length, dtype=torch.bool, device=tokens.device).triu(1)
        for W_Q, W_K, W_V, W_O in zip(self.W_Q, self.W_K, self.W_V, self.W_O):
            q, k, v = (resid[:, None] @ W for W in (W_Q, W_K, W_V))  # (batch, head, pos, d_head)
            scores = q @ k.mT / math.sqrt(q.shape[-1])
            patterns.append(scores.masked_fill(future, -torch.inf).softmax(3))
            resid = resid + (patterns[-1] @ v @ W_O).sum(1)
        return Seen(self.read_out(resid), torch.stack(patterns, 1), resid)

    def forward(self, tokens: Tensor) -> Tensor:
        """Logits (batch, N) at `=`, by paths: exactly those of `plain`, much faster."""
        return self.read_out(self.last_stream(tokens)[0])

    def last_stream(self, tokens: Tensor, read: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """What the MLP reads at `=`, (batch, d_model), and the last layer's attention there, (batch, head, key).

        With `read` (batch, head, key), this attention is set to that.
        """
        QK, OV = self.circuits()
        C = torch.cat([self.W_E, self.W_pos])
        paths = [Path(None, C)]
        for qk, ov in zip(QK[:-1], OV[:-1]):
            patterns = [self._pattern(each, paths, tokens) for each in qk]
            paths += [Path(A if mix is None else A @ mix, T @ each) for A, each in zip(patterns, ov) for mix, T in paths]

        # the last layer, the query at `=` alone
        ends = [None if path.mix is None else path.mix[:, -1:] for path in paths]
        x = self.W_E[tokens[:, -1]] + self.W_pos[-1]
        x = x + self._gathered(ends[1:], paths[1:], tokens) if paths[1:] else x
        rows = torch.cat([path.table for path in paths])
        found = torch.einsum("bd,hde,re->bhr", x, QK[-1], rows).unflatten(2, (len(paths), -1))
        looked = self._look_up(found.flatten(1, 2), tokens).unflatten(1, (-1, len(paths)))  # (batch, head, path, key)
        scores = sum(each if mix is None else each @ mix.mT for each, (mix, _) in zip(looked.unbind(2), paths))
        a = scores.softmax(2) if read is None else read
        for each, ov in zip(a.split(1, 1), OV[-1]):
            through = [each if mix is None else each @ mix for mix, _ in paths]
            x = x + self._gathered(through, paths, tokens) @ ov
        return x, a

    def _pattern(self, qk: Tensor, paths: list[Path], tokens: Tensor) -> Tensor:
        """The attention (batch, query, key) of one head that reads the stream of these paths."""
        d_vocab, length = self.d_vocab, self.length
        future = torch.full((length, length), -torch.inf, dtype=qk.dtype, device=qk.device).triu(1)
        query = tokens + d_vocab * torch.arange(length, device=tokens.device)  # a row for each position and token
        pair = (d_vocab * query[:, :, None] + tokens[:, None]).flatten()
        scores = future
        for one, T in paths:
            for other, U in paths:
                S = T @ qk @ U.T
                S = S[:d_vocab] + S[d_vocab:, None]  # (pos, d_vocab, rows)
                to_token, to_position = S.split([d_vocab, length], 2)
                found = to_token.flatten().index_select(0, pair).view(-1, length, length)
                found = found + to_position.flatten(0, 1).index_select(0, query.flatten()).view_as(found)
                found = found if one is None else one @ found
                scores = scores + (found if other is None else found @ other.mT)
        return scores.softmax(2)

    def _gathered(self, mixes: list[Tensor | None], paths: list[Path], tokens: Tensor) -> Tensor:
        """The sum of rows (batch, d_model) of the paths' tables, by the weights (batch, 1, key) of each."""
        weights = torch.cat(mixes, 1)  # (batch, path, key)
        index = tokens[:, None].expand_as(weights)
        on_tokens = weights.new_zeros(*weights.shape[:2], self.d_vocab).scatter_add(2, index, weights)
        return torch.cat([on_tokens, weights], 2).flatten(1) @ torch.cat([path.table for path in paths])

    def _look_up(self, found: Tensor, tokens: Tensor) -> Tensor:
        """From values (batch, n, rows) those of each key, (batch, n, key): of its token and of its position."""
        for_token, for_position = found.split([self.d_vocab, self.length], 2)
        return for_token.gather(2, tokens[:, None].expand_as(for_position)) + for_position
