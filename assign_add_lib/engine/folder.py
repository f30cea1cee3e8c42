"""What stands in a run folder, and when it is whole: one definition for all that read, write, ship or tabulate runs.

FOLDER/config.json says what decided the run and how it was made, metrics.csv what was measured, checkpoints/ holds weights,
and state.safetensors holds everything that training needs to go on.  `run` in config.json is the SHA-256 of what decided
the run; every tensor file notes it too, with its step and the SHA-256 of the metrics up to there, so that no file passes
for another's.  Runs from before these notes have no `run` in config.json, and then none in any file; they can be read, but
not resumed.
"""

import csv
import io
import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from torch import Tensor

from .files import existing, load_tensors, read_json, remove_unfinished, text_sha256
from .learner import Config

CONFIG, METRICS, STATE, ROW = "config.json", "metrics.csv", "state.safetensors", "row.csv"
Network = TypeVar("Network")
Readers = Mapping[str, Callable[[Config, Any], Any]]  # what config.json notes besides the config: name -> how it is read


def checkpoint_path(folder: Path, step: int) -> Path:
    """Where a run folder keeps the weights of one step."""
    return Path(folder) / "checkpoints" / f"step-{step:06d}.safetensors"


def kept_steps(folder: Path) -> list[int]:
    """The steps whose weights stand in a run folder; files with any other name are ignored."""
    names = (re.fullmatch(r"step-(\d{6,18})\.safetensors", path.name) for path in (folder / "checkpoints").glob("*"))
    steps = sorted(int(name[1]) for name in names if name)
    return [step for step in steps if checkpoint_path(folder, step).is_file()]


def due(config: Config, every: int, until: int) -> list[int]:
    """The multiples of `every` from 0 to `until`, and the run's last step if `until` is that step."""
    return [*range(0, until + 1, every), *([until] if until == config.steps and until % every else [])]


def remove_leftovers(folder: Path) -> None:
    """Remove what interrupted writes left among a run's files; the caller must hold its lock."""
    for name in (CONFIG, METRICS, STATE, ROW):
        remove_unfinished(folder, name)
    remove_unfinished(folder / "checkpoints", "step-*")


class Description(NamedTuple):
    """What config.json says."""

    config: Config
    notes: dict[str, Any]
    record: dict
    run: str | None


