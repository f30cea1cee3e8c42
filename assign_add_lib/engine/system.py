"""Systems: the single definition of each thing that this book trains."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch

from .learner import Config, Learner, choose_device
from .loop import follow
from .runs import RunFolder
from .scoreboard import Claim

Sources = Mapping[str, Mapping[str, Any]]  # subjects of claims by name, by source


@dataclass(frozen=True)
class System:
    """One thing to train: how it is configured, how it learns, how its runs are read, which runs the book ships, what is claimed.

    `grid` lists what each of `seeds` trains for the book: every entry is a table of values, of which all combinations are
    meant.  `claims` and `sources` are called only when a scoreboard is made.
    """

    name: str
    config: type[Config]
    learner: Callable[[Config, torch.device], Learner]
    run: type[RunFolder]
    grid: Sequence[Mapping[str, Sequence]] = ({},)
    seeds: Sequence[int] = (0,)
    columns: Sequence[str] = ("seed", "steps")  # settings that every table of a sweep shows, swept or not
    claims: Callable[[], Sequence[Claim]] = tuple
    sources: Callable[[], Sources] = dict

    def train(self, config: Config, folder: str | Path, device: str | None = None, **options) -> Path:
        """Train a run into a folder, or go on with the one that stands there; returns the folder.  Options: see `loop.follow`."""
        return follow(self.learner(config, choose_device(device)), folder, **options)


def claims_of(systems: Iterable[System]) -> list[Claim]:
    """The claims of all these systems."""
    return [claim for system in systems for claim in system.claims()]


def sources_of(systems: Iterable[System]) -> Sources:
    """All that the claims of these systems speak of: subjects by name, by source."""
    return {source: subjects for system in systems for source, subjects in system.sources().items()}
