"""Circuits: what layer 1 and layer 2 can do, as tables over 90 embeddings, and the forward that computes with them.

The model has no biases and no normalisation, so each part of it is a small matrix seen by the rows of
C = [token embeddings; position embeddings]: layer 1 scores tokens and positions by C QK1 C^T, and moves C OV1.
Layers are counted from 1.
"""

import math

import torch
from torch import Tensor

from .model import Activations, Weights, trace


def embedding_table(weights: Weights) -> Tensor:
    """C: the token embeddings above the position embeddings, (d_vocab + length, d_model)."""
    return torch.cat([weights.W_E, weights.W_pos])


def QK(weights: Weights, layer: int) -> Tensor:
    """W_Q W_K^T / sqrt(d_head) of a layer, (d_model, d_model) or one for each head: queries on the left, keys on the right."""
    W_Q, W_K = _of_layer(layer, weights.W_Q, weights.W_K)
    return W_Q @ W_K.mT / math.sqrt(W_Q.shape[-1])


def OV(weights: Weights, layer: int) -> Tensor:
    """W_V W_O of a layer, (d_model, d_model) or one for each head: what attention moves."""
    W_V, W_O = _of_layer(layer, weights.W_V, weights.W_O)
    return W_V @ W_O


def _of_layer(layer: int, *matrices: Tensor) -> list[Tensor]:
    if layer not in range(1, len(matrices[0]) + 1):
        raise ValueError(f"the layers are 1 to {len(matrices[0])}, not {layer!r}")
    return [each[layer - 1] for each in matrices]


def qk_table(weights: Weights) -> Tensor:
    """C QK1 C^T: layer-1 score of every embedding (rows, as query) for every other (columns, as key).  Figure 6."""
    C = embedding_table(weights)
    return C @ QK(weights.of_one_head(), 1) @ C.T


def position_scores(weights: Weights) -> Tensor:
    """P QK1 P^T over the positions of the assignments, (room, room).  Figure 7a."""
    P = weights.W_pos[: weights.task.room]
    return P @ QK(weights.of_one_head(), 1) @ P.T


def variable_identity(weights: Weights) -> Tensor:
    """(E_var OV1) QK2 (E_var OV1)^T, (V, V): does a moved variable look for its own name?  Figure 7b."""
    weights = weights.of_one_head(2)
    moved = weights.W_E[weights.task.first_variable :] @ OV(weights, 1)
    return moved @ QK(weights, 2) @ moved.T


def bare_addition(weights: Weights) -> Tensor:
    """Logits (N, N, N) of relu((E_x + E_y) OV2 W_in) W_out W_U for all pairs (x, y): no attention, no skip path."""
    weights = weights.of_one_head(2)
    pre = weights.W_E[: weights.task.n_numbers] @ OV(weights, 2) @ weights.W_in  # (N, d_mlp), one operand's share
    return (pre[:, None] + pre).relu() @ (weights.W_out @ weights.W_U)


def last_logits(weights: Weights, tokens: Tensor) -> Tensor:
    """Logits (batch, N) at `=`, by the factored forward: `forward(weights, tokens)[:, -1]` to rounding, much faster.

    Layer 1 is read off the tables of C, layer 2 is computed for the one query at `=`, and no (batch, pos, d_model)
    tensor is ever made.  ValueError for another network than one of two layers of one head.

    >>> weights, tokens = Weights.init(), Problem.parse("b=17, b+19=?").tokens()[None]
    >>> last_logits(weights, tokens).shape
    torch.Size([1, 59])
    >>> torch.allclose(last_logits(weights, tokens), forward(weights, tokens)[:, -1], atol=1e-5)
    True
    """
    return last_reading(weights, tokens)[0]


