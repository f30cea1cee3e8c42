"""Measures of a network: accuracy on sets of problems, and the seven progress measures."""

import torch
from torch import Tensor

from .circuits import bare_addition, last_logits, position_scores, variable_identity
from .model import Activations, Weights, trace
from .sampling import Batch
from .task import Task


@torch.no_grad()
def predictions(weights: Weights, tokens: Tensor, chunk: int = 2000) -> Tensor:
    """The number (batch,) that the network finds most likely at `=`; ValueError for problems of another task."""
    return torch.cat([last_logits(weights, part).argmax(1) for part in weights.task.check(tokens).split(chunk)])


def accuracy(weights: Weights, batch: Batch) -> float:
    """Share of problems answered right; ValueError unless there is one answer (batch,) a problem."""
    if batch.answers.shape != batch.tokens.shape[:1]:
        raise ValueError(f"{len(batch.tokens)} problems have answers of shape {tuple(batch.answers.shape)}")
    return (predictions(weights, batch.tokens) == batch.answers).float().mean().item()


def accuracies(weights: Weights, sets: dict[str, Batch]) -> dict[str, float]:
    """Accuracy on each set, by name."""
    return {name: accuracy(weights, batch) for name, batch in sets.items()}


@torch.no_grad()
def added_right(weights: Weights) -> Tensor:
    """Which pairs (N, N) the bare circuit relu((E_x + E_y) OV2 W_in) W_out W_U adds right."""
    numbers = torch.arange(weights.task.n_numbers, device=weights.W_E.device)
    return bare_addition(weights).argmax(2) == (numbers[:, None] + numbers) % weights.task.n_numbers


def ov2_mlp2_accuracy(weights: Weights) -> float:
    """Accuracy of the bare circuit over all N^2 pairs."""
    return added_right(weights).float().mean().item()


@torch.no_grad()
def qk1_num_to_prev_var(weights: Weights) -> float:
    """Share of positions i >= 1 before `+` whose best-scored earlier position is i - 1, leaving out i - 2."""
    scores = position_scores(weights)
    i = torch.arange(len(scores), device=scores.device)
    allowed = (i < i[:, None]) & (i != i[:, None] - 2)
    best = scores.masked_fill(~allowed, -torch.inf).argmax(1)
    return (best == i - 1)[1:].float().mean().item()


@torch.no_grad()
def qk2_ov1_var_identity(weights: Weights) -> float:
    """Share of variables that, moved by layer 1, score themselves highest in layer 2."""
    best = variable_identity(weights).argmax(1)
    return (best == torch.arange(len(best), device=best.device)).float().mean().item()


def _most_read(activations: Activations, layer: int, tokens: Tensor, task: Task) -> Tensor:
    """The two positions (batch, 2) that `=` attends to most, the left one first; ValueError for problems of another task."""
    activations.weights.of_one_head(2)
    pattern = activations.pattern[:, layer - 1]
    if pattern.shape[1:] != (task.length, task.length):
        raise ValueError(f"the attention is of {pattern.shape[1]} positions, and the task has {task.length}")
    task.check(tokens)
    return pattern[:, task.last].topk(2).indices.sort(1).values


def attn_l1_equal_to_operands(activations: Activations, tokens: Tensor, task: Task) -> float:
    """Share of problems in which `=` gives its two largest layer-1 attentions to the operand positions."""
    top = _most_read(activations, 1, tokens, task)
    return (top == torch.tensor([task.left, task.right], device=top.device)).all(1).float().mean().item()


def attn_l1_num_to_prev(activations: Activations, tokens: Tensor, task: Task) -> float:
    """Share of assigned numbers whose largest layer-1 attention is on the position before."""
    best = activations.pattern[:, 0, : task.room].argmax(2)  # (batch, room)
    before = torch.arange(task.room, device=best.device) - 1
    return (best == before)[task.assigned_numbers(tokens)[:, : task.room]].float().mean().item()


def attn_l2_equal_to_values(activations: Activations, tokens: Tensor, task: Task) -> float:
    """Share of problems in which `=` gives its two largest layer-2 attentions to the two numbers to add."""
    top = _most_read(activations, 2, tokens, task)
    return (top == task.value_positions(tokens).sort(1).values).all(1).float().mean().item()


def probe_l1_mid_var_from_num(activations: Activations, tokens: Tensor, task: Task) -> float:
    """Held-out accuracy of a linear probe that names an assigned number's variable after layer-1 attention.

    A ridge classifier learns on every other problem and is tested on the rest.
    """
    from sklearn.linear_model import RidgeClassifier

    stream = (activations.resid_pre + activations.attn_out[:, 0])[:, 1 : task.room]
    variables = tokens[:, : task.room - 1]  # the token before each position
    assigned = task.assigned_numbers(tokens)[:, 1 : task.room]
    learn, test = (
        (stream[half][assigned[half]].cpu().numpy(), variables[half][assigned[half]].cpu().numpy())
        for half in (slice(0, None, 2), slice(1, None, 2))
    )
    return float(RidgeClassifier().fit(*learn).score(*test))


WEIGHT_MEASURES = (ov2_mlp2_accuracy, qk1_num_to_prev_var, qk2_ov1_var_identity)
ATTENTION_MEASURES = (
    attn_l1_equal_to_operands,
    attn_l1_num_to_prev,
    attn_l2_equal_to_values,
    probe_l1_mid_var_from_num,
)
#: The names of the seven progress measures.
PROGRESS_MEASURES = tuple(measure.__name__ for measure in WEIGHT_MEASURES + ATTENTION_MEASURES)


@torch.no_grad()
def progress_measures(weights: Weights, batch: Batch) -> dict[str, float]:
    """The seven progress measures by name, the last four on a batch such as `diagnostic_batch`.  Figure 12."""
    activations = trace(weights, batch.tokens)
    return {measure.__name__: measure(weights) for measure in WEIGHT_MEASURES} | {
        measure.__name__: measure(activations, batch.tokens, weights.task) for measure in ATTENTION_MEASURES
    }
