"""Learners: what a system brings to be trained, its config and its network in progress."""

import math
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, field, fields, is_dataclass
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple, Self, get_type_hints

import torch
from torch import Tensor, nn

from .files import load_tensors, save_tensors


class Setting(NamedTuple):
    """One setting of a config: its type, its default, and what it means."""

    kind: type
    default: int | float | bool | str
    words: str


MEANINGS = {  # of settings that mean the same in every system
    "steps": "of training",
    "batch_size": "problems in a batch",
    "lr": "learning rate",
    "weight_decay": "of AdamW",
    "beta1": "of AdamW",
    "beta2": "of AdamW",
    "warm_up": "steps in which the learning rate rises to lr; then a cosine leads to lr / 50",
    "clip": "largest norm of the gradient",
    "d_model": "width of the residual stream",
    "d_mlp": "neurons of an MLP",
    "layers": "of attention",
    "heads": "in each layer of attention; they share its width",
    "log_every": "steps between rows of metrics, and between saved states",
    "checkpoint_every": "steps between kept weights; a multiple of log_every",
}


def setting(default: int | float | bool | str, words: str):
    """A field of a config: its default, and what it means."""
    return field(default=default, metadata={"words": words})


def _shown(value: object) -> str:
    """A value as an error shows it: one that is too long for a line only by its beginning."""
    try:
        text = repr(value)
    except ValueError:  # a whole number of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= 40 else text[:37] + "..."


def _make(kind: type, values: dict):
    """A dataclass from those of the values that are its fields."""
    return kind(**{each.name: values[each.name] for each in fields(kind) if each.name in values})


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


