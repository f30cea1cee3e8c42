"""Training on from a finished run on found contexts: a share of each batch is the worst that the attack finds at the time."""

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import torch

from ..engine.learner import choose_device, setting
from ..engine.loop import follow
from ..sampling import Batch
from ..training import Run, StudyLearner, TrainConfig, load_run
from .attack import Questions, attack

POOL, SWEEPS = 256, 2  # questions whose contexts are searched at a time, and for how long


@dataclass(frozen=True)
class HardenConfig(TrainConfig):
    """How a run is trained on; the seed decides the batches, and with `of` the settings of that run's split must be given.

    The contexts are found anew every `log_every` steps, so that a run that was stopped goes on to the same bits.
    """

    steps: int = 1000
    lr: float = 3e-4
    log_every: int = 50
    checkpoint_every: int = 1000
    of: str = setting("seed-42", "the run whose last weights are trained on")
    share: float = setting(0.25, "of each batch, how much has found contexts")

    def __post_init__(self):
        super().__post_init__()
        self.within(0, 1, "share")


class HardenLearner(StudyLearner):
    """A run that is trained on: its questions are those of training, and a share of them has found contexts."""

    def __init__(self, config: HardenConfig, device: torch.device | str = "cpu"):
        super().__init__(config, device)
        run = load_run(config.of)
        if run.split.to_dict() != self.split.to_dict():
            raise ValueError(f"{config.of} was trained with another seed, task or share of the pairs than this config says")
        with torch.no_grad():
            for name, tensor in run.tensors().items():
                self.tensors[name].copy_(tensor)

    @torch.no_grad()
    def _find(self) -> Batch:
        """The worst contexts of fresh training questions, for the weights as they stand."""
        own = 2**20 * (1 + self.config.seed) + self.step
        questions = Questions(*self.population.questions(POOL, torch.Generator(self.device).manual_seed(own)))
        found = attack(self.weights, questions, own, starts=1, sweeps=SWEEPS)
        return Batch(found.tokens, questions.numbers.sum(1) % self.config.task.n_numbers)

    def loss(self) -> torch.Tensor:
        """The loss on a batch, a share of which has found contexts."""
        many, size = int(self.config.share * self.config.batch_size), self.config.batch_size
        fresh = self.population.sample(size - many, self.generator)
        if not many:
            return self.loss_on(fresh)
        if self.step % self.config.log_every == 0:
            self._pool = self._find()
        rows = torch.randint(POOL, (many,), generator=self.generator, device=self.device)
        return self.loss_on(Batch(*(torch.cat([own, found[rows]]) for own, found in zip(fresh, self._pool))))


class Hardened(Run):
    """A run that was trained on."""

    shelf, kind = "hardened", HardenConfig


def opened(name: str | Path) -> Run:
    """A run of the study by name or folder, or one that was trained on by its folder; raises what `load_run` does."""
    try:
        return load_run(name)
    except ValueError:
        with suppress(ValueError):
            return Hardened.open(name)
        raise


def harden(name: str, folder: str | Path, share: float = 0.25, steps: int = 1000, progress: bool = True, **settings) -> Hardened:
    """Train a run on from its last weights into a folder, or go on there; returns the run, finished runs as they are."""
    before = load_run(name).config
    own = {each: getattr(before, each) for each in ("seed", "train_fraction", "r", "batch_size", "d_model", "d_mlp", "task")}
    config = HardenConfig(**own | {"of": name, "share": share, "steps": steps, "checkpoint_every": steps} | settings)
    folder = Path(folder)
    if not ((folder / "config.json").is_file() and Hardened.open(folder).finished):
        follow(HardenLearner(config, choose_device("cpu")), folder, progress=progress)
    return Hardened.open(folder)
