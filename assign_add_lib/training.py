"""Training: AdamW on fresh problems, with metrics, checkpoints, and resuming to the same bits."""

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .circuits import last_logits
from .log import Config, Learner, Log, choose_device, follow
from .measures import PROGRESS_MEASURES, accuracies, progress_measures
from .model import Weights
from .sampling import EVALUATION_SETS, Batch, Population, diagnostic_batch, evaluation_sets, training_population
from .task import STUDY, Split, Task

METRICS = ("step", "loss", *EVALUATION_SETS, *PROGRESS_MEASURES)
BATCH_SEED = 1_000_000  # added to the seed, so that batches and initialisation draw from different streams


@dataclass(frozen=True)
class TrainConfig(Config):
    """Everything that decides a run, down to its bits on one machine; the defaults are the study's."""

    seed: int = 42  # decides split, initialisation and batches
    steps: int = 30_000
    train_fraction: float = 0.7  # of all ordered pairs, the share that training may see
    r: float = 1.0  # frequency of 2-var problems, relative to either kind of 1-var problem
    batch_size: int = 512
    lr: float = 1e-3
    weight_decay: float = 0.02
    beta1: float = 0.9
    beta2: float = 0.999
    d_model: int = 128
    d_mlp: int = 512
    log_every: int = 100  # steps between rows of metrics, and between saved states
    checkpoint_every: int = 100  # steps between kept weights; a multiple of log_every
    task: Task = field(default=STUDY)

    def __post_init__(self):
        super().__post_init__()
        self.at_least(1, "batch_size", "d_model", "d_mlp")
        self.within(0, 1, "beta1", "beta2")
        self.within(0, math.inf, "r", "weight_decay")
        if not 0 < self.train_fraction <= 1:
            raise ValueError(f"train_fraction must be above 0 and at most 1, not {self.train_fraction}")
        if self.lr <= 0:
            raise ValueError(f"lr must be above 0, not {self.lr}")

    @classmethod
    def from_dict(cls, values: dict) -> "TrainConfig":
        """Read a config back from plain values; ValueError names what is unknown or missing."""
        names, task_names = ({each.name for each in fields(kind)} for kind in (cls, Task))
        wrong = set(values) ^ names or set(values["task"]) ^ task_names
        if wrong:
            raise ValueError(f"the config has the wrong entries: {', '.join(sorted(wrong))}")
        return cls(**{**values, "task": Task(**values["task"])})


def adamw(weights: dict[str, Tensor], config: TrainConfig) -> torch.optim.AdamW:
    """The study's optimiser for weights by name."""
    return torch.optim.AdamW(
        weights.values(),
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        fused=True,
    )


class Trainer(Learner):
    """A run of the study in progress: its split, its population of problems and its weights."""

    metrics = METRICS[1:]
    logits = staticmethod(last_logits)  # logits (batch, N) at `=` from weights and tokens

    def __init__(self, config: TrainConfig, device: torch.device | str = "cpu"):
        self.split = Split.draw(config.task, config.seed, config.train_fraction)
        self.population: Population = training_population(self.split, config.r).to(device)
        self.weights = Weights.init(config.task, config.seed, config.d_model, config.d_mlp).to(device).trainable()
        tensors, generator = self.weights.tensors(), torch.Generator(device).manual_seed(BATCH_SEED + config.seed)
        super().__init__(config, tensors, adamw(tensors, config), generator, device)

    def loss(self) -> Tensor:
        """The loss at `=` on a fresh batch."""
        batch = self.population.sample(self.config.batch_size, self.generator)
        return cross_entropy(self.logits(self.weights, batch.tokens), batch.answers)

    def _placed(self, batch: Batch) -> Batch:
        return Batch(*(each.to(self.device) for each in batch))

    @cached_property
    def _measured_on(self) -> tuple[Batch, dict[str, Batch], Batch]:
        """What the loss, the accuracies and the progress measures are taken on: always the same problems."""
        unseen = training_population(self.split, self.config.r).sample(2000, torch.Generator().manual_seed(4))
        sets = {name: self._placed(batch) for name, batch in evaluation_sets(self.split).items()}
        return self._placed(unseen), sets, self._placed(diagnostic_batch(self.split))

    def measure(self) -> dict[str, float]:
        """The loss on 2000 training problems, the nine accuracies and the seven progress measures."""
        unseen, sets, diagnostic = self._measured_on
        loss = cross_entropy(last_logits(self.weights, unseen.tokens), unseen.answers).item()
        scores = dict.fromkeys(EVALUATION_SETS, math.nan) | accuracies(self.weights, sets)
        return {"loss": loss} | scores | progress_measures(self.weights, diagnostic, self.config.task)

    def notes(self) -> dict:
        """The split, as stored in config.json."""
        return {"split": self.split.to_dict()}


def train(
    config: TrainConfig,
    folder: str | Path,
    device: str | None = None,
    progress: bool = True,
    command: str = "",
    stop: int | None = None,
) -> Path:
    """Train a network into a folder, or go on with the run that stands there; returns the folder.

    The folder gets config.json, metrics.csv (a row every `log_every` steps), checkpoints/, and state.safetensors, from
    which a killed run goes on.  It uses CUDA where present, unless `device` says otherwise.  `stop` ends early, to be
    resumed.  Raises ValueError and OSError as `Log` does, and `Diverged` where the loss is not finite.
    """
    log = Log(Trainer(config, choose_device(device)), folder, command)
    return follow(log, dict.fromkeys(("0-var train", "1-var train", "2-var train"), ".2f"), progress, stop)
