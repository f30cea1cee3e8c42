"""The fast forward of a network of any layers and heads, by paths, as `circuits.last_logits` is for the study's.

Without biases, normalisation and early MLPs the residual stream is a sum over *paths*: an embedding reaches a position by
itself, or moved by a head of one layer, and of the next.  A path is a mixture of positions and a table with a row for each token
and each position.  Layers read tables instead of the stream.  Both are exact: `circuits` keeps the bits and the speed of the
study, whose paths are only two.
"""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from ..model import Alter, Weights


class Path(NamedTuple):
    """A part of the residual stream: at each query a mixture of rows, one for each key's token and one for its position."""

    mix: Tensor | None  # (batch, query, key); None where each position has its own
    table: Tensor  # (d_vocab + length, d_model)


def last_logits(weights: Weights, tokens: Tensor, alter: Alter | None = None) -> Tensor:
    """Logits (batch, N) at `=`, exactly those of `run`, much faster; `alter` may change patterns of attention, as there.

    ValueError where it names any other site.
    """
    w, alter = weights, dict(alter or {})
    W_Q, W_K, W_V, W_O = (w.by_head(name) for name in ("W_Q", "W_K", "W_V", "W_O"))
    QK, OV = W_Q @ W_K.mT / math.sqrt(W_Q.shape[-1]), W_V @ W_O  # (layer, head, d_model, d_model)
    change = [alter.pop(f"blocks.{layer}.attn.hook_pattern", None) for layer in range(w.n_layers)]
    if alter:
        raise ValueError(f"by paths the patterns of attention can be altered, and not {min(alter)}")
    paths = [Path(None, torch.cat([w.W_E, w.W_pos]))]
    for qk, ov, changed in zip(QK[:-1], OV[:-1], change):
        patterns = torch.stack([_pattern(each, paths, tokens, w) for each in qk], 1)  # (batch, head, query, key)
        patterns = changed(patterns) if changed else patterns
        moved = zip(patterns.unbind(1), ov)
        paths += [Path(A if mix is None else A @ mix, T @ each) for A, each in moved for mix, T in paths]

    # the last layer, the query at `=` alone
    x = w.W_E[tokens[:, -1]] + w.W_pos[-1]
    if paths[1:]:
        x = x + _gathered([path.mix[:, -1:] for path in paths[1:]], paths[1:], tokens)
    rows = torch.cat([path.table for path in paths])
    found = torch.einsum("bd,hde,re->bhr", x, QK[-1], rows).unflatten(2, (len(paths), -1))
    to_token, to_position = found.flatten(1, 2).split([len(w.W_E), len(w.W_pos)], 2)
    looked = to_token.gather(2, tokens[:, None].expand_as(to_position)) + to_position
    looked = looked.unflatten(1, (-1, len(paths)))  # (batch, head, path, key)
    scores = sum(each if mix is None else each @ mix.mT for each, (mix, _) in zip(looked.unbind(2), paths))
    a = scores.softmax(2)  # (batch, head, key)
    a = change[-1](a[:, :, None])[:, :, 0] if change[-1] else a
    for each, ov in zip(a.split(1, 1), OV[-1]):
        x = x + _gathered([each if mix is None else each @ mix for mix, _ in paths], paths, tokens) @ ov
    return x @ w.W_U + (x @ w.W_in).relu() @ (w.W_out @ w.W_U)


def _pattern(qk: Tensor, paths: list[Path], tokens: Tensor, weights: Weights) -> Tensor:
    """The attention (batch, query, key) of one head that reads the stream of these paths."""
    d_vocab, length = len(weights.W_E), len(weights.W_pos)
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


def _gathered(mixes: list[Tensor], paths: list[Path], tokens: Tensor) -> Tensor:
    """The sum of rows (batch, d_model) of the paths' tables, by the weights (batch, 1, key) of each."""
    amounts = torch.cat(mixes, 1)  # (batch, path, key)
    index = tokens[:, None].expand_as(amounts)
    d_vocab = len(paths[0].table) - tokens.shape[1]
    on_tokens = amounts.new_zeros(*amounts.shape[:2], d_vocab).scatter_add(2, index, amounts)
    return torch.cat([on_tokens, amounts], 2).flatten(1) @ torch.cat([path.table for path in paths])