def other_config(folder: Path, theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> ValueError:
    """The error where a run with another config stands in a folder."""
    names = [name for name in ours | theirs if theirs.get(name) != ours.get(name)]
    changed = ", ".join(f"{name} {theirs.get(name)!r} -> {ours.get(name)!r}" for name in names)
    return ValueError(f"{folder} holds a run with another config ({changed}); choose another folder")


def decided_by(config: dict, notes: Mapping[str, Any]) -> str:
    """The SHA-256 of what decides a run, from plain values."""
    return text_sha256(json.dumps({"config": config} | dict(notes), sort_keys=True))


def _record(value: dict) -> dict:
    kinds, seconds = {"command": str, "seconds": int | float, "machine": str, "torch": str}, value["seconds"]
    if set(value) != set(kinds) or not all(isinstance(value[name], kind) for name, kind in kinds.items()):
        raise TypeError
    if isinstance(seconds, bool) or not 0 <= seconds < math.inf:
        raise ValueError(f"its seconds are {seconds}")
    return value


class OtherSystem(ValueError):
    """A run is of another system or version: what is wrong, and the settings that its config holds."""

    def __str__(self) -> str:
        return self.args[0]


def read_description(path: Path, kind: type[Config], readers: Readers) -> Description:
    """Read config.json; ValueError where it is anything but a whole description of a run of this kind."""
    kept = read_json(path)

    def part(name: str, read: Callable[[dict], Any]) -> Any:
        try:
            if isinstance(kept[name], dict):
                return read(kept[name])
        except ValueError as error:
            raise ValueError(f"{path} is damaged: {error}") from None
        except (KeyError, TypeError, OverflowError):
            pass
        raise ValueError(f"{path} is damaged: it does not hold the {name} of a run")

    names, held = {each.name for each in fields(kind)}, kept.get("config")
    if isinstance(held, dict) and held.keys() != names:
        others = ", ".join(sorted(held.keys() ^ names))
        raise OtherSystem(f"{path} is of a run of another system or version, with no {kind.__name__}: {others}", held)
    config = part("config", kind.from_dict)
    notes = {name: part(name, partial(read, config)) for name, read in readers.items()}
    described = Description(config, notes, part("record", _record), kept.get("run"))
    if unknown := kept.keys() - {"config", *readers, "run", "record"}:
        raise ValueError(f"{path} is damaged: no run has the entries {', '.join(sorted(unknown))}")
    if "run" in kept and described.run != decided_by(kept["config"], {name: kept[name] for name in readers}):
        raise ValueError(f"{path} is damaged: its checksum does not match its content")
    return described


def metrics_text(rows: Sequence[dict]) -> str:
    """Rows of metrics, at least one, as the text of metrics.csv, six digits a value."""
    text = io.StringIO()
    writer = csv.DictWriter(text, rows[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows({name: value if name == "step" else f"{value:.6g}" for name, value in row.items()} for row in rows)
    return text.getvalue()


def read_metrics(path: Path, config: Config) -> list[dict]:
    """Read back the rows that `metrics_text` wrote, from step 0 on; ValueError where the file is anything else."""
    try:
        text = existing(path).read_bytes().decode()
        rows = [{name: float(value) for name, value in row.items()} for row in csv.DictReader(io.StringIO(text))]
        rows = [row | {"step": int(row["step"])} for row in rows]
        intact = bool(rows) and metrics_text(rows) == text and all(math.isfinite(row["loss"]) for row in rows)
    except (ValueError, KeyError, TypeError, OverflowError, csv.Error):
        intact = False
    if not intact:
        raise ValueError(f"{path} is damaged: it is not a table of metrics as this program writes it")
    steps = [row["step"] for row in rows]
    if not steps[-1] <= config.steps or steps != due(config, config.log_every, steps[-1]):
        raise ValueError(f"{path} is damaged: its rows are not those of every {config.log_every} steps from 0 on")
    return rows


def ties(run: str | None, step: int, rows: list[dict]) -> dict[str, str | int]:
    """What a tensor file notes: its step and, unless its run has no such notes, what ties it to its run and its metrics."""
    if run is None:
        return {"step": step}
    measured = text_sha256(metrics_text([row for row in rows if row["step"] <= step]))
    return {"step": step, "run": run, "metrics": measured}


def check_ties(path: Path, notes: Mapping[str, str], run: str | None, step: int | None = None) -> int:
    """The step that a tensor file notes, once it is found to be of this run, and of this step where one is given."""
    if notes.get("run") != run:
        raise ValueError(f"{path} is not of this run: it was written for another config, seed or version")
    noted = notes.get("step", "")
    if not re.fullmatch(r"\d{1,18}", noted) or step not in (None, int(noted)):
        raise ValueError(f"{path} is not of step {step}: it was written at step {noted or 'unknown'}")
    return int(noted)


def check_measured(path: Path, notes: Mapping[str, str], rows: list[dict]) -> None:
    """ValueError where the rows of metrics.csv are not those that a tensor file of its run has noted."""
    step = int(notes["step"])
    if rows[-1]["step"] < step:
        raise ValueError(f"{path} is damaged: it lacks rows up to step {step}")
    if "metrics" in notes and notes["metrics"] != ties("", step, rows)["metrics"]:
        raise ValueError(f"{path} is damaged: its rows are not what was measured up to step {step}")


def load_checkpoint(path: Path, run: str | None, step: int, fit: Callable[[dict[str, Tensor]], Network]) -> Network:
    """What `fit` makes of a checkpoint's tensors, once they are whole, finite, and of this run and step; else ValueError."""
    tensors, notes = load_tensors(path)
    try:
        network = fit(tensors)
    except (TypeError, ValueError, LookupError, RuntimeError):
        raise ValueError(f"{path} does not hold the weights of a network for this run's config") from None
    check_ties(path, notes, run, step)
    if not all(tensor.isfinite().all() for tensor in tensors.values()):
        raise ValueError(f"{path} holds weights that are not finite numbers")
    return network
