"""The same gradient in a trained network: with respect to QK2, and in the basis of its moved variables."""

import torch
from torch import Tensor

from ..circuits import OV, QK, layer_1_terms, ov_table
from ..model import Weights, read_out
from ..sampling import Batch
from ..task import STUDY, Split


def look_up_gradient(weights: Weights, problems: Batch, split: Split, batch: int = 1000) -> tuple[Tensor, Tensor]:
    """-gradient of the mean loss with respect to QK2 (d_model, d_model), queries on the left, and the coefficients (V, V).

    Coefficient (u, v) says how hard the loss pulls at m_u^T m_v, where m_v is variable v moved by layer 1: `=` asks for u with
    its layer-1 attention to u, a number holds v with its own.  One operand of each problem is a variable.
    """
    task, w = split.task, weights
    gradient, coefficients = torch.zeros_like(QK(w, 2)), torch.zeros(task.n_variables**2, dtype=w.W_E.dtype)
    moved, future = ov_table(w), torch.ones(task.length, task.length, dtype=torch.bool).triu(1)
    for tokens, answers in zip(problems.tokens.split(batch), problems.answers.split(batch)):
        A = layer_1_terms(w, tokens).sum(1).masked_fill(future, -torch.inf).softmax(2)
        stream = w.W_E[tokens] + w.W_pos + A @ (moved[tokens] + moved[task.d_vocab :])  # (batch, pos, d_model), into layer 2
        query = stream[:, task.last]
        with torch.enable_grad():
            scores = torch.einsum("bq,btq->bt", query @ QK(w, 2), stream).detach().requires_grad_()
            x = query.detach() + torch.einsum("bt,btd->bd", scores.softmax(1), stream.detach()) @ OV(w, 2).detach()
            loss = torch.nn.functional.cross_entropy(read_out(w, x), answers, reduction="sum")
            pull = -torch.autograd.grad(loss, scores)[0] / len(problems.tokens)  # (batch, pos)
        gradient += query.T @ torch.einsum("bt,btk->bk", pull, stream)

        operands = tokens[:, task.left : task.right + 1]
        side = (operands[:, 1] >= task.first_variable).long()[:, None]
        asked = (operands.gather(1, side) - task.first_variable).expand(-1, task.length - 1)
        strength = pull[:, 1:] * A.diagonal(-1, 1, 2) * A[:, task.last, task.left : task.right + 1].gather(1, side)
        named = tokens[:, :-1] >= task.first_variable  # the token before is a variable
        pair = asked[named] * task.n_variables + tokens[:, :-1][named] - task.first_variable
        coefficients.index_add_(0, pair, strength[named])
    return gradient, coefficients.view(task.n_variables, task.n_variables)


def cosine(A: Tensor, B: Tensor) -> float:
    """The cosine of the angle between two matrices."""
    return ((A * B).sum() / (A.norm() * B.norm())).item()


def cosine_in_span(G: Tensor, m: Tensor, Q: Tensor) -> Tensor:
    """The cosines (batch,) of G (d, d) with sum Q_uv m_u^T m_v, for rows m (V, d) and coefficients Q (batch, V, V)."""
    gram = m @ m.T
    inner = ((m @ G @ m.T) * Q).sum((1, 2))
    return inner / (G.norm() * ((gram @ Q @ gram) * Q).sum((1, 2)).sqrt())


def delivery(weights: Weights, tokens: Tensor) -> Tensor:
    """Layer-1 attention (batch, 2) of `=` to the operand that is a variable, and of the asked number to its variable."""
    first = STUDY.first_variable
    A = layer_1_terms(weights, tokens).sum(1)
    A = A.masked_fill(torch.ones(A.shape[1:], dtype=torch.bool).triu(1), -torch.inf).softmax(2)
    side = STUDY.left + (tokens[:, STUDY.right] >= first).long()[:, None]
    name = (tokens[:, : STUDY.room] == tokens.gather(1, side)).long().argmax(1)
    row = torch.arange(len(tokens))
    return torch.stack([A[row, STUDY.last, side[:, 0]], A[row, name + 1, name]], 1)