def last_reading(weights: Weights, tokens: Tensor) -> tuple[Tensor, Tensor]:
    """Those logits, and what `=` reads in layer 2, (batch, key)."""
    w, length, d_vocab = weights.of_one_head(2), weights.check(tokens).shape[1], len(weights.W_E)
    QK1, QK2 = (w.W_Q @ w.W_K.mT / math.sqrt(w.W_Q.shape[-1])).unbind()
    OV1, OV2 = (w.W_V @ w.W_O).unbind()
    C = torch.cat([w.W_E, w.W_pos[:length]])  # (rows, d_model)
    seen = torch.cat([C, C @ OV1])  # (2 rows, d_model): layer 2 sees sums of these, an embedding's own or moved by layer 1
    future = torch.full((length, length), -torch.inf, dtype=C.dtype, device=C.device).triu(1)

    # layer 1, all positions: a table row for each position and token of the query, an entry for each token of the key
    S = C @ QK1 @ C.T
    S = S[:d_vocab] + S[d_vocab:, None]  # (pos, d_vocab, rows), for a query of both position and token
    to_token, to_position = S.split([d_vocab, length], 2)
    query = tokens + d_vocab * torch.arange(length, device=tokens.device)  # (batch, query)
    pair = d_vocab * query[:, :, None] + tokens[:, None]  # (batch, query, key)
    scores = to_token.flatten().index_select(0, pair.flatten()).view_as(pair)
    to_position = (to_position + future[:, None]).flatten(0, 1)
    scores = scores + to_position.index_select(0, query.flatten()).view_as(pair)
    A = scores.softmax(2)  # (batch, query, key)

    def scatter(attention):  # (batch, n, key) attention -> (batch, n rows) weight of each row of C
        index = tokens[:, None].expand_as(attention)
        on_tokens = attention.new_zeros(*attention.shape[:2], d_vocab).scatter_add(2, index, attention)
        return torch.cat([on_tokens, attention], 2).flatten(1)

    def look_up(table):  # (batch, n rows) -> (batch, n, key), for the token and the position of each key
        for_token, for_position = table.unflatten(1, (-1, len(C))).split([d_vocab, length], 2)
        return for_token.gather(2, tokens[:, None].expand_as(for_position)) + for_position

    # layer 2, the query at `=` alone
    x = w.W_E.index_select(0, tokens[:, -1]) + w.W_pos[length - 1] + scatter(A[:, -1:]) @ seen[len(C) :]
    own, moved = look_up(x @ QK2 @ seen.T).unbind(1)  # (batch, key)
    a2 = (own + (A * moved[:, None]).sum(2)).softmax(1)  # (batch, key)
    through = (a2[:, :, None] * A).sum(1)  # attention that reaches a key by way of layer 1
    resid = x + scatter(torch.stack([a2, through], 1)) @ seen @ OV2

    # MLP and unembedding on one position
    return resid @ w.W_U + (resid @ w.W_in).relu() @ (w.W_out @ w.W_U), a2


#: What the query and the key bring into each of `layer_1_terms`.
LAYER_1_TERMS = ("token, token", "token, position", "position, token", "position, position")


def layer_1_terms(weights: Weights, tokens: Tensor) -> Tensor:
    """The four terms of every layer-1 score, (batch, 4, query, key), in the order of `LAYER_1_TERMS` (query, key).

    They sum to the score; entries in the future, which the causal mask removes, are filled in all the same.
    """
    S = qk_table(weights)
    t = weights.task.check(tokens)  # rows of S for the tokens
    p = (len(weights.W_E) + torch.arange(tokens.shape[1], device=tokens.device)).expand_as(tokens)  # and for the positions
    return torch.stack([S[row[:, :, None], column[:, None]] for row in (t, p) for column in (t, p)], 1)


QUERY_SOURCES = ("own", "operand tokens", "rest of layer 1")  #: The first axis of `layer_2_terms`, without the batch.
KEY_SOURCES = ("own", "token before", "rest of layer 1")  #: The second.


def layer_2_terms(weights: Weights, tokens: Tensor) -> Tensor:
    """The nine terms of the layer-2 score of `=` for every key, (batch, query source, key source, key).

    Query sources at `=`: its own token and position; the two operand tokens, moved by layer 1 with its attention; the
    rest of what layer 1 added.  Key sources: the key's own token and position; the token before it, moved by layer 1;
    the rest of what layer 1 added.  The sources sum to the residual stream, so the nine terms sum to the score.
    """
    weights, task = weights.of_one_head(2), weights.task
    activations = trace(weights, task.check(tokens))
    own, added, A = activations.resid_pre, activations.attn_out[:, 0], activations.pattern[:, 0]
    moved = weights.W_E[tokens] @ OV(weights, 1)  # (batch, pos, d_model)
    operands = [task.left, task.right]
    named = torch.einsum("bj,bjd->bd", A[:, task.last, operands], moved[:, operands])
    before = torch.zeros_like(own)
    before[:, 1:] = A.diagonal(-1, 1, 2)[:, :, None] * moved[:, :-1]
    query = torch.stack([own[:, task.last], named, added[:, task.last] - named], 1)  # (batch, source, d_model)
    key = torch.stack([own, before, added - before], 1)  # (batch, source, pos, d_model)
    return torch.einsum("bqd,de,bkje->bqkj", query, QK(weights, 2), key)


def mlp_input_sources(weights: Weights, activations: Activations, tokens: Tensor) -> dict[str, Tensor]:
    """What the MLP reads at `=`, split by where it comes from: name -> (batch, d_model); the parts sum to `mlp_in`."""
    weights, task = weights.of_one_head(2), weights.task
    attention = activations.pattern[:, 1, task.last]  # (batch, key), of layer 2
    added = torch.zeros_like(attention).scatter(1, task.value_positions(tokens), 1.0)
    embedded, from_layer_1, OV2 = weights.W_E[tokens], activations.attn_out[:, 0], OV(weights, 2)

    def moved(weight, content):
        return torch.einsum("bt,btd->bd", weight, content) @ OV2

    return {
        "numbers to add": moved(attention * added, embedded),
        "other tokens": moved(attention * (1 - added), embedded),
        "positions": attention @ weights.W_pos @ OV2,
        "layer 1, by way of layer 2": moved(attention, from_layer_1),
        "layer 1 at =": from_layer_1[:, task.last],
        "token =": embedded[:, task.last],
        "position of =": weights.W_pos[task.last].expand(len(tokens), -1),
    }
