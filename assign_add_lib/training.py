"""Training: AdamW on fresh problems, with metrics, checkpoints, and resuming to the same bits."""

import csv
import io
import math
import os
import platform
import time
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy
from tqdm.auto import tqdm

from .circuits import last_logits
from .files import load_tensors, read_json, save_tensors, write_atomic, write_json
from .measures import PROGRESS_MEASURES, accuracies, progress_measures
from .model import Weights
from .sampling import EVALUATION_SETS, Batch, Population, diagnostic_batch, evaluation_sets, training_population
from .task import STUDY, Split, Task

METRICS = ("step", "loss", *EVALUATION_SETS, *PROGRESS_MEASURES)
BATCH_SEED = 1_000_000  # added to the seed, so that batches and initialisation draw from different streams


@dataclass(frozen=True)
class TrainConfig:
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
        for each in fields(self):
            value = getattr(self, each.name)
            if each.type is int and (not isinstance(value, int) or isinstance(value, bool)):
                raise ValueError(f"{each.name} must be a whole number, not {value!r}")
            if each.type is float and (not isinstance(value, (int, float)) or not math.isfinite(value)):
                raise ValueError(f"{each.name} must be a finite number, not {value!r}")
        for name in ("steps", "batch_size", "d_model", "d_mlp", "log_every", "checkpoint_every"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, not {getattr(self, name)}")
        for name, low, high in (("beta1", 0, 1), ("beta2", 0, 1), ("r", 0, math.inf), ("weight_decay", 0, math.inf)):
            if not low <= getattr(self, name) < high:
                raise ValueError(f"{name} must be from {low} to below {high}, not {getattr(self, name)}")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed must be from 0 to {2**31 - 1}, not {self.seed}")
        if not 0 < self.train_fraction <= 1:
            raise ValueError(f"train_fraction must be above 0 and at most 1, not {self.train_fraction}")
        if self.lr <= 0:
            raise ValueError(f"lr must be above 0, not {self.lr}")
        if self.checkpoint_every % self.log_every:
            raise ValueError(f"checkpoint_every ({self.checkpoint_every}) must be a multiple of log_every ({self.log_every})")

    @classmethod
    def from_dict(cls, values: dict) -> "TrainConfig":
        """Read a config back from plain values; ValueError names what is unknown or missing."""
        names, task_names = ({each.name for each in fields(kind)} for kind in (cls, Task))
        wrong = set(values) ^ names or set(values["task"]) ^ task_names
        if wrong:
            raise ValueError(f"the config has the wrong entries: {', '.join(sorted(wrong))}")
        return cls(**{**values, "task": Task(**values["task"])})

    def to_dict(self) -> dict:
        """The config as plain values."""
        return asdict(self)


def checkpoint_path(folder: Path, step: int) -> Path:
    """Where a run folder keeps the weights of one step."""
    return Path(folder) / "checkpoints" / f"step-{step:06d}.safetensors"


class Diverged(ValueError):
    """The loss of a trainer is not finite."""

    def __init__(self, trainer: "Trainer", loss: float):
        super().__init__(f"the loss is {loss} at step {trainer.step}; training stops here, try a smaller lr")
        self.trainer = trainer


def adamw(weights: dict[str, Tensor], config: TrainConfig) -> torch.optim.AdamW:
    """The study's optimiser for weights by name."""
    return torch.optim.AdamW(
        weights.values(),
        lr=config.lr,
        betas=(config.beta1, config.beta2),
        weight_decay=config.weight_decay,
        fused=True,
    )


class Trainer:
    """A run in progress: weights, optimiser, batch generator and the steps done."""

    def __init__(self, config: TrainConfig, device: torch.device | str = "cpu"):
        self.config, self.device, self.step = config, torch.device(device), 0
        self.split = Split.draw(config.task, config.seed, config.train_fraction)
        self.population: Population = training_population(self.split, config.r).to(device)
        self.generator = torch.Generator(device).manual_seed(BATCH_SEED + config.seed)
        self.weights = Weights.init(config.task, config.seed, config.d_model, config.d_mlp).to(device).trainable()
        self.optimizer = adamw(self.weights.tensors(), config)

    def advance(self, logits=last_logits) -> float:
        """One step of AdamW on one fresh batch; returns its loss, and raises `Diverged` where that is not finite."""
        batch = self.population.sample(self.config.batch_size, self.generator)
        self.optimizer.zero_grad(set_to_none=True)
        loss = cross_entropy(logits(self.weights, batch.tokens), batch.answers)
        value = loss.item()
        if not math.isfinite(value):
            raise Diverged(self, value)
        loss.backward()
        self.optimizer.step()
        self.step += 1
        return value

    def save(self, path: Path) -> None:
        """Write the whole state, from which training goes on to the same bits."""
        tensors = {f"weights.{name}": tensor for name, tensor in self.weights.tensors().items()}
        for name, tensor in self.weights.tensors().items():
            tensors |= {f"{key}.{name}": value for key, value in self.optimizer.state[tensor].items()}
        save_tensors(path, tensors | {"generator": self.generator.get_state()}, step=self.step)

    def load(self, path: Path) -> None:
        """Take up a state that `save` wrote; ValueError where it is damaged or of another shape."""
        tensors, notes = load_tensors(path)
        try:
            with torch.no_grad():
                for name, tensor in self.weights.tensors().items():
                    tensor.copy_(tensors[f"weights.{name}"])
                    keys = ("step", "exp_avg", "exp_avg_sq")
                    if f"step.{name}" in tensors:
                        self.optimizer.state[tensor] = {key: tensors[f"{key}.{name}"].to(self.device) for key in keys}
            self.generator.set_state(tensors["generator"])
            self.step = int(notes["step"])
        except (KeyError, RuntimeError, ValueError):
            raise ValueError(f"{path} is not the state of a run with this config") from None


def _metrics_text(rows: list[dict]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, METRICS, lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: value if name == "step" else f"{value:.6g}" for name, value in row.items()} for row in rows)
    return text.getvalue()


