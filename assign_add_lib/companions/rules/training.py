"""Training on rows of examples: AdamW through the stages of a plan, written down as every run of this book is."""

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from types import MappingProxyType
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.functional import cross_entropy

from ...engine.learner import Config, ScheduledLearner, setting
from ...engine.runs import ModuleRun
from .data import SETS, WAYS, Rows, Split, draw_rows, draw_set
from .model import Network

BATCH_SEED, MEASURE_SEED = 1_000_000, 2_000_000  # added to the seed: weights, batches and measures draw from streams of their own
MEASURED = 500  # rows of each set


class Stage(NamedTuple):
    """A part of a plan: rows of so many shots whose inputs lie on so many lines through the origin, 0 for any inputs."""

    lines: int
    shots: int
    share: float  # of all steps


SHOTS = 16  # of a row as the paper has it, at the end of every plan
PLANS = {
    "plain": (Stage(0, SHOTS, 1.0),),
    "lines": (Stage(1, 3, 0.08), Stage(2, 6, 0.24), Stage(3, 9, 0.22), Stage(5, 12, 0.18), Stage(0, SHOTS, 0.28)),
    "reversed": (Stage(5, 12, 0.18), Stage(3, 9, 0.22), Stage(2, 6, 0.24), Stage(1, 3, 0.08), Stage(0, SHOTS, 0.28)),
    "one-line": (Stage(1, 3, 0.32), Stage(0, SHOTS, 0.68)),
    "plain-cosine": (Stage(0, SHOTS, 1.0),),
}
FALLING = ("plain-cosine",)  # plans under which the learning rate falls after the warm-up, as in the paper; else it stays


@dataclass(frozen=True)
class RuleConfig(Config):
    """Everything that decides a run, down to its bits on one machine."""

    plan: str = setting("lines", f"what a row of training shows: {', '.join(PLANS)}")
    seed: int = setting(0, "decides tasks, inputs, initialisation and batches")
    p: int = setting(7, "numbers; a prime")
    tasks: int = setting(40, "of training")
    way: str = setting("rectangles", f"in which the tasks are chosen: {', '.join(WAYS)}")
    alpha: float = setting(0.8, "share of the inputs that training shows")
    depth: int = setting(4, "layers of attention and neurons")
    d_model: int = 96
    heads: int = 4
    steps: int = 11_000
    batch_size: int = setting(1800, "examples in a batch, whatever the shots of its rows")
    lr: float = 1e-3
    weight_decay: float = 0.1
    warm_up: int = setting(100, "steps in which the learning rate rises to lr, where it stays, or falls by plan")
    clip: float = 1.0
    std: float = setting(0.05, "of the initial weights; of those that write into the stream, divided by sqrt(2 depth)")
    log_every: int = 500
    checkpoint_every: int = 11_000

    told = ("plan", "depth", "p", "tasks", "way", "seed", "d_model", "steps", "checkpoint_every", "weight_decay")

    def __post_init__(self):
        super().__post_init__()
        self.at_least(1, "warm_up", "d_model", "heads", "depth")
        self.at_least(SHOTS, "batch_size")
        self.at_most(2**16, "batch_size", "d_model", "heads")
        self.at_most(100, "depth")
        self.at_most(10**9, "warm_up")
        if not 5 <= self.p <= 97 or any(self.p % divisor == 0 for divisor in range(2, self.p)):
            raise ValueError(f"p must be a prime from 5 to 97, not {self.p}")
        for name, known in (("plan", PLANS), ("way", WAYS)):
            if getattr(self, name) not in known:
                raise ValueError(f"{name} must be one of {', '.join(known)}, not {getattr(self, name)!r}")
        if not 4 <= self.tasks < self.p**2 or self.way == "rectangles" and self.tasks % 4:
            raise ValueError(f"tasks must be from 4 to {self.p**2 - 1}, and of rectangles a multiple of 4, not {self.tasks}")
        if not 0 < round(self.alpha * self.p**2) < self.p**2:
            raise ValueError(f"alpha must leave inputs to training and some to ask, as {self.alpha} of {self.p**2} does not")
        if min(self.lr, self.clip, self.std) <= 0:
            raise ValueError(f"lr, clip and std must be above 0, not {self.lr}, {self.clip} and {self.std}")
        self.at_least(0, "weight_decay")
        if self.d_model % (2 * self.heads):
            raise ValueError(f"d_model ({self.d_model}) must be a multiple of twice the heads ({self.heads})")

    @property
    def name(self) -> str:
        """What the run is called: plan, depth, numbers, tasks, a weight decay of its own, and seed."""
        random, decay = "-random" * (self.way == "random"), self.weight_decay
        decayed = f"-decay-{decay:g}" * (decay != RuleConfig.weight_decay)
        return f"{self.plan}-depth-{self.depth}-p-{self.p}-tasks-{self.tasks}{random}{decayed}-{self.seed}"

    def draw_split(self) -> Split:
        """The tasks and inputs of training."""
        return Split.draw(self.p, self.tasks, self.way, self.alpha, self.seed)

    def network(self) -> Network:
        """The untrained network."""
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
            return Network(self.p, self.depth, self.d_model, self.heads, self.std)

    def stage(self, step: int) -> Stage:
        """The stage of the plan in which a step is taken; after the last step, the last."""
        stages = PLANS[self.plan]
        ends = accumulate(each.share for each in stages)
        return next((each for each, end in zip(stages, ends) if step < round(end * self.steps)), stages[-1])


