"""Histories: what only shows if every checkpoint of a run is measured.

A *history* is a table with a row for each checkpoint and columns (group, name): accuracy of each variable at each operand
position, loss by kind of problem, gradient and weight norms by circuit, layer-1 scores of `=`, and the lead of each variable
in the identity block.  data/history/ holds one for each seed.
"""

from typing import NamedTuple

import pandas as pd
import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from ..circuits import last_logits, qk_table, variable_identity
from ..engine.manifest import shipped_file
from ..measures import predictions
from ..model import Weights
from ..sampling import Batch, lay_out, training_population
from ..task import KINDS, Split
from ..training import Run

# which weights make up a circuit: name -> (tensor, layer) pairs; None stands for a tensor without layers
CIRCUITS = {
    "QK1": (("W_Q", 0), ("W_K", 0)),
    "OV1": (("W_V", 0), ("W_O", 0)),
    "QK2": (("W_Q", 1), ("W_K", 1)),
    "OV2": (("W_V", 1), ("W_O", 1)),
    "MLP": (("W_in", None), ("W_out", None)),
    "embeddings": (("W_E", None), ("W_pos", None)),
    "unembedding": (("W_U", None),),
}


def norms_by_circuit(tensors: dict[str, Tensor]) -> dict[str, float]:
    """Euclidean norm over all entries of each circuit's tensors, for weights or for gradients under the weights' names."""
    return {
        circuit: sum(float(tensors[name][slice(None) if layer is None else layer].square().sum()) for name, layer in parts) ** 0.5
        for circuit, parts in CIRCUITS.items()
    }


def variable_problems(split: Split, size: int = 300, seed: int = 5) -> Batch:
    """`size` 1-var problems for each variable on each side, with training pairs: (V * 2 * size) problems in this order."""
    task, generator = split.task, torch.Generator().manual_seed(seed)
    V, pairs = task.n_variables, split.train_pairs.nonzero()
    variable = torch.arange(V).repeat_interleave(2 * size)
    side = torch.arange(2).repeat_interleave(size).repeat(V)
    numbers = pairs[torch.randint(len(pairs), (len(variable),), generator=generator)]
    asked = torch.full_like(numbers, V).scatter(1, side[:, None], variable[:, None])
    return lay_out(task, asked, numbers, generator)


def variable_accuracy(weights: Weights, problems: Batch) -> Tensor:
    """Accuracy of each variable on the left and on the right, (V, 2), on `variable_problems`."""
    right = predictions(weights, problems.tokens) == problems.answers
    return right.float().view(weights.task.n_variables, 2, -1).mean(2)


def losses_and_gradients(weights: Weights, batch: Batch) -> tuple[dict[str, float], dict[str, float]]:
    """Mean loss of each kind of problem, and the norm by circuit of the gradient of the mean loss over the whole batch."""
    leaf, kind = weights.trainable(), weights.task.kind_of(batch.tokens)
    with torch.enable_grad():
        loss = cross_entropy(last_logits(leaf, batch.tokens), batch.answers, reduction="none")
        gradients = torch.autograd.grad(loss.mean(), list(leaf.tensors().values()))
    by_kind = {name: loss.detach()[kind == index].mean().item() for index, name in enumerate(KINDS)}
    return by_kind, norms_by_circuit(dict(zip(leaf.tensors(), gradients)))


def equal_scores(weights: Weights) -> dict[str, float]:
    """Layer-1 scores that `=` at its position gives: to each variable's token, to numbers (mean), to positions 13 and 14.

    The score of a key is the sum of the entries of its token and its position.
    """
    S, task = qk_table(weights), weights.task
    given = S[task.equal] + S[task.d_vocab + task.last]  # (d_vocab + length,)
    scores = dict(zip(task.variable_names, given[task.first_variable : task.d_vocab].tolist()))
    positions = {f"position {place}": given[task.d_vocab + place].item() for place in (task.left, task.right)}
    return scores | {"numbers": given[: task.n_numbers].mean().item()} | positions


def identity_lead(weights: Weights) -> Tensor:
    """By how much each variable's own entry leads the largest other one in its row of the identity block, (V,)."""
    block = variable_identity(weights)
    others = block.masked_fill(torch.eye(len(block), dtype=torch.bool, device=block.device), -torch.inf)
    return block.diagonal() - others.max(1).values


class HistoryProblems(NamedTuple):
    """The fixed problems on which a history is measured."""

    variables: Batch  # of `variable_problems`
    mixture: Batch  # of the training mixture

    @classmethod
    def draw(cls, split: Split, r: float = 1.0, size: int = 4096) -> "HistoryProblems":
        """The problems for a run with this split and this r."""
        mixture = training_population(split, r).sample(size, torch.Generator().manual_seed(6))
        return cls(variable_problems(split), mixture)


@torch.no_grad()
def history_row(weights: Weights, problems: HistoryProblems) -> dict[tuple[str, str], float]:
    """One row of a history: values by (group, name)."""
    sides = [f"{name} {side}" for name in weights.task.variable_names for side in ("left", "right")]
    losses, gradients = losses_and_gradients(weights, problems.mixture)
    groups = {
        "accuracy": dict(zip(sides, variable_accuracy(weights, problems.variables).flatten().tolist())),
        "loss": losses,
        "gradient": gradients,
        "weights": norms_by_circuit(weights.tensors()),
        "score": equal_scores(weights),
        "lead": dict(zip(weights.task.variable_names, identity_lead(weights).tolist())),
    }
    return {(group, name): value for group, values in groups.items() for name, value in values.items()}


def history(run: Run) -> pd.DataFrame:
    """The history of a run at all its checkpoints, columns (group, name), indexed by step."""
    problems = HistoryProblems.draw(run.split, run.config.r)
    rows = {step: history_row(run.weights(step), problems) for step in run.steps}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("step")
    table.columns = pd.MultiIndex.from_tuples(table.columns)
    return table


def history_text(table: pd.DataFrame) -> str:
    """A history as the text of its CSV file: one header, `group name`, and four digits a value."""
    flat = table.set_axis([" ".join(column) for column in table.columns], axis=1)
    return flat.to_csv(float_format="%.4g", lineterminator="\n")


def load_history(name: str) -> pd.DataFrame:
    """The shipped history of a run, by the run's name; FileNotFoundError or ValueError where it is missing or damaged."""
    table = pd.read_csv(shipped_file(f"history/{name}.csv.bz2"), index_col="step")
    return table.set_axis(pd.MultiIndex.from_tuples(column.split(" ", 1) for column in table.columns), axis=1)