def _read_metrics(path: Path) -> list[dict]:
    """Read back what `_metrics_text` wrote; ValueError where the file is anything else."""
    try:
        text = path.read_text()
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        rows = [row | {"step": int(row["step"])} for row in rows]
        intact = _metrics_text(rows) == text
    except (ValueError, KeyError, TypeError, csv.Error):
        intact = False
    if not intact:
        raise ValueError(f"{path} is damaged: it is not a table of metrics as this program writes it")
    return rows


def machine_shape(device: torch.device) -> str:
    """The kind of machine in a few words: processor family, cores in use, device."""
    accelerator = f", {torch.cuda.get_device_name(device)}" if device.type == "cuda" else ""
    return f"{platform.machine()}, {torch.get_num_threads()} threads of {os.cpu_count()} cores{accelerator}"


def _take_up(trainer: Trainer, folder: Path) -> tuple[list[dict], float]:
    """Go on with the run in a folder, or begin it; returns the metrics so far and the seconds spent."""
    config_file, state_file = folder / "config.json", folder / "state.safetensors"
    if not config_file.exists():
        if folder.exists() and any(folder.iterdir()):
            raise ValueError(f"{folder} is not empty and holds no run; choose another folder")
        return [], 0.0
    kept = read_json(config_file)
    theirs, ours = kept.get("config", {}), trainer.config.to_dict()
    if theirs != ours:
        changed = [f"{name} {theirs.get(name)!r} -> {ours[name]!r}" for name in ours if theirs.get(name) != ours[name]]
        raise ValueError(f"{folder} holds a run with another config ({', '.join(changed)}); choose another folder")
    if not state_file.exists():
        if len(list((folder / "checkpoints").glob("*.safetensors"))) > 1:
            raise ValueError(f"{folder} holds a run without its state.safetensors, so it cannot go on; choose another folder")
        return [], 0.0
    trainer.load(state_file)
    if trainer.step >= trainer.config.steps:
        raise ValueError(f"{folder} holds a finished run, which is never overwritten; choose another folder")
    rows = _read_metrics(folder / "metrics.csv") if (folder / "metrics.csv").exists() else []
    rows = [row for row in rows if row["step"] <= trainer.step]
    if [row["step"] for row in rows] != list(range(0, trainer.step + 1, trainer.config.log_every)):
        raise ValueError(f"{folder / 'metrics.csv'} is damaged: it lacks rows up to step {trainer.step}, where the state stands")
    return rows, float(kept.get("record", {}).get("seconds", 0))


