"""Training the arms: AdamW on fresh tasks, written down as every run of this book is."""

from dataclasses import dataclass
from functools import cached_property
from types import MappingProxyType

import torch
from torch import Tensor, nn

from ...engine.learner import Config, ScheduledLearner, setting
from ...engine.runs import ModuleRun
from .data import HELD_OUT, SUPPORTS, Tasks, Teacher
from .model import ARMS, build

SETS = ("in distribution", "out of distribution")
BATCH_SEED, MEASURE_SEED = 1_000_000, 2_000_000  # added to the seed: teacher, batches and measures draw from streams of their own


@dataclass(frozen=True)
class ArmConfig(Config):
    """Everything that decides a run of an arm, down to its bits on one machine."""

    arm: str = setting("hypernetwork", f"what reads the examples: {', '.join(ARMS)}")
    support: str = setting("connected", f"the combinations of modules in training: {', '.join(SUPPORTS)}")
    seed: int = setting(0, "decides teacher, initialisation and batches")
    structured: bool = setting(True, "whether a module is the same in every combination")
    given_code: bool = setting(False, "the executor is told the true code, and there is no transformer")
    steps: int = 8000
    batch_size: int = 64
    lr: float = 2e-3
    weight_decay: float = 0.0
    warm_up: int = 200
    clip: float = 1.0
    d_model: int = 64
    layers: int = 3
    heads: int = 4
    log_every: int = 200
    checkpoint_every: int = 4000

    told = ("arm", "support", "structured", "given_code", "seed")

    def __post_init__(self):
        super().__post_init__()
        self.at_least(1, "batch_size", "warm_up", "d_model", "layers", "heads")
        self.at_most(2**16, "batch_size", "d_model", "heads")
        self.at_most(1000, "layers")
        self.at_most(10**9, "warm_up")
        self.within(0, 100, "weight_decay")
        for name, known in (("arm", ARMS), ("support", SUPPORTS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        if min(self.lr, self.clip) <= 0:
            raise ValueError(f"lr and clip must be above 0, not {self.lr} and {self.clip}")
        if self.d_model % self.heads:
            raise ValueError(f"d_model ({self.d_model}) must be a multiple of heads ({self.heads})")
        if self.given_code and (self.arm == "vanilla" or not self.structured):
            raise ValueError("only a hypernetwork or mlp can be given the code, and only of a structured teacher")

    @property
    def name(self) -> str:
        """What the run is called: arm, support, what is special about it, and the seed."""
        special = ["given-code"] * self.given_code + ["unstructured"] * (not self.structured)
        return "-".join([self.arm, self.support, *special, str(self.seed)])

    def network(self) -> nn.Module:
        """The untrained network."""
        return build(self.arm, self.seed, self.d_model, self.layers, self.heads, self.given_code)

    def teacher(self) -> Teacher:
        """The teacher of the run's seed."""
        return Teacher.draw(self.seed, self.structured)


GRID = (  # what each seed trains for the chapter
    {"arm": ["hypernetwork"], "support": list(SUPPORTS)},
    {"arm": ["vanilla"], "support": ["connected", "disconnected"]},
    {"arm": ["mlp"], "support": ["connected"]},
    {"arm": ["hypernetwork", "vanilla"], "structured": [False]},
    {"arm": ["hypernetwork"], "support": list(SUPPORTS), "given_code": [True]},
    {"arm": ["mlp"], "support": ["connected"], "given_code": [True]},
)


def answers(network: nn.Module, tasks: Tasks, given_code: bool = False) -> Tensor:
    """What a network answers to the questions of tasks, (task, questions, OUTPUTS)."""
    asked, _ = tasks.queries
    return network(tasks.z, asked) if given_code else network(tasks.context, asked)


def r_squared(answered: Tensor, true: Tensor) -> Tensor:
    """R^2 of each task, (task,): 1 - squared error over variance, both summed over the outputs; one is perfect."""
    spread = (true - true.mean(1, keepdim=True)).square().sum((1, 2))
    return 1 - (answered - true).square().sum((1, 2)) / spread


def r_squared_of(codes: Tensor, network: nn.Module, tasks: Tasks) -> Tensor:
    """R^2 of each task, (task,), as the executor of a network is given these codes (task, MODULES)."""
    asked, true = tasks.queries
    return r_squared(network.executor(codes, asked), true)


class ArmLearner(ScheduledLearner):
    """A run of an arm in progress."""

    metrics = ("loss", *SETS)
    shown = MappingProxyType(dict.fromkeys(SETS, ".3f"))

    def __init__(self, config: ArmConfig, device: torch.device | str = "cpu"):
        self.teacher, self.support = config.teacher().to(device), SUPPORTS[config.support]
        self.network = config.network().to(device)
        tensors = dict(self.network.named_parameters())
        optimizer = torch.optim.AdamW(tensors.values(), config.lr, (0.9, 0.98), weight_decay=config.weight_decay, fused=True)
        super().__init__(config, tensors, optimizer, torch.Generator(device).manual_seed(BATCH_SEED + config.seed), device)

    def loss(self) -> Tensor:
        """The mean squared error on the questions of fresh tasks."""
        tasks = self.teacher.sample(self.support, self.config.batch_size, self.generator)
        return (answers(self.network, tasks, self.config.given_code) - tasks.queries[1]).square().mean()

    @cached_property
    def _evaluated_on(self) -> dict[str, Tasks]:
        """512 tasks of 32 questions from the support, and 512 of the held-out pairs: always the same."""
        generator = torch.Generator(self.device).manual_seed(MEASURE_SEED + self.config.seed)
        supports = dict(zip(SETS, (self.support, HELD_OUT)))
        return {name: self.teacher.sample(support, 512, generator, queries=32) for name, support in supports.items()}

    def evaluate(self) -> dict[str, float]:
        """The loss in distribution, and mean R^2 on both sets."""
        found = {name: answers(self.network, tasks, self.config.given_code) for name, tasks in self._evaluated_on.items()}
        loss = (found[SETS[0]] - self._evaluated_on[SETS[0]].queries[1]).square().mean().item()
        return {"loss": loss} | {
            name: r_squared(found[name], tasks.queries[1]).mean().item() for name, tasks in self._evaluated_on.items()
        }


class ArmRun(ModuleRun):
    """A run of an arm: config, teacher, metrics, and the network at its checkpoints."""

    shelf, kind = "companions/hypernetwork", ArmConfig

    @cached_property
    def teacher(self) -> Teacher:
        """The teacher that it learned from."""
        return self.config.teacher()


load_arm = ArmRun.open
