"""Small networks and runs that several tests share."""

import torch

from assign_add_lib import Split, Task, TrainConfig, Weights
from assign_add_lib.model import weight_shapes
from assign_add_lib.sampling import training_population

TASK = Task(n_numbers=11, n_variables=4, length=10)
CONFIG = TrainConfig(
    seed=3, steps=80, batch_size=32, d_model=16, d_mlp=24, log_every=20, checkpoint_every=40, task=TASK
)  # a run of about a second

# task, d_model, d_head, d_mlp
SIZES = [
    (Task(), 128, 128, 512),
    (Task(7, 3, 9), 12, 5, 20),
    (Task(5, 30, 21), 8, 16, 4),
    (Task(3, 2, 8), 6, 6, 6),
]


def random_weights(task: Task, d_model: int, d_head: int, d_mlp: int, seed: int = 0, scale: float = 0.4) -> Weights:
    """Normal weights in double precision, large enough that attention is far from even."""
    generator = torch.Generator().manual_seed(seed)
    shapes = weight_shapes(task.d_vocab, task.length, task.n_numbers, d_model, d_head, d_mlp)
    return Weights(
        **{name: scale * torch.randn(shape, generator=generator, dtype=torch.float64) for name, shape in shapes.items()}
    )


def problems(task: Task, size: int, seed: int = 0):
    """Training problems: token ids and answers."""
    return training_population(Split.draw(task, seed)).sample(size, torch.Generator().manual_seed(seed))
