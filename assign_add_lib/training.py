"""Training: AdamW on fresh problems, with metrics, checkpoints, and resuming to the same bits."""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy

from .circuits import last_logits
from .engine.folder import OtherSystem
from .engine.learner import Config, Learner, choose_device, setting
from .engine.loop import follow
from .engine.runs import RunFolder
from .measures import PROGRESS_MEASURES, accuracies, progress_measures
from .model import Weights, weight_shapes
from .sampling import EVALUATION_SETS, Batch, Population, diagnostic_batch, evaluation_sets, exact_sets, training_population
from .task import STUDY, Split, Task

METRICS = ("step", "loss", *EVALUATION_SETS, *PROGRESS_MEASURES)
BATCH_SEED = 1_000_000  # added to the seed, so that batches and initialisation draw from different streams


@dataclass(frozen=True)
class Training(Config, ABC):
    """How a network is trained, and how wide it is; the defaults are the study's."""

    seed: int = setting(42, "decides split, initialisation and batches")
    steps: int = 30_000
    train_fraction: float = setting(0.7, "of all ordered pairs, the share that training may see")
    r: float = setting(1.0, "frequency of problems with two variables, relative to those with one variable on one side")
    batch_size: int = 512
    lr: float = 1e-3
    weight_decay: float = 0.02
    beta1: float = 0.9
    beta2: float = 0.999
    d_model: int = 128
    d_mlp: int = 512
    log_every: int = 100
    checkpoint_every: int = 100

    def __post_init__(self):
        super().__post_init__()
        self.at_least(1, "batch_size", "d_model", "d_mlp")
        self.at_most(2**16, "batch_size", "d_model", "d_mlp")
        self.within(0, 1, "beta1", "beta2")
        self.within(0, math.inf, "r", "weight_decay")
        if not 0 < self.train_fraction <= 1:
            raise ValueError(f"train_fraction must be above 0 and at most 1, not {self.train_fraction}")
        if self.lr <= 0:
            raise ValueError(f"lr must be above 0, not {self.lr}")

    @abstractmethod
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight, by name."""

    def weights(self) -> Weights:
        """The untrained weights."""
        return Weights.drawn(self.shapes(), self.seed)


@dataclass(frozen=True)
class TrainConfig(Training):
    """Everything that decides a run, down to its bits on one machine; the defaults are the study's.

    >>> TrainConfig(seed=7).batch_size
    512
    >>> TrainConfig.of(seed=7, n_numbers=11).task
    Task(n_numbers=11, n_variables=12, length=16)
    >>> TrainConfig(lr=-1)
    Traceback (most recent call last):
        ...
    ValueError: lr must be above 0, not -1.0
    """

    task: Task = field(default=STUDY)

    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of every weight, by name."""
        task = self.task
        return weight_shapes(task.d_vocab, task.length, task.n_numbers, self.d_model, self.d_model, self.d_mlp)


def adamw(weights: dict[str, Tensor], config: Training) -> torch.optim.AdamW:
    """The study's optimiser for weights by name."""
    return torch.optim.AdamW(
        weights.values(),
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        fused=True,
    )


def descend(parts: list[Tensor], loss: Callable[[], Tensor], steps: int) -> Iterator[int]:
    """Count the steps of a fresh AdamW (rate 1e-3, decay 0.02) down `loss()` over `parts`: before the first, after each."""
    optimiser = torch.optim.AdamW(parts, lr=1e-3, weight_decay=0.02, fused=True)
    yield 0
    for done in range(1, steps + 1):
        optimiser.zero_grad()
        with torch.enable_grad():
            loss().backward()
        optimiser.step()
        yield done


class NetworkLearner(Learner):
    """A run in progress: its law of problems and its weights, trained on fresh problems with the loss at `=`."""

    shown = MappingProxyType(dict.fromkeys(("0-var train", "1-var train", "2-var train"), ".2f"))
    logits = staticmethod(last_logits)  # logits (batch, N) at `=` from weights and tokens

    def __init__(self, config: Training, population: Population, device: torch.device | str):
        self.population, self.weights = population.to(device), config.weights().to(device).trainable()
        tensors, generator = self.weights.tensors(), torch.Generator(device).manual_seed(BATCH_SEED + config.seed)
        super().__init__(config, tensors, adamw(tensors, config), generator, device)

    def loss_on(self, batch: Batch) -> Tensor:
        """The loss at `=`."""
        return cross_entropy(self.logits(self.weights, batch.tokens), batch.answers)

    def loss(self) -> Tensor:
        """The loss on a fresh batch."""
        return self.loss_on(self.population.sample(self.config.batch_size, self.generator))