_FITTING = {  # what a setting of a type may be, and in words
    int: (_is_whole, "a whole number"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
    str: (lambda value: isinstance(value, str), "text"),
    float: (lambda value: (_is_whole(value) or isinstance(value, float)) and abs(value) <= sys.float_info.max, "a finite number"),
}


class Config:
    """What decides a run, down to its bits on one machine: a frozen dataclass with at least these fields."""

    seed: int
    steps: int
    log_every: int  # steps between rows of metrics, and between saved states
    checkpoint_every: int  # steps between kept weights; a multiple of log_every
    told = ()  # settings that the config's `name` tells, where it has one

    def __post_init__(self):
        for name, kind in get_type_hints(type(self)).items():
            if kind in _FITTING:
                self._check([name], *_FITTING[kind])
            if kind is float:
                object.__setattr__(self, name, float(getattr(self, name)))  # equal configs are equal text
        for name, kind in self.parts().items():
            self._check([name], lambda part, kind=kind: isinstance(part, kind), f"a {kind.__name__}")
        self.at_least(1, "steps", "log_every", "checkpoint_every")
        self.at_most(10**9, "steps", "log_every", "checkpoint_every")
        if not 0 <= self.seed < 2**31:
            raise ValueError(f"seed must be from 0 to {2**31 - 1}, not {_shown(self.seed)}")
        if self.checkpoint_every % self.log_every:
            raise ValueError(f"checkpoint_every ({self.checkpoint_every}) must be a multiple of log_every ({self.log_every})")

    def _check(self, names: Sequence[str], fits: Callable[[float], bool], words: str) -> None:
        for name in names:
            if not fits(value := getattr(self, name)):
                raise ValueError(f"{name} must be {words}, not {_shown(value)}")

    def at_least(self, least: int, *names: str) -> None:
        """ValueError where one of these fields is below the least."""
        self._check(names, lambda value: value >= least, f"at least {least}")

    def at_most(self, most: int, *names: str) -> None:
        """ValueError where one of these fields is above the most."""
        self._check(names, lambda value: value <= most, f"at most {most}")

    def within(self, low: float, high: float, *names: str) -> None:
        """ValueError where one of these fields is below `low`, or not below `high`."""
        self._check(names, lambda value: low <= value < high, f"from {low} to below {high}")

    @classmethod
    def parts(cls) -> dict[str, type]:
        """The fields that are tables of settings themselves, such as a task: name -> dataclass."""
        return {name: kind for name, kind in get_type_hints(cls).items() if is_dataclass(kind)}

    @classmethod
    def settings(cls) -> dict[str, Setting]:
        """All settings by name, those of the parts among them."""
        found = {}
        for table in (cls, *cls.parts().values()):
            kinds = get_type_hints(table)
            for each in fields(table):
                words = each.metadata.get("words") or MEANINGS.get(each.name, "")
                found[each.name] = Setting(kinds[each.name], each.default, words)
        return {name: each for name, each in found.items() if name not in cls.parts()}

    @classmethod
    def of(cls, **settings) -> Self:
        """The config with these settings, each by its own name, and defaults for the rest; ValueError for an unknown one."""
        if unknown := settings.keys() - cls.settings().keys():
            raise ValueError(f"there is no setting {', '.join(sorted(unknown))}; there are: {', '.join(cls.settings())}")
        return _make(cls, settings | {name: _make(kind, settings) for name, kind in cls.parts().items()})

    @classmethod
    def from_dict(cls, values: dict) -> Self:
        """Read a config back from what `to_dict` gave; ValueError names what is wrong, TypeError for no table."""
        tables = [(cls, values), *((kind, values[name]) for name, kind in cls.parts().items() if name in values)]
        if wrong := {name for kind, table in tables for name in set(table) ^ {each.name for each in fields(kind)}}:
            raise ValueError(f"the config has the wrong entries: {', '.join(sorted(wrong))}")
        return cls(**values | {name: kind(**values[name]) for name, kind in cls.parts().items()})

    def to_dict(self) -> dict:
        """The config as plain values, each part as a table."""
        return asdict(self)

    def flat(self) -> dict:
        """The value of every setting, by its own name."""
        values = self.to_dict()
        parts = [values.pop(name) for name in self.parts()]
        return values | {name: value for part in parts for name, value in part.items()}

    def label(self, varied: Sequence[str] = ()) -> str:
        """What to call the run among others from which it differs in the settings `varied`: `seed-1_r-0.3`.

        A config whose name tells some settings begins with this name, and leaves these out.
        """
        settings, named = self.flat(), [self.name] if self.told else []
        return "_".join([*named, *(f"{name}-{settings[name]}" for name in varied if name not in self.told)]) or "run"


class Diverged(ValueError):
    """The loss of a learner, or a weight, is not finite."""

    def __init__(self, learner: "Learner", what: str):
        super().__init__(f"{what} at step {learner.step}; training stops here, try a smaller lr")


class Learner(ABC):
    """A run in progress: the weights by name, their optimiser, the generator of its batches, and the steps done."""

    metrics: Sequence[str]  # what `evaluate` gives, in the order of the columns
    shown: Mapping[str, str] = MappingProxyType({})  # the metrics that a progress bar shows, and their formats
    step = 0

    def __init__(
        self,
        config: Config,
        tensors: dict[str, Tensor],
        optimizer: torch.optim.Optimizer,
        generator: torch.Generator,
        device: torch.device | str = "cpu",
    ):
        self.config, self.tensors, self.optimizer, self.generator = config, tensors, optimizer, generator
        self.device = torch.device(device)

    @abstractmethod
    def loss(self) -> Tensor:
        """The loss on a fresh batch."""

    @abstractmethod
    def evaluate(self) -> dict[str, float]:
        """The metrics of the network as it stands; `loss` among them."""

    def finite(self, loss: float) -> float:
        """The same loss, once it is found finite; `Diverged` where it is not."""
        if not math.isfinite(loss):
            raise Diverged(self, f"the loss is {loss}")
        return loss

    @torch.no_grad()
    def evaluated(self) -> dict[str, float]:
        """What `evaluate` gives, once its loss and all weights are found finite; `Diverged` where they are not."""
        metrics = self.evaluate()
        self.finite(metrics["loss"])
        for name, tensor in self.tensors.items():
            if not tensor.isfinite().all():
                raise Diverged(self, f"{name} holds a number that is not finite")
        return metrics

    def notes(self) -> dict:
        """What config.json says besides the config, as plain values."""
        return {}

    def update(self) -> None:
        """Move the weights by their gradients."""
        self.optimizer.step()

    def advance(self) -> float:
        """One step on one fresh batch; returns its loss, and raises `Diverged` where that is not finite."""
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss()
        value = self.finite(loss.item())
        loss.backward()
        self.update()
        self.step += 1
        return value

    def save(self, path: Path, **notes: str | int) -> None:
        """Write the whole state, from which training goes on to the same bits, with short notes."""
        tensors = {f"weights.{name}": tensor for name, tensor in self.tensors.items()}
        for name, tensor in self.tensors.items():
            tensors |= {f"{key}.{name}": value for key, value in self.optimizer.state[tensor].items()}
        save_tensors(path, tensors | {"generator": self.generator.get_state()}, **notes | {"step": self.step})

    def load(self, path: Path) -> dict[str, str]:
        """Take up a state that `save` wrote, and return its notes; ValueError where it is damaged or of another shape."""
        tensors, notes = load_tensors(path)
        try:
            with torch.no_grad():
                for name, tensor in self.tensors.items():
                    tensor.copy_(tensors[f"weights.{name}"])
                    keys = ("step", "exp_avg", "exp_avg_sq")
                    if f"step.{name}" in tensors:
                        self.optimizer.state[tensor] = {key: tensors[f"{key}.{name}"].to(self.device) for key in keys}
            self.generator.set_state(tensors["generator"])
            self.step = int(notes["step"])
        except (KeyError, RuntimeError, ValueError):
            raise ValueError(f"{path} is not the state of a run with this config") from None
        return notes


class ScheduledLearner(Learner):
    """A learner whose config has `warm_up` and `clip`: gradients are clipped, and the learning rate rises and falls.

    It rises in a line over `warm_up` steps to `lr`; then a cosine leads to a fiftieth of it at the last step.
    """

    def update(self) -> None:
        """Clip the gradient, set the learning rate of this step, and move the weights."""
        config = self.config
        nn.utils.clip_grad_norm_(self.tensors.values(), config.clip)
        through = (self.step - config.warm_up) / max(config.steps - config.warm_up, 1)
        share = 0.02 + 0.98 * (1 + math.cos(math.pi * through)) / 2 if through >= 0 else (self.step + 1) / config.warm_up
        self.optimizer.param_groups[0]["lr"] = config.lr * share
        self.optimizer.step()


def choose_device(device: str | None = None) -> torch.device:
    """The device asked for, or CUDA where present, or the cpu; ValueError where there is no such device."""
    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    try:
        chosen = torch.device(device or ("cuda" if there else "cpu"))
    except RuntimeError:
        raise ValueError(f"there is no device {_shown(device)}; there are cpu and cuda") from None
    if chosen.type not in ("cpu", "cuda") or chosen.type == "cpu" and chosen.index:
        raise ValueError(f"runs are trained on cpu or cuda, not on {_shown(device)}")
    if chosen.type == "cuda" and not there:
        raise ValueError("there is no CUDA device here; train on the cpu")
    if chosen.type == "cuda" and (chosen.index or 0) >= there:
        raise ValueError(f"there is no device {chosen} here; the last is cuda:{there - 1}")
    return chosen
