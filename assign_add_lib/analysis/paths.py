"""Single paths: what one reader of a vector makes of another one, and what each part adds to the logits by itself.

Everything is read at `=`, the last position.  Layers are counted from 1.
"""

import torch
from torch import Tensor

from ..circuits import OV, QK
from ..model import Weights, read_out, trace


@torch.no_grad()
def second_layer(
    weights: Weights, tokens: Tensor, query: Tensor | None = None, key: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Answers (batch,), and what `=` reads in layer 2 (batch, pos), with another `query` (batch, d_model) or other keys.

    `key` (batch, pos, d_model) stands in for the residual stream after layer 1 where layer 2 makes keys of it.  What is
    moved to `=`, and what `=` holds itself, stay as they are: only this one path is patched.
    """
    task, acts = weights.task, trace(weights, weights.task.check(tokens))
    stream = acts.resid_pre + acts.attn_out[:, 0]
    query, key = stream[:, task.last] if query is None else query, stream if key is None else key
    row = torch.einsum("bd,de,bke->bk", query, QK(weights, 2), key).softmax(1)
    moved = torch.einsum("bk,bkd->bd", row, stream) @ OV(weights, 2)
    return read_out(weights, stream[:, task.last] + moved).argmax(1), row


@torch.no_grad()
def operand_keys(weights: Weights, tokens: Tensor, move: bool = False, strip: bool = False) -> Tensor:
    """The stream after layer 1 (batch, pos, d_model) with the operands that are numbers made harder to find.

    `move` gives them the mean position embedding of the places 1, 3, ... before `+`; `strip` takes away what layer 1 added.
    """
    task, acts = weights.task, trace(weights, weights.task.check(tokens))
    operands = [task.left, task.right]
    change = torch.zeros_like(acts.resid_pre)
    change[:, operands] += move * (weights.W_pos[1 : task.room : 2].mean(0) - weights.W_pos[operands])
    change[:, operands] -= strip * acts.attn_out[:, 0, operands]
    return acts.resid_pre + acts.attn_out[:, 0] + change * (tokens < task.n_numbers)[:, :, None]


@torch.no_grad()
def lens_and_attribution(weights: Weights, tokens: Tensor, answers: Tensor) -> dict[tuple[str, str], float]:
    """By part of the network: the logit lens' accuracy so far, and the logits that the part adds directly to the answer.

    The lens applies the unembedding to the stream at `=` after each part.  What is added is counted for the right answer
    less the strongest wrong one, in the mean.
    """
    acts, last, right = trace(weights, weights.task.check(tokens)), weights.task.last, answers[:, None]
    parts = {"embeddings": acts.resid_pre, "layer 1": acts.attn_out[:, 0], "layer 2": acts.attn_out[:, 1]}
    added = {name: part[:, last] @ weights.W_U for name, part in parts.items()}
    final = acts.logits[:, last]
    added["MLP"] = final - sum(added.values())
    rival = final.scatter(1, right, -torch.inf).argmax(1, keepdim=True)
    so_far, result = torch.zeros_like(final), {}
    for name, logits in added.items():
        so_far = so_far + logits
        result[name, "lens"] = (so_far.argmax(1) == answers).float().mean().item()
        result[name, "added"] = (logits.gather(1, right) - logits.gather(1, rival)).mean().item()
    return result