class StudyLearner(NetworkLearner):
    """A run of the study in progress: its split, its population of problems and its weights."""

    metrics = METRICS[1:]

    def __init__(self, config: TrainConfig, device: torch.device | str = "cpu"):
        self.split = Split.draw(config.task, config.seed, config.train_fraction)
        super().__init__(config, training_population(self.split, config.r), device)

    @cached_property
    def _evaluated_on(self) -> tuple[Batch, dict[str, Batch], Batch]:
        """What the loss, the accuracies and the progress measures are taken on: always the same problems."""
        unseen = training_population(self.split, self.config.r).sample(2000, torch.Generator().manual_seed(4))
        sets = {name: batch.to(self.device) for name, batch in evaluation_sets(self.split).items()}
        return unseen.to(self.device), sets, diagnostic_batch(self.split).to(self.device)

    def evaluate(self) -> dict[str, float]:
        """The loss on 2000 training problems, the nine accuracies and the seven progress measures."""
        unseen, sets, diagnostic = self._evaluated_on
        scores = dict.fromkeys(EVALUATION_SETS, math.nan) | accuracies(self.weights, sets)
        return {"loss": self.finite(self.loss_on(unseen).item())} | scores | progress_measures(self.weights, diagnostic)

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

    It uses CUDA where present, unless `device` says otherwise.  See `engine.loop.follow` for what the folder gets, and for
    what is raised.

    >>> from tempfile import TemporaryDirectory
    >>> config = TrainConfig(steps=2, batch_size=8, d_model=8, d_mlp=8, log_every=1, checkpoint_every=1, task=Task(5, 3, 8))
    >>> with TemporaryDirectory() as runs:
    ...     folder = train(config, f"{runs}/tiny", device="cpu", progress=False)
    ...     load_run(folder).steps
    [0, 1, 2]
    """
    return follow(StudyLearner(config, choose_device(device)), folder, command, progress, stop)


class NetworkRun(RunFolder):
    """A run whose config says the shapes of its weights."""

    def weights(self, step: int | None = None) -> Weights:
        """The weights at a checkpoint, the last by default, in float32; ValueError lists the steps there are."""
        return self.read(step, self._fit)

    def _fit(self, tensors: dict[str, Tensor]) -> Weights:
        if {name: tuple(tensor.shape) for name, tensor in tensors.items()} != self.config.shapes():
            raise ValueError
        return Weights(**tensors).to(torch.float32)

    def tensors(self, step: int | None = None) -> dict[str, Tensor]:
        """The weights at a checkpoint by name."""
        return self.weights(step).tensors()


class Run(NetworkRun):
    """One run of the study: config, split, metrics, and weights at its checkpoints."""

    shelf, kind = "runs", TrainConfig
    readers = MappingProxyType({"split": lambda config, values: Split.from_dict(config.task, values)})

    @property
    def task(self) -> Task:
        """The sizes of its task."""
        return self.config.task

    @property
    def split(self) -> Split:
        """The pairs and variables that it was trained on, as stored, not drawn again."""
        return self.described.notes["split"]

    def final(self) -> dict[str, float]:
        """The accuracies of the last weights on the exact sets."""
        return {f"exact {name}": value for name, value in accuracies(self.weights(), exact_sets(self.split)).items()}


shipped_runs = Run.shipped
# what opens the runs of other systems, by a setting that no others have
OPENED_BY = {"nodes": "companions.reasoning.training.ArmRun", "given_code": "companions.hypernetwork.training.ArmRun"}
OPENED_BY |= {"alpha": "companions.rules.training.RuleRun", "links": "laboratory.training.WorldRun"}
OPENED_BY |= {"share": "proof.harden.Hardened"}


def load_run(name: str | Path) -> Run:
    """Open a shipped run of the study by name, or any of this kind by its folder; FileNotFoundError lists the shipped ones.

    Runs of other systems are opened by classes of their own; here they give a ValueError that names the class.

    >>> run = load_run("seed-42")
    >>> run.config.train_fraction, run.steps[-1]
    (0.7, 30000)
    >>> tokens = Problem.parse("c=1, b=17, a=42, b+19=?").tokens()[None]
    >>> last_logits(run.weights(), tokens).argmax(1)
    tensor([36])
    """
    try:
        return Run.open(name)
    except OtherSystem as other:
        opens = [f"; {__package__}.{kind}.open opens it" for setting, kind in OPENED_BY.items() if setting in other.args[1]]
        raise ValueError(f"{other}{''.join(opens)}") from None
