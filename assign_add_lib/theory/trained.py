"""The same gradient in a trained network: with respect to QK2, and in the basis of its moved variables."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..circuits import OV, QK
from ..model import Weights, run
from ..sampling import Batch

READ, SCORED = "blocks.0.attn.hook_pattern", "blocks.1.attn.hook_attn_scores"


def look_up_gradient(weights: Weights, problems: Batch, batch: int = 1000) -> tuple[Tensor, Tensor]:
    """-gradient of the mean loss with respect to QK2 (d_model, d_model), queries on the left, and the coefficients (V, V).

    Coefficient (u, v) says how hard the loss pulls at m_u^T m_v, where m_v is variable v moved by layer 1: `=` asks for u with
    its layer-1 attention to u, a number holds v with its own.  One operand of each problem is a variable.
    """
    task, gradient, coefficients = weights.task, 0, 0
    variables = task.first_variable + torch.arange(task.n_variables)
    for tokens, answers in zip(problems.tokens.split(batch), problems.answers.split(batch)):
        added = torch.zeros(len(tokens), 1, 1, task.length, dtype=weights.W_E.dtype, requires_grad=True)
        with torch.enable_grad():
            seen = run(weights, tokens, alter={SCORED: added.add})
            loss = cross_entropy(seen.logits, answers, reduction="sum") / len(problems.tokens)
        pull = -torch.autograd.grad(loss, added)[0][:, 0, 0]  # (batch, pos), on the scores of `=` in layer 2
        A, stream = seen[READ][:, 0], seen["blocks.1.hook_resid_pre"]
        gradient = gradient + stream[:, -1].T @ torch.einsum("bt,btk->bk", pull, stream)

        named = (tokens[:, :, None] == variables).to(stream.dtype)  # (batch, pos, V)
        operands = slice(task.left, task.right + 1)
        asked = torch.einsum("bt,btv->bv", A[:, -1, operands], named[:, operands])
        held = A.diagonal(-1, 1, 2)[:, :, None] * named[:, :-1]  # of the name before each position
        coefficients = coefficients + torch.einsum("bw,bt,btv->wv", asked, pull[:, 1:], held)
    return gradient, coefficients


def moved_names(weights: Weights) -> Tensor:
    """The variables as layer 1 moves them, (V, d_model)."""
    return weights.W_E[weights.task.first_variable :] @ OV(weights, 1)


def exchange(measure: Callable[..., Tensor], before: Sequence[Tensor], after: Sequence[Tensor]) -> dict[str, float]:
    """A measure of delivery, names and QK2 before and after, and what each adds to it when exchanged first, and last."""
    start, end = measure(*before), measure(*after)
    row = {"before": start, "after": end}
    for i, name in enumerate(("delivery", "names", "QK2")):
        row[f"{name} first"] = measure(*before[:i], after[i], *before[i + 1 :]) - start
        row[f"{name} last"] = end - measure(*after[:i], before[i], *after[i + 1 :])
    return {key: value.item() for key, value in row.items()}


def delivery(weights: Weights, tokens: Tensor) -> Tensor:
    """Layer-1 attention (batch, 2) of `=` to the operand that is a variable, and of the asked number to its variable."""
    task, A = weights.task, run(weights, tokens)[READ][:, 0]
    side = tokens[:, task.left : task.right + 1].argmax(1, keepdim=True)  # ids of variables are above those of numbers
    number, row = task.value_positions(tokens).gather(1, side)[:, 0], torch.arange(len(tokens))
    return torch.stack([A[row, task.last, task.left + side[:, 0]], A[row, number, number - 1]], 1)


def exchange_look_up(before: Weights, after: Weights, tokens: Tensor) -> dict[str, float]:
    """`exchange` for the look-up score of problems (batch, length) with one variable, from one checkpoint to another.

    The score: what the asked name scores above the mean of the others, times what layer 1 delivers in the problem; the mean.
    """
    task = before.task
    asked = tokens[:, task.left : task.right + 1].max(1).values - task.first_variable

    def factors(w: Weights) -> tuple[Tensor, Tensor, Tensor]:
        return delivery(w, tokens).prod(1), moved_names(w), QK(w, 2)

    def score(delivered: Tensor, m: Tensor, Q: Tensor) -> Tensor:
        table = m @ Q @ m.T
        own = table.diag()
        return (delivered * (own - (table.sum(1) - own) / (len(m) - 1))[asked]).mean()

    return exchange(score, factors(before), factors(after))