class RuleLearner(ScheduledLearner):
    """A run in progress."""

    metrics = ("loss", *SETS)
    shown = MappingProxyType({name: ".3f" for name in SETS[:2]})

    def __init__(self, config: RuleConfig, device: torch.device | str = "cpu"):
        self.split = config.draw_split().to(device)
        self.network = config.network().to(device)
        tensors = dict(self.network.named_parameters())
        optimizer = torch.optim.AdamW(tensors.values(), config.lr, (0.9, 0.98), weight_decay=config.weight_decay, fused=True)
        super().__init__(config, tensors, optimizer, torch.Generator(device).manual_seed(BATCH_SEED + config.seed), device)

    def sample(self, generator: torch.Generator) -> Rows:
        """A fresh batch of the stage at hand."""
        lines, shots, _ = self.config.stage(self.step)
        split, rows = self.split, self.config.batch_size // shots
        return draw_rows(rows, shots, split.p, split.seen, split.shown, generator, lines)

    def loss_on(self, rows: Rows) -> Tensor:
        """The cross-entropy of the answers to all questions."""
        return cross_entropy(self.network(rows.tokens).flatten(0, 1), rows.answers.flatten())

    def loss(self) -> Tensor:
        """The loss on a fresh batch."""
        return self.loss_on(self.sample(self.generator))

    def update(self) -> None:
        """Clip the gradient, let the learning rate rise while the run warms up, and move the weights."""
        if self.config.plan in FALLING:
            return super().update()
        nn.utils.clip_grad_norm_(self.tensors.values(), self.config.clip)
        self.optimizer.param_groups[0]["lr"] = self.config.lr * min((self.step + 1) / self.config.warm_up, 1.0)
        self.optimizer.step()

    @cached_property
    def _evaluated_on(self) -> dict[str, Rows]:
        """Rows of each of SETS: always the same."""
        generator = torch.Generator(self.device).manual_seed(MEASURE_SEED + self.config.seed)
        return {name: draw_set(name, self.split, MEASURED, SHOTS, generator) for name in SETS}

    def evaluate(self) -> dict[str, float]:
        """The loss on a batch of the stage at hand, and the share of the last questions answered right, on each of SETS."""
        found = {"loss": self.loss_on(self.sample(torch.Generator(self.device).manual_seed(MEASURE_SEED))).item()}
        for name, rows in self._evaluated_on.items():
            found[name] = (self.network(rows.tokens)[:, -1].argmax(1) == rows.answers[:, -1]).double().mean().item()
        return found


class RuleRun(ModuleRun):
    """A run: config, split, metrics, and the network at its checkpoints."""

    shelf, kind = "companions/rules", RuleConfig

    @cached_property
    def split(self) -> Split:
        """The tasks and inputs of training."""
        return self.config.draw_split()


load_rules = RuleRun.open

GRID = (  # what each seed trains for the chapter
    {"plan": ["lines"], "depth": [4, 2, 1]},
    {"plan": ["plain"]},
)
