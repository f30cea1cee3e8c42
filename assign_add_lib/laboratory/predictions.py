"""Predictions: a world's file says what will come out, by which number and which level, before anything is trained."""

import re
import tomllib
from collections.abc import Collection, Mapping
from dataclasses import MISSING, dataclass, fields
from pathlib import Path

import pandas as pd

from .analysis import MEASURES, OF_A_RUN, OF_TWO_SETS
from .data import draw_split, evaluation_populations
from .training import WorldRun
from .world import World

SHIPPED = Path(__file__).with_name("worlds")
SEEDS = (0, 1, 2)  # that decide a prediction
LARGEST = 10**9  # level, beyond all shares and steps
LONGEST = 4000  # characters of a line in a file, and 100 000 in all; tomllib is slow with names of thousands of parts


@dataclass(frozen=True)
class Prediction:
    """A statement about a world, and the number of a run that decides it.

    It holds for a seed if the measure (see `analysis.MEASURES`) gives at least, or at most, the level; and for the world if it
    does so in as many of the three seeds as `seeds` says.  With `only_if`, the name of another prediction of this world, seeds
    do not count in which that one does not hold.
    """

    name: str
    statement: str
    because: str  # how it follows from the mechanism, or from the theorem
    rival: str  # what else one may think, and what then comes out
    control: str  # what shows that the measure can come out otherwise
    chance: str  # what the measure gives where nothing is learned, or by luck
    measure: str
    of: str = ""  # the evaluation set, or `A, B`, that it looks at
    at_least: float | None = None
    at_most: float | None = None
    seeds: int = len(SEEDS)
    only_if: str = ""

    def __post_init__(self):
        for each in fields(self):
            value = getattr(self, each.name)
            kind = {str: str, int: int}.get(each.type, int | float | None)
            fits = isinstance(value, kind) and not isinstance(value, bool)
            if not fits or isinstance(value, int | float) and not abs(value) <= LARGEST:  # nan neither
                raise ValueError(f"{each.name} of a prediction cannot be {ascii(value)[:40]}")
            if isinstance(value, str) and not value.strip() and each.default is MISSING:
                raise ValueError(f"the {each.name} of a prediction is empty")
        if self.measure not in MEASURES:
            raise ValueError(f"{self.name}: there is no measure {self.measure[:40]!r}; there are: {', '.join(MEASURES)}")
        if (self.at_least is None) == (self.at_most is None):
            raise ValueError(f"{self.name}: a prediction needs at_least or at_most, and not both")
        if not 1 <= self.seeds <= len(SEEDS):
            raise ValueError(f"{self.name}: seeds must be from 1 to {len(SEEDS)}, not {self.seeds}")

    @property
    def rule(self) -> str:
        """When it holds, as text: `right of 0-var train ≥ 0.95 in 3 of 3 seeds`."""
        sign, level = ("≥", self.at_least) if self.at_most is None else ("≤", self.at_most)
        of, condition = f" of {self.of}" * bool(self.of), f", only if: {self.only_if}" * bool(self.only_if)
        return f"{self.measure}{of} {sign} {level:g} in {self.seeds} of {len(SEEDS)} seeds{condition}"

    def holds(self, value: float) -> bool:
        """Whether the value of a seed bears it out; nan does not."""
        return value >= self.at_least if self.at_most is None else value <= self.at_most

    def verdict(self, values: Mapping[int, float], counting: Collection[int] = SEEDS) -> str:
        """What the values by seed say together, of the seeds that count.

        It is open as long as one of the seeds is missing, and undecided where those that do not count could have changed it.
        """
        found = sum(seed in values for seed in SEEDS)
        if found < len(SEEDS):
            return f"open, {found} of {len(SEEDS)} seeds"
        count = [seed for seed in SEEDS if seed in counting]
        held = sum(self.holds(values[seed]) for seed in count)
        possible = held + len(SEEDS) - len(count)
        said = "held" if held >= self.seeds else "undecided" if possible >= self.seeds else "not held"
        return f"{said}, {held} of {len(count)} seeds{' that count' * (len(count) < len(SEEDS))}"

    def check(self, sets: Mapping) -> None:
        """ValueError unless the measure and what it is of fit each other and these evaluation sets."""
        many = {each.__name__: n for n, group in ((0, OF_A_RUN), (2, OF_TWO_SETS)) for each in group}.get(self.measure, 1)
        named = self.of.split(", ") if self.of else []
        if len(named) != many or not set(named) <= set(sets):
            asked = ("no set", "a set", "two sets, `A, B`")[many]
            there = ", ".join(sets)
            raise ValueError(f"{self.name}: {self.measure} is of {asked}, not of {self.of[:60]!r}; the sets are: {there}")


