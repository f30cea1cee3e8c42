"""Single paths: what one reader of a vector makes of another one, and what each part adds to the logits by itself.

Everything is read at `=`, the last position.  Layers are counted from 1.
"""

import torch
from torch import Tensor

from ..circuits import OV, QK, first_layer
from ..model import Weights, read_out


@torch.no_grad()
def second_layer(
    weights: Weights, tokens: Tensor, query: Tensor | None = None, key: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Answers (batch,), and what `=` reads in layer 2 (batch, pos), with another `query` (batch, d_model) or other keys.

    `key` (batch, pos, d_model) stands in for the residual stream after layer 1 where layer 2 makes keys of it.  What is
    moved to `=`, and what `=` holds itself, stay as they are: only this one path is patched.
    """
    last, (_, own, added) = weights.task.last, first_layer(weights, tokens)
    stream = own + added
    query, key = stream[:, last] if query is None else query, stream if key is None else key
    row = torch.einsum("bd,bkd->bk", query @ QK(weights, 2), key).softmax(1)
    moved = torch.einsum("bk,bkd->bd", row, stream) @ OV(weights, 2)
    return read_out(weights, stream[:, last] + moved).argmax(1), row


@torch.no_grad()
def operand_keys(weights: Weights, tokens: Tensor, place: str = "its own", strip: bool = False) -> Tensor:
    """The stream after layer 1 (batch, pos, d_model) with the operands that are numbers made harder to find.

    `place` is their position embedding: "its own", "none", or "assigned", the mean of those of the places 1 to 11, where
    an assigned number can stand.  `strip` takes away what layer 1 added.  ValueError for another place.
    """
    task, (_, own, added) = weights.task, first_layer(weights, tokens)
    operands, assigned = [task.left, task.right], weights.W_pos[1 : task.room].mean(0)
    places = {"its own": 0.0, "none": -weights.W_pos[operands], "assigned": assigned - weights.W_pos[operands]}
    if place not in places:
        raise ValueError(f"place is one of {', '.join(places)}, not {place!r}")
    change = torch.zeros_like(own)
    change[:, operands] = places[place] - strip * added[:, operands]
    return own + added + change * (tokens < task.n_numbers)[:, :, None]


@torch.no_grad()
def lens_and_attribution(weights: Weights, tokens: Tensor, answers: Tensor) -> dict[tuple[str, str], float]:
    """By part of the network: the logit lens' accuracy so far, and the logits that the part adds directly to the answer.

    The lens applies the unembedding to the stream at `=` after each part.  What is added is counted for the right answer
    less the strongest wrong one, in the mean.
    """
    last, right, (_, own, added_1) = weights.task.last, answers[:, None], first_layer(weights, tokens)
    stream = own + added_1
    row = torch.einsum("bd,bkd->bk", stream[:, last] @ QK(weights, 2), stream).softmax(1)
    moved = torch.einsum("bk,bkd->bd", row, stream) @ OV(weights, 2)
    parts = {"embeddings": own[:, last], "layer 1": added_1[:, last], "layer 2": moved}
    added = {name: part @ weights.W_U for name, part in parts.items()}
    final = read_out(weights, sum(parts.values()))
    added["MLP"] = final - sum(added.values())
    rival = final.scatter(1, right, -torch.inf).argmax(1, keepdim=True)
    so_far, result = torch.zeros_like(final), {}
    for name, logits in added.items():
        so_far = so_far + logits
        result[name, "lens"] = (so_far.argmax(1) == answers).float().mean().item()
        result[name, "added"] = (logits.gather(1, right) - logits.gather(1, rival)).mean().item()
    return result