class Log:
    """The folder of a run in progress: config, metrics, checkpoints, and the state from which a killed run goes on.

    It takes up the run that stands in the folder, or begins it.  Raises ValueError where the folder holds a finished,
    damaged or different run, OSError where it cannot be written; what was last saved stays intact.
    """

    def __init__(self, config: TrainConfig, folder: str | Path, device: torch.device | str = "cpu", command: str = ""):
        self.folder, self.command, self.started = Path(folder), command, time.monotonic()
        self.trainer = Trainer(config, device)
        self.rows, self.seconds = _take_up(self.trainer, self.folder)
        split = self.trainer.split

        def placed(batch):
            return Batch(*(each.to(device) for each in batch))

        self.sets = {name: placed(batch) for name, batch in evaluation_sets(split).items()}
        self.diagnostic = placed(diagnostic_batch(split))
        self.unseen = placed(training_population(split, config.r).sample(2000, torch.Generator().manual_seed(4)))
        if not self.rows:
            self.keep()

    @property
    def due(self) -> bool:
        """Whether the step just done is one whose metrics are kept."""
        config = self.trainer.config
        return self.trainer.step % config.log_every == 0 or self.trainer.step == config.steps

    def keep(self) -> None:
        """Measure the network and write everything down; `Diverged` where its loss is not finite."""
        trainer, config, folder = self.trainer, self.trainer.config, self.folder
        with torch.no_grad():
            loss = cross_entropy(last_logits(trainer.weights, self.unseen.tokens), self.unseen.answers).item()
        if not math.isfinite(loss):
            raise Diverged(trainer, loss)
        scores = {name: math.nan for name in EVALUATION_SETS} | accuracies(trainer.weights, self.sets)
        record = {
            "command": self.command,
            "seconds": round(self.seconds + time.monotonic() - self.started, 1),
            "machine": machine_shape(trainer.device),
            "torch": torch.__version__,
        }
        write_json(folder / "config.json", {"config": config.to_dict(), "split": trainer.split.to_dict(), "record": record})
        progress = progress_measures(trainer.weights, self.diagnostic, config.task)
        self.rows.append({"step": trainer.step, "loss": loss} | scores | progress)
        write_atomic(folder / "metrics.csv", _metrics_text(self.rows))
        if trainer.step % config.checkpoint_every == 0 or trainer.step == config.steps:
            save_tensors(checkpoint_path(folder, trainer.step), trainer.weights.tensors(), step=trainer.step)
        trainer.save(folder / "state.safetensors")


def choose_device(device: str | None = None) -> torch.device:
    """The device asked for, or CUDA where present, or the cpu; ValueError where there is no such device."""
    chosen = torch.device(device or ("cuda" if torch.cuda.is_available() else "cpu"))
    if chosen.type == "cuda" and not torch.cuda.is_available():
        raise ValueError("there is no CUDA device here; train on the cpu")
    return chosen


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
    log = Log(config, folder, choose_device(device), command)
    trainer, last = log.trainer, min(stop or config.steps, config.steps)
    with tqdm(total=config.steps, initial=trainer.step, desc=log.folder.name, unit="step", disable=not progress) as bar:
        while trainer.step < last:
            loss = trainer.advance()
            bar.update()
            if log.due:
                log.keep()
                shown = {name: f"{log.rows[-1][name]:.2f}" for name in ("0-var train", "1-var train", "2-var train")}
                bar.set_postfix(loss=f"{loss:.3f}", **shown)
    return log.folder