@dataclass(frozen=True)
class Plan:
    """A world's file: its question, how it differs from the study's world, and what it predicts."""

    name: str
    title: str
    question: str
    settings: Mapping[str, int | float | bool | str]
    predictions: tuple[Prediction, ...]
    text: str  # of the file

    def world(self, seed: int = 0) -> World:
        """The world, for a seed."""
        return World.of(name=self.name, seed=seed, **self.settings)

    def verdicts(self, values: pd.DataFrame) -> dict[str, str]:
        """The verdict on each prediction, from the numbers of each (rows) by seed (columns)."""
        held = {each.name: {seed for seed in values if each.holds(values.loc[each.name, seed])} for each in self.predictions}
        return {
            each.name: each.verdict(values.loc[each.name].to_dict(), held[each.only_if] if each.only_if else SEEDS)
            for each in self.predictions
        }

    def values(self) -> dict[str, list]:
        """Its name and settings as a sweep takes them."""
        return {name: [value] for name, value in {"name": self.name, **self.settings}.items()}


def shipped_plans() -> list[str]:
    """The names of the worlds that come with the package."""
    return sorted(path.stem for path in SHIPPED.glob("*.toml"))


def read_plan(name: str | Path) -> Plan:
    """The plan of a shipped world by name, or of any file; ValueError or FileNotFoundError says in a line what is wrong.

    >>> read_plan("one-layer").settings
    {'layers': 1}
    """
    path = SHIPPED / f"{name}.toml" if str(name) in shipped_plans() else Path(name)
    if not path.is_file():
        raise FileNotFoundError(f"there is no world {name}; there are: {', '.join(shipped_plans())}; or give a file")
    try:
        if path.parent != SHIPPED and path.stem.lower() in ("table", "study"):
            raise ValueError(f"{path.stem} is the name of something else here; give the file another")
        with path.open(encoding="utf-8") as file:
            text = file.read(100_001)
        if len(text) > 100_000 or max(map(len, text.splitlines()), default=0) > LONGEST:
            raise ValueError(f"it is too long: a world's file has 100 000 characters at most, and {LONGEST} in a line")
        return plan_of(path.stem, text)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None


def plan_of(name: str, text: str) -> Plan:
    """The plan that the text of a file holds."""
    content = tomllib.loads(text)
    known = ("title", "question", "world", "prediction")
    if unknown := content.keys() - set(known):
        raise ValueError(f"a world's file has no entry {', '.join(sorted(unknown))}; it has {', '.join(known)}")
    for each in ("title", "question"):
        if not isinstance(content.get(each), str) or not content[each].strip():
            raise ValueError(f"the {each} is missing, or no text")
    settings, listed = content.get("world", {}), content.get("prediction", [])
    if not isinstance(settings, dict) or {"name", "seed"} & settings.keys():
        raise ValueError("[world] is a table of settings, without name and seed: the file's name and the command give these")
    if not isinstance(listed, list) or not all(isinstance(each, dict) for each in listed):
        raise ValueError("predictions are tables [[prediction]]")
    plan = Plan(name, content["title"], content["question"], settings, tuple(map(_prediction, listed)), text)
    names = [each.name for each in plan.predictions]
    if len(set(names)) < len(names):
        raise ValueError("two predictions have the same name")
    for place, each in enumerate(plan.predictions):
        if each.only_if and each.only_if not in names[:place]:
            raise ValueError(f"{each.name}: only_if must name a prediction above it, not {each.only_if[:60]!r}")
    world = plan.world()
    sets = evaluation_populations(world, draw_split(world))
    for each in plan.predictions:
        each.check(sets)
    return plan


def _prediction(table: dict) -> Prediction:
    known = {each.name: each.default is MISSING for each in fields(Prediction)}
    name = re.sub(r"\s+", " ", ascii(table.get("name", "without a name")))[:60]
    if unknown := table.keys() - known:
        raise ValueError(f"prediction {name} has no entry {', '.join(sorted(unknown))}")
    if missing := [each for each, needed in known.items() if needed and each not in table]:
        raise ValueError(f"prediction {name} lacks {', '.join(missing)}")
    return Prediction(**table)


def measured(plan: Plan, runs: Mapping[int, WorldRun]) -> pd.DataFrame:
    """The number that decides each prediction (rows), for the run of each seed (columns)."""
    values = {each.name: {seed: MEASURES[each.measure](run, each.of) for seed, run in runs.items()} for each in plan.predictions}
    return pd.DataFrame.from_dict(values, orient="index", columns=list(runs), dtype=float)
